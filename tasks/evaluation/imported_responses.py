"""Recorded responses joined by id to what an edition tests, and what does not fit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from primitives.errors import InputError
from schemas.exchange import MAX_ERROR_RATE
from tasks.evaluation.recorded_rows import RecordedRow, list_some

MISSING = "missing in the imported file"
CONTRADICTORY = "the imported file has different responses for this id and repeat"
Group = tuple[object, ...]
Place = tuple[str, int]
"""Id and repeat."""


@dataclass(frozen=True)
class ImportReport:
    """What a file of responses has for an edition, and what does not fit."""

    n_responses: int = 0
    """Rows that have a response, each counted once."""
    n_errors: int = 0
    """Rows that say why there is no response."""
    unknown: tuple[str, ...] = ()
    """Ids that no tested question or sample of the edition has."""
    repeated: tuple[str, ...] = ()
    """Ids of rows that repeat another row of the same repeat with the same content. One of them counts."""
    contradictory: tuple[str, ...] = ()
    """Ids with different rows for one repeat. None of them counts."""
    missing: tuple[str, ...] = ()
    """Ids without a row for a repeat, in groups of questions of which the file has rows."""
    not_asked: Mapping[str, int] = field(default_factory=dict)
    """Group of which the file has no row -> its questions or samples. They are not part of the evaluation."""

    def render(self) -> str:
        """Return the report as lines of text."""
        lines = [f"{self.n_responses:,} responses, {self.n_errors:,} rows with an error"]
        for ids, noun in (
            (self.unknown, "ids that the edition does not test (left out)"),
            (self.repeated, "ids with equal rows for one repeat (one of them counts)"),
            (self.contradictory, "ids with different rows for one repeat (none counts)"),
            (self.missing, "ids without a row (counted as failed)"),
        ):
            if ids:
                lines.append(list_some(list(ids), noun))
        lines += [f"not in the file: {group} ({n:,})" for group, n in self.not_asked.items()]
        return "\n".join(lines)


def match_rows(
    rows: Sequence[RecordedRow], tested: Mapping[str, Group]
) -> tuple[dict[Place, RecordedRow], ImportReport]:
    """Return the row of every id and repeat that the file should have, and the report.

    A missing or contradictory row becomes one with an error. Groups without any row are left out.

    Args:
        tested: id of every tested question or sample -> its group, such as relation, type and form.
    """
    known = [row for row in rows if row.row_id in tested]
    given: dict[Place, RecordedRow] = {}
    repeated: list[str] = []
    contradictory: list[str] = []
    for row in known:
        place = (row.row_id, row.repeat)
        if (first := given.setdefault(place, row)) is row:
            continue
        if first == row:
            repeated.append(row.row_id)
        else:
            contradictory.append(row.row_id)
            given[place] = RecordedRow(*place, error=CONTRADICTORY)
    asked = {tested[row.row_id] for row in known}
    repeats = range(1 + max((row.repeat for row in known), default=0))
    expected = [(row_id, n) for row_id, group in tested.items() if group in asked for n in repeats]
    missing = [row_id for row_id, n in expected if (row_id, n) not in given]
    found = {place: given.get(place) or RecordedRow(*place, error=MISSING) for place in expected}
    n_responses = sum(row.error is None for row in found.values())
    report = ImportReport(
        n_responses,
        len(given) - n_responses,
        unknown=_list_distinct(row.row_id for row in rows if row.row_id not in tested),
        repeated=_list_distinct(repeated),
        contradictory=_list_distinct(contradictory),
        missing=_list_distinct(missing),
        not_asked=_count_not_asked(tested, asked),
    )
    return found, report


def require_match(report: ImportReport, rows: Sequence[RecordedRow]) -> None:
    """Check that the file belongs to the edition.

    Raises:
        InputError: no row matches, repeats do not begin with 0, or more than 1 % of the rows are unknown or
            contradict each other.
    """
    repeats = {row.repeat for row in rows}
    if rows and repeats != set(range(len(repeats))):
        raise InputError(f"repeats must be numbered 0, 1, 2 and so on; the file has {sorted(repeats)}")
    limit = MAX_ERROR_RATE * len(rows)
    n_matched = report.n_responses + report.n_errors
    if not n_matched or len(report.unknown) > limit or len(report.contradictory) > limit:
        raise InputError(
            f"the file does not fit the edition, and nothing was imported:\n{report.render()}\n"
            f"At most {MAX_ERROR_RATE:.0%} of the rows may have an unknown id, and as many may contradict "
            "another row. Check the edition and the ids"
        )


def list_groups(tested: pl.DataFrame) -> dict[str, Group]:
    """Return id -> group of the tested questions or samples: what a file can leave out as a whole."""
    if "question_id" in tested.columns:
        offer = pl.when(type="RQ").then(
            pl.when(pl.col("answer").str.starts_with("T"))
            .then(pl.lit("right option offered"))
            .otherwise(pl.lit("wrong option offered"))
        )
        form = pl.when("is_negated").then(pl.lit("negated"))
        groups = tested.select("question_id", "relation", "type", offer.alias("offer"), form.alias("form"))
    else:
        groups = tested.select("sample_id", "relation", "method", "transformation")
    return {row_id: tuple(group) for row_id, *group in groups.iter_rows()}


def _count_not_asked(tested: Mapping[str, Group], asked: set[Group]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for group in tested.values():
        if group not in asked:
            name = ", ".join(str(part) for part in group if part is not None)
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def _list_distinct(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(ids)))
