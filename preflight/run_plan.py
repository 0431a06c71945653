"""The plan of a run: what the run will build and ask, and what that takes."""

from collections.abc import Sequence
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
from preflight.writer_estimates import estimate_writers
from storage.mirror import Mirror
from tasks.edition.edition import plan_edition
from tasks.edition.preview import RelationPreview, preview_relations
from tasks.evaluation.evaluation import plan_evaluation


@dataclass(frozen=True)
class RunPlan:
    """What a run of a configuration will do."""

    edition_id: str
    is_there: bool
    """Whether the edition is complete already."""
    n_samples: dict[str, int]
    """Method -> number of test samples; an upper bound for llmeval."""
    n_bytes: int
    """Disk space that the run takes at most."""
    estimates: tuple[Estimate, ...]


def plan_run(config: Config, mirror: Mirror) -> RunPlan:
    """Estimate everything that a run will ask and take. No model is loaded or asked.

    The only files written are copies of the edition and the answers in a shared storage.

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
    tallies = [EvaluationTally(evaluation) for evaluation in evaluations]
    drafts = list(preview_relations(edition))
    for draft in drafts:
        asked: dict[int | None, AskedSamples] = {}
        for tally in tallies:
            n_pairs = tally.evaluation.model.pairs_per_relation
            if n_pairs not in asked:
                asked[n_pairs] = select_asked_samples(draft, n_pairs)
            tally.add(asked[n_pairs])
    return RunPlan(
        edition.edition_id,
        edition.is_complete(),
        count_samples(config, drafts),
        estimate_disk_bytes(config, count_rows(edition)),
        (*estimate_writers(edition, drafts), *map(estimate_evaluation, tallies)),
    )


def count_samples(config: Config, drafts: Sequence[RelationPreview]) -> dict[str, int]:
    """Return method -> number of its test samples, in the configuration's order."""
    counts = dict.fromkeys(map(str, config.edition.methods), 0)
    for draft in drafts:
        tested = draft.samples.filter(pl.col("split") == "test")
        for method, n_samples in tested.group_by("method").len().iter_rows():
            counts[method] += n_samples
    return counts
