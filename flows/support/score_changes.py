"""What moved since the edition before: of the leaderboard, and by more than its interval as an event.

The edition before is looked for among the weeks alone, and model by model: a model that failed last week is
compared with the week before that. An edition made by hand (seed1) is not one of a series.
"""

from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from prefect.client.orchestration import get_client
from prefect.events import emit_event

from warehouse.query import run_query

Row = dict[str, Any]
SCORE_MOVED = "pretexeval.score.moved"
# The same base, pool and kind of negatives: what two schedules on one base may differ in.
BEFORE = r"""
with this as (select * from editions where edition_id = '{edition_id}')

select runs.model_id, editions.edition_id
from runs
inner join editions using (edition_id)
inner join this
    on editions.kb = this.kb and editions.pool = this.pool and editions.negatives = this.negatives
where
    regexp_full_match(editions.label, '\d{{4}}-W\d\d')
    and regexp_full_match(this.label, '\d{{4}}-W\d\d')
    and editions.label < this.label
qualify 1 = row_number() over (
    partition by runs.model_id
    order by editions.label desc, editions.edition_id desc
)
"""
# Of the editions that are compared alone: the warehouse holds all that were ever made.
SCORES = """
select
    edition_id, model_id, model, method, repeat, rank, average_accuracy, ci_low, ci_high, mastery,
    no_answer_rate
from leaderboard
where edition_id in ({edition_ids}) and scoring_policy = 'strict'
order by method, rank, model_id, repeat
"""
# edition_drift pairs the heads of both editions; its difference is the earlier score less the later one.
MOVED = """
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
    -difference_ci_low as change_ci_high
from edition_drift
where
    other_edition_id = '{edition_id}'
    and edition_id = '{since}'
    and scoring_policy = 'strict'
    and (difference_ci_low > 0 or difference_ci_high < 0)
order by model, method, repeat
"""


def read_leaderboard(root: Path, edition_id: str) -> list[Row]:
    """One row per method, model and repeat of the edition: its scores, and what they were before.

    change: in accuracy; since: the edition before. Both null where there is none.
    """
    before = {row["model_id"]: row["edition_id"] for row in _read_rows(root, BEFORE, edition_id=edition_id)}
    names = ", ".join(f"'{name}'" for name in sorted({edition_id, *before.values()}))
    rows = _read_rows(root, SCORES, edition_ids=names)
    scores = {(row["edition_id"], *_key(row)): row for row in rows}
    return [
        row | _compare(row, scores.get((before.get(row["model_id"]), *_key(row))))
        for row in rows
        if row["edition_id"] == edition_id
    ]


def _compare(row: Row, earlier: Row | None) -> Row:
    if earlier is None or None in (row["average_accuracy"], earlier["average_accuracy"]):
        return {"change": None, "since": None}
    change = row["average_accuracy"] - earlier["average_accuracy"]
    return {"change": change, "since": earlier["edition_id"]}


def find_moves(root: Path, edition_id: str) -> list[Row]:
    """One row per score that moved by more than its interval: on the heads that both editions test."""
    since = {_key(row): row["since"] for row in read_leaderboard(root, edition_id)}
    editions = sorted({name for name in since.values() if name})
    rows = [
        row for name in editions for row in _read_rows(root, MOVED.format(edition_id=edition_id, since=name))
    ]
    return [row for row in rows if row["since"] == since.get(_key(row))]


def report_moves(root: Path, edition_id: str) -> list[Row]:
    """Emit an event for every score that moved, for automations; the rows.

    The event's id is that of the move, and one that the server has heard of is not emitted again: an edition
    is published anew whenever something is added to it.
    """
    moves = {_identify(row): row for row in find_moves(root, edition_id)}
    known = _list_known(list(moves)) if moves else set()
    for event_id, row in moves.items():
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
    return list(moves.values())


def _identify(row: Row) -> UUID:
    what = [row[name] for name in ("edition_id", "since", "model_id", "method", "repeat", "change")]
    return uuid5(NAMESPACE_URL, "/".join(map(str, what)))


def _list_known(event_ids: list[UUID]) -> set[UUID]:
    """Those of the events that the server keeps (for a week, unless it is told otherwise)."""
    with get_client(sync_client=True) as client:
        wanted = {"filter": {"id": {"id": [str(each) for each in event_ids]}}, "limit": 50}
        found = client.request("POST", "/events/filter", json=wanted).json()["events"]
    return {UUID(each["id"]) for each in found}


def _key(row: Row) -> tuple[object, ...]:
    return row["model_id"], row["method"], row["repeat"]


def _read_rows(root: Path, sql: str, **names: str) -> list[Row]:
    columns, rows = run_query(root, sql.format(**names))
    return [dict(zip(columns, row, strict=True)) for row in rows]
