"""Models that write: who they are, what they are asked, and what they reply."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.engines import WriterConfig
from engines.identity import identify_model
from primitives.errors import InputError
from schemas.exchange import Prompt, Sampling, hash_prompt
from tasks.asking.prompts import PromptForm

# In completion style a model would go on with the next paragraph.
STOP_TEXTS = ("\n\n",)


@dataclass(frozen=True)
class Ask:
    """One prompt to a writer, and the key of its reply."""

    key: str
    prompt: Prompt
    sampling: Sampling


@dataclass(frozen=True)
class Writer:
    """A model that writes, as an edition knows it: by who it is, not by where it is reached."""

    config: WriterConfig
    model_id: str

    def ask(self, content: str, max_tokens: int, temperature: float = 0.0, seed: int | None = None) -> Ask:
        """The prompt that says this."""
        config = self.config
        prompt = PromptForm(config.prompt_style, config.system_prompt).wrap(content)
        stop = STOP_TEXTS if config.prompt_style == "completion" else ()
        sampling = Sampling(max_tokens, temperature, seed, stop)
        return Ask(hash_prompt(self.model_id, prompt, sampling), prompt, sampling)

    def describe(self) -> dict[str, object]:
        """What its replies depend on beside the instruction, as JSON."""
        config = self.config
        return {
            "model_id": self.model_id,
            "prompt_style": config.prompt_style,
            "system_prompt": config.system_prompt if config.prompt_style == "chat" else None,
        }


def identify_writer(config: WriterConfig) -> Writer:
    """The writer; nothing is loaded.

    Raises:
        InputError: if there is no such model.
    """
    return Writer(config, identify_model(config).model_id)


@dataclass(frozen=True)
class Reply:
    """What came back: a text, or null where the prompt does not fit the model."""

    text: str | None
    error: str | None = None


Replies = Mapping[str, Reply]
"""Key of a prompt -> its reply; without those that were never asked or that failed."""


def require_replies(asks: Iterable[Ask], replies: Replies, writer: Writer) -> None:
    """Go on only if every prompt has its reply.

    Raises:
        InputError: says how many have none.
    """
    if n_missing := sum(ask.key not in replies for ask in asks):
        raise InputError(
            f"{writer.model_id} gave no reply to {n_missing:,} prompts; what it did reply is kept: "
            "run the same command again to ask for the rest"
        )
