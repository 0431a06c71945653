"""Rewording by a language model: attempts, each gated, until one is accepted (method, 2.5 and 2.6).

The rounds of a relation are a generator: it yields what it wants to have asked and goes on with the
replies, so that the same code plays them while they are asked for and when they are all there.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from gate import check_rewordings, clean_reply, find_collisions, fold_text
from primitives.hashing import hash_text
from schemas.stages import ATTEMPTS, DEMONSTRATION_SALT
from tasks.asking.answer_extraction import extract_answer
from tasks.asking.writers import Ask, Replies, Writer, require_replies
from tasks.edition.statements import join_entities

# What a greedy rephraser is asked with once its first rewording was turned away.
RETRY_TEMPERATURE = 0.7
COLLISION = "collision"
JUDGE = "judge"
JUDGE_TOKENS = 8

Asks = dict[str, list[Ask]]
"""Writer (`rephraser` or `judge`) -> what it is to be asked."""
Rounds = Generator[Asks, dict[str, Replies], pl.DataFrame]
Reasons = tuple[str, ...]


@dataclass(frozen=True)
class Judge:
    """A model that is asked whether two texts follow from each other."""

    writer: Writer
    instruction: str
    is_binding: bool

    def ask(self, premise: str, conclusion: str) -> Ask:
        """Whether one follows from the other."""
        content = self.instruction.replace("{premise}", premise).replace("{conclusion}", conclusion)
        return self.writer.ask(content, JUDGE_TOKENS)

    def describe(self) -> dict[str, object]:
        """What its verdicts depend on, as JSON."""
        return {
            **self.writer.describe(),
            "instruction": self.instruction,
            "is_binding": self.is_binding,
        }


@dataclass(frozen=True)
class Rephraser:
    """A model that rewords statements, and how it is asked."""

    writer: Writer
    instruction: str
    temperature: float
    max_tokens: int
    max_attempts: int
    seed: int
    judge: Judge | None = None

    def ask(self, statement: str, attempt: int, split: str) -> Ask:
        """The prompt of one attempt (1, 2, …). Demonstrations do not depend on the edition's seed."""
        salt = DEMONSTRATION_SALT if split == "demonstration" else str(self.seed)
        seed = int(hash_text("rephrase", salt, str(attempt), digits=8), 16) % 2**31
        content = self.instruction.replace("{statement}", statement)
        if self.temperature == 0 and attempt == 1:
            return self.writer.ask(content, self.max_tokens)
        return self.writer.ask(content, self.max_tokens, self.temperature or RETRY_TEMPERATURE, seed)

    def describe(self) -> dict[str, object]:
        """What its rewordings depend on, as JSON."""
        return {
            "kind": "model",
            **self.writer.describe(),
            "instruction": self.instruction,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "max_attempts": self.max_attempts,
            "judge": None if self.judge is None else self.judge.describe(),
        }


def build_attempts(
    statements: pl.DataFrame,
    triplets: pl.DataFrame,
    rephraser: Rephraser,
    recall: Callable[[Writer], Replies],
) -> pl.DataFrame:
    """Attempts of one relation, from replies that are all stored; columns as in the stage attempts.

    Args:
        recall: returns every stored reply of a writer.

    Raises:
        InputError: if a reply is missing.
    """
    writers = name_writers(rephraser)
    replies = {name: recall(writer) for name, writer in writers.items()}
    rounds = play_rounds(join_entities(statements, triplets), rephraser)
    try:
        asks = next(rounds)
        while True:
            for name, wanted in asks.items():
                require_replies(wanted, replies[name], writers[name])
            asks = rounds.send(replies)
    except StopIteration as end:
        attempts: pl.DataFrame = end.value
        return attempts


def name_writers(rephraser: Rephraser) -> dict[str, Writer]:
    """Return the writers that the rounds ask, by the names under which the rounds ask them."""
    judge = {} if rephraser.judge is None else {"judge": rephraser.judge.writer}
    return {"rephraser": rephraser.writer, **judge}


def play_rounds(statements: pl.DataFrame, rephraser: Rephraser) -> Rounds:
    """Yields what is to be asked, takes the replies, and returns the attempts of the relation.

    Args:
        statements: of one relation, with head and tail of the triplet beside them.
    """
    taken = {fold_text(text): label for text, label in statements.select("statement", "label").iter_rows()}
    waiting = statements
    attempts: list[dict[str, Any]] = []
    for attempt in range(1, rephraser.max_attempts + 1):
        if waiting.is_empty():
            break
        rows = [
            {"attempt": attempt, "rephraser": rephraser.writer.model_id, **row}
            for row in (yield from _ask_round(waiting, rephraser, attempt))
        ]
        _gate_round(rows, taken)
        if rephraser.judge is not None:
            yield from _judge_round(rows, rephraser.judge)
        for row in rows:
            row["is_accepted"] = not row["reasons"]
        attempts += rows
        taken |= {fold_text(row["text"]): row["label"] for row in rows if row["is_accepted"]}
        waiting = waiting.filter(pl.Series([not row["is_accepted"] for row in rows], dtype=pl.Boolean))
    return _build_attempts_frame(attempts)


def _ask_round(
    waiting: pl.DataFrame, rephraser: Rephraser, attempt: int
) -> Generator[Asks, dict[str, Replies], list[dict[str, Any]]]:
    rows = list(waiting.iter_rows(named=True))
    asks = [rephraser.ask(row["statement"], attempt, row["split"]) for row in rows]
    replies = (yield {"rephraser": asks})["rephraser"]
    for row, ask in zip(rows, asks, strict=True):
        reply = replies[ask.key]
        row["prompt_key"] = ask.key
        row["text"] = None if reply.text is None else clean_reply(reply.text)
        row["reasons"] = () if reply.error is None else (reply.error,)
    return rows


def _gate_round(rows: Sequence[dict[str, Any]], taken: dict[str, bool]) -> None:
    """Put the gate's reasons into the rows of one round."""
    written = [row for row in rows if row["text"] is not None]
    columns = {name: [row[name] for row in written] for name in ("statement", "text", "head", "tail")}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    for row, reasons in zip(written, check_rewordings(frame), strict=True):
        row["reasons"] = reasons
    passed = [row for row in written if not row["reasons"]]
    collides = find_collisions([row["text"] for row in passed], [row["label"] for row in passed], taken)
    for row, is_colliding in zip(passed, collides, strict=True):
        if is_colliding:
            row["reasons"] = (COLLISION,)


def _judge_round(rows: Sequence[dict[str, Any]], judge: Judge) -> Generator[Asks, dict[str, Replies], None]:
    """Ask the judge of what the gate let pass: whether either text follows from the other."""
    passed = [row for row in rows if not row["reasons"]]
    if not passed:
        return
    asks = [
        (judge.ask(row["statement"], row["text"]), judge.ask(row["text"], row["statement"])) for row in passed
    ]
    replies = (yield {"judge": [ask for both in asks for ask in both]})["judge"]
    for row, both in zip(passed, asks, strict=True):
        implied, implying = (extract_answer(replies[ask.key].text) for ask in both)
        row["is_judged_implied"], row["is_judged_implying"] = implied, implying
        if judge.is_binding and not (implied and implying):
            row["reasons"] = (JUDGE,)


def _build_attempts_frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
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
    }
    columns = {name: [row.get(name) for row in rows] for name in schema}
    columns["reasons"] = [list(row["reasons"]) for row in rows]
    return pl.DataFrame(columns, schema=schema).sort("variant_id", "attempt").select(ATTEMPTS.names)
