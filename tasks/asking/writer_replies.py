"""The replies of writers: read from the store, or asked for if they are missing."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from engines.loading import load_engine
from primitives.errors import InputError
from schemas.exchange import PROMPT_TOO_LONG, Prompt, Sampling
from storage.mirror import Mirror
from storage.responses import ResponseStore
from tasks.asking.model_session import LoadEngine, ModelSession
from tasks.asking.progress import Advance
from tasks.asking.reasoning import find_marks
from tasks.asking.thoughts import ReasoningMarks, remove_reasoning
from tasks.asking.writers import (
    UNFINISHED_REASONING,
    Replies,
    Reply,
    Writer,
    WriterPrompt,
    require_replies,
)

Logprobs = tuple[float | None, float | None]


def read_replies(root: Path, writer: Writer) -> Replies:
    """Return every stored reply of the writer, without failed prompts that the next run asks again."""
    store = ResponseStore(root, writer.model_id)
    # The names of the files hold their checksums, so new files give a new cache entry.
    files = tuple(path.name for path in store.list_files())
    return _read_cached_replies(root, writer.model_id, find_marks(writer.config), files)


@lru_cache(maxsize=4)
def _read_cached_replies(root: Path, model_id: str, marks: ReasoningMarks, _: tuple[str, ...]) -> Replies:
    columns = ["prompt_key", "response", "status", "error", "logprob_true", "logprob_false"]
    rows = ResponseStore(root, model_id).read(columns)
    return {
        key: read_reply(response, marks, (true, false)) if status == "ok" else Reply(None, PROMPT_TOO_LONG)
        for key, response, status, error, true, false in rows.iter_rows()
        if status == "ok" or error.startswith(PROMPT_TOO_LONG)
    }


def read_reply(response: str, marks: ReasoningMarks, logprobs: Logprobs) -> Reply:
    """Return the reply that a response contains, without its reasoning."""
    text = remove_reasoning(response, marks)
    if text is None:
        return Reply(None, UNFINISHED_REASONING)
    # The first token of a response that begins with a thought is not the first token of its answer.
    return Reply(text, logprobs=logprobs if text == response else (None, None))


def ask_for_replies(
    mirror: Mirror,
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
    with ModelSession(writer.config, mirror, load) as session:
        if session.identity.model_id != writer.model_id:
            raise InputError(
                f"{writer.config.model} was changed while it was in use: it was {writer.model_id} and is now "
                f"{session.identity.model_id}; run the same command again"
            )
        replies = read_replies(mirror.root, writer)
        missing: dict[Sampling, dict[str, Prompt]] = {}
        for prompt in prompts:
            if prompt.key not in replies:
                missing.setdefault(prompt.sampling, {})[prompt.key] = prompt.prompt
        on_progress(len(prompts) - sum(map(len, missing.values())))
        for sampling, waiting in missing.items():
            session.ask(waiting, sampling, on_progress)
        session.write_model_record()
    replies = read_replies(mirror.root, writer)
    require_replies(prompts, replies, writer)
    return replies
