"""What the writers of an edition will be asked before it is complete: rephraser, judge, llmeval."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import polars as pl

from engines.token_counter import TokenCounter
from preflight.estimates import (
    Estimate,
    Lengths,
    SampledPrompts,
    Span,
    average_tokens,
    describe_counter,
    estimate_asking,
    measure_completions,
    sample_rows,
)
from primitives.hashing import render_canonical_json
from schemas.stages import GATE_OFF
from storage.responses import ResponseStore
from tasks.asking.writers import Writer, WriterPrompt
from tasks.edition.edition import Edition
from tasks.edition.judge_prompts import JUDGE
from tasks.edition.llmeval import Llmeval
from tasks.edition.preview import PiecePreview
from tasks.edition.rephraser import Rephraser
from tasks.judging.judge import Judge

NOT_MEASURED = "time not measured"


@dataclass(frozen=True)
class AttemptHistory:
    """What a rephraser needed in earlier editions."""

    n_variants: int
    n_attempts: float
    """Attempts per variant."""
    n_passed: float
    """Rewordings that passed the gate, per variant."""


@dataclass
class WriterTally:
    """The prompts of one writer in one part, counted piece by piece."""

    writer: Writer
    store: ResponseStore
    settled: set[str]
    """Keys of prompts that need not be asked."""
    n_wanted: int = 0
    """Prompts that are certainly needed: the first round."""
    n_wanted_answered: int = 0
    """Prompts of the first round that have an answer."""
    n_answered: int = 0
    """Prompts of all rounds that have an answer."""
    sampled: list[SampledPrompts] = field(default_factory=list)

    def add(self, rows: pl.DataFrame, *rounds: Callable[[pl.DataFrame], list[WriterPrompt]]) -> None:
        """Count one piece.

        Args:
            rounds: functions that return the prompts of the rows; the later ones are needed only if the
                earlier ones fail. Making the keys of all MedLAMA statements takes 10 s per round, so no
                key is made if the writer was never asked anything.
        """
        self.n_wanted += rows.height
        self.sampled.append((rows.height, [ask.prompt.text for ask in rounds[0](sample_rows(rows))]))
        if self.settled:
            answered = [sum(ask.key in self.settled for ask in asks(rows)) for asks in rounds]
            self.n_wanted_answered += answered[0]
            self.n_answered += sum(answered)


@dataclass(frozen=True)
class WriterPart:
    """One part that a writer has in the edition."""

    add: Callable[[PiecePreview], None]
    """Counts a piece."""
    estimate: Callable[[], Estimate]
    """Returns the estimate for the pieces that were counted."""


def list_writer_parts(edition: Edition) -> list[WriterPart]:
    """Return the parts that are to be estimated; none if the edition is complete."""
    if edition.is_complete():
        return []
    parts = []
    if edition.rephraser is not None:
        history = read_attempt_history(edition.root, edition.rephraser.writer.model_id)
        parts.append(_plan_rephraser(edition.root, edition.rephraser, history))
        if edition.rephraser.judge is not None:
            parts.append(_plan_judge(edition.root, edition.rephraser, history))
    if edition.llmeval is not None:
        parts.append(_plan_llmeval(edition.root, edition.llmeval))
    return parts


def read_attempt_history(root: Path, model_id: str) -> AttemptHistory | None:
    """Return the history over all editions under the root; None if the gate checked no attempt of the model.

    A damaged file is left out: the history only serves an estimate, and a build makes the file again.
    """
    n_variants = n_attempts = n_passed = 0
    for path in sorted(root.glob("editions/*/attempts/*.parquet")):
        try:
            rows = pl.read_parquet(path, columns=["variant_id", "rephraser", "reasons", "is_accepted"])
        except (OSError, pl.exceptions.PolarsError):
            continue
        is_checked = ~pl.col("reasons").list.contains(GATE_OFF)
        rows = rows.filter(is_checked, rephraser=model_id)
        n_variants += rows["variant_id"].n_unique()
        n_attempts += rows.height
        n_passed += rows.filter(pl.col("is_accepted") | pl.col("reasons").list.contains(JUDGE)).height
    if not n_variants:
        return None
    return AttemptHistory(n_variants, n_attempts / n_variants, n_passed / n_variants)


def _start_tally(root: Path, writer: Writer) -> WriterTally:
    store = ResponseStore(root, writer.model_id)
    return WriterTally(writer, store, store.read_settled_keys())


def _plan_rephraser(root: Path, rephraser: Rephraser, history: AttemptHistory | None) -> WriterPart:
    tally = _start_tally(root, rephraser.writer)
    rounds = [partial(_ask_round, rephraser, n) for n in range(1, rephraser.max_attempts + 1)]

    def estimate() -> Estimate:
        n_most = tally.n_wanted * rephraser.max_attempts
        n_prompts = Span(tally.n_wanted, n_most)
        note = f"1 to {rephraser.max_attempts} attempts per statement"
        if not rephraser.has_gate:
            note = "1 attempt per statement, because the gate is off"
        elif history is not None:
            n_prompts = Span.of(tally.n_wanted * min(history.n_attempts, rephraser.max_attempts))
            note = (
                f"{history.n_attempts:.2f} attempts per statement, as for {history.n_variants:,} earlier ones"
            )
        n_least = tally.n_wanted - tally.n_wanted_answered
        n_to_ask = Span(
            max(n_prompts.low - tally.n_answered, n_least), max(n_prompts.high - tally.n_answered, n_least)
        )
        counts = (n_prompts, tally.n_answered, n_to_ask)
        return _estimate(tally, "rephraser", counts, (rephraser.max_tokens, rephraser.instruction), note)

    return WriterPart(lambda piece: tally.add(piece.statements, *rounds), estimate)


def _ask_round(rephraser: Rephraser, attempt: int, statements: pl.DataFrame) -> list[WriterPrompt]:
    rows = statements.select("statement", "split").iter_rows()
    return [rephraser.build_prompt(statement, attempt, split) for statement, split in rows]


def _plan_judge(root: Path, rephraser: Rephraser, history: AttemptHistory | None) -> WriterPart:
    """Return the part of the judge, who is asked twice about each rewording that it may decide.

    These rewordings do not exist yet, so no earlier answer is subtracted.
    """
    judge = rephraser.judge
    assert isinstance(judge, Judge)
    tally = _start_tally(root, judge.writer)

    def add(piece: PiecePreview) -> None:
        # A prompt with the statement twice is about as long as one with the statement and its rewording.
        some = sample_rows(piece.statements)["statement"]
        texts = [judge.build_prompts(text, text, ("",), ("",))[0].prompt.text for text in some]
        tally.n_wanted += piece.statements.height
        tally.sampled.append((piece.statements.height, texts))

    def estimate() -> Estimate:
        per_statement = rephraser.max_attempts if judge.is_binding else 1
        n_prompts = Span(0, 2 * tally.n_wanted * per_statement)
        asked = "prompts" if judge.config.model is None else "pairs of texts"
        may_lift = judge.thresholds.lift is not None
        note = f"2 {asked} for each rewording that passes the gate{' or that it may lift' * may_lift}"
        if history is not None:
            # How many rejected rewordings a judge may lift is not known; at most, it is asked about all.
            n_asked = min(history.n_attempts if may_lift else history.n_passed, per_statement)
            n_prompts = Span.of(2 * tally.n_wanted * n_asked)
            note = f"{note}, {n_asked:.2f} rewordings per statement earlier"
        counts = (n_prompts, 0, n_prompts)
        # An entailment model generates nothing, and its prompts have no instruction.
        form = (judge.config.max_tokens, judge.config.instruction) if judge.config.model is None else (0, "")
        return _estimate(tally, "judge", counts, form, note)

    return WriterPart(add, estimate)


def _plan_llmeval(root: Path, llmeval: Llmeval) -> WriterPart:
    tally = _start_tally(root, llmeval.writer)

    def estimate() -> Estimate:
        n_to_ask = Span.of(tally.n_wanted - tally.n_answered)
        counts = (Span.of(tally.n_wanted), tally.n_answered, n_to_ask)
        form = (llmeval.max_tokens, llmeval.instruction)
        return _estimate(tally, "llmeval", counts, form, "1 prompt per triplet")

    return WriterPart(lambda piece: tally.add(piece.triplets, llmeval.build_prompts), estimate)


def _estimate(
    tally: WriterTally, part: str, counts: tuple[Span, int, Span], form: tuple[int, str], note: str
) -> Estimate:
    max_tokens, instruction = form
    config = tally.writer.config
    counter = TokenCounter(config)
    # Earlier prompts of this part contain the instruction up to its first slot; a chat prompt is JSON.
    head = instruction.partition("{")[0]
    marker = render_canonical_json(head)[1:-1] if config.prompt_style == "chat" else head
    completion, basis = Span.of(0), "no tokens are generated"
    if max_tokens:
        completion, basis = measure_completions(tally.store, max_tokens, marker)
    lengths = Lengths(average_tokens(counter, tally.sampled), completion)
    notes = [note, describe_counter(counter), basis, NOT_MEASURED]
    return estimate_asking(config, part, counts, lengths, None, notes)
