"""Find an edition or a model of the warehouse by what a person types: its id, a part of it, or its name."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import duckdb

from pretexeval.primitives.errors import InputError, suggest


class EvaluatedModel(NamedTuple):
    """A model that has scores on an edition."""

    model_id: str
    name: str


def find_edition(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """Return the edition with this id, or the only one whose id begins with the text, or whose label it is.

    The hash at the end of an id is enough, too. Withdrawn editions count only if no other one is meant.

    Raises:
        InputError: no edition or several editions are meant.
    """
    editions = connection.execute(
        "select edition_id, label, withdrawn_at is null from editions order by edition_id"
    ).fetchall()
    ids = [edition_id for edition_id, *_ in editions]
    if text in ids:
        return text
    meant = [
        (edition_id, is_published)
        for edition_id, label, is_published in editions
        if text and (edition_id.startswith(text) or text in (label, edition_id.rpartition("-")[2]))
    ]
    candidates = [name for name, is_published in meant if is_published] or [name for name, _ in meant]
    if not candidates:
        raise InputError(describe_missing(text, ids))
    return _choose(candidates, f"the edition {text!r}")


def describe_missing(text: str, edition_ids: Sequence[str]) -> str:
    """Return the message that the warehouse lacks the edition, and which ones it has."""
    near = suggest(text, edition_ids)
    return f"the warehouse has no edition {text!r}{near}; it contains: {_join(edition_ids)}"


def find_model(connection: duckdb.DuckDBPyConnection, edition_id: str, text: str) -> EvaluatedModel:
    """Return the model with this id or name, or the only one whose id begins with the text.

    Raises:
        InputError: no model or several models of the edition are meant; or the model was not evaluated, with
            the reason that the view not_evaluated gives.
    """
    values = {"edition_id": edition_id}
    sql = "from not_evaluated where edition_id = $edition_id and setting is null"
    failed = connection.execute(f"select model_id, model, reason {sql}", values).fetchall()
    evaluated = connection.execute(
        "select model_id, models.name from runs inner join models using (model_id) "
        "where setting is null and period is null and edition_id = $edition_id "
        f"and model_id not in (select model_id {sql} and model_id is not null) "
        "order by models.name, model_id",
        values,
    ).fetchall()
    if (model := _match(text, evaluated)) is None and (without := _match(text, failed)) is not None:
        raise InputError(
            f"{without[1]} was not evaluated on {edition_id}, so it cannot be compared: {without[2]}"
        )
    if model is None:
        names = [f"{name} ({model_id})" for model_id, name in evaluated]
        near = suggest(text, [name for _, name in evaluated])
        raise InputError(f"{edition_id} has no scores of a model {text!r}{near}; it has: {_join(names)}")
    return EvaluatedModel(*model)


def _match(text: str, models: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """Return the model that is meant, of rows of id, name and anything else; None if there is none."""
    conditions = (
        lambda row: row[0] == text,
        lambda row: row[1] == text,
        lambda row: bool(text and row[0] and row[0].startswith(text)),
    )
    for is_meant in conditions:
        if matches := [row for row in models if is_meant(row)]:
            chosen = _choose([row[0] for row in matches], f"the model {text!r}")
            return next(row for row in matches if row[0] == chosen)
    return None


def _choose(candidates: Sequence[str], what: str) -> str:
    if len(candidates) > 1:
        raise InputError(
            f"{what} may be any of {_join(candidates)}: give its id, or as much of it as differs"
        )
    return candidates[0]


def _join(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
