"""Writers, the language models that write texts of an edition: their identity, prompts and replies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pretexeval.config.engines import STREAM, WriterConfig
from pretexeval.engines.identity import identify_model
from pretexeval.engines.loading import load_engine
from pretexeval.engines.thoughts import split_reply
from pretexeval.primitives.errors import InputError
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.store import Store
from schemas.exchange import PROMPT_TOO_LONG, Prompt, Sampling, hash_prompt
from tasks.asking.model_session import Advance, LoadEngine, ModelSession
from tasks.asking.prompts import PromptForm

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
        self, content: str, max_tokens: int, temperature: float = 0.0, seed: int | None = None
    ) -> WriterPrompt:
        """Return the prompt with this content."""
        config = self.config
        prompt = PromptForm(config.prompt_style, config.system_prompt).wrap(content)
        stop = STOP_TEXTS if config.prompt_style == "completion" else ()
        sampling = config.adapt(Sampling(max_tokens, temperature, seed, stop))
        return WriterPrompt(hash_prompt(self.model_id, prompt, sampling), prompt, sampling)

    def describe(self) -> dict[str, object]:
        """Return, as JSON, what its replies depend on besides the instruction."""
        config, marks = self.config, self.config.reasoning_marks
        settings = {
            "extra_body": config.extra_body,
            "leave_out": sorted({*config.leave_out} - {STREAM}),
            "rename": config.rename,
        }
        return {
            "model_id": self.model_id,
            "prompt_style": config.prompt_style,
            "system_prompt": config.system_prompt if config.prompt_style == "chat" else None,
            **{name: value for name, value in settings.items() if value},
            **({} if marks is None else {"reasoning_marks": list(marks)}),
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
    """The text of a reply without its reasoning, or None and the reason why there is none."""

    text: str | None
    error: str | None = None


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


def read_replies(root: Path, writer: Writer) -> Replies:
    """Return every stored reply of the writer, without failed prompts that the next run asks again."""
    store = ResponseStore(root, writer.model_id)
    # The names of the files hold their checksums, so new files give a new cache entry.
    files = tuple(path.name for path in store.list_files())
    return _read_cached_replies(root, writer.model_id, writer.config.reasoning_marks, files)


@lru_cache(maxsize=4)
def _read_cached_replies(
    root: Path, model_id: str, marks: Sequence[str] | None, _: tuple[str, ...]
) -> Replies:
    rows = ResponseStore(root, model_id).read(["prompt_key", "response", "status", "error"])
    return {
        key: read_reply(response, marks) if status == "ok" else Reply(None, PROMPT_TOO_LONG)
        for key, response, status, error in rows.iter_rows()
        if status == "ok" or error.startswith(PROMPT_TOO_LONG)
    }


def read_reply(response: str, marks: Sequence[str] | None) -> Reply:
    """Return the reply that a response contains, without its reasoning."""
    text = split_reply(response, marks).answer
    return Reply(None, UNFINISHED_REASONING) if text is None else Reply(text)


def ask_for_replies(
    store: Store,
    writer: Writer,
    prompts: Sequence[WriterPrompt],
    on_progress: Advance,
    load: LoadEngine = load_engine,
) -> Replies:
    """Ask the prompts that have no reply yet, and return every reply of the writer.

    The model is loaded only if a reply is missing.

    Raises:
        InputError: the model cannot be loaded or reached, or leaves prompts without a reply.
    """
    with ModelSession(writer.config, store, load) as session:
        if session.identity.model_id != writer.model_id:
            raise InputError(
                f"{writer.config.model} was changed while it was in use: it was {writer.model_id} and is now "
                f"{session.identity.model_id}; run the same command again"
            )
        replies = read_replies(store.root, writer)
        missing: dict[Sampling, dict[str, Prompt]] = {}
        for prompt in prompts:
            if prompt.key not in replies:
                missing.setdefault(prompt.sampling, {})[prompt.key] = prompt.prompt
        on_progress(len(prompts) - sum(map(len, missing.values())))
        for sampling, waiting in missing.items():
            session.ask(waiting.items(), sampling, on_progress)
        session.write_model_record()
    replies = read_replies(store.root, writer)
    require_replies(prompts, replies, writer)
    return replies
