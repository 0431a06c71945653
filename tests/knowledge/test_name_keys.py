import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from knowledge.name_keys import fold_names, list_keys
from knowledge.spelling import fold_name, list_name_keys

NAMES = st.text(st.sampled_from("aB 9_-.'é\u200b\u00a0ﬁß\u02bc\x0b"), max_size=8)
IDS = st.none() | st.text(st.sampled_from("C0 \x1f\u200b"), max_size=3)


@given(st.lists(NAMES, min_size=1))
def test_names_are_folded_as_one_by_one(names: list[str]) -> None:
    assert fold_names(pl.Series(names)).to_list() == [fold_name(name) for name in names]


@given(st.lists(st.tuples(NAMES, IDS), min_size=1))
def test_keys_are_those_of_each_name(rows: list[tuple[str, str | None]]) -> None:
    frame = pl.DataFrame(rows, schema={"tail": pl.String, "tail_id": pl.String}, orient="row")
    expected = {(name, key) for name, identifier in rows for key in list_name_keys(name, identifier)}
    found = list_keys(frame, "tail").rows()
    assert set(found) == expected
    assert len(found) == len(expected)
