"""vLLM in this process: the same code on GPU and CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from config.engines import EngineConfig
from engines.base import Completion, Prompt, Sampling
from engines.identity import find_folder
from engines.prompts import PROMPT_TOO_LONG, find_answer_token, render_prompt, tokenise_texts
from engines.vllm_process import free_memory, load_llm, name_cause, prepare_environment, retire_llm
from engines.vllm_progress import watch_progress
from primitives.errors import InputError

if TYPE_CHECKING:
    from vllm import LLM, RequestOutput, SamplingParams

AnswerTokens = tuple[int | None, int | None]
"""The tokens of True and of False, each null where it is not one token or not asked for."""


class VllmEngine:
    """A model in vLLM, prefix caching on."""

    def __init__(self, config: EngineConfig) -> None:
        """Load the model.

        Raises:
            InputError: it cannot be loaded; the message gives vLLM's reason.
        """
        folder = find_folder(config)
        prepare_environment(is_local=folder is not None)
        self._name = config.name
        try:
            self._llm: LLM = load_llm(config, str(folder or config.model))
        except Exception as error:
            free_memory()
            raise InputError(
                f"model {config.name!r}: vLLM cannot load {config.model!r}: {name_cause(error)}"
            ) from error
        self._tokenizer = self._llm.get_tokenizer()
        self._max_model_len: int = self._llm.model_config.max_model_len
        self._is_open = True

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Completion]:
        """One completion per prompt, in order; an error where prompt and answer do not fit.

        Raises:
            InputError: a chat prompt, and no chat template or one that refuses the messages.
        """
        texts = [self._render(prompt) for prompt in prompts]
        tokens = self._tokenise(prompts, texts)
        completions: list[Completion | None] = [self._refuse(ids, sampling) for ids in tokens]
        # Prompts that share a prefix follow each other, or the cache drops it in between.
        order = sorted((i for i, c in enumerate(completions) if c is None), key=tokens.__getitem__)
        if on_progress and len(order) < len(prompts):
            on_progress(len(prompts) - len(order))
        answers = self._find_answer_tokens([texts[i] for i in order], sampling)
        outputs = self._run([tokens[i] for i in order], answers, sampling, on_progress)
        for i, answer, output in zip(order, answers, outputs, strict=True):
            completions[i] = _read_output(output, answer)
        return [completion for completion in completions if completion is not None]

    def count_tokens(self, prompts: Sequence[Prompt]) -> list[int]:
        """The number of tokens of each prompt, as the model would get it.

        Raises:
            InputError: as ``generate``.
        """
        texts = [self._render(prompt) for prompt in prompts]
        return [len(ids) for ids in self._tokenise(prompts, texts)]

    def close(self) -> None:
        """Let go of the model: its memory is free when another is loaded, or when the process ends."""
        if not self._is_open:
            return
        self._is_open = False
        retire_llm(self._llm)
        del self._llm, self._tokenizer

    def _render(self, prompt: Prompt) -> str:
        if prompt.style == "chat" and not self._tokenizer.chat_template:
            raise InputError(f"model {self._name!r} has no chat template; use prompt_style = 'completion'")
        try:
            return render_prompt(self._tokenizer, prompt)
        except InputError:
            raise
        except Exception as error:  # jinja2 raises whatever the model's template asks for
            raise InputError(
                f"model {self._name!r}: its chat template refuses the messages ({error}); "
                "some models take no system prompt"
            ) from error

    def _tokenise(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[list[int]]:
        tokens: list[list[int]] = [[]] * len(texts)
        for style in sorted({prompt.style for prompt in prompts}):
            places = [i for i, prompt in enumerate(prompts) if prompt.style == style]
            encoded = tokenise_texts(self._tokenizer, [texts[i] for i in places], style)
            for i, ids in zip(places, encoded, strict=True):
                tokens[i] = ids
        return tokens

    def _refuse(self, ids: list[int], sampling: Sampling) -> Completion | None:
        """The error of a prompt that vLLM would refuse together with its whole batch, else null."""
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
        """The tokens of True and False after each text: null where not one token, or not asked."""
        found: dict[str, AnswerTokens] = {}
        ends = [text[-64:] if sampling.logprobs else "" for text in texts]
        for end in set(ends):
            words = ("True", "False") if sampling.logprobs else ()
            true_false = [find_answer_token(self._tokenizer, end, word) for word in words]
            found[end] = (true_false[0], true_false[1]) if true_false else (None, None)
        return [found[end] for end in ends]

    def _run(
        self,
        tokens: Sequence[list[int]],
        answers: Sequence[AnswerTokens],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None,
    ) -> list[RequestOutput]:
        if not tokens:
            return []
        params = {answer: _make_params(sampling, answer) for answer in set(answers)}
        outputs: list[RequestOutput] = self._llm.generate(
            [{"prompt_token_ids": ids} for ids in tokens],
            [params[answer] for answer in answers],
            use_tqdm=watch_progress(on_progress) if on_progress else False,
        )
        return outputs


def _make_params(sampling: Sampling, answer: AnswerTokens) -> SamplingParams:
    from vllm import SamplingParams

    return SamplingParams(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        seed=sampling.seed,
        stop=list(sampling.stop) or None,
        logprob_token_ids=[token for token in answer if token is not None] or None,
    )


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
