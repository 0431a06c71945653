"""Reader of a table of synonyms with the columns answer and synonym.

One row says that a synonym means the same as an answer. An optional column answer_id names the concept of the
answer: answers with the same id share their synonyms, and each of them is a synonym of the others.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from pretexeval.knowledge.base import LeftOut, cap_left_out
from pretexeval.knowledge.names import fold_name
from pretexeval.knowledge.rows import INDEXED, describe_problems
from pretexeval.knowledge.tables import read_table
from pretexeval.primitives.errors import InputError


def read_name_table(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
    """Return the named columns of a table as text, with row (number), place (for messages) and problem.

    Raises:
        InputError: the file cannot be read, has no rows or lacks a column, or a row is broken or lacks a
            required name; the message names it.
    """
    rows = read_table(path, required, optional)
    numbered = "row index {}" if re.search(INDEXED, path.name) else "line {}"
    rows = rows.with_columns(pl.format(numbered, "row").alias("place"))
    if rows.is_empty():
        raise InputError(f"{path} holds no rows: fill it or name another file")
    wrong: list[str] = []
    for row in rows.iter_rows(named=True):
        empty = [name for name in required if not fold_name(row[name] or "")]
        problems = [row["problem"], *(f"the {name} is empty: write it or delete the row" for name in empty)]
        wrong += [f"{path}, {row['place']}: {problem}" for problem in problems if problem][:1]
    if wrong:
        raise InputError(describe_problems(wrong))
    return rows


REQUIRED = ("answer", "synonym")
OPTIONAL = ("answer_id",)


@dataclass(frozen=True)
class SynonymTable:
    """The synonyms of answers, sorted, by folded name, and the rows that were left out."""

    by_answer: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    not_listed: dict[str, int] = field(default_factory=dict)
    """See `KnowledgeBase.not_listed`."""

    def find(self, answer: str) -> tuple[str, ...]:
        """Return the synonyms of an answer in any spelling. An answer without a row has none."""
        return self.by_answer.get(fold_name(answer), ())


def read_synonyms(path: Path) -> SynonymTable:
    """Return the synonyms of a file. Rows that repeat one or name the answer itself are left out and listed.

    Raises:
        InputError: the file cannot be read or lacks a column, or rows are wrong; the message names them.
    """
    return build_synonyms(read_name_table(path, REQUIRED, OPTIONAL), path.name)


def build_synonyms(rows: pl.DataFrame, file: str) -> SynonymTable:
    """Return the table of rows with the columns answer, synonym, row, place, and optionally answer_id."""
    # Names by the key under which they share synonyms, and the keys of each answer: its name and its ids.
    names: dict[str, dict[str, str]] = {}
    keys: dict[str, set[str]] = {}
    left_out: list[LeftOut] = []
    for row in rows.sort("answer", "synonym", "row").iter_rows(named=True):
        answer, synonym = row["answer"].strip(), row["synonym"].strip()
        folded, place = fold_name(answer), f"{file}, {row['place']}"
        answer_id = (row.get("answer_id") or "").strip()
        own = [f"name:{folded}", *([f"id:{answer_id}"] if answer_id else [])]
        keys.setdefault(folded, set()).update(own)
        if answer_id:
            names.setdefault(own[1], {}).setdefault(folded, answer)
        if fold_name(synonym) == folded:
            left_out.append(LeftOut(place, f"{answer}: {synonym}", "is the answer in another spelling"))
            continue
        if fold_name(synonym) in names.get(own[0], {}):
            left_out.append(LeftOut(place, f"{answer}: {synonym}", "repeats another row"))
            continue
        for key in own:
            names.setdefault(key, {}).setdefault(fold_name(synonym), synonym)
    by_answer = {
        folded: tuple(
            sorted({f: n for key in own for f, n in names.get(key, {}).items() if f != folded}.values())
        )
        for folded, own in ((folded, sorted(found)) for folded, found in keys.items())
    }
    return SynonymTable(by_answer, *cap_left_out(left_out))
