"""The interface of every engine: it takes prompts and returns one completion per prompt, in order."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Engine(ABC):
    """A loaded model, which hands over each answer when it arrives: an error or an interrupt costs none.

    A failure of one prompt is not raised: the completion of that prompt reports it.
    """

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Completion]:
        """Return one completion per prompt, in order. Raises as `generate_into` does."""
        received: dict[int, Completion] = {}
        self.generate_into(received, prompts, sampling, on_progress or (lambda _: None))
        return [received[number] for number in range(len(prompts))]

    @abstractmethod
    def generate_into(
        self,
        received: dict[int, Completion],
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None],
    ) -> None:
        """Put the completions into ``received`` by the position of their prompts, each when it arrives.

        If this raises or is interrupted, the answers so far are there. ``on_progress`` is called in the
        calling thread, also while nothing arrives.
        """

    @abstractmethod
    def close(self) -> None:
        """Release memory, processes and connections."""


@runtime_checkable
class LookaheadEngine(Protocol):
    """An engine that can begin with the prompts of a call before the call."""

    def announce(
        self, received: dict[int, Completion], prompts: Sequence[Prompt], sampling: Sampling
    ) -> None:
        """Announce the arguments of the call of `generate_into` that follows the next one.

        During the next call, when none of its own prompts is left to start, the engine starts these, and puts
        the completions into this ``received``. ``on_progress`` of the next call counts them.
        """


@runtime_checkable
class RemoteEngine(Protocol):
    """An engine that asks another program, which can refuse prompts and send answers of any size.

    It stops sending before its answers need more space than there is. Prompts that were not sent get no
    completion.
    """

    max_bytes: int
    """Largest memory of the answers of a call, counting those of open requests at their limit."""

    def measure_largest(self, sampling: Sampling) -> int:
        """Return the bytes that the largest answer takes, which may be more than `max_tokens` allows."""

    def is_answering(self, style: str, sampling: Sampling) -> bool:
        """Return whether the model answers a throwaway prompt of this style."""


def render_prompt(
    tokenizer: PreTrainedTokenizerBase, prompt: Prompt, template_kwargs: Mapping[str, Any] | None = None
) -> str:
    """Return the text that the model continues: the prompt itself, or its messages in the chat template.

    Args:
        template_kwargs: further variables of the chat template, such as `enable_thinking`.

    Raises:
        InputError: the messages are not JSON. A template that refuses them can raise any exception.
    """
    if prompt.style == "completion":
        return prompt.text
    messages = read_messages(prompt)
    text: str = tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, **template_kwargs or {}
    )
    return text


def read_messages(prompt: Prompt) -> list[dict[str, str]]:
    """Return the messages of a chat prompt.

    Raises:
        InputError: the prompt's text is not a JSON list.
    """
    try:
        messages = json.loads(prompt.text)
    except ValueError:
        messages = None
    if isinstance(messages, list):
        return messages
    raise InputError(f"a chat prompt is a JSON list of messages, not {prompt.text[:60]!r}")
