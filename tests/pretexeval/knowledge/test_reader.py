import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import COLUMNS, KnowledgeBase, LeftOut
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.knowledge.rows import Source, build_base, build_source_rows, clean_rows
from pretexeval.primitives.errors import InputError
from tasks.drawing.heads import TripletSampling
from tasks.edition.triplets import draw_triplets

DISEK = ("symptoms", "affected_sites", "therapeutic_drugs", "surgical_procedures")
HEADER = "head,relation,tail,also_true,head_id,tail_id\n"


def read_rows(folder: Path, *rows: str, relations: tuple[str, ...] = ()) -> KnowledgeBase:
    path = folder / "own.csv"
    path.write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")
    config = KnowledgeConfig(name="own", format="table", path=path, relations=relations)
    return read_knowledge_base(config)


def test_repeated_rows_are_left_out_and_listed(tmp_path: Path) -> None:
    base = read_rows(tmp_path, "a,r,b,,,", "a,r,c,,,", "a ,r,b,false,,", "a,r,b,,,")
    assert base.triplets["tail"].to_list() == ["b", "c"]
    assert base.left_out == (
        LeftOut("own.csv, line 4", "r: a → b", "repeats another row"),
        LeftOut("own.csv, line 5", "r: a → b", "repeats another row"),
    )


@pytest.mark.parametrize("rows", [("a,r,b,true,,", "a,r,b,,,"), ("a,r,b,,,", "a,r,b,true,,")])
def test_tested_row_wins_over_also_true(tmp_path: Path, rows: tuple[str, str]) -> None:
    base = read_rows(tmp_path, *rows)
    assert base.triplets.select("tail", "also_true").rows() == [("b", False)]
    assert len(base.left_out) == 1
    assert base.left_out[0].reason == "marked also_true, but a row under test says the same"


def test_each_id_of_a_name_keeps_its_rows(tmp_path: Path) -> None:
    base = read_rows(tmp_path, "a,r,b,true,2,9", "a,r,b,,1,9", "a,r,b,,1,9", "a,r,b,,,")
    assert base.triplets.select("head_id", "tail_id", "also_true").rows() == [
        ("1", "9", False),
        ("2", "9", False),
        (None, None, False),
    ]
    assert [item.where for item in base.left_out] == ["own.csv, line 4"]


def test_a_relation_with_nothing_to_test_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to test in s: every row is marked also_true"):
        read_rows(tmp_path, "a,r,b,,,", "a,s,b,true,,")


def test_starter_base_is_complete() -> None:
    base = read_knowledge_base(KnowledgeConfig())
    heads = base.triplets.filter(~pl.col("also_true")).group_by("relation").agg(pl.col("head").n_unique())
    n_heads = dict(heads.iter_rows())
    assert len(n_heads) == 21
    assert min(n_heads[relation] for relation in DISEK) >= 60
    assert min(n_heads.values()) >= 12
    assert base.left_out == ()


@pytest.mark.parametrize("relation", DISEK)
def test_enough_tested_heads_have_three_true_tails(relation: str) -> None:
    """A negated question with four options has one false option, and three that are true and tested."""
    base = read_knowledge_base(KnowledgeConfig(relations=(relation,)))
    rows, drawn = base.triplets, draw_triplets(base, relation, TripletSampling(seed=1))
    pairs = drawn.filter(pl.col("split") == "test")
    n_true = rows.filter(~pl.col("also_true")).group_by("head").agg(pl.col("tail").n_unique())
    rich = set(n_true.filter(pl.col("tail") >= 3)["head"]) & set(pairs["head"])
    assert set(drawn["head"]) == set(n_true["head"])
    assert len(rich) >= 40


NAMES = st.sampled_from(["a", "A", "b", "é", "[X]", "[Y]", '"q"', "a b", "0"])
IDS = st.sampled_from([None, "1", "2"])
TRIPLET = st.tuples(st.sampled_from("rs"), NAMES, NAMES, IDS, IDS, st.sampled_from(["true", None]))


def build(rows: list[tuple[str | None, ...]]) -> KnowledgeBase:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")
    numbered = frame.with_row_index("row", offset=2)
    return build_base("own", clean_rows(Source(build_source_rows(Path("t.csv"), numbered))))


@given(st.lists(TRIPLET, min_size=1, max_size=30), st.randoms())
def test_the_order_of_rows_changes_nothing(rows: list[tuple[str | None, ...]], source: random.Random) -> None:
    shuffled = source.sample(rows, len(rows))
    base, other = build(list(rows)), build(shuffled)
    assert base.triplets.equals(other.triplets)
    assert len(base.left_out) == len(other.left_out) == len(rows) - base.triplets.height
    for relation in base.relations:
        assert base.checksum_relation(relation) == other.checksum_relation(relation)


@given(st.lists(TRIPLET, min_size=1, max_size=12, unique=True), st.integers(0, 11), st.integers(1, 4))
def test_a_checksum_sees_every_cell_of_its_relation_and_no_other(
    rows: list[tuple[str | None, ...]], at: int, column: int
) -> None:
    changed = list(rows)
    row = list(rows[at % len(rows)])
    row[column] = "9"
    changed[at % len(rows)] = tuple(row)
    base, other = build(rows), build(changed)
    for relation in {*base.relations, *other.relations}:
        is_changed = relation == row[0]
        if is_changed:
            assert base.checksum_relation(relation) != other.checksum_relation(relation)
        else:
            assert base.checksum_relation(relation) == other.checksum_relation(relation)


def test_checksum_of_a_relation_stays_the_same() -> None:
    """The ids of stored editions depend on it."""
    base = build([("r", "a", "b", None, "C1", None), ("r", "a", "β", None, None, "true")])
    assert base.checksum_relation("r") == "ec57ae324018caeb1e0c324b1d52bb6b"
