"""publish: load everything that is complete into the warehouse, and write the pages from it."""

from pathlib import Path

from prefect import flow, runtime, task

from flows.support.cancellation import end_when_cancelled
from flows.support.keys import open_store
from flows.support.results import emit_score_changes, show_results
from flows.support.runs import RETRIES, TIME_LIMIT_S, GivenConfig
from flows.support.stage_task import remove_old_results
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import EDITIONS_FOLDER, MANIFEST
from pretexeval.storage.publication import hold_publication
from pretexeval.storage.records import find_manifest
from report.page import list_later_pages, write_pages
from tasks.asking.model_records import restore_model_records
from tasks.quality.measurements import measure_edition, repair_measurements
from warehouse.publishing import PartsLeftOut, build_warehouse
from warehouse.query import read_rows

measure_samples = task(name="measure-samples", **RETRIES)(measure_edition)
write_report_pages = task(name="write-pages", **RETRIES)(write_pages)


def name_publish_run() -> str:
    """Return a name such as `publish-starter-2026-W47-1a2b3c4d`, or `publish-everything`."""
    return f"publish-{runtime.flow_run.parameters.get('edition_id') or 'everything'}"


@flow(name="publish", flow_run_name=name_publish_run, timeout_seconds=TIME_LIMIT_S)
@end_when_cancelled
def publish(config: GivenConfig, edition_id: str | None = None) -> None:
    """Publish: build the warehouse, and write the edition's page or the pages of all editions.

    The old warehouse and pages stay until the new ones are complete.

    Args:
        config: the name or the file of a configuration, for example "configs/quickstart.toml".
        edition_id: the edition whose page is written; if not given, the pages of all complete editions.

    Raises:
        InputError: no edition is complete, the edition is damaged, or another publisher does not finish.
        PartsLeftOut: after publishing the rest, if files contradict the records that list them.
    """
    root = config.storage.root
    store = open_store(config.storage)
    with hold_publication(store):
        edition_ids = [edition_id] if edition_id else _list_editions(root)
        if not edition_ids:
            raise InputError(f"{root}: no edition is complete; `pretexeval run CONFIG` builds one")
        restore_model_records((*config.models, *config.writers), store)
        for measured_id in edition_ids:
            measure_samples(root, measured_id)
        repair_measurements(root, _list_editions(root))
        problem = load_warehouse(root)
        # An edition that is left out has no page, and neither have anchors.
        listed = read_rows(root, "select edition_id, is_anchors from editions")
        if edition_id is None:
            edition_ids = [row["edition_id"] for row in listed if not row["is_anchors"]]
        elif problem is not None and edition_id not in [row["edition_id"] for row in listed]:
            raise problem
        later_ids = list_later_pages(root, edition_id) if edition_id else []
        write_report_pages(root, [*edition_ids, *later_ids])
        remove_old_results(root)
    show_results("publish", config.storage, edition_id)
    if edition_id is not None:
        emit_score_changes(root, edition_id)
    if problem is not None:
        raise problem


def _list_editions(root: Path) -> list[str]:
    names = [path.parent.name for path in sorted((root / EDITIONS_FOLDER).glob(f"*/{MANIFEST}"))]
    return [name for name in names if find_manifest(root, name) is not None]


@task(name="load-warehouse", **RETRIES)
def load_warehouse(root: Path) -> PartsLeftOut | None:
    """Build the warehouse: everything sound under the root, as tables and views. Return what was left out."""
    try:
        build_warehouse(root)
    except PartsLeftOut as problem:
        return problem
    return None
