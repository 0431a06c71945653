"""Recognise a run with nothing to do, so that a command need not start Prefect's server for it."""

import os
from pathlib import Path

from config.file import Config
from storage.layout import WAREHOUSE, freshness_record, model_file, page_file
from storage.mirror import Mirror
from storage.records import find_record


def is_evaluated_here(config: Config, edition_id: str) -> bool:
    """Return whether nothing is left to ask or to score.

    With a storage that hosts share, or a named Prefect server, others want to see each run: always false.
    """
    from tasks.evaluation.finished import are_evaluated

    if config.storage.shared is not None or "PREFECT_API_URL" in os.environ:
        return False
    return are_evaluated(config, edition_id, Mirror(config.storage))


def find_published(config: Config, edition_id: str) -> list[Path] | None:
    """Return the warehouse and the edition's page if a publication would change nothing; null if it would.

    The tokens of a judge and of the writer of llmeval are only counted by a publication.
    """
    from engines.identity import identify_model
    from report.page import are_pages_current
    from tasks.quality.measurements import is_measured
    from warehouse.publishing import is_warehouse_current

    root = config.storage.root
    if config.judge.is_set or "llmeval" in config.edition.methods:
        return None
    noted = find_record(root / freshness_record(edition_id), "it is written again") or {}
    is_current = (
        noted.get("min_new_texts") == config.report.min_new_texts
        and is_measured(root, edition_id)
        and all((root / model_file(identify_model(model).model_id)).is_file() for model in config.models)
        and is_warehouse_current(root)
        and are_pages_current(root, [edition_id], title=config.report.title)
    )
    return [root / WAREHOUSE, root / page_file(edition_id)] if is_current else None
