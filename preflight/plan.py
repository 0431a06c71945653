"""`pretexeval plan`: what a run of a configuration will build and ask, and what that takes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from config.file import Config
from preflight.counted_prompts import AskedPairs, CountedSamples, count_questions, list_writer_parts
from preflight.estimates import Estimate, Span
from preflight.reading import FactCounts, count_facts
from report.console import align
from storage.mirror import Mirror
from tasks.edition.anchors import plan_anchors
from tasks.edition.planning import fetch_edition, plan_edition
from tasks.edition.preview import preview_pieces
from tasks.evaluation.evaluation import plan_evaluation

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


def plan_run(config: Config, mirror: Mirror) -> RunPlan:
    """Estimate everything that a run will ask and take. No model is loaded or asked.

    The only files written are copies of the edition and the answers in a shared storage.

    Args:
        mirror: the configuration's storage, opened with its keys.

    Raises:
        InputError: for everything that would stop the run before it begins.
    """
    edition = fetch_edition(config, mirror)
    evaluations = [
        plan_evaluation(config, edition.edition_id, name, setting)
        for name, setting in config.list_evaluations()
    ]
    writers = [writer.model_id for writer in edition.writers]
    for model_id in dict.fromkeys([*writers, *(each.model_id for each in evaluations)]):
        mirror.sync_responses(model_id)
    counted = CountedSamples([each for each in evaluations if each.subject.setting is None])
    writer_parts = list_writer_parts(edition)
    for piece in preview_pieces(edition) if edition.has_triplets else ():
        counted.add(piece)
        for part in writer_parts:
            part.add(piece)
    asked_pairs = counted.count_limited()
    n_questions, asked_questions = (
        count_questions(edition, [each for each in evaluations if each.subject.setting is not None])
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
        (*(part.estimate() for part in writer_parts), *counted.estimate(), *asked_questions),
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
    for columns, counts in (
        (("method", "samples"), plan.n_samples),
        (("type", "questions"), plan.n_questions),
    ):
        if counts:
            parts.append(align(columns, [[name, f"{n:,}"] for name, n in counts.items()]))
    parts += plan.facts.render()
    if plan.n_anchor_prompts:
        parts.append(
            f"anchors: a scheduled run also asks every model up to {plan.n_anchor_prompts:,} prompts, the "
            "same ones in every period; the table does not contain them"
        )
    if plan.asked_pairs:
        parts.append(_render_asked_pairs(plan.asked_pairs))
    if not plan.estimates:
        return "\n\n".join([*parts, "no models"])
    rows = [_render_row(estimate) for estimate in plan.estimates]
    parts.append(align(COLUMNS, [*rows, _render_total(plan.estimates)]))
    # Models with the same basis share a line.
    names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for estimate in plan.estimates:
        if estimate.n_to_ask.high > 0:
            names.setdefault((estimate.part, estimate.notes), []).append(estimate.name)
    notes = [f"  {part} by {', '.join(by)}: {'; '.join(notes)}" for (part, notes), by in names.items()]
    return "\n\n".join(
        [*parts, "\n".join(["basis of the estimates:", *notes]) if notes else "nothing to ask"]
    )


def _render_asked_pairs(asked_pairs: Iterable[AskedPairs]) -> str:
    """Return a line per relation: its test pairs, and how many of them each model with a budget is asked."""
    counts: dict[str, list[str]] = {}
    for asked in asked_pairs:
        row = counts.setdefault(asked.relation, [asked.relation, f"{asked.n_pairs:,}"])
        row.append(f"{asked.n_asked_pairs:,}")
    models = dict.fromkeys(asked.model for asked in asked_pairs)
    return align(["relation", "pairs", *(f"{model} asks" for model in models)], [*counts.values()])


def _render_row(estimate: Estimate) -> list[str]:
    duration = "not measured" if estimate.duration_s is None else render_duration(estimate.duration_s)
    return [
        estimate.name,
        estimate.part,
        render_span(estimate.n_prompts),
        f"{estimate.n_answered:,}",
        render_span(estimate.n_to_ask),
        render_span(estimate.n_prompt_tokens),
        render_span(estimate.n_completion_tokens),
        duration if estimate.n_to_ask.high else "0 s",
        "no price" if estimate.cost is None else render_cost(estimate.cost, estimate.currency),
    ]


def _render_total(estimates: Sequence[Estimate]) -> list[str]:
    """Return the last line; it says so where a time or a price is unknown and missing from the total."""
    prompts, to_ask, tokens_in, tokens_out = (
        render_span(sum((getattr(each, name) for each in estimates), Span.of(0)))
        for name in ("n_prompts", "n_to_ask", "n_prompt_tokens", "n_completion_tokens")
    )
    asking = [each.duration_s for each in estimates if each.n_to_ask.high > 0]
    times = [each for each in asking if each is not None]
    time = render_duration(sum(times, Span.of(0))) if times or not asking else "not measured"
    if times and len(times) < len(asking):
        time += " and more"
    costs: dict[str, Span] = {}
    for each in estimates:
        if each.cost is not None:
            costs[each.currency] = costs.get(each.currency, Span.of(0)) + each.cost
    cost = " + ".join(render_cost(span, currency) for currency, span in costs.items()) or "no price"
    if costs and any(each.cost is None and each.n_to_ask.high for each in estimates):
        cost += " and more"
    n_answered = f"{sum(each.n_answered for each in estimates):,}"
    return ["all", "", prompts, n_answered, to_ask, tokens_in, tokens_out, time, cost]


def render_span(span: Span) -> str:
    """Return `1,200` or `1,200 to 3,600`; millions as `2.5M`."""
    return _join(
        f"{value:,.0f}" if value < 1e6 else f"{value / 1e6:,.1f}M" for value in (span.low, span.high)
    )


def render_cost(span: Span, currency: str) -> str:
    """Return `1.20 USD` or `1.20 to 3.60 USD`."""
    return f"{_join(f'{value:,.2f}' for value in (span.low, span.high))} {currency}"


def render_duration(span: Span) -> str:
    """Return the duration in seconds, minutes or hours, depending on its length."""
    return _join(map(_render_seconds, (span.low, span.high)))


def _render_seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _join(ends: Iterable[str]) -> str:
    return " to ".join(dict.fromkeys(ends))
