"""The rows of a base: repeated rows, ids, checksums; and the starter base."""

import json
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge import base as knowledge_base
from pretexeval.knowledge.base import COLUMNS, KnowledgeBase
from pretexeval.knowledge.doubtful_names import list_name_troubles
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.knowledge.rows import REPEATED, Source, build_base, build_source_rows, clean_rows
from pretexeval.storage.layout import manifest_file
from tasks.edition.manifest import complete_edition, list_left_out
from tests.pretexeval.knowledge.own_base import read_own, write
from tests.support.small_bases import make_edition, write_files

DISEK = ("symptoms", "affected_sites", "therapeutic_drugs", "surgical_procedures")
HEADER = "head,relation,tail,also_true,head_id,tail_id\n"
SAID = "marked also_true, but a row under test says the same"


def test_repeated_rows_are_left_out_and_listed(tmp_path: Path) -> None:
    for rows, kept, left_out in (
        ("a,r,b,,,\na ,r,b,false,,\na,r,b,,,\n", [("b", None, False)], [(3, REPEATED), (4, REPEATED)]),
        ("a,r,b,true,,\na,r,b,,,\n", [("b", None, False)], [(2, SAID)]),
        ("a,r,b,,,\na,r,b,true,,\n", [("b", None, False)], [(3, SAID)]),
        # Each id of a name keeps its rows.
        (
            "a,r,b,true,2,9\na,r,b,,1,9\na,r,b,,1,9\na,r,b,,,\n",
            [("b", "1", False), ("b", "2", False), ("b", None, False)],
            [(4, REPEATED)],
        ),
    ):
        base = read_own(write(tmp_path / "own.csv", HEADER + rows))
        assert base.triplets.select("tail", "head_id", "also_true").rows() == kept, rows
        listed = [(item.where, item.what, item.reason) for item in base.left_out]
        assert listed == [(f"own.csv, line {line}", "r: a → b", reason) for line, reason in left_out]


def test_what_is_left_out_is_listed_up_to_a_limit_and_counted_beyond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge_base, "MAX_LISTED", 3)
    distinct = [f"head {i},r,tail {i % 4},,,\n" for i in range(12)]
    for n_repeats, not_listed in ((3, {}), (50, {REPEATED: 47})):
        base = read_own(write(tmp_path / "own.csv", HEADER + "".join([*distinct, distinct[0] * n_repeats])))
        assert [item.where for item in base.left_out] == [f"own.csv, line {14 + i}" for i in range(3)]
        edition = make_edition(tmp_path / str(n_repeats), base, kind="none")
        files = write_files(edition)
        triplets = {
            piece: pl.read_parquet(edition.root / edition.path_of("triplets", piece))
            for piece in edition.pieces
        }
        listed = list_left_out(edition, triplets.__getitem__)
        complete_edition(edition, list(files.values()), listed)
        manifest = json.loads((edition.root / manifest_file(edition.edition_id)).read_text())
        assert (len(manifest["left_out"]), manifest.get("not_listed", {})) == (3, not_listed)


def test_starter_base_is_complete() -> None:
    base = read_knowledge_base(KnowledgeConfig())
    assert (base.left_out, list_name_troubles(base.triplets)) == ((), ())
    tested = base.triplets.filter(~pl.col("also_true"))
    n_heads = dict(tested.group_by("relation").agg(pl.col("head").n_unique()).iter_rows())
    assert len(n_heads) == 21
    assert min(n_heads[relation] for relation in DISEK) >= 60
    assert min(n_heads.values()) >= 12
    # A negated question with four options has one false option, and three that are true and tested.
    rich = tested.group_by("relation", "head").agg(pl.col("tail").n_unique()).filter(pl.col("tail") >= 3)
    assert min(rich.filter(relation=relation).height for relation in DISEK) >= 40


Row = tuple[str | None, ...]


def build(rows: list[Row]) -> KnowledgeBase:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")
    numbered = frame.with_row_index("row", offset=2)
    return build_base("own", clean_rows(Source(build_source_rows(Path("t.csv"), numbered))))


def checksum(base: KnowledgeBase) -> dict[str, str]:
    return {relation: base.checksum_relation(relation) for relation in base.relations}


def test_a_checksum_sees_every_cell_of_its_relation_and_no_other() -> None:
    rows: list[Row] = [
        ("r", "a", "b", None, "1", "true"),
        ("r", "A", "[X]", "2", None, None),
        ("s", "a", "b", "1", "1", None),
    ]
    before = checksum(build(rows))
    assert checksum(build(rows[::-1])) == before
    for at, row in enumerate(rows):
        for column in range(1, 5):
            changed = (*row[:column], "9", *row[column + 1 :])
            after = checksum(build([*rows[:at], changed, *rows[at + 1 :]]))
            assert {name for name in before if before[name] != after[name]} == {row[0]}, changed


def test_checksum_of_a_relation_stays_the_same() -> None:
    """The ids of stored editions depend on it."""
    base = build([("r", "a", "b", None, "C1", None), ("r", "a", "β", None, None, "true")])
    assert base.checksum_relation("r") == "ec57ae324018caeb1e0c324b1d52bb6b"
