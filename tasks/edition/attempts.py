"""Stage attempts: rewordings by a language model, until the gate accepts one (method, 2.5 and 2.6).

The rounds of a piece are a generator. It yields the prompts of a round and continues when it is given the
replies. The same code therefore runs the rounds while a model is asked and from stored replies.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl

from pretexeval.engines.loading import load_engine
from pretexeval.gate import check_rewordings, clean_reply, find_collisions, fold_text
from pretexeval.storage.store import Store
from schemas.stages import ATTEMPTS, GATE_OFF
from tasks.asking.model_session import LoadEngine, ShowProgress
from tasks.asking.writers import Replies, Writer, WriterPrompt, ask_for_replies, require_replies
from tasks.edition.rephraser import PANEL, Rephraser
from tasks.edition.statements import join_entities, write_on_one_line
from tasks.judging.judge import drop_verdicts, judge_rewordings, warn_of_missing_verdicts

Aliases = Mapping[str, Sequence[str]]
"""Name of a head or a tail -> its other names."""


def select_aliases(aliases: Aliases, name: str, other: str) -> list[str]:
    """Return the aliases of a name, without those that the other name of the triplet has too."""
    others = {fold_text(spelling) for spelling in (other, *aliases.get(other, ()))}
    return [alias for alias in aliases.get(name, ()) if fold_text(alias) not in others]


def list_rule_reasons(attempts: pl.DataFrame) -> list[list[str]]:
    """Return the reasons of the rules against each attempt with a text.

    Texts that say the words of their statement are left out: they are no evidence of a writer's errors.

    Args:
        attempts: the stage attempts, with the column statement.
    """
    written = attempts.filter(pl.col("text").is_not_null())
    return [
        drop_verdicts(reasons)
        for statement, text, reasons in written.select("statement", "text", "reasons").iter_rows()
        if fold_text(text) != fold_text(statement)
    ]


PromptsByWriter = dict[str, list[WriterPrompt]]
"""Role of a writer (`Rephraser.writers`) -> the prompts that it must reply to."""
Rounds = Generator[PromptsByWriter, dict[str, Replies], pl.DataFrame]


ATTEMPTS_VERSION = 1
"""Count it up when the function gives other rows for the same arguments."""


def build_attempts(
    statements: pl.DataFrame,
    triplets: pl.DataFrame,
    rephraser: Rephraser,
    read_replies: Callable[[Writer], Replies],
) -> pl.DataFrame:
    """Return the attempts of one piece from stored replies; columns as in the stage attempts.

    Raises:
        InputError: a reply is missing.
    """
    writers = rephraser.writers
    replies = {name: read_replies(writer) for name, writer in writers.items()}
    rounds = [run_rounds(join_entities(statements, triplets), rephraser)]
    attempts: dict[int, pl.DataFrame] = {}
    waiting = _advance(rounds, [0], None, attempts)
    while waiting:
        for name, prompts in waiting[0].items():
            require_replies(prompts, replies[name], writers[name])
        waiting = _advance(rounds, [0], replies, attempts)
    return attempts[0]


def run_rounds(statements: pl.DataFrame, rephraser: Rephraser) -> Rounds:
    """Yield the prompts of each step, receive their replies, and return the attempts of the piece.

    Args:
        statements: the statements of one piece, with the head and the tail of their triplets.
    """
    if rephraser.is_limited_by_panel:
        replies = yield {PANEL: rephraser.build_panel_prompts()}
        rephraser = rephraser.limit_new_words(replies[PANEL])
    text_labels = {
        fold_text(text): label for text, label in statements.select("statement", "label").iter_rows()
    }
    waiting = statements
    attempts: list[dict[str, Any]] = []
    for attempt in range(1, rephraser.max_attempts + 1):
        if waiting.is_empty():
            break
        rows = [
            {"attempt": attempt, "rephraser": rephraser.writer.model_id, **row}
            for row in (yield from _reword(waiting, rephraser, attempt))
        ]
        if rephraser.has_gate:
            _apply_gate(rows, rephraser, text_labels)
        else:
            _leave_unchecked(rows)
        if rephraser.judge is not None:
            yield from judge_rewordings(rows, rephraser.judge)
        for row in rows:
            row["is_accepted"] = not row["reasons"]
        attempts += rows
        text_labels |= {fold_text(row["text"]): row["label"] for row in rows if row["is_accepted"]}
        waiting = waiting.filter(pl.Series([not row["is_accepted"] for row in rows], dtype=pl.Boolean))
    return _build_frame(attempts)


def _reword(
    waiting: pl.DataFrame, rephraser: Rephraser, attempt: int
) -> Generator[PromptsByWriter, dict[str, Replies], list[dict[str, Any]]]:
    """Yield the prompts of the rephraser, and return the statements' rows with its rewordings."""
    rows = list(waiting.iter_rows(named=True))
    prompts = [rephraser.build_prompt(row["statement"], attempt, row["split"]) for row in rows]
    replies = (yield {"rephraser": prompts})["rephraser"]
    clean = clean_reply if rephraser.has_gate else write_on_one_line
    for row, prompt in zip(rows, prompts, strict=True):
        reply = replies[prompt.key]
        row["prompt_key"] = prompt.key
        row["text"] = None if reply.text is None else clean(reply.text)
        row["reasons"] = () if reply.error is None else (reply.error,)
    return rows


def _leave_unchecked(rows: Iterable[dict[str, Any]]) -> None:
    """Say in every row with a text that the gate was off."""
    for row in rows:
        if row["text"] is not None:
            row["reasons"] = (GATE_OFF if row["text"] else "no text",)


def _apply_gate(rows: Sequence[dict[str, Any]], rephraser: Rephraser, text_labels: dict[str, bool]) -> None:
    """Set the reasons for which the gate rejects a rewording, in the rows of one round.

    Args:
        text_labels: folded text -> label, for every text that the edition uses already.
    """
    written = [row for row in rows if row["text"] is not None]
    columns = {name: [row[name] for row in written] for name in ("statement", "text", "head", "tail")}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    if aliases := rephraser.aliases:
        frame = frame.with_columns(
            pl.Series(
                f"{side}_aliases",
                [select_aliases(aliases, row[side], row[other]) for row in written],
                pl.List(pl.String),
            )
            for side, other in (("head", "tail"), ("tail", "head"))
        )
    for row, reasons in zip(written, check_rewordings(frame, rephraser.max_new_words), strict=True):
        row["reasons"] = reasons
    kept = [row for row in written if not row["reasons"]]
    collides = find_collisions([row["text"] for row in kept], [row["label"] for row in kept], text_labels)
    for row, is_colliding in zip(kept, collides, strict=True):
        if is_colliding:
            row["reasons"] = ("collision",)


def _build_frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    columns = {name: [row[name] for row in rows] for name in ATTEMPTS.names}
    columns["reasons"] = [list(row["reasons"]) for row in rows]
    return pl.DataFrame(columns, schema=ATTEMPTS.empty.schema).sort("variant_id", "attempt")


def ask_rounds(
    store: Store,
    pieces: Iterable[pl.DataFrame],
    rephraser: Rephraser,
    show: ShowProgress,
    load: LoadEngine = load_engine,
) -> list[pl.DataFrame]:
    """Ask for every attempt that these pieces need, and return the attempts of each piece.

    Args:
        pieces: the statements of each piece, with the head and the tail of their triplets.
        show: opens a progress display for the prompts of one round.

    Raises:
        InputError: a model cannot be loaded or reached, or leaves a prompt without a reply. The replies that
            it gave are kept.
    """
    writers = rephraser.writers
    rounds = [run_rounds(rows, rephraser) for rows in pieces]
    attempts: dict[int, pl.DataFrame] = {}
    waiting = _advance(rounds, list(range(len(rounds))), None, attempts)
    n_rounds = dict.fromkeys(writers, 0)
    while waiting:
        replies: dict[str, Replies] = {}
        for name, writer in writers.items():
            asking = [of_piece[name] for of_piece in waiting.values() if name in of_piece]
            # All pieces wait for the same panel.
            if prompts := [*chain.from_iterable(asking[:1] if name == PANEL else asking)]:
                n_rounds[name] += 1
                with show(f"{name} {writer.config.name}, round {n_rounds[name]}", len(prompts)) as advance:
                    replies[name] = ask_for_replies(store, writer, prompts, advance, load)
        waiting = _advance(rounds, list(waiting), replies, attempts)
    if rephraser.judge is not None:
        warn_of_missing_verdicts(list(attempts.values()), rephraser.judge)
    return [attempts[number] for number in range(len(rounds))]


def _advance(
    rounds: Sequence[Rounds],
    numbers: Sequence[int],
    replies: dict[str, Replies] | None,
    attempts: dict[int, pl.DataFrame],
) -> dict[int, PromptsByWriter]:
    """Give these pieces their replies, and return the next prompts of those that are not finished.

    Args:
        numbers: the positions of the pieces in ``rounds``.
        replies: None to start the rounds.
        attempts: receives the attempts of each piece that is finished.
    """
    waiting = {}
    for number in numbers:
        try:
            waiting[number] = next(rounds[number]) if replies is None else rounds[number].send(replies)
        except StopIteration as end:
            attempts[number] = end.value
    return waiting
