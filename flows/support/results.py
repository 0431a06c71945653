"""The results of an edition in the UI and the log, and an event for each score that changed significantly.

The previous edition is searched among the scheduled ones with the same kind of period, for each model
separately: a model that failed last week is compared with the week before that. An edition built by hand
(seed1) does not belong to the series.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from prefect.client.orchestration import get_client
from prefect.events import emit_event

from flows.support.artifacts import render_links, show_page
from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.errors import count_noun
from pretexeval.storage.layout import EDITIONS_FOLDER, WAREHOUSE, edition_folder, page_file
from report.certainty import select_certain
from report.model_difference import write_points
from report.score_tables import render_scores
from warehouse.drift import describe_drift, describe_freshness
from warehouse.query import open_warehouse, read_rows

Row = dict[str, Any]
SCORE_MOVED = "pretexeval.score.moved"
# The previous edition of every model. Schedules may differ in base, pool, kind of negatives, rephraser and
# methods, so these must be equal.
PREVIOUS_EDITIONS = r"""
with this as (select * from editions where edition_id = '{edition_id}')

select runs.model_id, editions.edition_id
from runs
inner join editions using (edition_id)
inner join this
    on (editions.kb, editions.pool, editions.negatives) = (this.kb, this.pool, this.negatives)
    and (editions.rephraser, editions.methods) = (this.rephraser, this.methods)
where
    runs.setting is null
    and runs.period is null
    and runs.is_evaluated
    and regexp_full_match(this.label, '\d{{4}}-(W?\d\d|\d\d-\d\d)')
    and regexp_replace(editions.label, '\d', '0', 'g') = regexp_replace(this.label, '\d', '0', 'g')
    and editions.label < this.label
qualify 1 = row_number() over (
    partition by runs.model_id
    order by editions.label desc, editions.edition_id desc
)
"""
# The view edition_drift pairs the heads of both editions. Its difference is earlier minus later score. With
# the names of two editions, it reads no other one.
CHANGES = """
select
    other_edition_id as edition_id,
    edition_id as since,
    model_id,
    model,
    method,
    repeat,
    n_heads,
    other_average_accuracy as average_accuracy,
    average_accuracy as average_accuracy_before,
    -difference as change,
    -difference_ci_high as change_ci_low,
    -difference_ci_low as change_ci_high,
    p_value as change_p_value,
    n_effective
from edition_drift
where other_edition_id = '{edition_id}' and edition_id = '{since}' and scoring_policy = 'strict'
order by model, method, repeat
"""


def show_results(
    flow: str, storage: StorageConfig, edition_id: str | None, summary: Sequence[str] = ()
) -> list[str]:
    """Show the summary, links and the scores of an edition as the page of this run; return the scores.

    Args:
        edition_id: None for all editions, whose scores are not shown.
    """
    root, name = storage.root, edition_id or "all editions"
    scores = list[str]()
    if edition_id is not None:
        # The queries in the block share the open database.
        with open_warehouse(root):
            notes = [describe_freshness(root, edition_id), *describe_drift(root, edition_id)]
            changes = [describe_change(row) for row in read_changes(root, edition_id) if row["repeat"] == 0]
            scores = [render_scores(root, edition_id), *filter(None, notes), *changes]
    paths = {
        f"Page of {name}": page_file(edition_id),
        f"Parquet files of {name}": f"{edition_folder(edition_id) if edition_id else EDITIONS_FOLDER}/",
        "Warehouse (DuckDB)": WAREHOUSE,
    }
    lines = "\n".join(f"- {line}" for line in summary)
    table = [f"```\n{text}\n```" for text in scores[:1]]
    show_page(flow, edition_id, [lines, render_links(storage, paths), *table, *scores[1:]])
    return scores


def describe_change(row: Row) -> str:
    """Return a sentence about a row of `read_changes`."""
    return (
        f"{row['model']} ({row['method']}): average accuracy changed by {write_points(row, 'change')} since "
        f"{row['since']}, on {count_noun(row['n_heads'], 'shared head')}"
    )


def read_changes(root: Path, edition_id: str) -> list[Row]:
    """Return one row per score that has one in the previous edition, on the heads that both editions test."""
    rows = read_rows(root, PREVIOUS_EDITIONS.format(edition_id=edition_id))
    previous = {row["model_id"]: row["edition_id"] for row in rows}
    queries = [CHANGES.format(edition_id=edition_id, since=name) for name in sorted({*previous.values()})]
    changes = [row for sql in queries for row in read_rows(root, sql)]
    return [row for row in changes if row["since"] == previous.get(row["model_id"])]


def find_score_changes(root: Path, edition_id: str) -> list[Row]:
    """Return the rows of the scores that changed for certain, among all changes of all models."""
    return select_certain(read_changes(root, edition_id), "change")


def emit_score_changes(root: Path, edition_id: str) -> None:
    """Emit an event for every significant change of a score, for automations.

    An edition is published again whenever something is added to it. The id of an event is therefore a hash of
    the change, and an event that the server knows already is not emitted again.
    """
    changes = {_hash_event_id(row): row for row in find_score_changes(root, edition_id)}
    known = _list_known_events(list(changes)) if changes else set()
    for event_id, row in changes.items():
        if event_id in known:
            continue
        emit_event(
            SCORE_MOVED,
            resource={
                "prefect.resource.id": f"pretexeval.model.{row['model_id']}",
                "prefect.resource.name": row["model"],
            },
            payload=row,
            id=event_id,
        )


def _hash_event_id(row: Row) -> UUID:
    values = [row[name] for name in ("edition_id", "since", "model_id", "method", "repeat", "change")]
    return uuid5(NAMESPACE_URL, "/".join(map(str, values)))


def _list_known_events(event_ids: list[UUID]) -> set[UUID]:
    """Return the events that the server still has. By default it keeps events for a week."""
    with get_client(sync_client=True) as client:
        wanted = {"filter": {"id": {"id": [str(event_id) for event_id in event_ids]}}, "limit": 50}
        found = client.request("POST", "/events/filter", json=wanted).json()["events"]
    return {UUID(event["id"]) for event in found}
