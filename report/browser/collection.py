"""What can be browsed: the statements of a method, or the questions of an edition.

A collection has groups (pairs, or points) of items (samples, or questions), and runs: one for every model,
scoring policy, and repeat or setting. The steps of its writing are SQL files that leave their rows in
temporary tables; the files of the two kinds differ, what follows from their tables does not.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from pretexeval.primitives.hashing import hash_json
from pretexeval.primitives.literal_paths import read_parquet
from report.browser.pieces import Earlier, PieceFolder, Series
from report.contents import Row
from report.edition_reader import EditionReader
from report.formats import FORMS
from schemas.columns import SCORING_POLICIES
from schemas.question_stages import FACET_OF, SETTINGS
from schemas.transformations import TRANSFORMATIONS

# The forms of the items of each group, one letter per item, from `a` on.
LIST_FORMS = (
    "select string_agg(chr(97 + form::integer), '' order by place) from browsed_items "
    "group by position order by position"
)


@dataclass(frozen=True)
class Kind:
    """How a kind of collection is read."""

    name: str
    """The prefix of its SQL files."""
    items: str
    """The table of its items."""
    scores: str
    """The table of the scores of its groups."""
    taught: str
    """The view of what reference models were taught about its groups."""
    group_column: str
    run_columns: tuple[str, ...]
    """What distinguishes runs in that table."""
    reply_columns: tuple[str, ...]
    """Which of them distinguish replies: a scoring policy does not."""


STATEMENTS = Kind(
    "statement",
    "samples",
    "pair_scores",
    "storage.taught_pairs",
    "pair_id",
    ("model_id", "scoring_policy", "repeat"),
    ("model_id",),
)
QUESTIONS = Kind(
    "question",
    "questions",
    "point_scores",
    "storage.taught_points",
    "point_id",
    ("model_id", "scoring_policy", "setting"),
    ("model_id", "setting"),
)


def list_forms(kind: Kind, method: str) -> list[Row]:
    """Return what the forms of items mean, by their number in the SQL files."""
    if kind is QUESTIONS:
        return [
            {"name": name, "facet": facet, "is_negated": is_negated}
            for name, facet in FACET_OF.items()
            for is_negated in (False, True)
        ]
    has_transformations = method != "llmeval"
    return [
        {
            "name": t.name if has_transformations else f"line {k + 1}",
            "words": FORMS[t.name] if has_transformations else f"line {k + 1}",
            "is_negated": t.is_negated if has_transformations else None,
            "is_true_tail": is_true_tail,
        }
        for is_true_tail in (True, False)
        for k, t in enumerate(TRANSFORMATIONS)
    ]


FOLDER = Path(__file__).parent
N_FETCHED = 2_000
MAX_GROUPS = 20_000
"""The groups of a collection that are shown, because a browser loads the list of them. MedLAMA has 17,000."""


@dataclass(frozen=True)
class CollectionWriter:
    """Writes the pieces of one collection."""

    reader: EditionReader
    kind: Kind
    method: str
    """The method of the statements; the name of the collection."""
    pieces: PieceFolder
    earlier: Earlier
    checksums: dict[str, Series]
    """The checksums of the replies that were written, with their pieces."""
    model_ids: list[str]
    """In the order of the page. The first of them, under the first policy, is shown if a link names none."""
    statement_files: list[Path]
    """The files of the statements that were reworded."""

    def write(self) -> Row | None:
        """Write all pieces and return what the page must know about them; None if no model has answered."""
        runs = self._list_runs(self.kind.run_columns)
        if not runs:
            return None
        n_all = self._choose_groups()
        self._run("groups")
        self._run("items")
        relations = self.reader.read(
            "select relation, min(position) as first from browsed_groups group by relation order by first"
        )
        ages = self.reader.read(
            "select distinct first_release as age from browsed_groups where age is not null "
            "order by age = 'new', age"
        )
        (n_groups,) = self.reader.read(
            "select count(*) as n, bit_xor(hash(position, group_id))::varchar as checksum from browsed_groups"
        )
        forms = list(self._fetch(LIST_FORMS))
        is_uniform = len(set(forms)) == 1
        return {
            "name": self.method,
            "kind": self.kind.name,
            "nGroups": n_groups["n"],
            "nAll": n_all,
            "ages": [row["age"] for row in ages],
            "relations": [[row["relation"], row["first"]] for row in relations],
            "forms": list_forms(self.kind, self.method),
            "groupForms": forms[0] if is_uniform else None,
            "formSeries": [] if is_uniform else self._write_codes(forms),
            "groups": self._write(
                self._fetch(
                    "select json_array(group_id, head, is_asserted, statements_pair_id, first_release) "
                    "::varchar from browsed_groups order by position"
                )
            ),
            "texts": self._write(self._list_texts()),
            "taught": dict(self._write_taught()),
            "likely": dict(self._write_likely()),
            "runs": [
                run | {"states": self._write_codes(self._run("states", **run))}
                for run in sorted(runs, key=self._order_run)
            ],
            "answers": {
                "/".join(map(str, run.values())): self._write_replies(run, n_groups["checksum"])
                for run in self._list_runs(self.kind.reply_columns)
            },
        }

    def _choose_groups(self) -> int:
        """Choose the groups that are shown, and return how many there are.

        Of too many groups, those come first that a model was asked about, and the relations take turns.
        """
        group, items, condition = self.kind.group_column, self.kind.items, self._condition
        self.reader.read(
            f"""
            create or replace temp table browsed_candidates as
            select
                {group} as group_id,
                any_value(relation) as relation,
                {group} in (select {group} from {self.kind.scores} where {condition}) as is_asked
            from {items}
            where {condition} and split = 'test'
            group by {group}
            """,
            **self._values,
        )
        self.reader.read(
            f"""
            create or replace temp table browsed_choice as
            with turns as (
                select *, row_number() over (partition by relation, is_asked order by group_id) as turn
                from browsed_candidates
            )

            select group_id from turns order by is_asked desc, turn, relation limit {MAX_GROUPS}
            """
        )
        (counted,) = self.reader.read("select count(*) as n from browsed_candidates")
        return int(counted["n"])

    def _list_texts(self) -> Iterator[str]:
        if self.kind is STATEMENTS:
            create_table(self.reader.connection, "browsed_statements", self._read_statements())
        return self._run("texts")

    def _read_statements(self) -> pl.DataFrame:
        """Return variant_id and statement of the items. All statements of a large edition may not fit."""
        items = self.reader.connection.sql("select distinct variant_id from browsed_items").to_arrow_table()
        chosen = pl.DataFrame(items)
        columns = ["variant_id", "statement"]
        empty = pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
        parts = (read_parquet(path, columns).select(columns) for path in self.statement_files)
        return pl.concat([empty, *(part.join(chosen, on="variant_id", how="semi") for part in parts)])

    def _list_runs(self, columns: tuple[str, ...]) -> list[Row]:
        sql = f"select distinct {', '.join(columns)} from {self.kind.scores} where {self._condition}"
        return self.reader.read(f"{sql} order by all", **self._values)

    @property
    def _condition(self) -> str:
        return "edition_id = $edition_id" + (" and method = $method" if self.kind is STATEMENTS else "")

    @property
    def _values(self) -> dict[str, Any]:
        return {"method": self.method} if self.kind is STATEMENTS else {}

    def _order_run(self, run: Row) -> tuple[int, int, int, int]:
        return (
            SCORING_POLICIES.index(run["scoring_policy"]),
            run.get("repeat", 0),
            SETTINGS.index(run["setting"]) if "setting" in run else 0,
            self.model_ids.index(run["model_id"]),
        )

    def _write_taught(self) -> Iterator[tuple[str, str]]:
        """Write for every reference model what it was taught of each group; the keys are model ids."""
        rows = self.reader.read(
            f"select model_id, to_json(list(taught_with order by position))::varchar as taught "
            f"from (select distinct model_id from {self.kind.taught} where edition_id = $edition_id) "
            "cross join browsed_groups "
            "left join (select model_id, taught_with, "
            f"{self.kind.group_column} as group_id from {self.kind.taught} "
            "where edition_id = $edition_id and is_as_taught) using (model_id, group_id) "
            "group by model_id order by model_id"
        )
        for row in rows:
            yield row["model_id"], self.pieces.write(row["taught"])

    def _write_replies(self, run: Row, groups: str) -> Series:
        """Write what a model replied to every item, or find it among the pieces that are there.

        Args:
            groups: the checksum of the groups, because replies are written in their order.
        """
        conditions = " and ".join(f"{name} = ${name}" for name in ("edition_id", *run))
        kind = "samples" if self.kind is STATEMENTS else "questions"
        sums = self.reader.read(
            f"select count(*) as n, bit_xor(hash(rows))::varchar as mixed, "
            f"sum(hash(rows) % 1000003)::varchar as added from answers as rows "
            f"where kind = '{kind}' and {conditions}",
            **run,
        )
        checksum = hash_json([self.method, run, groups, sums])
        return self._find_or_write(checksum, lambda: self._write_answers(run))

    def _write_answers(self, run: Row) -> Series:
        self._run("replies", **run)
        self.reader.connection.execute(_read_sql("find_prompts"), {"model_id": run["model_id"]})
        self.reader.connection.execute(_read_sql("cut_prompts"))
        return self._write(self._fetch(_read_sql("answers")))

    def _write_likely(self) -> Iterator[tuple[str, Series]]:
        """Write how likely each model finds True; the keys are model ids with repeats."""
        if self.kind is not STATEMENTS:
            return
        runs = self.reader.read(
            f"select distinct model_id, repeat from calibration_bins where {self._condition} order by all",
            **self._values,
        )
        for run in runs:
            yield "/".join(map(str, run.values())), self._write(self._run("likely", **run))

    def _find_or_write(self, checksum: str, write: Callable[[], Series]) -> Series:
        """Return the pieces of the earlier publication that were made of the same rows, or write them."""
        series = self.earlier.answers.get(checksum)
        if series is None:
            series = write()
        self.pieces.names |= {name for _, name in series}
        self.checksums[checksum] = series
        return series

    def _write(self, rows: Iterator[str]) -> Series:
        return self.pieces.write_series(rows)

    def _write_codes(self, codes: Iterable[str]) -> Series:
        return self._write(f'"{text}"' for text in codes)

    def _run(self, step: str, **values: object) -> Iterator[str]:
        """Run the SQL file of a step with the parameters that it uses; return the texts that it selects."""
        sql = _read_sql(f"{self.kind.name}_{step}")
        values |= {"edition_id": self.reader.edition_id, "method": self.method}
        return self._fetch(sql, **{name: value for name, value in values.items() if f"${name}" in sql})

    def _fetch(self, sql: str, **values: object) -> Iterator[str]:
        """Run a query at once; return the texts that it selects, a few thousand at a time."""
        result = self.reader.connection.execute(sql, values)

        def read() -> Iterator[str]:
            while rows := result.fetchmany(N_FETCHED):
                yield from (row[0] for row in rows)

        return read()


def create_table(connection: duckdb.DuckDBPyConnection, name: str, rows: pl.DataFrame) -> None:
    """Create a temporary table of the rows."""
    connection.register("rows_to_copy", rows.to_arrow())
    connection.execute(f"create or replace temp table {name} as from rows_to_copy")
    connection.unregister("rows_to_copy")


def _read_sql(name: str) -> str:
    return (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
