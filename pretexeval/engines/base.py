"""The interface of every engine: it takes prompts and returns one completion per prompt, in order."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


Receive = Callable[[int, Completion], None]
"""Takes the position of a prompt and its completion, once for each prompt. It may be called in any thread."""


class Engine(ABC):
    """A loaded model. It hands over each answer when it arrives, so that an error or an interrupt loses none.

    A failure of one prompt is not raised: the completion of that prompt reports it.
    """

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        """Return one completion per prompt, in order. Raises as `answer` does."""
        received: dict[int, Completion] = {}
        self.answer(prompts, sampling, received.__setitem__, lambda: None)
        return [received[number] for number in range(len(prompts))]

    @abstractmethod
    def answer(
        self,
        prompts: Iterable[Prompt],
        sampling: Sampling,
        receive: Receive,
        on_tick: Callable[[], None],
    ) -> None:
        """Take prompts while the model has room for more, and give each completion to ``receive``.

        Prompts may be taken in another thread. All that were taken are completed, unless this raises.

        Args:
            on_tick: is called in the calling thread at short intervals, also while nothing arrives.
        """

    @abstractmethod
    def close(self) -> None:
        """Release memory, processes and connections."""


@runtime_checkable
class RemoteEngine(Protocol):
    """An engine that asks another program, which can refuse prompts and send answers of any size."""

    def measure_largest(self, sampling: Sampling) -> int:
        """Return the most bytes of an answer, which may have more tokens than `max_tokens` allows."""

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
