"""The prompts of evaluations and writers, counted while the pieces of an edition pass by."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

import polars as pl

from preflight.estimates import (
    N_SAMPLED_PROMPTS,
    Estimate,
    Measured,
    Span,
    Tally,
    measure_completions,
    measure_throughput,
    sample_rows,
)
from primitives.hashing import render_canonical_json
from storage.responses import ResponseStore
from tasks.asking.question_prompts import ANSWER, THINK
from tasks.asking.writers import Writer, WriterPrompt
from tasks.edition.edition import Edition
from tasks.edition.preview import PiecePreview, preview_questions
from tasks.edition.rephraser import Rephraser
from tasks.evaluation.asked_pairs import RelationSize, divide_budget, measure_relation
from tasks.evaluation.chains import read_chains
from tasks.evaluation.demonstrations import DemonstrationsOfGroup, draw_demonstrations_of_methods
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.requests import build_requests, select_samples
from tasks.judging.judge import Judge

# A text that only the prompts of a setting contain.
MARKERS = {"answer_only": ANSWER, "chain_of_thought": THINK}
GATE_IS_OFF = "1 attempt per statement, because the gate is off"
Demonstrations = dict[str, DemonstrationsOfGroup]
"""Method -> its demonstrations."""


@dataclass(frozen=True)
class AskedPairs:
    """How many pairs of a relation a model is asked about within its budget."""

    model: str
    relation: str
    n_asked_pairs: int
    n_pairs: int
    """The test pairs of the relation."""


@dataclass
class CountedSamples:
    """The samples of an edition, and the prompts of their evaluations. Few samples are in memory at a time.

    Models that are asked about all pairs are counted at once. Of the others, the pairs that may be asked are
    kept until it is known how many are.
    """

    evaluations: Sequence[Evaluation]
    n_samples: Counter[str] = field(default_factory=Counter)
    """Method -> number of its test samples."""
    _sizes: dict[str, RelationSize] = field(default_factory=dict)
    _demonstrations: dict[str, Demonstrations] = field(default_factory=dict)
    """Relation -> the demonstrations of its methods."""
    _unwritten: frozenset[str] = frozenset()
    """Methods whose texts a language model has yet to write."""
    _kept: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    """Relation -> the samples that the models with a limit or a budget may be asked about."""

    def __post_init__(self) -> None:
        """Start a tally for each evaluation."""
        self._tallies = [
            Tally(each.model, "evaluation", each.store, each.subject.n_repeats) for each in self.evaluations
        ]

    def add(self, piece: PiecePreview) -> None:
        """Count a piece. The first piece of a relation has its demonstrations."""
        relation = piece.relation
        if relation not in self._demonstrations:
            self._demonstrations[relation] = draw_demonstrations_of_methods(piece.samples)
        self._unwritten |= piece.unwritten_methods
        size, earlier = measure_relation(piece.samples), self._sizes.get(relation, RelationSize(0, 0))
        self._sizes[relation] = RelationSize(
            earlier.n_pairs + size.n_pairs, max(earlier.n_samples_of_pair, size.n_samples_of_pair)
        )
        tested = piece.samples.filter(split="test")
        self.n_samples.update(dict(tested.group_by("method").len().iter_rows()))
        limits = [_limit_pairs(each, size) for each in self.evaluations]
        if known := [limit for limit in limits if limit is not None]:
            self._kept.setdefault(relation, []).append(select_samples(tested, max(known)))
        self._count(relation, tested, [limit is None for limit in limits])

    def count_limited(self) -> list[AskedPairs]:
        """Count what the models with a limit or a budget are asked; return the shares of the budgets.

        Raises:
            InputError: a budget is too small.
        """
        asked_pairs = []
        limits: list[dict[str, int | None]] = []
        for each in self.evaluations:
            limits.append(dict.fromkeys(self._sizes, each.model.pairs_per_relation))
            if each.model.budget is not None:
                divided = divide_budget(each.model.budget, self._sizes, each.subject.n_repeats)
                limits[-1].update(divided)
                asked_pairs += [
                    AskedPairs(each.model.name, relation, n, self._sizes[relation].n_pairs)
                    for relation, n in divided.items()
                ]
        for relation, kept in self._kept.items():
            samples, of_models = pl.concat(kept), [each[relation] for each in limits]
            for limit in {n for n in of_models if n is not None}:
                selected = select_samples(samples, limit)
                self._count(relation, selected, [n == limit for n in of_models])
        return asked_pairs

    def estimate(self) -> list[Estimate]:
        """Return the estimates of the evaluations."""
        return [_estimate_samples(*pair) for pair in zip(self._tallies, self.evaluations, strict=True)]

    def _count(self, relation: str, asked: pl.DataFrame, is_asked: Sequence[bool]) -> None:
        """Count the samples for some of the models; they are prepared once for all of these."""
        if not any(is_asked):
            return
        demonstrations = self._demonstrations[relation]
        is_unwritten = pl.col("method").is_in(sorted(self._unwritten))
        unwritten = asked.filter(is_unwritten)
        worded = _deduplicate_prompts(asked.filter(~is_unwritten), demonstrations)
        some = sample_rows(pl.concat([worded, unwritten]))
        for tally, each, is_one in zip(self._tallies, self.evaluations, is_asked, strict=True):
            # A model with imported responses is asked nothing.
            if is_one and each.model.engine != "imported":
                _count_samples(tally, each, demonstrations, worded, unwritten.height, some)


def _count_samples(
    tally: Tally,
    evaluation: Evaluation,
    demonstrations: Demonstrations,
    worded: pl.DataFrame,
    n_unwritten: int,
    some: pl.DataFrame,
) -> None:
    def build(samples: pl.DataFrame) -> tuple[list[str], list[str]]:
        requests = build_requests(samples, demonstrations, evaluation.request_settings)
        return requests.frame["prompt_key"].to_list(), [prompt.text for prompt in requests.prompts]

    tally.n_unwritten += n_unwritten
    tally.add(worded.height + n_unwritten, build(some)[1], lambda: build(worded)[0])


def _limit_pairs(evaluation: Evaluation, size: RelationSize) -> int | None:
    """Return how many pairs of a relation the model is asked about at most; None: all of them."""
    model = evaluation.model
    if model.budget is None:
        return model.pairs_per_relation
    return model.budget // max(evaluation.subject.n_repeats * size.n_samples_of_pair, 1)


def _deduplicate_prompts(samples: pl.DataFrame, demonstrations: Demonstrations) -> pl.DataFrame:
    """Return one sample per distinct prompt: methods with equal demonstrations share their prompts."""
    groups: dict[object, int] = {}
    numbers = [
        groups.setdefault(demonstrations[method].get((relation, transformation), ()), len(groups))
        for method, relation, transformation in samples.select(
            "method", "relation", "transformation"
        ).iter_rows()
    ]
    numbered = samples.with_columns(pl.Series("group", numbers, pl.Int32))
    return numbered.unique(["group", "text"], keep="first", maintain_order=True).drop("group")


def _estimate_samples(tally: Tally, evaluation: Evaluation) -> Estimate:
    notes = []
    if tally.n_unwritten:
        notes = [f"{tally.n_unwritten:,} texts are not written yet and are estimated by their statements"]
    completion = measure_completions(tally.store, evaluation.model.max_tokens)
    return tally.estimate(completion, measure_throughput(evaluation.root, evaluation.model_id), notes)


def count_questions(
    edition: Edition, evaluations: Sequence[Evaluation]
) -> tuple[dict[str, int], list[Estimate]]:
    """Return type -> number of its test questions, and the estimates of the evaluations in settings.

    Demonstrations and limits are those of a whole relation, so its questions are counted together.
    """
    counts: Counter[str] = Counter()
    tallies = [
        Tally(each.model, str(each.subject.setting), each.store, each.subject.n_repeats)
        for each in evaluations
    ]
    # The chains of thought of an edition that is not built yet are not known.
    chains = [read_chains(each) if edition.is_complete() else {} for each in evaluations]
    for questions in _join_pieces(edition):
        counts.update(dict(questions.filter(split="test").group_by("type", maintain_order=True).len().rows()))
        for tally, each, shown in zip(tallies, evaluations, chains, strict=True):
            if each.model.engine != "imported":
                settings = replace(each.request_settings, chains=shown)
                built = each.subject.build_requests(questions, settings, each.model.pairs_per_relation)
                texts = dict(zip(built.frame["prompt_key"], (p.text for p in built.prompts), strict=True))
                some = [*texts.values()][:: max(len(texts) // N_SAMPLED_PROMPTS, 1)]
                tally.add(len(texts), some, texts.keys)
    return dict(counts), [_estimate_questions(*pair) for pair in zip(tallies, evaluations, strict=True)]


def _join_pieces(edition: Edition) -> Iterator[pl.DataFrame]:
    pieces = zip(edition.pieces.values(), preview_questions(edition), strict=True)
    for _, of_relation in groupby(pieces, key=lambda pair: pair[0].relation):
        yield pl.concat(questions for _, questions in of_relation)


def _estimate_questions(tally: Tally, evaluation: Evaluation) -> Estimate:
    max_tokens = evaluation.request_settings.sampling.max_tokens
    completion = measure_completions(tally.store, max_tokens, MARKERS[tally.part])
    return tally.estimate(completion, measure_throughput(evaluation.root, evaluation.model_id, tally.part))


@dataclass
class WriterPart:
    """The prompts of one writer in one part of an edition."""

    tally: Tally
    select: Callable[[PiecePreview], pl.DataFrame]
    """Returns the rows of a piece, each of which is a prompt of the first round."""
    build: Callable[[pl.DataFrame, int], list[WriterPrompt]]
    """Returns the prompts of rows in a round (1, 2, …)."""
    per_row: Span
    """Prompts of all rounds per row."""
    note: str
    instruction: str
    max_tokens: int
    """0 for a model that generates nothing."""
    n_rounds: int = 1
    """The rounds whose prompts are known before the writer is asked."""
    n_answered_later: int = 0
    """Prompts of later rounds that have an answer."""

    def add(self, piece: PiecePreview) -> None:
        """Count a piece."""
        rows = self.select(piece)
        some = [ask.prompt.text for ask in self.build(sample_rows(rows), 1)]
        self.tally.add(rows.height, some, partial(self._find_keys, rows, 1))
        for attempt in range(2, self.n_rounds + 1):
            self.n_answered_later += self.tally.count_answered(partial(self._find_keys, rows, attempt))

    def _find_keys(self, rows: pl.DataFrame, attempt: int) -> list[str]:
        return [ask.key for ask in self.build(rows, attempt)] if attempt <= self.n_rounds else []

    def estimate(self) -> Estimate:
        """Return what asking the counted prompts takes."""
        tally, n_prompts = self.tally, self.per_row * self.tally.n_prompts
        n_answered = tally.n_answered + self.n_answered_later
        # The first round is certain if there is one; the others follow from replies that the gate rejects.
        n_least = min(tally.n_prompts - tally.n_answered, n_prompts.low)
        n_to_ask = Span(max(n_prompts.low - n_answered, n_least), max(n_prompts.high - n_answered, n_least))
        # Earlier prompts of this part contain the instruction up to its first slot; a chat prompt is JSON.
        marker = self.instruction.partition("{")[0]
        if getattr(tally.config, "prompt_style", None) == "chat":
            marker = render_canonical_json(marker)[1:-1]
        completion: Measured = (Span.of(0), "no tokens are generated")
        if self.max_tokens:
            completion = measure_completions(tally.store, self.max_tokens, marker)
        rate: Measured = (None, "time not measured")
        return tally.estimate(completion, rate, [self.note], (n_prompts, n_answered, n_to_ask))


def list_writer_parts(edition: Edition) -> list[WriterPart]:
    """Return the parts that are to be estimated; none if the edition is complete."""
    if edition.is_complete():
        return []
    parts = []
    if (rephraser := edition.rephraser) is not None:
        parts.append(_plan_rephraser(edition, rephraser))
        if rephraser.judge is not None:
            most = parts[0].per_row.high if rephraser.judge.is_binding else 1
            parts.append(_plan_judge(edition, rephraser.judge, most))
    if (llmeval := edition.llmeval) is not None:
        parts.append(
            WriterPart(
                _start_tally(edition, llmeval.writer, "llmeval"),
                lambda piece: piece.triplets,
                lambda rows, _: llmeval.build_prompts(rows),
                Span.of(1),
                "1 prompt per triplet",
                llmeval.instruction,
                llmeval.max_tokens,
            )
        )
    return parts


def _start_tally(edition: Edition, writer: Writer, part: str) -> Tally:
    return Tally(writer.config, part, ResponseStore(edition.root, writer.model_id))


def _plan_rephraser(edition: Edition, rephraser: Rephraser) -> WriterPart:
    note = f"1 to {rephraser.max_attempts} attempts per statement" if rephraser.has_gate else GATE_IS_OFF

    def build(statements: pl.DataFrame, attempt: int) -> list[WriterPrompt]:
        return [rephraser.build_prompt(text, attempt, split) for text, split in statements.iter_rows()]

    return WriterPart(
        _start_tally(edition, rephraser.writer, "rephraser"),
        lambda piece: piece.statements.select("statement", "split").unique(maintain_order=True),
        build,
        Span(1, rephraser.max_attempts),
        note,
        rephraser.instruction,
        rephraser.max_tokens,
        n_rounds=rephraser.max_attempts,
    )


def _plan_judge(edition: Edition, judge: Judge, n_most: float) -> WriterPart:
    """Return the part of the judge, who is asked twice about each rewording that it may decide.

    These rewordings do not exist yet, so no earlier answer is subtracted. A prompt with the statement twice
    is about as long as one with the statement and its rewording.
    """

    def build(statements: pl.DataFrame, _: int) -> list[WriterPrompt]:
        return [judge.build_prompts(text, text, ("",), ("",))[0] for (text,) in statements.iter_rows()]

    is_writer = judge.config.model is None
    return WriterPart(
        _start_tally(edition, judge.writer, "judge"),
        lambda piece: piece.statements.select("statement").unique(maintain_order=True),
        build,
        Span(0, 2 * n_most),
        "2 prompts for each rewording that the judge may decide",
        judge.config.instruction if is_writer else "",
        judge.config.max_tokens if is_writer else 0,
        n_rounds=0,
    )
