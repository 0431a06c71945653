"""The engine that runs vLLM in this process, with the same code on GPU and CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.base import IncrementalEngine, find_answer_token, render_prompt, tokenise_texts
from pretexeval.engines.cards import take_cards
from pretexeval.engines.identity import find_folder
from pretexeval.engines.model_files import require_readable
from pretexeval.engines.vllm_process import (
    ReasoningSplitter,
    build_params,
    check_parameters,
    describe_cause,
    describe_served,
    free_memory,
    load_llm,
    prepare_environment,
    read_template_kwargs,
    retire_llm,
)
from pretexeval.primitives.errors import InputError, release_frames
from schemas.exchange import ANSWER_WORDS, PROMPT_TOO_LONG, Completion, Prompt, Sampling

if TYPE_CHECKING:
    from vllm import LLM, RequestOutput


@contextmanager
def watch_outputs(llm: LLM, on_output: Callable[[int, RequestOutput], None]) -> Iterator[None]:
    """Call `on_output` with the position and the output of each prompt of a `generate` in the block.

    `generate` returns nothing before all prompts are finished, and loses all outputs if the engine crashes.
    """
    engine = llm.llm_engine
    n_before, step = llm.request_counter.counter, engine.step

    def step_and_report() -> list[RequestOutput]:
        outputs: list[RequestOutput] = step()
        for output in outputs:
            if output.finished:
                # Requests are numbered in the order of the prompts.
                on_output(int(output.request_id) - n_before, output)
        return outputs

    engine.step = step_and_report
    try:
        yield
    finally:
        del engine.step


AnswerTokens = tuple[int | None, int | None]
"""The tokens of True and of False. Each is None if the word is several tokens or is not asked for."""


class VllmEngine(IncrementalEngine):
    """A model in vLLM, with prefix caching."""

    def __init__(self, config: EngineConfig) -> None:
        """Load the model.

        Raises:
            InputError: vLLM cannot load the model, or does not take a setting; the message gives the reason.
        """
        take_cards(config.n_cards)
        folder = find_folder(config)
        prepare_environment(folder is not None, is_deterministic=config.deterministic)
        self._name = config.name
        self._template_kwargs = read_template_kwargs(config)
        check_parameters(config)
        require_readable(config)
        try:
            self._llm: LLM = load_llm(config, str(folder or config.model))
        except Exception as error:
            release_frames(error)
            free_memory()
            raise InputError(
                f"model {config.name!r}: vLLM cannot load {config.model!r}: {describe_cause(error)}"
            ) from error
        try:
            self._tokenizer = self._llm.get_tokenizer()
            self._max_model_len: int = self._llm.model_config.max_model_len
            self._served = describe_served(self._llm, config)
            self._splitter = ReasoningSplitter(config, self._tokenizer)
        except BaseException:
            retire_llm(self._llm)
            raise
        self._is_open = True

    def generate_into(
        self,
        received: dict[int, Completion],
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None],
    ) -> None:
        """Put each completion into `received` when it is finished. A prompt that is too long gets an error.

        Raises:
            InputError: the model has no chat template for a chat prompt, or the template refuses it.
        """
        texts = [self._render(prompt) for prompt in prompts]
        tokens = self._tokenise(prompts, texts)
        refusals = [self._find_refusal(ids, sampling) for ids in tokens]
        received.update({i: refusal for i, refusal in enumerate(refusals) if refusal is not None})
        # Sorted, so that prompts with the same prefix follow each other while the prefix is in the cache.
        order = sorted((i for i, refusal in enumerate(refusals) if refusal is None), key=tokens.__getitem__)
        if len(order) < len(prompts):
            on_progress(len(prompts) - len(order))
        answers = self._find_answer_tokens([texts[i] for i in order], sampling)

        def receive(number: int, output: RequestOutput) -> None:
            i = order[number]
            completion = replace(_read_output(output, answers[number]), served=self._served)
            is_chat = prompts[i].style == "chat"
            received[i] = self._splitter.split(completion, texts[i]) if is_chat else completion
            on_progress(1)

        if order:
            skip = self._splitter.skip_special_tokens
            params = {
                answer: build_params(sampling, answer, skip_special_tokens=skip) for answer in set(answers)
            }
            with watch_outputs(self._llm, receive):
                self._llm.generate(
                    [{"prompt_token_ids": tokens[i]} for i in order],
                    [params[answer] for answer in answers],
                    use_tqdm=False,
                )

    def close(self) -> None:
        """Retire the model. Its memory is freed when another model is loaded or when the process ends."""
        if not self._is_open:
            return
        self._is_open = False
        retire_llm(self._llm)
        del self._llm, self._tokenizer, self._splitter

    def _render(self, prompt: Prompt) -> str:
        if prompt.style == "chat" and not self._tokenizer.chat_template:
            raise InputError(f"model {self._name!r} has no chat template; use prompt_style = 'completion'")
        try:
            return render_prompt(self._tokenizer, prompt, self._template_kwargs)
        except InputError:
            raise
        except Exception as error:  # a chat template can raise any exception
            raise InputError(
                f"model {self._name!r}: its chat template refuses the messages ({error}); "
                "some models do not accept a system prompt"
            ) from error

    def _tokenise(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[list[int]]:
        tokens: list[list[int]] = [[]] * len(texts)
        for style in sorted({prompt.style for prompt in prompts}):
            places = [i for i, prompt in enumerate(prompts) if prompt.style == style]
            encoded = tokenise_texts(self._tokenizer, [texts[i] for i in places], style)
            for i, ids in zip(places, encoded, strict=True):
                tokens[i] = ids
        return tokens

    def _find_refusal(self, ids: list[int], sampling: Sampling) -> Completion | None:
        """Return the error of a prompt for which vLLM would refuse the whole batch, or None."""
        if not ids:
            return Completion(None, "error", "empty prompt", n_prompt_tokens=0)
        if len(ids) + sampling.max_tokens <= self._max_model_len:
            return None
        reason = (
            f"{PROMPT_TOO_LONG}: {len(ids)} tokens and {sampling.max_tokens} to generate, "
            f"the model takes {self._max_model_len}"
        )
        return Completion(None, "error", reason, n_prompt_tokens=len(ids))

    def _find_answer_tokens(self, texts: Sequence[str], sampling: Sampling) -> list[AnswerTokens]:
        """Return the tokens of True and False after each text."""
        found: dict[str, AnswerTokens] = {}
        ends = [text[-64:] if sampling.logprobs else "" for text in texts]
        for end in set(ends):
            words = ANSWER_WORDS if sampling.logprobs else ()
            true_false = [find_answer_token(self._tokenizer, end, word) for word in words]
            found[end] = (true_false[0], true_false[1]) if true_false else (None, None)
        return [found[end] for end in ends]


def _read_output(output: RequestOutput, answer: AnswerTokens) -> Completion:
    said = output.outputs[0]
    first = said.logprobs[0] if said.logprobs else {}
    logprobs = [first[token].logprob if token in first else None for token in answer]
    finite = [p if p is not None and math.isfinite(p) else None for p in logprobs]
    return Completion(
        said.text,
        finish_reason=said.finish_reason,
        n_prompt_tokens=len(output.prompt_token_ids),
        n_completion_tokens=len(said.token_ids),
        logprob_true=finite[0],
        logprob_false=finite[1],
    )
