"""Asking for attempts: the rounds of all relations go in step, so that a model is loaded once a round."""

from collections.abc import Iterable, Sequence

import polars as pl

from engines.load import load_engine
from storage.mirror import Mirror
from tasks.asking.asker import Load
from tasks.asking.progress import ShowProgress
from tasks.asking.writer_replies import ask_for_replies
from tasks.asking.writers import Replies
from tasks.edition.attempts import Asks, Rephraser, Rounds, name_writers, play_rounds


def ask_rounds(
    mirror: Mirror,
    relations: Iterable[pl.DataFrame],
    rephraser: Rephraser,
    show: ShowProgress,
    load: Load = load_engine,
) -> list[pl.DataFrame]:
    """Ask for every attempt that these relations need, and return the attempts of each relation.

    Args:
        relations: the statements of each relation, with head and tail beside them.
        show: opens a progress display for the prompts of one round.

    Raises:
        InputError: if a model cannot be loaded or reached, or leaves a prompt without a reply. The replies
            that it gave are kept.
    """
    writers = name_writers(rephraser)
    rounds = [play_rounds(rows, rephraser) for rows in relations]
    attempts: dict[int, pl.DataFrame] = {}
    wanted = _advance(rounds, list(range(len(rounds))), None, attempts)
    n_rounds = dict.fromkeys(writers, 0)
    while wanted:
        replies: dict[str, Replies] = {}
        for name, writer in writers.items():
            if asks := [ask for of_relation in wanted.values() for ask in of_relation.get(name, ())]:
                n_rounds[name] += 1
                with show(f"{name} {writer.config.name}, round {n_rounds[name]}", len(asks)) as advance:
                    replies[name] = ask_for_replies(mirror, writer, asks, advance, load)
        wanted = _advance(rounds, list(wanted), replies, attempts)
    return [attempts[number] for number in range(len(rounds))]


def _advance(
    rounds: Sequence[Rounds],
    numbers: Sequence[int],
    replies: dict[str, Replies] | None,
    attempts: dict[int, pl.DataFrame],
) -> dict[int, Asks]:
    """Return what the rounds of these numbers want next; put the attempts of those that end into the dict."""
    wanted = {}
    for number in numbers:
        try:
            wanted[number] = next(rounds[number]) if replies is None else rounds[number].send(replies)
        except StopIteration as end:
            attempts[number] = end.value
    return wanted
