"""What the writers of an edition will be asked before it is complete: rephraser, judge, llmeval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import polars as pl

from engines.token_counter import TokenCounter
from preflight.estimates import (
    Estimate,
    Lengths,
    Shown,
    Span,
    average_tokens,
    describe_counter,
    estimate_asking,
    measure_completions,
    take_some,
)
from primitives.hashing import render_canonical_json
from storage.responses import ResponseStore
from tasks.asking.writers import Writer, WriterPrompt
from tasks.edition.attempts import JUDGE
from tasks.edition.edition import Edition
from tasks.edition.llmeval import Llmeval
from tasks.edition.preview import RelationPreview
from tasks.edition.rephraser import JUDGE_TOKENS, Judge, Rephraser

NOT_MEASURED = "time not measured"


@dataclass(frozen=True)
class Experience:
    """How rewordings by a rephraser fared in earlier editions, per variant."""

    n_variants: int
    n_attempts: float
    n_passed: float
    """Rewordings that the gate let pass."""


@dataclass
class Writing:
    """What one writer is asked in one part, counted relation by relation."""

    writer: Writer
    store: ResponseStore
    settled: set[str]
    """Keys of prompts that need not be asked."""
    n_wanted: int = 0
    """Prompts that are needed for certain."""
    n_wanted_answered: int = 0
    n_answered: int = 0
    """With those that are needed only if the ones before fail."""
    shown: list[Shown] = field(default_factory=list)

    def add(self, rows: pl.DataFrame, *rounds: Callable[[pl.DataFrame], list[WriterPrompt]]) -> None:
        """Count one relation.

        Args:
            rounds: what is asked of the rows: first for certain, then if that fails. The keys of
                MedLAMA's statements take 10 s a round, so that none are made where nothing was asked.
        """
        self.n_wanted += rows.height
        self.shown.append((rows.height, [ask.prompt.text for ask in rounds[0](take_some(rows))]))
        if self.settled:
            answered = [sum(ask.key in self.settled for ask in asks(rows)) for asks in rounds]
            self.n_wanted_answered += answered[0]
            self.n_answered += sum(answered)


def estimate_writing(edition: Edition, drafts: Sequence[RelationPreview]) -> list[Estimate]:
    """An estimate per writer's part; nothing where the edition is complete."""
    if edition.is_complete():
        return []
    estimates = []
    if edition.rephraser is not None:
        experience = read_experience(edition.root, edition.rephraser.writer.model_id)
        estimates.append(_estimate_rephraser(edition.root, edition.rephraser, drafts, experience))
        if edition.rephraser.judge is not None:
            estimates.append(_estimate_judge(edition.root, edition.rephraser, drafts, experience))
    if edition.llmeval is not None:
        estimates.append(_estimate_llmeval(edition.root, edition.llmeval, drafts))
    return estimates


def read_experience(root: Path, model_id: str) -> Experience | None:
    """From the attempts of every edition under the root; null where the model made none."""
    n_variants = n_attempts = n_passed = 0
    for path in sorted(root.glob("editions/*/attempts/*.parquet")):
        rows = pl.read_parquet(path, columns=["variant_id", "rephraser", "reasons", "is_accepted"])
        rows = rows.filter(pl.col("rephraser") == model_id)
        n_variants += rows["variant_id"].n_unique()
        n_attempts += rows.height
        n_passed += rows.filter(pl.col("is_accepted") | pl.col("reasons").list.contains(JUDGE)).height
    if not n_variants:
        return None
    return Experience(n_variants, n_attempts / n_variants, n_passed / n_variants)


def _start(root: Path, writer: Writer) -> Writing:
    store = ResponseStore(root, writer.model_id)
    return Writing(writer, store, store.read_settled_keys())


def _estimate_rephraser(
    root: Path, rephraser: Rephraser, drafts: Sequence[RelationPreview], experience: Experience | None
) -> Estimate:
    writing = _start(root, rephraser.writer)
    rounds = [partial(_ask_round, rephraser, n) for n in range(1, rephraser.max_attempts + 1)]
    for draft in drafts:
        writing.add(draft.statements, *rounds)
    n_most = writing.n_wanted * rephraser.max_attempts
    n_prompts, note = Span(writing.n_wanted, n_most), f"1 to {rephraser.max_attempts} attempts a statement"
    if experience is not None:
        n_prompts = Span.of(writing.n_wanted * min(experience.n_attempts, rephraser.max_attempts))
        note = f"{experience.n_attempts:.2f} attempts a statement, as {experience.n_variants:,} before"
    n_least = writing.n_wanted - writing.n_wanted_answered
    n_to_ask = Span(
        max(n_prompts.low - writing.n_answered, n_least), max(n_prompts.high - writing.n_answered, n_least)
    )
    counts = (n_prompts, writing.n_answered, n_to_ask)
    return _estimate(writing, "rephraser", counts, (rephraser.max_tokens, rephraser.instruction), note)


def _ask_round(rephraser: Rephraser, attempt: int, statements: pl.DataFrame) -> list[WriterPrompt]:
    rows = statements.select("statement", "split").iter_rows()
    return [rephraser.build_prompt(statement, attempt, split) for statement, split in rows]


def _estimate_judge(
    root: Path, rephraser: Rephraser, drafts: Sequence[RelationPreview], experience: Experience | None
) -> Estimate:
    """Twice for each rewording that the gate lets pass; which texts these are nobody knows yet."""
    judge = rephraser.judge
    assert isinstance(judge, Judge)
    writing = _start(root, judge.writer)
    for draft in drafts:
        # A statement beside itself is about as long as beside its rewording.
        some = take_some(draft.statements)["statement"]
        texts = [judge.build_prompt(text, text).prompt.text for text in some]
        writing.shown.append((draft.statements.height, texts))
    n_statements = sum(draft.statements.height for draft in drafts)
    per_statement = rephraser.max_attempts if judge.is_binding else 1
    n_prompts, note = (
        Span(0, 2 * n_statements * per_statement),
        "twice for each rewording that the gate passes",
    )
    if experience is not None:
        n_passed = min(experience.n_passed, per_statement)
        n_prompts, note = Span.of(2 * n_statements * n_passed), f"{note}, {n_passed:.2f} a statement before"
    counts = (n_prompts, 0, n_prompts)
    return _estimate(writing, "judge", counts, (JUDGE_TOKENS, judge.instruction), note)


def _estimate_llmeval(root: Path, llmeval: Llmeval, drafts: Sequence[RelationPreview]) -> Estimate:
    writing = _start(root, llmeval.writer)
    for draft in drafts:
        writing.add(draft.triplets, llmeval.build_prompts)
    n_to_ask = Span.of(writing.n_wanted - writing.n_answered)
    counts = (Span.of(writing.n_wanted), writing.n_answered, n_to_ask)
    return _estimate(writing, "llmeval", counts, (llmeval.max_tokens, llmeval.instruction), "one a triplet")


def _estimate(
    writing: Writing, part: str, counts: tuple[Span, int, Span], form: tuple[int, str], note: str
) -> Estimate:
    max_tokens, instruction = form
    config = writing.writer.config
    counter = TokenCounter(config)
    # As the prompts hold it: a chat prompt is JSON.
    head = instruction.partition("{")[0]
    marker = render_canonical_json(head)[1:-1] if config.prompt_style == "chat" else head
    completion, how_long = measure_completions(writing.store, max_tokens, marker)
    lengths = Lengths(average_tokens(counter, writing.shown), completion)
    return estimate_asking(
        config, part, counts, lengths, None, [note, describe_counter(counter), how_long, NOT_MEASURED]
    )
