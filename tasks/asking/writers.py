"""Writers, the language models that write texts of an edition: their identity, prompts and replies."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.engines import WriterConfig
from engines.identity import identify_model
from primitives.errors import InputError
from schemas.exchange import Prompt, Sampling, hash_prompt
from tasks.asking.prompts import PromptForm
from tasks.asking.sampling import build_sampling, describe_asking

# In completion style a model would continue with another paragraph.
STOP_TEXTS = ("\n\n",)


@dataclass(frozen=True)
class WriterPrompt:
    """One prompt for a writer, and the key of its reply."""

    key: str
    prompt: Prompt
    sampling: Sampling


@dataclass(frozen=True)
class Writer:
    """A model that writes, identified by what it is and not by its address."""

    config: WriterConfig
    model_id: str

    def build_prompt(
        self,
        content: str,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int | None = None,
        answers: tuple[str, ...] = (),
    ) -> WriterPrompt:
        """Return the prompt with this content.

        Args:
            answers: two words whose log-probabilities as the first token are asked for.
        """
        config = self.config
        prompt = PromptForm(config.prompt_style, config.system_prompt).wrap(content)
        stop = STOP_TEXTS if config.prompt_style == "completion" else ()
        sampling = build_sampling(
            config, max_tokens=max_tokens, temperature=temperature, seed=seed, stop=stop, answers=answers
        )
        return WriterPrompt(hash_prompt(self.model_id, prompt, sampling), prompt, sampling)

    def describe(self) -> dict[str, object]:
        """Return, as JSON, what its replies depend on besides the instruction."""
        config = self.config
        return {
            "model_id": self.model_id,
            "prompt_style": config.prompt_style,
            "system_prompt": config.system_prompt if config.prompt_style == "chat" else None,
            **describe_asking(config),
        }


def identify_writer(config: WriterConfig) -> Writer:
    """Return the writer without loading it.

    Raises:
        InputError: there is no such model.
    """
    return Writer(config, identify_model(config).model_id)


# Part of the reasons for which an attempt is rejected, so it is stored.
UNFINISHED_REASONING = "unfinished reasoning"


@dataclass(frozen=True)
class Reply:
    """The text of a reply without its reasoning, or null and the reason why there is none."""

    text: str | None
    error: str | None = None
    logprobs: tuple[float | None, float | None] = (None, None)
    """Of the words in `Sampling.answers`, where they were asked for and the engine gave them."""


Replies = Mapping[str, Reply]
"""Key of a prompt -> its reply; prompts that were never asked or that failed are absent."""


def require_replies(prompts: Iterable[WriterPrompt], replies: Replies, writer: Writer) -> None:
    """Check that every prompt has a reply.

    Raises:
        InputError: some have none; the message says how many.
    """
    if n_missing := sum(prompt.key not in replies for prompt in prompts):
        raise InputError(
            f"{writer.model_id} gave no reply to {n_missing:,} prompts; the replies that it gave are kept: "
            "run the same command again to ask for the rest"
        )
