"""Scoring again: what the models answered, judged anew and published; nobody is asked."""

from collections.abc import Sequence
from dataclasses import replace

from config.file import Config
from report.page import write_pages
from storage.mirror import Mirror
from storage.publication import hold_publication
from tasks.edition.edition import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.scoring import score_again
from warehouse.publish import WAREHOUSE, build_warehouse


def score_models(config: Config, policies: Sequence[str] | None = None) -> str:
    """Score every model of the configuration under its policies, or under these; the edition's name.

    Policies under which a model was scored before stay.

    Raises:
        InputError: if a model was never evaluated on the edition.
    """
    edition_id, root = plan_edition(config).edition_id, config.storage.root
    mirror = Mirror(config.storage)
    for model in config.models:
        evaluation = plan_evaluation(config, edition_id, model.name)
        if policies:
            scoring = replace(evaluation.scoring, policies=tuple(policies))
            evaluation = replace(evaluation, scoring=scoring)
        mirror.pull_evaluation(edition_id, evaluation.model_id)
        score_again(evaluation)
        mirror.push_evaluation(edition_id, evaluation.model_id)
    with hold_publication(mirror, WAREHOUSE):
        build_warehouse(root)
        write_pages(root, [edition_id], title=config.report.title)
    return edition_id
