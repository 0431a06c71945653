"""The plan of a run: what the run will build and ask, and what that takes."""

from collections.abc import Sequence
from dataclasses import dataclass

from config.file import Config
from preflight.disk_estimates import count_rows, estimate_disk_bytes
from preflight.estimates import Estimate
from preflight.evaluation_counts import AskedPairs, CountedSamples
from preflight.evaluation_estimates import EvaluationTally, estimate_evaluation
from preflight.new_facts import count_new_facts
from preflight.question_estimates import QuestionTally
from preflight.text_supply import TextSupply, count_text_supply
from preflight.writer_estimates import list_writer_parts
from storage.mirror import Mirror
from tasks.edition.anchors import plan_anchors
from tasks.edition.edition import Edition
from tasks.edition.planning import fetch_edition, plan_edition
from tasks.edition.preview import preview_pieces, preview_questions
from tasks.evaluation.evaluation import Evaluation, plan_evaluation


@dataclass(frozen=True)
class PoolUse:
    """A work pool, and the models that a deployed run asks in it."""

    pool: str
    """Its name in the configuration."""
    models: tuple[str, ...]


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
    counted = CountedSamples([EvaluationTally(each) for each in evaluations if each.subject.setting is None])
    writer_parts = list_writer_parts(edition)
    for piece in preview_pieces(edition) if edition.has_triplets else ():
        counted.add(piece)
        for part in writer_parts:
            part.add(piece)
    asked_pairs = counted.count_limited()
    n_questions, asked_questions = plan_questions(edition, evaluations)
    return RunPlan(
        edition.edition_id,
        edition.is_complete(),
        {str(method): counted.n_samples[method] for method in config.edition.methods if counted.sizes},
        n_questions,
        estimate_disk_bytes(config, count_rows(edition)),
        (
            *(part.estimate() for part in writer_parts),
            *map(estimate_evaluation, counted.tallies),
            *asked_questions,
        ),
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


def count_anchor_prompts(config: Config) -> int:
    """Return how many prompts about anchors a model is asked in every period; 0 without anchors."""
    planned = plan_anchors(config)
    if planned is None:
        return 0
    return sum(piece.samples.filter(split="test").height for piece in preview_pieces(plan_edition(planned)))


def plan_questions(
    edition: Edition, evaluations: Sequence[Evaluation]
) -> tuple[dict[str, int], list[Estimate]]:
    """Return type -> number of its test questions, and the estimates of the evaluations in settings."""
    counts: dict[str, int] = {}
    if not edition.has_questions:
        return counts, []
    tallies = [
        QuestionTally(each, is_built=edition.is_complete()) for each in evaluations if each.subject.setting
    ]
    for questions in preview_questions(edition):
        for tally in tallies:
            tally.add(questions)
        tested = questions.filter(split="test")
        for kind, n_questions in tested.group_by("type", maintain_order=True).len().iter_rows():
            counts[kind] = counts.get(kind, 0) + n_questions
    return counts, [tally.estimate() for tally in tallies]
