"""The replies of models that write: recalled where they were given, asked for where they were not."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl

from config.engines import EngineConfig
from config.tables import StorageConfig
from engines.base import Engine, Prompt, Sampling
from engines.load import load_engine
from engines.prompts import PROMPT_TOO_LONG
from primitives.errors import InputError
from storage.responses import ResponseStore
from tasks.asking.asker import Asker
from tasks.asking.writers import Ask, Replies, Reply, Writer
from tasks.edition.attempts import Asks, Rephraser, Rounds, play_rounds

Load = Callable[[EngineConfig], Engine]
Progress = Callable[[int], None]


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


def ask_for_replies(
    storage: StorageConfig,
    writer: Writer,
    asks: Sequence[Ask],
    on_progress: Progress,
    load: Load = load_engine,
) -> Replies:
    """Ask what was never replied to; every reply of the writer. Nothing is loaded if nothing is missing.

    Raises:
        InputError: if the model cannot be loaded or reached, or prompts are left without a reply.
    """
    with Asker(writer.config, storage, load) as asker:
        if asker.identity.model_id != writer.model_id:
            raise InputError(
                f"{writer.config.model} was changed while it was in use: it was {writer.model_id} and is "
                f"{asker.identity.model_id}; run the same command again"
            )
        replies = recall_replies(storage.root, writer)
        missing: dict[Sampling, dict[str, Prompt]] = {}
        for ask in asks:
            if ask.key not in replies:
                missing.setdefault(ask.sampling, {})[ask.key] = ask.prompt
        on_progress(len(asks) - sum(map(len, missing.values())))
        for sampling, pending in missing.items():
            asker.ask(pending, sampling, on_progress)
        asker.write_model()
    replies = recall_replies(storage.root, writer)
    require_replies(asks, replies, writer)
    return replies


def ask_rounds(
    storage: StorageConfig,
    relations: Iterable[pl.DataFrame],
    rephraser: Rephraser,
    on_progress: Progress,
    load: Load = load_engine,
) -> None:
    """Have everything replied to that the attempts of these relations need, round after round.

    The relations go in step, so that a model is loaded once a round and asked in large batches.

    Args:
        relations: statements with head and tail beside them.

    Raises:
        InputError: as `ask_for_replies`.
    """
    writers = _name_writers(rephraser)
    rounds = [play_rounds(rows, rephraser) for rows in relations]
    wanted = _advance(rounds, None)
    while wanted:
        replies: dict[str, Replies] = {}
        for name, writer in writers.items():
            if asks := [ask for _, of_relation in wanted for ask in of_relation.get(name, ())]:
                replies[name] = ask_for_replies(storage, writer, asks, on_progress, load)
        wanted = _advance([each for each, _ in wanted], replies)


def _advance(rounds: Iterable[Rounds], replies: dict[str, Replies] | None) -> list[tuple[Rounds, Asks]]:
    """The rounds that go on, each with what it wants next."""
    going = []
    for each in rounds:
        with contextlib.suppress(StopIteration):
            going.append((each, next(each) if replies is None else each.send(replies)))
    return going


def recall_rounds(root: Path, statements: pl.DataFrame, rephraser: Rephraser) -> pl.DataFrame:
    """The attempts of one relation, from replies that are all there.

    Raises:
        InputError: if one is not.
    """
    writers = _name_writers(rephraser)
    replies = {name: recall_replies(root, writer) for name, writer in writers.items()}
    rounds = play_rounds(statements, rephraser)
    try:
        asks = next(rounds)
        while True:
            for name, wanted in asks.items():
                require_replies(wanted, replies[name], writers[name])
            asks = rounds.send(replies)
    except StopIteration as end:
        attempts: pl.DataFrame = end.value
        return attempts


def _name_writers(rephraser: Rephraser) -> dict[str, Writer]:
    judge = {} if rephraser.judge is None else {"judge": rephraser.judge.writer}
    return {"rephraser": rephraser.writer, **judge}
