import re
from pathlib import Path

import polars as pl
import pytest

from primitives.errors import InputError
from review.export import draw_items, export_review, read_key
from review.grade_import import import_review
from tests.support.review_sheets import METHODS, N_PAIRS, build_edition, fill_rows, read_rows, write_rows


@pytest.fixture
def edition_id(tmp_path: Path) -> str:
    return build_edition(tmp_path)


def test_the_sheet_has_the_samples_of_every_method_and_hides_the_method(
    tmp_path: Path, edition_id: str
) -> None:
    sheet, instructions, key = export_review(tmp_path, edition_id, ["a"], n_pairs=4)
    folder = tmp_path / "reviews" / edition_id
    assert (sheet, instructions, key) == tuple(
        folder / name for name in ("sheet-a.csv", "instructions.md", "key.json")
    )
    rows = read_rows(sheet)
    hidden = read_key(tmp_path, edition_id).graders["a"]
    assert len(rows) == len(hidden) == 4 * len(METHODS)
    assert {row["row_id"] for row in rows} == set(hidden)
    items = {(i.triplet_id, i.method): i for i in draw_items(tmp_path, edition_id, 4, 0)}
    for row in rows:
        item = items[hidden[row["row_id"]].triplet_id, hidden[row["row_id"]].method]
        shown = [row[f"sample_{i}"] for i in range(1, 9) if row[f"sample_{i}"]]
        expected = [f"({'true' if label else 'false'}) {text}" for text, label in item.samples]
        assert sorted(shown) == sorted(expected)
        assert row["triplet"] == f"{item.head} | {item.relation} | {item.tail}"
    text = sheet.read_text(encoding="utf-8-sig")
    assert not any(word in text for word in (*METHODS, *(triplet_id for triplet_id, _ in items)))


def test_only_true_triplets_of_the_test_split_are_drawn_and_each_pair_once(
    tmp_path: Path, edition_id: str
) -> None:
    triplets = pl.read_parquet(tmp_path / "editions" / edition_id / "triplets" / "*.parquet")
    tested = triplets.filter("is_positive", pl.col("split") == "test")
    items = draw_items(tmp_path, edition_id, 1000, 0)
    assert {item.triplet_id for item in items} == set(tested["triplet_id"])
    assert len(items) == N_PAIRS * len(METHODS)
    assert {len(item.samples) for item in items if item.method == "direct"} == {1}
    assert {len(item.samples) for item in items if item.method == "pretexeval"} == {8}


def test_the_seed_draws_the_pairs(tmp_path: Path, edition_id: str) -> None:
    drawn = [{i.triplet_id for i in draw_items(tmp_path, edition_id, 5, seed)} for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert [len(ids) for ids in drawn] == [5, 5, 5]


def test_row_ids_are_letters_that_no_spreadsheet_reads_as_a_number(tmp_path: Path, edition_id: str) -> None:
    sheet, *_ = export_review(tmp_path, edition_id, ["a"])
    assert all(re.fullmatch("[bcdfghjkmnpqrstv]{12}", row["row_id"]) for row in read_rows(sheet))


def test_graders_see_the_same_samples_in_different_orders(tmp_path: Path, edition_id: str) -> None:
    sheets = export_review(tmp_path, edition_id, ["a", "b"], n_pairs=10)[:2]
    key = read_key(tmp_path, edition_id).graders
    assert not key["a"].keys() & key["b"].keys()
    orders = [
        [
            (hidden.triplet_id, hidden.method)
            for row in read_rows(sheet)
            if (hidden := key[name][row["row_id"]])
        ]
        for name, sheet in zip("ab", sheets, strict=True)
    ]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    # The rows are not sorted by triplet and method.
    assert sorted(orders[0]) != orders[0]


def test_row_ids_depend_on_the_salt(tmp_path: Path) -> None:
    """Nobody can find out the methods from the edition and the code without the key."""
    ids = []
    for name in ("one", "two"):
        edition_id = build_edition(tmp_path / name)
        sheet, *_ = export_review(tmp_path / name, edition_id, ["a"])
        ids.append({row["row_id"] for row in read_rows(sheet)})
    assert not ids[0] & ids[1]


def test_a_grader_may_join_later_and_the_first_sheet_stays_unchanged(tmp_path: Path, edition_id: str) -> None:
    first, *_ = export_review(tmp_path, edition_id, ["a"], n_pairs=4)
    content = first.read_bytes()
    path = write_rows(tmp_path / "filled.csv", fill_rows(read_rows(first)))
    export_review(tmp_path, edition_id, ["b"], n_pairs=4)
    export_review(tmp_path, edition_id, ["a", "b"], n_pairs=4)
    assert first.read_bytes() == content
    assert list(read_key(tmp_path, edition_id).graders) == ["a", "b"]
    assert import_review(tmp_path, path, "a").is_file()


def test_a_sheet_that_may_contain_grades_is_not_overwritten(tmp_path: Path, edition_id: str) -> None:
    sheet, *_ = export_review(tmp_path, edition_id, ["a"], n_pairs=4)
    write_rows(sheet, fill_rows(read_rows(sheet)))
    content = sheet.read_bytes()
    with pytest.raises(InputError, match=r"sheet-a\.csv already exists and differs"):
        export_review(tmp_path, edition_id, ["b", "a"], n_pairs=4)
    assert sheet.read_bytes() == content
    assert not sheet.with_name("sheet-b.csv").exists()


@pytest.mark.parametrize(
    ("graders", "n_pairs", "seed", "message"),
    [
        (["a"], 5, 0, r"drawn with 4 pairs and seed 0, not 5 and 0: use the same values, or delete"),
        (["a"], 4, 1, "with 4 pairs and seed 0, not 4 and 1"),
        ([], 4, 0, "graders are none: name one or more"),
        (["a", "a"], 4, 0, "graders are a, a"),
        (["../a"], 4, 0, "grader '../a' is not valid as a file name"),
        ([".a"], 4, 0, "grader '.a' is not valid as a file name"),
        (["a"], 0, 0, "0 pairs cannot be reviewed"),
    ],
)
def test_an_export_with_invalid_arguments_is_refused(
    tmp_path: Path, edition_id: str, graders: list[str], n_pairs: int, seed: int, message: str
) -> None:
    export_review(tmp_path, edition_id, ["a"], 4, 0)
    with pytest.raises(InputError, match=message):
        export_review(tmp_path, edition_id, graders, n_pairs, seed)


def test_an_edition_that_is_not_complete_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="edition 'own-x' is not complete"):
        export_review(tmp_path, "own-x", ["a"])
    assert not (tmp_path / "reviews").exists()
