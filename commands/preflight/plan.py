"""`pretexeval plan`: what a run of a configuration will build and ask, and what that takes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import polars as pl

from commands.preflight.counted_prompts import AskedPairs, CountedSamples, count_questions, list_writer_parts
from commands.preflight.estimates import Estimate
from commands.preflight.reading import FactCounts, count_facts
from commands.preflight.speed import Span
from pretexeval.config.file import Config
from pretexeval.config.questions import UNSURE
from pretexeval.knowledge.doubtful_names import summarize_name_troubles
from pretexeval.storage.store import Store
from report.console import align
from tasks.edition.anchors import plan_anchors
from tasks.edition.planning import fetch_edition, plan_edition
from tasks.edition.preview import PiecePreview, preview_pieces
from tasks.edition.risks import describe_relation, list_risks, read_balance
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.items import QUESTION_ITEMS, UNSURE_ITEMS

COLUMNS = (
    "model",
    "for",
    "prompts",
    "answered",
    "to ask",
    "prompt tokens",
    "completion tokens",
    "time",
    "cost",
)


@dataclass(frozen=True)
class RunPlan:
    """What a run of a configuration will do."""

    edition_id: str
    is_there: bool
    """Whether the edition is complete already."""
    n_samples: dict[str, int]
    """Method -> number of test samples; an upper bound for llmeval."""
    n_questions: dict[str, int]
    """Type -> number of test questions."""
    facts: FactCounts
    n_anchor_prompts: int
    """Prompts about anchors that each of the models is asked in every period of a schedule."""
    asked_pairs: tuple[AskedPairs, ...]
    """Only for models with a budget."""
    estimates: tuple[Estimate, ...]
    warnings: tuple[str, ...]
    """The risks of the negatives, a line for people each."""


def plan_run(config: Config, store: Store) -> RunPlan:
    """Estimate everything that a run will ask and take. No model is loaded or asked.

    The only files written are copies of the edition and the answers in a shared storage.

    Args:
        store: the configuration's storage, opened with its keys.

    Raises:
        InputError: for everything that would stop the run before it begins.
    """
    edition = fetch_edition(config, store)
    evaluations = [
        plan_evaluation(config, edition.edition_id, name, setting)
        for name, setting in config.list_evaluations()
    ]
    writers = [writer.model_id for writer in edition.writers.values()]
    for model_id in dict.fromkeys([*writers, *(each.model_id for each in evaluations)]):
        store.sync_responses(model_id)
    counted = CountedSamples([each for each in evaluations if each.subject.setting is None])
    unsure = CountedSamples([each for each in evaluations if each.subject.setting == UNSURE], UNSURE_ITEMS)
    writer_parts = list(list_writer_parts(edition))

    def count(piece: PiecePreview) -> pl.DataFrame:
        counted.add(piece)
        if unsure.evaluations:
            unsure.add(piece)
        for part in writer_parts:
            part.add(piece)
        return piece.triplets

    pieces = groupby(preview_pieces(edition) if edition.has_triplets else (), attrgetter("relation"))
    balance = {name: describe_relation(edition, name, map(count, group)) for name, group in pieces}
    asked_pairs = counted.count_limited()
    unsure.count_limited()
    n_questions, asked_questions = (
        count_questions(edition, [each for each in evaluations if each.subject.kind is QUESTION_ITEMS])
        if edition.has_questions
        else ({}, [])
    )
    methods = config.edition.methods if edition.has_triplets else ()
    return RunPlan(
        edition.edition_id,
        edition.is_complete(),
        {str(method): counted.n_samples[method] for method in methods},
        n_questions,
        count_facts(edition),
        count_anchor_prompts(config),
        tuple(asked_pairs),
        (
            *(part.estimate() for part in writer_parts),
            *counted.estimate(),
            *unsure.estimate(),
            *asked_questions,
        ),
        (
            *summarize_name_troubles(edition.base.triplets),
            *list_risks(read_balance(edition.root, edition.edition_id) or balance),
        ),
    )


def count_anchor_prompts(config: Config) -> int:
    """Return how many prompts about anchors a model is asked in every period; 0 without anchors."""
    planned = plan_anchors(config)
    if planned is None:
        return 0
    return sum(piece.samples.filter(split="test").height for piece in preview_pieces(plan_edition(planned)))


def render_plan(plan: RunPlan) -> str:
    """Return the edition, a line per model and part, totals, and the basis of the numbers as text."""
    parts = [
        f"edition {plan.edition_id}: {'complete: nothing to build' if plan.is_there else 'not built yet'}"
    ]
    for names, counts in (
        (("method", "samples"), plan.n_samples),
        (("type", "questions"), plan.n_questions),
    ):
        parts += [align(names, [[name, f"{n:,}"] for name, n in counts.items()])] if counts else []
    parts += [*plan.facts.render(), *(["\n".join(plan.warnings)] if plan.warnings else [])]
    if plan.n_anchor_prompts:
        parts.append(
            f"anchors: a scheduled run also asks every model up to {plan.n_anchor_prompts:,} prompts, the "
            "same ones in every period; the table does not contain them"
        )
    if plan.asked_pairs:
        rows = [
            [each.model, each.relation, f"{each.n_pairs:,}", f"{each.n_asked_pairs:,}"]
            for each in plan.asked_pairs
        ]
        parts.append(align(["model", "relation", "pairs", "asked pairs"], rows))
    if not plan.estimates:
        return "\n\n".join([*parts, "no models"])
    parts.append(align(COLUMNS, [_render_row(each) for each in [*plan.estimates, _add_up(plan.estimates)]]))
    # Models with the same basis share a line.
    names_of: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in plan.estimates:
        if each.n_to_ask.high > 0:
            names_of.setdefault((each.part, each.notes), []).append(each.name)
    lines = [
        f"  {part} by {', '.join(names)}: {'; '.join(notes)}" for (part, notes), names in names_of.items()
    ]
    return "\n\n".join(
        [*parts, "\n".join(["basis of the estimates:", *lines]) if lines else "nothing to ask"]
    )


def _add_up(estimates: Sequence[Estimate]) -> Estimate:
    """Return the sum; its time is unknown if one is, its cost without a price or with several currencies."""
    times = [each.duration_s for each in estimates if each.n_to_ask.high > 0]
    costs = {each.currency: each.cost for each in estimates if each.cost is not None}
    return Estimate(
        "all",
        "",
        _sum(each.n_prompts for each in estimates),
        sum(each.n_answered for each in estimates),
        _sum(each.n_to_ask for each in estimates),
        _sum(each.n_prompt_tokens for each in estimates),
        _sum(each.n_completion_tokens for each in estimates),
        None if None in times else _sum(filter(None, times)),
        _sum(each.cost for each in estimates if each.cost) if len(costs) == 1 else None,
        next(iter(costs), ""),
    )


def _sum(spans: Iterable[Span]) -> Span:
    return sum(spans, Span.of(0))


def _render_row(estimate: Estimate) -> list[str]:
    n, time, cost = estimate.n_to_ask, estimate.duration_s, estimate.cost
    return [
        estimate.name,
        estimate.part,
        estimate.n_prompts.render(_show_number),
        f"{estimate.n_answered:,}",
        n.render(_show_number),
        estimate.n_prompt_tokens.render(_show_number),
        estimate.n_completion_tokens.render(_show_number),
        "0 s" if not n.high else "not measured" if time is None else time.render(_show_seconds),
        "no price" if cost is None else f"{cost.render('{:,.2f}'.format)} {estimate.currency}",
    ]


def _show_number(value: float) -> str:
    return f"{value:,.0f}" if value < 1e6 else f"{value / 1e6:,.1f}M"


def _show_seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
