"""The plan of a run as the text that `pretexeval plan` prints."""

from collections.abc import Iterable

from config.installation_names import DEFAULT_POOL
from preflight.estimates import Estimate, Span
from preflight.evaluation_counts import AskedPairs
from preflight.new_facts import render_new_facts
from preflight.run_plan import RunPlan
from preflight.text_supply import render_text_supply
from report.console import align

COLUMNS = [
    "model",
    "for",
    "prompts",
    "answered",
    "to ask",
    "prompt tokens",
    "completion tokens",
    "time",
    "cost",
]


def render_plan(plan: RunPlan) -> str:
    """Return the edition, a line per model and part, totals, and the basis of the numbers as text."""
    state = "complete: nothing to build" if plan.is_there else "not built yet"
    counted = (("method", "samples", plan.n_samples), ("type", "questions", plan.n_questions))
    tables = [
        align([kind, what], [[name, f"{n:,}"] for name, n in counts.items()])
        for kind, what, counts in counted
        if counts
    ]
    parts = [
        f"edition {plan.edition_id}: {state}",
        *tables,
        f"disk: at most about {plan.n_bytes / 1e6:,.0f} MB",
    ]
    if plan.n_new_facts is not None and plan.n_known_facts is not None:
        parts.append(render_new_facts(plan.n_new_facts, plan.n_known_facts))
    if plan.text_supply:
        parts.append(render_text_supply(plan.text_supply))
    if plan.n_anchor_prompts:
        parts.append(
            f"anchors: a scheduled run also asks every model up to {plan.n_anchor_prompts:,} prompts, the "
            "same ones in every period; the table does not contain them"
        )
    if {use.pool for use in plan.pools} - {DEFAULT_POOL}:
        uses = (f"{', '.join(use.models)} in the pool {use.pool}" for use in plan.pools)
        parts.append(f"a deployed run asks {'; '.join(uses)}")
    if not plan.estimates:
        return "\n\n".join([*parts, "no models"])
    if plan.asked_pairs:
        parts.append(_render_asked_pairs(plan.asked_pairs))
    rows = [_render_row(estimate) for estimate in plan.estimates]
    parts.append(align(COLUMNS, [*rows, _render_total(plan)]))
    notes = _render_notes(estimate for estimate in plan.estimates if estimate.n_to_ask.high > 0)
    text = "\n".join(["basis of the estimates:", *notes]) if notes else "nothing to ask"
    return "\n\n".join([*parts, text])


def _render_asked_pairs(asked_pairs: Iterable[AskedPairs]) -> str:
    """Return a line per relation: its test pairs, and how many of them each model with a budget is asked."""
    counts: dict[str, list[str]] = {}
    for asked in asked_pairs:
        counts.setdefault(asked.relation, [asked.relation, f"{asked.n_pairs:,}"]).append(
            f"{asked.n_asked_pairs:,}"
        )
    models = dict.fromkeys(asked.model for asked in asked_pairs)
    return align(["relation", "pairs", *(f"{model} asks" for model in models)], [*counts.values()])


def _render_notes(estimates: Iterable[Estimate]) -> list[str]:
    """Return a line per part and basis, with all models to which it applies."""
    names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for estimate in estimates:
        names.setdefault((estimate.part, estimate.notes), []).append(estimate.name)
    return [f"  {part} by {', '.join(by)}: {'; '.join(notes)}" for (part, notes), by in names.items()]


def _render_row(estimate: Estimate) -> list[str]:
    cost = estimate.cost
    return [
        estimate.name,
        estimate.part,
        render_span(estimate.n_prompts),
        f"{estimate.n_answered:,}",
        render_span(estimate.n_to_ask),
        render_span(estimate.n_prompt_tokens),
        render_span(estimate.n_completion_tokens),
        _render_duration(estimate),
        "no price" if cost is None else render_cost(cost, estimate.currency),
    ]


def _render_total(plan: RunPlan) -> list[str]:
    """Return the last line; it says so where a time or a price is unknown and missing from the total."""
    estimates = plan.estimates
    spans = [
        sum((getattr(e, name) for e in estimates), Span.of(0))
        for name in ("n_prompts", "n_to_ask", "n_prompt_tokens", "n_completion_tokens")
    ]
    asking = [e for e in estimates if e.n_to_ask.high > 0]
    times = [e.duration_s for e in asking if e.duration_s is not None]
    time = render_duration(sum(times, Span.of(0))) if times or not asking else "not measured"
    if times and len(times) < len(asking):
        time += " and more"
    costs: dict[str, Span] = {}
    for e in estimates:
        if e.cost is not None:
            costs[e.currency] = costs.get(e.currency, Span.of(0)) + e.cost
    cost = " + ".join(render_cost(span, currency) for currency, span in costs.items()) or "no price"
    n_answered = f"{sum(e.n_answered for e in estimates):,}"
    prompts, to_ask, *tokens = map(render_span, spans)
    return ["all", "", prompts, n_answered, to_ask, *tokens, time, cost]


def _render_duration(estimate: Estimate) -> str:
    if estimate.n_to_ask.high == 0:
        return "0 s"
    return "not measured" if estimate.duration_s is None else render_duration(estimate.duration_s)


def render_span(span: Span) -> str:
    """Return `1,200` or `1,200 to 3,600`; millions as `2.5M`."""
    low, high = _render_number(span.low), _render_number(span.high)
    return low if low == high else f"{low} to {high}"


def _render_number(value: float) -> str:
    return f"{value:,.0f}" if value < 1e6 else f"{value / 1e6:,.1f}M"


def render_cost(span: Span, currency: str) -> str:
    """Return `1.20 USD` or `1.20 to 3.60 USD`."""
    low, high = f"{span.low:,.2f}", f"{span.high:,.2f}"
    return f"{low if low == high else f'{low} to {high}'} {currency}"


def render_duration(span: Span) -> str:
    """Return the duration in seconds, minutes or hours, depending on its length."""
    low, high = _render_seconds(span.low), _render_seconds(span.high)
    return low if low == high else f"{low} to {high}"


def _render_seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
