"""The prompts of evaluations and writers, counted while the pieces of an edition pass by."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

import polars as pl

from commands.preflight.estimates import N_SAMPLED_PROMPTS, Estimate, Tally, sample_rows
from commands.preflight.speed import Span, measure_completions, measure_throughput
from pretexeval.config.questions import UNSURE
from pretexeval.engines.token_counter import TokenCounter
from pretexeval.primitives.hashing import render_canonical_json
from pretexeval.storage.responses import ResponseStore
from tasks.asking.prompts import ANSWER, ASK_UNSURE, THINK
from tasks.asking.writers import Writer, WriterPrompt
from tasks.edition.edition import Edition
from tasks.edition.preview import PiecePreview, preview_questions
from tasks.edition.rephraser import LLMEVAL_TOKENS, Rephraser
from tasks.evaluation.chains import read_chains
from tasks.evaluation.evaluation import Evaluation, RelationSize, divide_budget, measure_relation
from tasks.evaluation.items import GROUP, SAMPLE_ITEMS, ItemKind, select_items
from tasks.evaluation.requests import Shots, build_requests, show_demonstrations
from tasks.judging.judge import Judge

# A text that only the prompts of a setting contain.
MARKERS = {"answer_only": ANSWER, "chain_of_thought": THINK, UNSURE: ASK_UNSURE}


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
    kind: ItemKind = SAMPLE_ITEMS
    """How the samples are asked in these evaluations: with two answers, or with three."""
    n_samples: Counter[str] = field(default_factory=Counter)
    """Method -> number of its test samples."""
    _sizes: dict[str, RelationSize] = field(default_factory=dict)
    _shots: dict[str, Shots] = field(default_factory=dict)
    """Relation -> its demonstrations."""
    _kept: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    """Relation -> the items that the models with a limit or a budget may be asked about."""
    _unwritten: frozenset[str] = frozenset()
    """Methods whose texts a language model has yet to write."""

    def __post_init__(self) -> None:
        """Start a tally for each evaluation."""
        self._tallies = [_start_evaluation(each) for each in self.evaluations]

    def add(self, piece: PiecePreview) -> None:
        """Count a piece. The first piece of a relation has its demonstrations."""
        relation = piece.relation
        items = self.kind.read_items(piece.samples)
        if relation not in self._shots:
            self._shots[relation] = show_demonstrations(self.kind, items)
        self._unwritten |= piece.unwritten_methods
        size, earlier = measure_relation(piece.samples), self._sizes.get(relation, RelationSize(0, 0))
        n_samples_of_pair = max(earlier.n_samples_of_pair, size.n_samples_of_pair)
        self._sizes[relation] = RelationSize(earlier.n_pairs + size.n_pairs, n_samples_of_pair)
        tested = items.filter(split="test")
        self.n_samples.update(dict(tested.group_by("group").len().iter_rows()))
        limits = [_limit_pairs(each, size) for each in self.evaluations]
        if known := [limit for limit in limits if limit is not None]:
            self._kept.setdefault(relation, []).append(select_items(tested, max(known)))
        self._count(relation, tested, [limit is None for limit in limits])

    def count_limited(self) -> list[AskedPairs]:
        """Count what the models with a limit or a budget are asked; return the shares of the budgets.

        Raises:
            InputError: a budget is too small.
        """
        asked_pairs, limits = list[AskedPairs](), list[Mapping[str, int | None]]()
        for each in self.evaluations:
            model = each.model
            if model.budget is None:
                limits.append(dict.fromkeys(self._sizes, model.pairs_per_relation))
                continue
            divided = divide_budget(model.budget, self._sizes, each.subject.n_repeats)
            limits.append(divided)
            sizes = self._sizes
            asked_pairs += [AskedPairs(model.name, r, n, sizes[r].n_pairs) for r, n in divided.items()]
        for relation, kept in self._kept.items():
            items, of_models = pl.concat(kept), [each[relation] for each in limits]
            for limit in {n for n in of_models if n is not None}:
                self._count(relation, select_items(items, limit), [n == limit for n in of_models])
        return asked_pairs

    def estimate(self) -> Iterator[Estimate]:
        """Yield the estimates of the evaluations."""
        for tally, each in zip(self._tallies, self.evaluations, strict=True):
            n = tally.n_unwritten
            notes = [f"{n:,} texts are not written yet and are estimated by their statements"] if n else []
            marker = MARKERS.get(tally.part)
            completion = measure_completions(tally.store, each.model.max_tokens, marker)
            rate = measure_throughput(each.root, each.model_id, each.subject.setting)
            yield tally.estimate(completion, rate, notes)

    def _count(self, relation: str, asked: pl.DataFrame, is_asked: Sequence[bool]) -> None:
        """Count the items for some of the models; they are prepared once for all of these."""
        if not any(is_asked):
            return
        shots = self._shots[relation]
        is_unwritten = pl.col("group").is_in(sorted(self._unwritten))
        unwritten = asked.filter(is_unwritten)
        worded = _deduplicate_prompts(asked.filter(~is_unwritten), shots)
        some, n = sample_rows(pl.concat([worded, unwritten])), worded.height + unwritten.height
        for tally, each, is_one in zip(self._tallies, self.evaluations, is_asked, strict=True):
            # A model with imported responses is asked nothing.
            if is_one and each.model.engine != "imported":
                count = TokenCounter(each.model).estimate
                settings = replace(each.request_settings, n_repeats=1, count_tokens=count)
                build = partial(build_requests, shots=shots, settings=settings)
                tally.n_unwritten += unwritten.height
                texts = [prompt.text for prompt in build(some).prompts]
                tally.add(n, texts, lambda build=build: build(worded).frame["prompt_key"])  # type: ignore[misc]


def _start_evaluation(evaluation: Evaluation) -> Tally:
    subject = evaluation.subject
    return Tally(evaluation.model, subject.setting or "evaluation", evaluation.store, subject.n_repeats)


def _limit_pairs(evaluation: Evaluation, size: RelationSize) -> int | None:
    """Return how many pairs of a relation the model is asked about at most; None: all of them."""
    model = evaluation.model
    if model.budget is None:
        return model.pairs_per_relation
    return model.budget // max(evaluation.subject.n_repeats * size.n_samples_of_pair, 1)


def _deduplicate_prompts(items: pl.DataFrame, shots: Shots) -> pl.DataFrame:
    """Return one item per distinct prompt: methods with equal demonstrations share their prompts."""
    numbers: dict[object, int] = {}
    shown = [numbers.setdefault(shots.get(key, ()), len(numbers)) for key in items.select(GROUP).iter_rows()]
    numbered = items.with_columns(pl.Series("shown", shown, pl.Int32))
    return numbered.unique(["shown", "text"], keep="first", maintain_order=True).drop("shown")


def count_questions(
    edition: Edition, evaluations: Sequence[Evaluation]
) -> tuple[dict[str, int], list[Estimate]]:
    """Return type -> number of its test questions, and the estimates of the evaluations in settings.

    Demonstrations and limits are those of a whole relation, so its questions are counted together.
    """
    counts, tallies = Counter[str](), [_start_evaluation(each) for each in evaluations]
    # The chains of thought of an edition that is not built yet are not known.
    chains = [read_chains(each) if edition.is_complete() else {} for each in evaluations]
    pieces = zip(edition.pieces.values(), preview_questions(edition), strict=True)
    for _, of_relation in groupby(pieces, key=lambda pair: pair[0].relation):
        questions = pl.concat(rows for _, rows in of_relation)
        counts.update(dict(questions.filter(split="test").group_by("type", maintain_order=True).len().rows()))
        for tally, each, shown in zip(tallies, evaluations, chains, strict=True):
            if each.model.engine != "imported":
                count = TokenCounter(each.model).estimate
                settings = replace(each.request_settings, chains=shown, count_tokens=count)
                built = each.subject.build_requests(questions, settings, each.model.pairs_per_relation)
                texts = dict(zip(built.frame["prompt_key"], (p.text for p in built.prompts), strict=True))
                some = [*texts.values()][:: max(len(texts) // N_SAMPLED_PROMPTS, 1)]
                tally.add(len(texts), some, texts.keys)
    estimates = []
    for tally, each in zip(tallies, evaluations, strict=True):
        max_tokens = each.request_settings.sampling.max_tokens
        completion = measure_completions(tally.store, max_tokens, MARKERS[tally.part])
        rate = measure_throughput(each.root, each.model_id, tally.part)
        estimates.append(tally.estimate(completion, rate))
    return dict(counts), estimates


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
    n_rounds: int = 1
    """The rounds whose prompts are known before the writer is asked."""

    def add(self, piece: PiecePreview) -> None:
        """Count a piece."""
        rows = self.select(piece)
        some = [ask.prompt.text for ask in self.build(sample_rows(rows), 1)]
        self.tally.add(rows.height, some, partial(self._find_keys, rows, 1))
        for n in range(2, self.n_rounds + 1):
            self.tally.n_answered_later += self.tally.count_answered(partial(self._find_keys, rows, n))

    def _find_keys(self, rows: pl.DataFrame, attempt: int) -> list[str]:
        return [ask.key for ask in self.build(rows, attempt)] if attempt <= self.n_rounds else []

    def estimate(self) -> Estimate:
        """Return what asking the counted prompts takes."""
        # Earlier prompts of this part contain the instruction up to its first slot; a chat prompt is JSON.
        marker = self.instruction.partition("{")[0]
        if getattr(self.tally.config, "prompt_style", None) == "chat":
            marker = render_canonical_json(marker)[1:-1]
        completion = measure_completions(self.tally.store, self.max_tokens, marker)
        return self.tally.estimate(completion, notes=[self.note], per_prompt=self.per_row)


def list_writer_parts(edition: Edition) -> Iterator[WriterPart]:
    """Yield the parts that are to be estimated; none if the edition is complete."""
    if edition.is_complete():
        return
    rephraser, llmeval = edition.rephraser, edition.llmeval
    if rephraser is not None:
        if rephraser.is_limited_by_panel:
            yield _plan_panel(edition, rephraser)
        yield _plan_rephraser(edition, rephraser)
        if rephraser.judge is not None:
            yield _plan_judge(edition, rephraser.judge, rephraser.max_attempts)
    if llmeval is not None:
        yield WriterPart(
            _start_writer(edition, llmeval.writer, "llmeval"),
            lambda piece: piece.triplets,
            lambda rows, _: llmeval.build_prompts(rows),
            Span.of(1),
            "1 prompt per triplet",
            llmeval.instruction,
            LLMEVAL_TOKENS,
        )


def _start_writer(edition: Edition, writer: Writer, part: str) -> Tally:
    return Tally(writer.config, part, ResponseStore(edition.root, writer.model_id))


def _plan_rephraser(edition: Edition, rephraser: Rephraser) -> WriterPart:
    def build(statements: pl.DataFrame, attempt: int) -> list[WriterPrompt]:
        return [rephraser.build_prompt(text, attempt, split) for text, split in statements.iter_rows()]

    n = rephraser.max_attempts
    return WriterPart(
        _start_writer(edition, rephraser.writer, "rephraser"),
        lambda piece: piece.statements.select("statement", "split").unique(maintain_order=True),
        build,
        Span(1, n),
        f"1 to {n} attempts per statement" if n > 1 else "1 attempt per statement",
        rephraser.instruction,
        rephraser.max_tokens,
        n_rounds=n,
    )


def _plan_panel(edition: Edition, rephraser: Rephraser) -> WriterPart:
    """Return the part of the panel, which is no part of a piece and counted here."""
    prompts = rephraser.build_panel_prompts()
    tally = _start_writer(edition, rephraser.writer, "panel")
    tally.add(len(prompts), [ask.prompt.text for ask in prompts], lambda: [ask.key for ask in prompts])
    return WriterPart(
        tally,
        lambda piece: piece.statements.clear(),
        lambda _, __: [],
        Span.of(1),
        "1 prompt per statement of the panel, once per writer",
        rephraser.instruction,
        rephraser.max_tokens,
    )


def _plan_judge(edition: Edition, judge: Judge, n_rewordings: int) -> WriterPart:
    """Return the part of the judge, who is asked twice about each rewording that the gate accepts.

    These rewordings do not exist yet, so no earlier answer is subtracted. A prompt with the statement twice
    is about as long as one with the statement and its rewording.
    """

    def build(statements: pl.DataFrame, _: int) -> list[WriterPrompt]:
        return [judge.build_prompts(text, text)[0] for (text,) in statements.iter_rows()]

    return WriterPart(
        _start_writer(edition, judge.writer, "judge"),
        lambda piece: piece.statements.select("statement").unique(maintain_order=True),
        build,
        Span(0, 2 * n_rewordings),
        "2 prompts for each rewording that the gate accepts",
        judge.config.instruction,
        judge.config.max_tokens,
        n_rounds=0,
    )
