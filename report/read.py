"""Reading: the contents of a page, from the warehouse, on a connection that cannot write to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from report.contents import (
    Contents,
    Row,
    Setting,
    choose_setting,
    list_models,
    order_setting,
    setting_of,
)
from schemas.errors import InputError

N_MISSED_SHOWN = 5
# What the list of editions tells of the best model.
SUMMARY = (
    "model",
    "mastery",
    "mastery_ci_low",
    "mastery_ci_high",
    "average_accuracy",
    "ci_low",
    "ci_high",
    "no_answer_rate",
)


class Reader:
    """Queries for one edition."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, edition_id: str) -> None:
        """A reader of the edition through an open connection."""
        self.connection = connection
        self.edition_id = edition_id

    def read(self, sql: str, **values: object) -> list[Row]:
        """Rows as dictionaries; `$edition_id` and the values are bound."""
        if "$edition_id" in sql:
            values["edition_id"] = self.edition_id
        result = self.connection.execute(sql, values)
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def read_view(self, view: str, setting: Setting) -> list[Row]:
        """The view's rows under the setting, in the order of the view."""
        return self.read(
            f"select * from {view} where edition_id = $edition_id and method = $method "
            "and scoring_policy = $scoring_policy and repeat = $repeat",
            method=setting.method,
            scoring_policy=setting.scoring_policy,
            repeat=setting.repeat,
        )


@contextmanager
def open_warehouse(root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to the warehouse under `root`; InputError if there is none."""
    path = root / "warehouse.duckdb"
    if not path.is_file():
        raise InputError(f"{path}: there is no warehouse; run `pretexeval publish CONFIG` first")
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            yield connection
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path}: cannot be read ({reason}); run `pretexeval publish CONFIG` to make it anew"
        ) from error


def read_contents(root: Path, edition_id: str) -> Contents:
    """The contents of an edition's page; InputError if the warehouse does not hold the edition."""
    with open_warehouse(root) as connection:
        reader = Reader(connection, edition_id)
        edition = _read_edition(reader)
        leaderboard = _read_leaderboard(reader)
        setting, n_settings = choose_setting(leaderboard, edition["methods"] or ["pretexeval"])
        return Contents(
            edition=edition,
            relations=reader.read(
                "select relation, count(distinct pair_id) as n_pairs from triplets "
                "where edition_id = $edition_id and split = 'test' "
                "group by relation order by relation"
            ),
            setting=setting,
            n_settings=n_settings,
            models=list_models(leaderboard, setting),
            example=_read_example(reader, setting.method),
            leaderboard=leaderboard,
            joint_accuracy_curve=reader.read_view("joint_accuracy_curve", setting),
            accuracy_by_relation=reader.read_view("accuracy_by_relation", setting),
            accuracy_by_transformation=reader.read_view("accuracy_by_transformation", setting),
            shortcut_baselines=reader.read(
                "select * from shortcut_baselines where edition_id = $edition_id "
                "and method = $method order by relation nulls first, baseline",
                method=setting.method,
            ),
            known_mastery=reader.read_view("known_mastery", setting),
            missed_points=_read_missed(reader, setting),
            views=reader.read(
                "select view_name as name, comment as grain from duckdb_views() "
                "where not internal order by view_name"
            ),
        )


def _read_edition(reader: Reader) -> Row:
    found = reader.read(
        "select edition_id, kb, label, seed, negatives, pool, rephraser, methods from editions "
        "where edition_id = $edition_id"
    )
    if not found:
        editions = reader.read("select edition_id from editions order by edition_id")
        known = ", ".join(row["edition_id"] for row in editions) or "none"
        raise InputError(
            f"the warehouse does not hold edition {reader.edition_id!r} (it holds: {known}); "
            "run `pretexeval build CONFIG`, then `pretexeval publish CONFIG`"
        )
    counts = reader.read(
        "select count(distinct pair_id) filter (split = 'test') as n_pairs, "
        "count(distinct pair_id) filter (split = 'demonstration') as n_demonstration_pairs, "
        "count(distinct relation) as n_relations from triplets where edition_id = $edition_id"
    )
    return found[0] | counts[0]


def _read_leaderboard(reader: Reader) -> list[Row]:
    """The leaderboards one after the other, the one of the figures first."""
    rows = reader.read(
        "select * from leaderboard where edition_id = $edition_id order by rank, model, model_id"
    )
    return sorted(rows, key=lambda row: order_setting(setting_of(row)))


def _read_example(reader: Reader, method: str) -> list[Row]:
    """The samples of the test pair with the shortest texts: the quickest to understand."""
    return reader.read(
        "with pairs as (select pair_id from samples where edition_id = $edition_id "
        "and method = $method and split = 'test' group by pair_id "
        "order by count(*) desc, sum(length(text)), pair_id limit 1) "
        "select s.transformation, s.sample_index, t.is_positive, s.text, s.label, t.relation, "
        "t.head, t.tail from samples as s inner join triplets as t using (edition_id, triplet_id) "
        "where s.edition_id = $edition_id and s.method = $method "
        "and s.pair_id in (from pairs) order by t.is_positive desc, s.sample_index",
        method=method,
    )


def _read_missed(reader: Reader, setting: Setting) -> list[Row]:
    """The few missed points of each model that it is most wrong about, and how many it missed."""
    return reader.read(
        "select *, count(*) over (partition by model_id) as n_missed from missed_points "
        "where edition_id = $edition_id and method = $method "
        "and scoring_policy = $scoring_policy and repeat = $repeat "
        "qualify row_number() over ("
        "partition by model_id order by n_correct, relation, head, pair_id) <= $n_shown "
        "order by model_id, n_correct, relation, head, pair_id",
        method=setting.method,
        scoring_policy=setting.scoring_policy,
        repeat=setting.repeat,
        n_shown=N_MISSED_SHOWN,
    )


def read_editions(root: Path) -> list[Row]:
    """The editions of the warehouse, each with its best model under the setting of its figures."""
    with open_warehouse(root) as connection:
        editions = Reader(connection, "").read("select edition_id from editions order by edition_id")
        return [_read_summary(Reader(connection, row["edition_id"])) for row in editions]


def _read_summary(reader: Reader) -> Row:
    edition = _read_edition(reader)
    leaderboard = _read_leaderboard(reader)
    setting, _ = choose_setting(leaderboard, edition["methods"] or ["pretexeval"])
    ranked = [row for row in leaderboard if setting.holds(row)]
    nothing = dict.fromkeys(SUMMARY)
    best = {name: ranked[0][name] for name in SUMMARY} if ranked else nothing
    return edition | best | {"n_models": len({row["model_id"] for row in leaderboard})}
