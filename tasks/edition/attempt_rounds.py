"""The rounds of attempts of all relations, run in parallel, so that a model is loaded once per round."""

from collections.abc import Iterable, Sequence

import polars as pl

from engines.loading import load_engine
from storage.mirror import Mirror
from tasks.asking.model_session import LoadEngine
from tasks.asking.progress import ShowProgress
from tasks.asking.writer_replies import ask_for_replies
from tasks.asking.writers import Replies
from tasks.edition.attempts import PromptsByWriter, Rounds, name_writers, run_rounds
from tasks.edition.rephraser import Rephraser


def ask_rounds(
    mirror: Mirror,
    relations: Iterable[pl.DataFrame],
    rephraser: Rephraser,
    show: ShowProgress,
    load: LoadEngine = load_engine,
) -> list[pl.DataFrame]:
    """Ask for every attempt that these relations need, and return the attempts of each relation.

    Args:
        relations: the statements of each relation, with the head and the tail of their triplets.
        show: opens a progress display for the prompts of one round.

    Raises:
        InputError: a model cannot be loaded or reached, or leaves a prompt without a reply. The replies that
            it gave are kept.
    """
    writers = name_writers(rephraser)
    rounds = [run_rounds(rows, rephraser) for rows in relations]
    attempts: dict[int, pl.DataFrame] = {}
    waiting = _advance(rounds, list(range(len(rounds))), None, attempts)
    n_rounds = dict.fromkeys(writers, 0)
    while waiting:
        replies: dict[str, Replies] = {}
        for name, writer in writers.items():
            prompts = [prompt for of_relation in waiting.values() for prompt in of_relation.get(name, ())]
            if prompts:
                n_rounds[name] += 1
                with show(f"{name} {writer.config.name}, round {n_rounds[name]}", len(prompts)) as advance:
                    replies[name] = ask_for_replies(mirror, writer, prompts, advance, load)
        waiting = _advance(rounds, list(waiting), replies, attempts)
    return [attempts[number] for number in range(len(rounds))]


def _advance(
    rounds: Sequence[Rounds],
    numbers: Sequence[int],
    replies: dict[str, Replies] | None,
    attempts: dict[int, pl.DataFrame],
) -> dict[int, PromptsByWriter]:
    """Give these relations their replies, and return the next prompts of those that are not finished.

    Args:
        numbers: the positions of the relations in ``rounds``.
        replies: None to start the rounds.
        attempts: receives the attempts of each relation that is finished.
    """
    waiting = {}
    for number in numbers:
        try:
            waiting[number] = next(rounds[number]) if replies is None else rounds[number].send(replies)
        except StopIteration as end:
            attempts[number] = end.value
    return waiting
