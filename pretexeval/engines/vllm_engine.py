"""The engine that runs vLLM in this process, with the same code on GPU and CPU."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.base import Engine, Receive, render_prompt
from pretexeval.engines.cards import rest_cards, take_cards
from pretexeval.engines.identity import find_folder, require_readable
from pretexeval.engines.tokens import find_answer_token, tokenise_sorted
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
    from vllm import LLM, RequestOutput, SamplingParams


AnswerTokens = tuple[int | None, int | None]
"""The tokens of True and of False. A token is None if its word is several tokens or is not asked for."""
# Requests that vLLM has at a time, as a multiple of those that it computes at a time. The others wait in its
# queue, so that it can replace all requests that end in one step.
QUEUE_FACTOR = 2
# Number of prompts that are sorted and tokenised together.
N_PREPARED = 1024
# Errors that a card may have caused, of CUDA in this process or in one of those of a model of several cards.
OF_CARDS = re.compile("CUDA|NCCL|WorkerProc", re.IGNORECASE)


@dataclass
class _Request:
    """A prompt as it is given to vLLM."""

    position: int
    """The position of the prompt in its call."""
    prompt: Prompt
    text: str
    """The text that the model continues: the prompt in the model's chat template, if it has that style."""
    ids: list[int]
    answer: AnswerTokens
    params: SamplingParams


class VllmEngine(Engine):
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
            self._loaded = load_llm(config, str(folder or config.model))
        except Exception as error:
            cause = describe_cause(error)
            if OF_CARDS.search(cause):
                rest_cards()
            release_frames(error)
            free_memory()
            raise InputError(f"model {config.name!r}: vLLM cannot load {config.model!r}: {cause}") from error
        self._llm: LLM = self._loaded.llm
        try:
            self._tokenizer = self._llm.get_tokenizer()
            self._max_model_len: int = self._llm.model_config.max_model_len
            self._served = describe_served(self._llm, config)
            self._splitter = ReasoningSplitter(config, self._tokenizer)
            scheduler = self._llm.llm_engine.vllm_config.scheduler_config
            self._n_most = QUEUE_FACTOR * scheduler.max_num_seqs
        except BaseException:
            retire_llm(self._loaded, is_idle=False)
            raise
        self._running: dict[str, _Request] = {}
        self._is_open = True

    def answer(
        self,
        prompts: Iterable[Prompt],
        sampling: Sampling,
        receive: Receive,
        on_tick: Callable[[], None],
    ) -> None:
        """Give each completion to `receive` when it is finished. A prompt that is too long gets an error.

        Raises:
            InputError: the model has no chat template for a chat prompt, or the template refuses it.
        """
        if self._running:
            # These are the requests of a call that was interrupted.
            self._llm.llm_engine.abort_request(list(self._running))
            self._running.clear()
        numbered, waiting = enumerate(prompts), deque[_Request]()
        block = list(islice(numbered, N_PREPARED))
        while block or waiting or self._running:
            waiting.extend(self._prepare(block, sampling, receive))
            self._add_requests(waiting)
            outputs = self._llm.llm_engine.step() if self._running else []
            for output in outputs:
                if output.finished and output.request_id in self._running:
                    receive(*self._complete(output))
            on_tick()
            has_enough = len(waiting) + len(self._running) >= self._n_most
            block = [] if has_enough else list(islice(numbered, N_PREPARED))

    def _prepare(
        self, block: list[tuple[int, Prompt]], sampling: Sampling, receive: Receive
    ) -> Iterator[_Request]:
        """Yield the requests of prompts, sorted so that those with the same prefix follow each other.

        Prompts that are too long get their error.
        """
        params: dict[AnswerTokens, SamplingParams] = {}
        rendered = [(prompt.style, self._render(prompt), number, prompt) for number, prompt in block]
        rendered.sort(key=lambda row: row[:3])
        for style, rows in groupby(rendered, key=lambda row: row[0]):
            of_style = list(rows)
            texts = [text for _, text, _, _ in of_style]
            tokens = tokenise_sorted(self._tokenizer, texts, style)
            answers = self._find_answer_tokens(texts, sampling)
            for (_, text, number, prompt), ids, answer in zip(of_style, tokens, answers, strict=True):
                if refusal := self._find_refusal(ids, sampling):
                    receive(number, refusal)
                    continue
                if answer not in params:
                    skip = self._splitter.skip_special_tokens
                    params[answer] = build_params(sampling, answer, skip_special_tokens=skip)
                yield _Request(number, prompt, text, ids, answer, params[answer])

    def _add_requests(self, waiting: deque[_Request]) -> None:
        """Give requests to vLLM until it has enough."""
        n_free = max(self._n_most - len(self._running), 0)
        requests = [waiting.popleft() for _ in range(min(n_free, len(waiting)))]
        if not requests:
            return
        first = self._llm.request_counter.counter
        self._llm.enqueue(
            [{"prompt_token_ids": request.ids} for request in requests],
            [request.params for request in requests],
            use_tqdm=False,
        )
        # vLLM numbers requests in the order in which they are added.
        self._running |= {str(first + n): request for n, request in enumerate(requests)}

    def _complete(self, output: RequestOutput) -> tuple[int, Completion]:
        """Return the position of a finished prompt, and its completion."""
        request = self._running.pop(output.request_id)
        completion = _read_output(output, request.answer, self._served)
        if request.prompt.style == "chat":
            completion = self._splitter.split(completion, request.text)
        return request.position, completion

    def close(self) -> None:
        """Retire the model. Its memory is freed when another model is loaded or when the process ends."""
        if not self._is_open:
            return
        self._is_open = False
        # Requests are left after a crash, and after an interrupted call.
        retire_llm(self._loaded, is_idle=not self._running)
        del self._loaded, self._llm, self._tokenizer, self._splitter

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
        if not sampling.logprobs:
            return [(None, None)] * len(texts)
        found: dict[str, AnswerTokens] = {}
        ends = [text[-64:] for text in texts]
        for end in set(ends):
            true, false = (find_answer_token(self._tokenizer, end, word) for word in ANSWER_WORDS)
            found[end] = true, false
        return [found[end] for end in ends]


def _read_output(output: RequestOutput, answer: AnswerTokens, served: str) -> Completion:
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
        served=served,
    )
