"""publish: everything that is complete goes into the warehouse, and from there onto the pages."""

from pathlib import Path

from prefect import flow, task

from config import Config
from flows.artifacts import link_results, show_leaderboard
from report.page import write_index, write_report
from tasks.diversity import write_diversity
from warehouse.publish import build_warehouse


@flow(name="publish", flow_run_name="publish-{edition_id}")
def publish(config: Config, edition_id: str) -> list[Path]:
    """The warehouse and the edition's page. The old ones stay until the new ones are whole.

    Raises:
        InputError: if a file cannot be read, or another publisher does not finish.
    """
    measure_samples(config.storage.root, edition_id)
    warehouse = load_warehouse(config.storage.root)
    page = write_pages(config.storage.root, edition_id, config.report.title)
    link_results(config, edition_id)
    show_leaderboard(config.storage.root, edition_id)
    return [warehouse, page]


@task(name="measure-samples")
def measure_samples(root: Path, edition_id: str) -> Path:
    """How diverse the edition's samples are; measured once."""
    return write_diversity(root, edition_id)


@task(name="load-warehouse")
def load_warehouse(root: Path) -> Path:
    """Everything complete under the root, as tables and views."""
    return build_warehouse(root)


@task(name="write-pages")
def write_pages(root: Path, edition_id: str, title: str) -> Path:
    """The page of the edition, and the list of all editions."""
    page = write_report(root, edition_id, title=title)
    write_index(root, title=title)
    return page
