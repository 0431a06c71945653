"""The prompts that a run would ask: those of evaluations and of writers, counted relation by relation."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from pretexeval.config.engines import EngineConfig
from pretexeval.config.questions import UNSURE
from pretexeval.engines.token_counter import CHARACTERS_PER_TOKEN, TokenCounter
from pretexeval.primitives.hashing import render_canonical_json
from pretexeval.storage.responses import ResponseStore
from tasks.asking.prompts import ANSWER, ASK_UNSURE, THINK
from tasks.asking.writers import Writer, WriterPrompt
from tasks.edition.edition import Edition
from tasks.edition.preview import PiecePreview
from tasks.edition.rephraser import LLMEVAL_TOKENS, PANEL, Rephraser
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.items import GROUP, select_items
from tasks.evaluation.requests import Shots
from tasks.judging.judge import INSTRUCTION
from tasks.judging.writer_errors import read_panel

# Number of rows of each relation of whose prompts the tokens are counted.
N_SAMPLED_ROWS = 16
# A text that only the prompts of a setting contain.
MARKERS = {"answer_only": ANSWER, "chain_of_thought": THINK, UNSURE: ASK_UNSURE}
NOT_MEASURED = "time not measured: no evaluation of this model has ended here"


@dataclass(frozen=True)
class Estimate:
    """Upper bounds of what one part of a run asks one model, and of its tokens, time and cost."""

    name: str
    part: str
    """The role of a writer (`rephraser`, …), evaluation, or the setting of an evaluation."""
    n_prompts: int
    n_answered: int
    """The prompts that have an answer already."""
    n_to_ask: int
    n_prompt_tokens: int
    """Tokens of the prompts to ask; `n_completion_tokens` are those of their completions."""
    n_completion_tokens: int
    duration_s: float | None
    """None if the model was not measured."""
    cost: float | None
    """None if no price is configured."""
    notes: tuple[str, ...] = ()
    """The basis of the numbers, for people."""


@dataclass
class AskedPrompts:
    """The prompts of one part of a run for one model."""

    config: EngineConfig
    part: str
    store: ResponseStore
    max_tokens: int
    """Limit of the tokens of a completion."""
    marker: str | None = None
    """A text by which earlier prompts of the part are known; None: all count."""
    n_repeats: int = 1
    n_per_row: int = 1
    """Prompts that may follow from each counted row."""
    notes: list[str] = field(default_factory=list)
    n_prompts: int = 0
    n_answered: int = 0
    n_unwritten: int = 0
    """Prompts about texts that a language model has yet to write."""
    _sampled: list[tuple[int, list[str]]] = field(default_factory=list)
    """The number of prompts to ask, and the texts of some of them, of each relation."""

    @cached_property
    def _settled(self) -> list[set[str]]:
        """The keys of the prompts that need not be asked, for each repeat."""
        return [self.store.read_settled_keys(repeat) for repeat in range(self.n_repeats)]

    @cached_property
    def counter(self) -> TokenCounter:
        """The counter of the model's tokens, which reads the tokenizer once for all relations."""
        return TokenCounter(self.config)

    def add(
        self, rows: pl.DataFrame, build: Callable[[pl.DataFrame], dict[str, str]], *, is_written: bool = True
    ) -> None:
        """Count the prompts of rows, each of which has prompts of its own.

        All prompts are built only for a model that has answers, because those of MedLAMA take 10 s. For a
        model without answers, a few rows are sampled with a fixed seed: every n-th row could be of the same
        transformation.

        Args:
            build: returns key -> text of the prompts of rows, of one repeat.
            is_written: whether the texts are known, so that there may be answers to the prompts.
        """
        keys = build(rows).keys() if is_written and any(self._settled) else ()
        n_answered = sum(len(settled.intersection(keys)) for settled in self._settled)
        n_prompts = rows.height * self.n_per_row * self.n_repeats
        self.n_prompts += n_prompts
        self.n_answered += n_answered
        self.n_unwritten += 0 if is_written else n_prompts
        some = build(rows.sample(min(N_SAMPLED_ROWS, rows.height), seed=0))
        self._sampled.append((n_prompts - n_answered, list(some.values())))

    def estimate(self, rate: tuple[float, str] | None = None) -> Estimate:
        """Return what asking the prompts takes at most.

        Args:
            rate: prompts per second, and its basis; None if it was never measured.
        """
        config, counter, n_to_ask = self.config, self.counter, self.n_prompts - self.n_answered
        sampled = [(n, sum(map(counter.estimate, texts)) / len(texts)) for n, texts in self._sampled if texts]
        tokens_in = n_to_ask * sum(n * mean for n, mean in sampled) / max(sum(n for n, _ in sampled), 1)
        per_completion, basis_of_completions = self._measure_completions()
        tokens_out = n_to_ask * per_completion
        cost = config.compute_cost(tokens_in, tokens_out)
        beyond = cost is not None and config.max_cost is not None and cost > config.max_cost
        unwritten = "prompts are about texts that are not written yet, and are estimated by their statements"
        basis = f"as characters / {CHARACTERS_PER_TOKEN}: its tokenizer is not on this machine"
        if counter.is_exact:
            basis = "counted by the model's tokenizer on a sample of prompts"
        return Estimate(
            config.name,
            self.part,
            self.n_prompts,
            self.n_answered,
            n_to_ask,
            round(tokens_in),
            round(tokens_out),
            None if rate is None else n_to_ask / rate[0],
            cost,
            (
                *self.notes,
                *([f"{self.n_unwritten:,} {unwritten}"] if self.n_unwritten else []),
                f"prompt tokens {basis}",
                basis_of_completions,
                *([f"the run may stop at max_cost = {config.max_cost:g}"] if beyond else []),
                NOT_MEASURED if rate is None else rate[1],
            ),
        )

    def _measure_completions(self) -> tuple[float, str]:
        """Return the tokens of one completion, from earlier ones or else the limit, and the basis."""
        if not self.store.is_empty:
            rows = self.store.read(["prompt", "status", "n_completion_tokens"]).filter(status="ok")
            if self.marker is not None:
                rows = rows.filter(pl.col("prompt").str.contains(self.marker, literal=True))
            lengths = rows["n_completion_tokens"].drop_nulls()
            if len(lengths):
                mean = min(float(lengths.sum()) / len(lengths), self.max_tokens)
                return mean, f"completions of {mean:.1f} tokens, the mean of {len(lengths):,} earlier ones"
        return self.max_tokens, f"completions of at most {self.max_tokens} tokens"


def start_evaluation(evaluation: Evaluation) -> AskedPrompts:
    """Return the prompts of an evaluation, of which none is counted yet."""
    model, setting = evaluation.model, evaluation.subject.setting
    max_tokens = evaluation.request_settings.sampling.max_tokens
    part, marker = setting or "evaluation", MARKERS.get(setting or "")
    return AskedPrompts(model, part, evaluation.store, max_tokens, marker, evaluation.subject.n_repeats)


def add_items(
    asked: AskedPrompts,
    evaluation: Evaluation,
    rows: pl.DataFrame,
    chains: Mapping[str, str],
    unwritten: Collection[str] = (),
) -> None:
    """Count the prompts of an evaluation about one relation.

    Args:
        rows: the samples or questions of the relation, of both splits.
        chains: item_id -> the chain of thought of a demonstration.
        unwritten: methods whose texts a language model has yet to write.
    """
    subject = evaluation.subject
    # A model with imported responses is asked nothing.
    if subject.imported is not None:
        return
    settings = replace(evaluation.request_settings, n_repeats=1, count_tokens=asked.counter.estimate)
    items = subject.kind.read_items(rows)
    shots = subject.show_demonstrations(items, chains)

    def build(some: pl.DataFrame) -> dict[str, str]:
        built = subject.build_requests(some, shots, settings)
        return dict(zip(built.frame["prompt_key"], (prompt.text for prompt in built.prompts), strict=True))

    tested = select_items(items, evaluation.model.pairs_per_relation)
    is_unwritten = pl.col("group").is_in(sorted(unwritten))
    asked.add(_deduplicate_prompts(tested.filter(~is_unwritten), shots), build)
    asked.add(tested.filter(is_unwritten), build, is_written=False)


def _deduplicate_prompts(items: pl.DataFrame, shots: Shots) -> pl.DataFrame:
    """Return one item per distinct prompt: methods with equal demonstrations share their prompts."""
    groups, numbers = items.select(GROUP).unique(), dict[object, int]()
    shown = [numbers.setdefault(shots.get(key, ()), len(numbers)) for key in groups.iter_rows()]
    numbered = groups.with_columns(pl.Series("shown", shown, pl.Int32))
    joined = items.join(numbered, on=GROUP, nulls_equal=True, maintain_order="left")
    return joined.unique(["shown", "type", "text", "options", "offered"], maintain_order=True, keep="first")


WriterPart = tuple[AskedPrompts, Callable[[PiecePreview], None]]
"""The prompts of a writer in one role, and a function that counts those about a relation."""


def list_writer_parts(edition: Edition) -> Iterator[WriterPart]:
    """Yield the parts in which writers are asked; none if the edition is complete."""
    if edition.is_complete():
        return
    if edition.rephraser is not None:
        yield from _list_rephraser_parts(edition.root, edition.rephraser)
    if (llmeval := edition.llmeval) is not None:
        note = "1 prompt per triplet"
        texts = _start_writer(
            edition.root, "llmeval", llmeval.writer, llmeval.instruction, LLMEVAL_TOKENS, note
        )

        def write(rows: pl.DataFrame) -> dict[str, str]:
            return _list_texts(llmeval.build_prompts(rows))

        yield texts, lambda piece: texts.add(piece.triplets, write)


def _list_rephraser_parts(root: Path, rephraser: Rephraser) -> Iterator[WriterPart]:
    """Yield the parts of the panel, of the rewordings and of the judge.

    The judge is asked both ways round about each rewording. These do not exist yet, so no earlier verdict is
    subtracted, and a prompt with the statement twice stands for one with the statement and its rewording.
    """
    n, judge = rephraser.max_attempts, rephraser.judge
    asked = (rephraser.writer, rephraser.instruction, rephraser.max_tokens)
    if rephraser.is_limited_by_panel:
        panel = _start_writer(root, PANEL, *asked, "1 prompt per statement of the panel, once per writer")
        panel.add(read_panel(), lambda _: _list_texts(rephraser.build_panel_prompts()))
        yield panel, lambda _: None
    note = f"1 to {n} attempts per statement" if n > 1 else "1 attempt per statement"
    rewordings = _start_writer(root, "rephraser", *asked, note, n)

    def reword(rows: pl.DataFrame) -> dict[str, str]:
        pairs, attempts = rows.select("statement", "split").rows(), range(1, n + 1)
        return _list_texts(rephraser.build_prompt(text, k, split) for text, split in pairs for k in attempts)

    yield (
        rewordings,
        lambda piece: rewordings.add(
            piece.statements.unique(("statement", "split"), maintain_order=True), reword
        ),
    )
    if judge is not None:
        note = "2 prompts for each rewording that the gate accepts"
        verdicts = _start_writer(root, "judge", judge.writer, INSTRUCTION, judge.max_tokens, note, 2 * n)

        def decide(rows: pl.DataFrame) -> dict[str, str]:
            return _list_texts(judge.build_prompts(text, text)[0] for text in rows["statement"])

        yield (
            verdicts,
            lambda piece: verdicts.add(
                piece.statements.unique("statement", maintain_order=True), decide, is_written=False
            ),
        )


def _start_writer(
    root: Path, part: str, writer: Writer, instruction: str, max_tokens: int, note: str, n_per_row: int = 1
) -> AskedPrompts:
    # Earlier prompts of this part contain the instruction up to its first slot; a chat prompt is JSON.
    marker = instruction.partition("{")[0]
    if writer.config.prompt_style == "chat":
        marker = render_canonical_json(marker)[1:-1]
    store = ResponseStore(root, writer.model_id)
    return AskedPrompts(writer.config, part, store, max_tokens, marker, n_per_row=n_per_row, notes=[note])


def _list_texts(prompts: Iterable[WriterPrompt]) -> dict[str, str]:
    return {ask.key: ask.prompt.text for ask in prompts}
