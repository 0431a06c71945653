"""The plan of a run: what it will make, ask and take, told before it does any of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from config.file import Config
from preflight.estimates import Estimate
from preflight.evaluation_estimates import Questions, Tally, draw_questions, estimate_evaluation
from preflight.footprint import count_rows, estimate_bytes
from preflight.writing_estimates import estimate_writing
from storage.mirror import Mirror
from tasks.edition.edition import plan_edition
from tasks.edition.preview import RelationPreview, preview_relations
from tasks.evaluation.evaluation import plan_evaluation


@dataclass(frozen=True)
class RunPlan:
    """What a run of a configuration will do."""

    edition_id: str
    is_there: bool
    n_samples: dict[str, int]
    """Method -> samples of the test; of llmeval at most."""
    n_bytes: int
    """Disk that it takes at most."""
    estimates: tuple[Estimate, ...]


def plan_run(config: Config, mirror: Mirror) -> RunPlan:
    """Everything that a run will ask and take; no model is loaded or asked.

    Nothing is written but what a bucket shared with other hosts holds of it already.

    Args:
        mirror: the configuration's storage, opened with its keys.

    Raises:
        InputError: for everything that would stop the run before it begins.
    """
    edition = plan_edition(config)
    evaluations = [plan_evaluation(config, edition.edition_id, model.name) for model in config.models]
    mirror.pull_edition(edition.edition_id)
    for model_id in (*(each.model_id for each in edition.writers), *(each.model_id for each in evaluations)):
        mirror.sync_responses(model_id)
    tallies = [Tally(evaluation) for evaluation in evaluations]
    drafts = list(preview_relations(edition))
    for draft in drafts:
        questions: dict[int | None, Questions] = {}
        for tally in tallies:
            n_pairs = tally.evaluation.model.pairs_per_relation
            if n_pairs not in questions:
                questions[n_pairs] = draw_questions(draft, n_pairs)
            tally.add(questions[n_pairs])
    return RunPlan(
        edition.edition_id,
        edition.is_complete(),
        count_samples(config, drafts),
        estimate_bytes(config, count_rows(edition)),
        (*estimate_writing(edition, drafts), *map(estimate_evaluation, tallies)),
    )


def count_samples(config: Config, drafts: Sequence[RelationPreview]) -> dict[str, int]:
    """Method -> its samples that are put to models, in the configuration's order."""
    counts = dict.fromkeys(map(str, config.edition.methods), 0)
    for draft in drafts:
        tested = draft.samples.filter(pl.col("split") == "test")
        for method, n_samples in tested.group_by("method").len().iter_rows():
            counts[method] += n_samples
    return counts
