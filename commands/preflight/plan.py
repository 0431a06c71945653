"""`pretexeval plan`: what a run of a configuration will build and ask, and what that takes."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import polars as pl

from commands.preflight.asked_prompts import Estimate, add_items, list_writer_parts, start_evaluation
from commands.preflight.findings import Finding, render_findings
from commands.preflight.validate import check_names, check_negatives, run_checks
from pretexeval.config.file import Config
from pretexeval.storage.store import Store
from report.console import align
from schemas.columns import Stage
from schemas.question_stages import QUESTIONS
from schemas.stages import SAMPLES
from tasks.edition.anchors import plan_anchors
from tasks.edition.planning import fetch_edition, plan_edition
from tasks.edition.preview import preview_pieces, preview_questions, preview_relations
from tasks.edition.risks import Balance, describe_relation, read_balance
from tasks.evaluation.chains import read_chains
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.expected import expect_shares
from tasks.evaluation.schedule import (
    LOAD_S,
    S_PER_PROMPT,
    Part,
    describe_job,
    measure_idleness,
    measure_throughput,
    plan_parts,
)

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
    """The steps of a run of a configuration, and what they take."""

    edition_id: str
    is_there: bool
    """True if the edition is complete already."""
    n_samples: dict[str, int]
    """Method -> number of test samples; an upper bound for llmeval."""
    n_questions: dict[str, int]
    """Type -> number of test questions."""
    n_anchor_prompts: int
    """Prompts about anchors that each of the models is asked in every period of a schedule."""
    estimates: tuple[Estimate, ...]
    warnings: tuple[Finding, ...]
    """Warnings about names and negatives."""
    n_cards: int = 0
    parts: tuple[Part, ...] = ()
    """The runs of `pretexeval run` on so many cards, in the order in which they begin."""


def plan_run(config: Config, store: Store, n_cards: int = 0) -> RunPlan:
    """Estimate everything that a run will ask and take. No model is loaded or asked.

    The only files written are copies of the edition and the answers in a shared storage.

    Args:
        store: the configuration's storage, opened with its keys.
        n_cards: the cards of the host on which the models are asked.

    Raises:
        InputError: for everything that would stop the run before it begins.
    """
    edition = fetch_edition(config, store)
    asked_of = config.list_evaluations()
    evaluations = [plan_evaluation(config, edition.edition_id, name, setting) for name, setting in asked_of]
    writers = [writer.model_id for writer in edition.writers.values()]
    for model_id in dict.fromkeys([*writers, *(each.model_id for each in evaluations)]):
        store.sync_responses(model_id)
    parts, asked = list(list_writer_parts(edition)), [start_evaluation(each) for each in evaluations]
    # The chains of thought of an edition that is not built yet are not known.
    chains = [read_chains(each) if edition.is_complete() else {} for each in evaluations]
    n_samples, n_questions, balance = Counter[str](), Counter[str](), Balance()

    def count(stage: Stage, rows: pl.DataFrame, unwritten: Collection[str] = ()) -> None:
        for prompts, each, shown in zip(asked, evaluations, chains, strict=True):
            if each.subject.kind.stage == stage:
                add_items(prompts, each, rows, shown, unwritten)

    for piece in preview_relations(edition) if edition.has_triplets else ():
        balance[piece.relation] = describe_relation(edition, piece.relation, [piece.triplets])
        n_samples.update(piece.samples.filter(split="test")["method"])
        count(SAMPLES, piece.samples, piece.unwritten_methods)
        for _, add in parts:
            add(piece)
    if edition.has_questions:
        previewed = zip(edition.pieces.values(), preview_questions(edition), strict=True)
        for _, group in groupby(previewed, lambda pair: pair[0].relation):
            questions = pl.concat(rows for _, rows in group)
            n_questions.update(questions.filter(split="test")["type"])
            count(QUESTIONS, questions)
    for prompts, each in zip(asked, evaluations, strict=True):
        if each.asks_enough:
            prompts.notes.append(_note_needed(expect_shares(each) if edition.is_complete() else []))
    speeds = [measure_throughput(each) for each in evaluations]
    balance = read_balance(edition.root, edition.edition_id) or balance
    estimates = tuple(each.estimate(rate) for each, rate in zip(asked, speeds, strict=True))
    jobs = [
        describe_job(each, estimate.n_to_ask, rate)
        for each, estimate, rate in zip(evaluations, estimates, speeds, strict=True)
        if each.model.n_cards and estimate.n_to_ask
    ]
    return RunPlan(
        edition.edition_id,
        edition.is_complete(),
        {str(method): n_samples[method] for method in config.edition.methods if edition.has_triplets},
        dict(n_questions),
        _count_anchor_prompts(config),
        (*(part.estimate() for part, _ in parts), *estimates),
        tuple(run_checks(edition, balance, check_names, check_negatives)),
        n_cards,
        tuple(plan_parts(jobs, n_cards)) if n_cards > 1 else (),
    )


def _note_needed(shares: Sequence[float]) -> str:
    """Return what `ask = "enough"` is expected to take, from the shares that earlier models needed."""
    note = 'with ask = "enough", at most so many prompts'
    if not shares:
        return f"{note}; no earlier model on this edition shows how many are needed"
    low, high = (f"{100 * share:.0f}" for share in (shares[0], shares[-1]))
    span = low if low == high else f"{low} to {high}"
    of_models = "an earlier model" if len(shares) == 1 else f"{len(shares)} earlier models"
    return f"{note}; {span} % of the samples were enough for {of_models} on this edition"


def _count_anchor_prompts(config: Config) -> int:
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
    parts += [render_findings(plan.warnings)] if plan.warnings else []
    if plan.n_anchor_prompts:
        parts.append(
            f"anchors: a scheduled run also asks every model up to {plan.n_anchor_prompts:,} prompts, the "
            "same ones in every period; the table does not contain them"
        )
    if not plan.estimates:
        return "\n\n".join([*parts, "no models"])
    parts.append(align(COLUMNS, list(_render_rows(plan.estimates))))
    parts += _render_schedule(plan.parts, plan.n_cards)
    # Models with the same basis share a line.
    names_of: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in plan.estimates:
        if each.n_to_ask:
            names_of.setdefault((each.part, each.notes), []).append(each.name)
    lines = [
        f"  {part} by {', '.join(names)}: {'; '.join(notes)}" for (part, notes), names in names_of.items()
    ]
    return "\n\n".join(
        [*parts, "\n".join(["basis of the estimates:", *lines]) if lines else "nothing to ask"]
    )


def _render_schedule(parts: Sequence[Part], n_cards: int) -> list[str]:
    """Return the schedule with a row for each model; nothing if no model takes cards."""
    if not parts:
        return []
    whole_s, idle = measure_idleness(parts, n_cards)
    rows = []
    for job in dict.fromkeys(part.job for part in parts):
        own = [part for part in parts if part.job == job]
        times = [_show_seconds(time) for time in (own[0].begin_s, max(part.end_s for part in own))]
        rows.append([job.name, str(job.n_cards), str(own[0].of), *times])
    large = sorted({part.job.name for part in parts if part.job.n_cards > n_cards})
    refused = [f"{', '.join(large)}: these models take more cards, so their runs will fail"] if large else []
    assumed = (
        f"loading a model takes {LOAD_S:g} s, and a prompt {1000 * S_PER_PROMPT:g} ms if none was measured"
    )
    return [
        f"on {n_cards} cards: {_show_seconds(whole_s)}, {100 * idle:.0f} % of it idle ({assumed})",
        *refused,
        align(("model", "cards", "runs", "begins after", "ends after"), rows),
    ]


def _render_rows(estimates: Sequence[Estimate]) -> Iterator[list[str]]:
    """Yield the cells of each estimate, and of the sum.

    The time of the sum is unknown if one is, and its cost if no part has a price.
    """
    names = ("n_prompts", "n_answered", "n_to_ask", "n_prompt_tokens", "n_completion_tokens")
    times = [0.0 if not each.n_to_ask else each.duration_s for each in estimates]
    for each, time in zip(estimates, times, strict=True):
        numbers = [_show_number(getattr(each, name)) for name in names]
        yield [each.name, each.part, *numbers, _show_seconds(time), _show_cost([each])]
    sums = [_show_number(sum(getattr(each, name) for each in estimates)) for name in names]
    known = [time for time in times if time is not None]
    whole = sum(known) if len(known) == len(times) else None
    yield ["all", "", *sums, _show_seconds(whole), _show_cost(estimates)]


def _show_cost(estimates: Sequence[Estimate]) -> str:
    costs = [each.cost for each in estimates if each.cost is not None]
    return f"{sum(costs):,.2f}" if costs else "no price"


def _show_number(value: float) -> str:
    return f"{value:,.0f}" if value < 1e6 else f"{value / 1e6:,.1f}M"


def _show_seconds(seconds: float | None) -> str:
    if seconds is None:
        return "not measured"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
