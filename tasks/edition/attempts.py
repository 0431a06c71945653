"""Stage attempts: rewordings by a language model, until the gate accepts one (method, 2.5 and 2.6).

The rounds of a relation are a generator. It yields the prompts of a round and continues when it is given the
replies. The same code therefore runs the rounds while a model is asked and from stored replies.
"""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl

from pretexeval.engines.loading import load_engine
from pretexeval.gate import check_rewordings, clean_reply, find_collisions, fold_text
from pretexeval.storage.store import Store
from schemas.stages import ATTEMPTS, GATE_OFF
from tasks.asking.model_session import LoadEngine, ShowProgress
from tasks.asking.writers import Replies, Writer, WriterPrompt, ask_for_replies, require_replies
from tasks.edition.rephraser import Rephraser
from tasks.edition.statements import join_entities, write_on_one_line
from tasks.judging.judge import Judge, combine_scores

logger = logging.getLogger(__name__)

PANEL = "panel"
"""The name of the rephraser in its first step, in which it rewords the panel."""
MAX_UNREAD_RATE = 0.01
"""Share of the judge's replies without a verdict from which a warning says so."""
JUDGE = "judge"
"""The reason for which an attempt is rejected that the judge denies."""
Aliases = Mapping[str, Sequence[str]]
"""Name of a head or a tail -> its other names."""


def select_aliases(aliases: Aliases, name: str, other: str) -> list[str]:
    """Return the aliases of a name, without those that the other name of the triplet has too."""
    others = {fold_text(spelling) for spelling in (other, *aliases.get(other, ()))}
    return [alias for alias in aliases.get(name, ()) if fold_text(alias) not in others]


def list_rule_reasons(attempts: pl.DataFrame) -> list[list[str]]:
    """Return the reasons of the rules against each attempt with a text, also if a judge overruled them.

    Texts that say the words of their statement are left out: they are no evidence of a writer's errors.

    Args:
        attempts: the stage attempts, with the column statement.
    """
    written = attempts.filter(pl.col("text").is_not_null())
    rows = written.select("statement", "text", "reasons", "overruled").iter_rows()
    return [
        overruled or _drop_judge(reasons)
        for statement, text, reasons, overruled in rows
        if fold_text(text) != fold_text(statement)
    ]


def _drop_judge(reasons: Iterable[str]) -> list[str]:
    return [reason for reason in reasons if reason != JUDGE]


def _list_judged(attempts: pl.DataFrame, judge: Judge) -> Iterator[dict[str, Any]]:
    """Yield the rows of the attempts about which the judge was asked."""
    for row in attempts.filter(pl.col("text").is_not_null()).iter_rows(named=True):
        if judge.is_asked(row["overruled"] or _drop_judge(row["reasons"])):
            yield row


def list_judge_prompts(attempts: pl.DataFrame, judge: Judge) -> Iterator[WriterPrompt]:
    """Yield the prompts that the judge was asked about attempts of an edition.

    Args:
        attempts: the stage attempts, with the column statement.
    """
    for row in _list_judged(attempts, judge):
        yield from judge.build_prompts(row["statement"], row["text"])


COLLISION = "collision"
NO_TEXT = "no text"

PromptsByWriter = dict[str, list[WriterPrompt]]
"""Writer (`panel`, `rephraser` or `judge`) -> the prompts that it must reply to."""
Rounds = Generator[PromptsByWriter, dict[str, Replies], pl.DataFrame]


ATTEMPTS_VERSION = 1
"""Count it up when the function gives other rows for the same arguments."""


def build_attempts(
    statements: pl.DataFrame,
    triplets: pl.DataFrame,
    rephraser: Rephraser,
    read_replies: Callable[[Writer], Replies],
) -> pl.DataFrame:
    """Return the attempts of one relation from stored replies; columns as in the stage attempts.

    Args:
        read_replies: returns every stored reply of a writer.

    Raises:
        InputError: a reply is missing.
    """
    writers = name_writers(rephraser)
    replies = {name: read_replies(writer) for name, writer in writers.items()}
    rounds = run_rounds(join_entities(statements, triplets), rephraser)
    try:
        prompts = next(rounds)
        while True:
            for name, of_writer in prompts.items():
                require_replies(of_writer, replies[name], writers[name])
            prompts = rounds.send(replies)
    except StopIteration as end:
        attempts: pl.DataFrame = end.value
        return attempts


def name_writers(rephraser: Rephraser) -> dict[str, Writer]:
    """Return name (`panel`, `rephraser`, `judge`) -> writer, for the writers that the rounds ask."""
    panel = {PANEL: rephraser.writer} if rephraser.is_limited_by_panel else {}
    judge = {} if rephraser.judge is None else {"judge": rephraser.judge.writer}
    return {**panel, "rephraser": rephraser.writer, **judge}


def run_rounds(statements: pl.DataFrame, rephraser: Rephraser) -> Rounds:
    """Yield the prompts of each step, receive their replies, and return the attempts of the relation.

    Args:
        statements: the statements of one relation, with the head and the tail of their triplets.
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
            yield from _apply_judge(rows, rephraser.judge, text_labels)
        for row in rows:
            row["is_accepted"] = not row["reasons"]
        attempts += rows
        text_labels |= _label_texts(row for row in rows if row["is_accepted"])
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
            row["reasons"] = (GATE_OFF if row["text"] else NO_TEXT,)


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
    _refuse_collisions([row for row in written if not row["reasons"]], text_labels)


def _refuse_collisions(rows: Sequence[dict[str, Any]], text_labels: dict[str, bool]) -> None:
    """Reject the rewordings that equal a text with the opposite label."""
    collides = find_collisions([row["text"] for row in rows], [row["label"] for row in rows], text_labels)
    for row, is_colliding in zip(rows, collides, strict=True):
        if is_colliding:
            row["reasons"] = (COLLISION,)


def _label_texts(rows: Iterable[dict[str, Any]]) -> dict[str, bool]:
    """Return folded text -> label."""
    return {fold_text(row["text"]): row["label"] for row in rows}


def _apply_judge(
    rows: Sequence[dict[str, Any]],
    judge: Judge,
    text_labels: dict[str, bool],
) -> Generator[PromptsByWriter, dict[str, Replies], None]:
    """Ask the judge, for each rewording that it may decide, whether either text follows from the other."""
    asked = [row for row in rows if row["text"] is not None and judge.is_asked(row["reasons"])]
    if not asked:
        return
    prompts = [judge.build_prompts(row["statement"], row["text"]) for row in asked]
    replies = (yield {"judge": [prompt for both in prompts for prompt in both]})["judge"]
    for row, both in zip(asked, prompts, strict=True):
        scores = [judge.read_score(replies[prompt.key]) for prompt in both]
        implied, implying = map(judge.decide, scores)
        row["is_judged_implied"], row["is_judged_implying"] = implied, implying
        if judge.has_scores:
            row["judge_score_implied"], row["judge_score_implying"] = scores
        if row["reasons"] and judge.thresholds.is_lifted(combine_scores(*scores)):
            row["overruled"], row["reasons"] = list(row["reasons"]), ()
        elif not row["reasons"] and not (implied and implying):
            row["reasons"] = (JUDGE,)
    lifted = [row for row in asked if row.get("overruled")]
    _refuse_collisions(lifted, text_labels | _label_texts(row for row in rows if not row["reasons"]))


def _build_frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "variant_id": pl.String,
        "relation": pl.String,
        "attempt": pl.Int16,
        "rephraser": pl.String,
        "prompt_key": pl.String,
        "text": pl.String,
        "is_accepted": pl.Boolean,
        "reasons": pl.List(pl.String),
        "is_judged_implied": pl.Boolean,
        "is_judged_implying": pl.Boolean,
        "judge_score_implied": pl.Float64,
        "judge_score_implying": pl.Float64,
        "overruled": pl.List(pl.String),
    }
    columns = {name: [row.get(name) for row in rows] for name in schema}
    columns["reasons"] = [list(row["reasons"]) for row in rows]
    return pl.DataFrame(columns, schema=schema).sort("variant_id", "attempt").select(ATTEMPTS.names)


def ask_rounds(
    store: Store,
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
            asking = [of_relation[name] for of_relation in waiting.values() if name in of_relation]
            # All relations wait for the same panel.
            if prompts := [*chain.from_iterable(asking[:1] if name == PANEL else asking)]:
                n_rounds[name] += 1
                with show(f"{name} {writer.config.name}, round {n_rounds[name]}", len(prompts)) as advance:
                    replies[name] = ask_for_replies(store, writer, prompts, advance, load)
        waiting = _advance(rounds, list(waiting), replies, attempts)
    _warn_of_unread_verdicts(rephraser, list(attempts.values()))
    return [attempts[number] for number in range(len(rounds))]


def _warn_of_unread_verdicts(rephraser: Rephraser, attempts: Sequence[pl.DataFrame]) -> None:
    """Warn if replies of the judge hold neither Yes nor No, because these reject their rewordings."""
    if (judge := rephraser.judge) is None:
        return
    verdicts = ("is_judged_implied", "is_judged_implying")
    asked = [row for frame in attempts for row in _list_judged(frame, judge)]
    n_unread = sum(row[verdict] is None for row in asked for verdict in verdicts)
    if n_unread > MAX_UNREAD_RATE * 2 * len(asked):
        logger.warning(
            "the judge %r: %s of %s replies hold neither Yes nor No, so that their rewordings are rejected; "
            "see the instruction and max_tokens in [judge], and its thoughts (reasoning_marks)",
            judge.writer.config.name,
            f"{n_unread:,}",
            f"{2 * len(asked):,}",
        )


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
