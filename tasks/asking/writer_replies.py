"""The replies of models that write: recalled where they were given, asked for where they were not."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from engines.load import load_engine
from primitives.errors import InputError
from schemas.exchange import PROMPT_TOO_LONG, Prompt, Sampling
from storage.mirror import Mirror
from storage.responses import ResponseStore
from tasks.asking.asker import Asker, Load
from tasks.asking.progress import Advance
from tasks.asking.writers import Ask, Replies, Reply, Writer, require_replies


def recall_replies(root: Path, writer: Writer) -> Replies:
    """Every reply that the writer ever gave; without the prompts that failed and are asked again."""
    store = ResponseStore(root, writer.model_id)
    return _read_replies(root, writer.model_id, tuple(path.name for path in store.list_files()))


@lru_cache(maxsize=4)
def _read_replies(root: Path, model_id: str, _: tuple[str, ...]) -> Replies:
    rows = ResponseStore(root, model_id).read(["prompt_key", "response", "status", "error"])
    return {
        key: Reply(response) if status == "ok" else Reply(None, PROMPT_TOO_LONG)
        for key, response, status, error in rows.iter_rows()
        if status == "ok" or error.startswith(PROMPT_TOO_LONG)
    }


def ask_for_replies(
    mirror: Mirror,
    writer: Writer,
    asks: Sequence[Ask],
    on_progress: Advance,
    load: Load = load_engine,
) -> Replies:
    """Ask what was never replied to; every reply of the writer. Nothing is loaded if nothing is missing.

    Raises:
        InputError: if the model cannot be loaded or reached, or prompts are left without a reply.
    """
    with Asker(writer.config, mirror, load) as asker:
        if asker.identity.model_id != writer.model_id:
            raise InputError(
                f"{writer.config.model} was changed while it was in use: it was {writer.model_id} and is "
                f"{asker.identity.model_id}; run the same command again"
            )
        replies = recall_replies(mirror.root, writer)
        missing: dict[Sampling, dict[str, Prompt]] = {}
        for ask in asks:
            if ask.key not in replies:
                missing.setdefault(ask.sampling, {})[ask.key] = ask.prompt
        on_progress(len(asks) - sum(map(len, missing.values())))
        for sampling, pending in missing.items():
            asker.ask(pending, sampling, on_progress)
        asker.write_model()
    replies = recall_replies(mirror.root, writer)
    require_replies(asks, replies, writer)
    return replies
