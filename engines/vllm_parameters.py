"""The sampling parameters of vLLM, and the parser that separates the reasoning of its replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from config.engines import EngineConfig
from engines.vllm_process import describe_cause, import_vllm
from primitives.errors import InputError
from schemas.exchange import Completion, Sampling

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase
    from vllm import SamplingParams
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.reasoning import ReasoningParser

TEMPLATE_KWARGS = "chat_template_kwargs"


def read_template_kwargs(config: EngineConfig) -> dict[str, Any]:
    """Return what the configuration adds to the variables of the chat template.

    Raises:
        InputError: it is not a table.
    """
    found = config.extra_body.get(TEMPLATE_KWARGS, {})
    if not isinstance(found, dict):
        raise InputError(f"model {config.name!r}: {TEMPLATE_KWARGS} in extra_body must be a table")
    return found


def check_parameters(config: EngineConfig) -> None:
    """Check that vLLM takes the sampling parameters in extra_body, before a model is loaded.

    Raises:
        InputError: vLLM does not know a parameter, or refuses its value.
    """
    if not set(config.extra_body) - {TEMPLATE_KWARGS}:
        return
    import_vllm()
    from vllm import SamplingParams

    try:
        SamplingParams(**_select_parameters(config.extra_body))
    except Exception as error:  # an unknown name is a TypeError, a wrong value a ValueError of several kinds
        raise InputError(
            f"model {config.name!r}: vLLM does not take extra_body: {describe_cause(error)}; its keys are "
            f"{TEMPLATE_KWARGS} and the sampling parameters of vLLM"
        ) from error


def build_params(
    sampling: Sampling, answer_tokens: Sequence[int | None], *, skip_special_tokens: bool = True
) -> SamplingParams:
    """Return the parameters of one request.

    Args:
        answer_tokens: the tokens whose log-probabilities are returned.
        skip_special_tokens: a reasoning parser may need to see them.
    """
    from vllm import SamplingParams

    options: dict[str, Any] = {} if skip_special_tokens else {"skip_special_tokens": False}
    if sampling.top_p is not None:
        options["top_p"] = sampling.top_p
    return SamplingParams(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        seed=sampling.seed_of_repeat,
        stop=list(sampling.stop) or None,
        logprob_token_ids=[token for token in answer_tokens if token is not None] or None,
        **options | _select_parameters(sampling.read_extra_body()),
    )


def _select_parameters(extra_body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in extra_body.items() if name != TEMPLATE_KWARGS}


class ReasoningSplitter:
    """Separates the reasoning from the answer, by vLLM's parser or by the marks of the configuration."""

    def __init__(self, config: EngineConfig, tokenizer: PreTrainedTokenizerBase) -> None:
        """Load the parser, if the configuration names one.

        Raises:
            InputError: vLLM has no parser of that name, or the parser does not fit the model.
        """
        self._opening, self._closing = config.reasoning_marks or ("", "")
        self.skip_special_tokens = True
        self._parser: ReasoningParser | None = None
        if config.reasoning_parser is not None:
            try:
                self._parser, self._request = _load_parser(config, tokenizer)
            except Exception as error:  # a parser may raise any exception
                raise InputError(
                    f"model {config.name!r}: vLLM cannot use the reasoning parser "
                    f"{config.reasoning_parser!r}: {describe_cause(error)}"
                ) from error
            self.skip_special_tokens = bool(self._request.skip_special_tokens)

    def split(self, completion: Completion, prompt: str) -> Completion:
        """Return the completion of a chat prompt with its reasoning apart.

        Marks stay in the response, where scoring finds them. Only a thought that the template opened, and
        that does not end, has no mark.

        Args:
            prompt: the rendered prompt.
        """
        reasoning, answer = None, completion.response or ""
        if self._parser is not None:
            reasoning, content = self._parser.extract_reasoning(answer, self._request)
            answer = content or ""
        elif self._opening and prompt.rstrip().endswith(self._opening) and self._closing not in answer:
            reasoning, answer = answer, ""
        if reasoning is None:
            return replace(completion, response=answer)
        # The first token belongs to the thought.
        return replace(
            completion, response=answer, reasoning=reasoning, logprob_true=None, logprob_false=None
        )


def _load_parser(
    config: EngineConfig, tokenizer: PreTrainedTokenizerBase
) -> tuple[ReasoningParser, ChatCompletionRequest]:
    """Return the parser, and a request that it has adjusted to its needs."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.reasoning import ReasoningParserManager

    kwargs = read_template_kwargs(config)
    parser_class = ReasoningParserManager.get_reasoning_parser(config.reasoning_parser or "")
    parser = parser_class(tokenizer, chat_template_kwargs=kwargs)
    request = ChatCompletionRequest(
        model=config.model, messages=[{"role": "user", "content": ""}], chat_template_kwargs=kwargs
    )
    adjusted: Any = parser.adjust_request(request)
    # A parser that works only in vLLM's server refuses this now and not after all prompts are answered.
    parser.extract_reasoning("", adjusted)
    return parser, adjusted
