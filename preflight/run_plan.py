"""The plan of a run: what the run will build and ask, and what that takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from config.file import Config
from preflight.disk_estimates import count_rows, estimate_disk_bytes
from preflight.estimates import Estimate
from preflight.evaluation_estimates import (
    AskedSamples,
    EvaluationTally,
    estimate_evaluation,
    select_asked_samples,
)
from preflight.new_facts import count_new_facts
from preflight.question_estimates import QuestionTally
from preflight.text_supply import TextSupply, count_text_supply
from preflight.writer_estimates import estimate_writers
from storage.mirror import Mirror
from tasks.edition.anchors import plan_anchors
from tasks.edition.planning import fetch_edition, plan_edition
from tasks.edition.preview import RelationPreview, preview_questions, preview_relations
from tasks.evaluation.asked_pairs import divide_budget, measure_relation
from tasks.evaluation.evaluation import plan_evaluation


@dataclass(frozen=True)
class PoolUse:
    """A work pool, and the models that a deployed run asks in it."""

    pool: str
    """Its name in the configuration."""
    models: tuple[str, ...]


@dataclass(frozen=True)
class AskedPairs:
    """How many pairs of a relation a model is asked about within its budget."""

    model: str
    relation: str
    n_asked_pairs: int
    n_pairs: int
    """The test pairs of the relation."""


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
    n_bytes: int
    """Disk space that the run takes at most."""
    estimates: tuple[Estimate, ...]
    text_supply: tuple[TextSupply, ...]
    """For how many editions of a series the wordings of the pool give new texts about true facts."""
    n_new_facts: int | None = None
    """Facts that may be tested because the older release lacks them; None if no such release is given."""
    n_known_facts: int | None = None
    """Facts that are not tested because the older release holds them; None likewise."""
    n_anchor_prompts: int = 0
    """Prompts about anchors that each of the models is asked in every period of a schedule."""
    pools: tuple[PoolUse, ...] = ()
    """Which models a deployed run asks in which work pool."""
    asked_pairs: tuple[AskedPairs, ...] = ()
    """Only for models with a budget."""


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
    tallies = [EvaluationTally(each) for each in evaluations if each.subject.setting is None]
    drafts = list(preview_relations(edition)) if edition.has_triplets else []
    questions = list(preview_questions(edition)) if edition.has_questions else []
    asked_questions = [
        QuestionTally(each).count(questions, is_built=edition.is_complete()).estimate()
        for each in evaluations
        if each.subject.setting
    ]
    asked_pairs = list(divide_budgets(tallies, drafts))
    limits = {(each.model, each.relation): each.n_asked_pairs for each in asked_pairs}
    for draft in drafts:
        asked: dict[int | None, AskedSamples] = {}
        for tally in tallies:
            model = tally.evaluation.model
            n_pairs = limits.get((model.name, draft.relation), model.pairs_per_relation)
            if n_pairs not in asked:
                asked[n_pairs] = select_asked_samples(draft, n_pairs)
            tally.add(asked[n_pairs])
    return RunPlan(
        edition.edition_id,
        edition.is_complete(),
        count_samples(config, drafts),
        count_questions(questions),
        estimate_disk_bytes(config, count_rows(edition)),
        (*estimate_writers(edition, drafts), *map(estimate_evaluation, tallies), *asked_questions),
        count_text_supply(edition),
        count_new_facts(edition),
        edition.base.n_known,
        count_anchor_prompts(config),
        tuple(
            PoolUse(pool, tuple(model.name for model in models))
            for pool, models in config.list_pools().items()
        ),
        tuple(asked_pairs),
    )


def divide_budgets(
    tallies: Sequence[EvaluationTally], drafts: Sequence[RelationPreview]
) -> Iterator[AskedPairs]:
    """Yield how many pairs of each relation a model with a budget is asked about.

    Raises:
        InputError: a budget is too small.
    """
    sizes = {draft.relation: measure_relation(draft.samples) for draft in drafts}
    for tally in tallies:
        model, n_repeats = tally.evaluation.model, tally.evaluation.subject.n_repeats
        if model.budget is not None:
            for relation, n_asked in divide_budget(model.budget, sizes, n_repeats).items():
                yield AskedPairs(model.name, relation, n_asked, sizes[relation].n_pairs)


def count_anchor_prompts(config: Config) -> int:
    """Return how many prompts about anchors a model is asked in every period; 0 without anchors."""
    planned = plan_anchors(config)
    if planned is None:
        return 0
    return sum(count_samples(planned, list(preview_relations(plan_edition(planned)))).values())


def count_samples(config: Config, drafts: Sequence[RelationPreview]) -> dict[str, int]:
    """Return method -> number of its test samples, in the configuration's order."""
    counts = dict.fromkeys(map(str, config.edition.methods), 0) if drafts else {}
    for draft in drafts:
        tested = draft.samples.filter(pl.col("split") == "test")
        for method, n_samples in tested.group_by("method").len().iter_rows():
            counts[method] += n_samples
    return counts


def count_questions(relations: Sequence[pl.DataFrame]) -> dict[str, int]:
    """Return type -> number of its test questions."""
    counts: dict[str, int] = {}
    for questions in relations:
        tested = questions.filter(pl.col("split") == "test")
        for kind, n_questions in tested.group_by("type", maintain_order=True).len().iter_rows():
            counts[kind] = counts.get(kind, 0) + n_questions
    return counts
