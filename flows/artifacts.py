"""What a run leaves in the Prefect UI: links to its results, the leaderboard, and how far it is."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.artifacts import (
    create_link_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from config import Config
from tasks.progress import show_progress
from warehouse.publish import WAREHOUSE
from warehouse.query import run_query

# An update is a request to the server.
SECONDS_BETWEEN_UPDATES = 5.0
LEADERBOARD = """
with before as (
    select edition_id
    from editions
    where kb = (select kb from editions where edition_id = '{edition_id}') and edition_id < '{edition_id}'
    order by edition_id desc
    limit 1
)

select
    leaderboard.rank,
    leaderboard.model,
    leaderboard.method,
    round(100 * leaderboard.average_accuracy, 1) as "accuracy %",
    format('{{:.1f}} to {{:.1f}}', 100 * leaderboard.ci_low, 100 * leaderboard.ci_high) as "95 % interval",
    round(100 * leaderboard.mastery, 1) as "mastery %",
    round(100 * leaderboard.no_answer_rate, 1) as "no answer %",
    round(100 * (leaderboard.average_accuracy - earlier.average_accuracy), 1) as "change, points",
    earlier.edition_id as since
from leaderboard
left join (select * from leaderboard where edition_id in (select edition_id from before)) as earlier
    on leaderboard.model_id = earlier.model_id
    and leaderboard.method = earlier.method
    and leaderboard.scoring_policy = earlier.scoring_policy
    and leaderboard.repeat = earlier.repeat
where leaderboard.edition_id = '{edition_id}' and leaderboard.scoring_policy = 'strict'
order by leaderboard.method, leaderboard.rank
"""


def link_results(config: Config, edition_id: str) -> None:
    """Links to the edition's page, its Parquet files and the warehouse."""
    root = config.storage.root.absolute()
    page = f"{edition_id}/index.html"
    base_url = config.report.base_url
    address = f"{base_url.rstrip('/')}/{page}" if base_url else (root / "report" / page).as_uri()
    create_link_artifact(address, link_text=f"Dashboard of {edition_id}", key="dashboard")
    for key, text, path in (
        ("parquet", f"Parquet files of {edition_id}", root / "editions" / edition_id),
        ("warehouse", "Warehouse (DuckDB)", root / WAREHOUSE),
    ):
        create_link_artifact(path.as_uri(), link_text=text, key=key)


def show_leaderboard(root: Path, edition_id: str) -> None:
    """The leaderboard of the edition, with the change since the edition before it."""
    columns, rows = run_query(root, LEADERBOARD.format(edition_id=edition_id))
    table: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in rows]
    create_table_artifact(table, key="leaderboard", description=f"Leaderboard of {edition_id}")


@contextlib.contextmanager
def show_run_progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function to be told how many more are done; shown on the console and in the UI."""
    artifact_id = create_progress_artifact(0.0, description=title)
    assert isinstance(artifact_id, UUID)
    n_done, next_update = 0, time.monotonic() + SECONDS_BETWEEN_UPDATES
    with show_progress(title, total) as advance:

        def advance_both(n: int) -> None:
            nonlocal n_done, next_update
            advance(n)
            n_done += n
            if time.monotonic() >= next_update:
                update_progress_artifact(artifact_id, min(100.0, 100 * n_done / max(total, 1)))
                next_update = time.monotonic() + SECONDS_BETWEEN_UPDATES

        yield advance_both
    update_progress_artifact(artifact_id, 100.0)
