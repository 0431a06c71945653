"""Pairs of the same triplets, against a comparison of every pair of rows."""

from itertools import product

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pretexeval.knowledge.names import AliasTable, fold_name, list_name_keys
from pretexeval.knowledge.same_triplets import pair_same_triplets

NAMES = ("Gout", "gout.", "go\u00adut", "Fieber", "ﬁeber", "fever", "wheezing", "asthma")
IDS = (None, "C1", " C1", "C2", "C\u200b2")
SCHEMA = dict.fromkeys(("relation", "head", "head_id", "tail", "tail_id"), pl.String)
ROWS = st.lists(
    st.tuples(st.sampled_from("rs"), *(st.sampled_from(values) for values in (NAMES, IDS, NAMES, IDS))),
    max_size=8,
)
ALIASES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=3)


@given(ROWS, ROWS, ALIASES)
def test_the_pairs_are_those_with_a_key_in_common(
    rows: list[tuple[str, ...]], others: list[tuple[str, ...]], aliases: list[tuple[str, str]]
) -> None:
    def list_keys(row: tuple[str, ...]) -> set[tuple[str, ...]]:
        relation, *ends = row
        keys = [
            (
                *list_name_keys(name, identifier),
                *(f"name:{fold_name(alias)}" for named, alias in aliases if named == name),
            )
            for name, identifier in (ends[:2], ends[2:])
        ]
        return {(relation, *pair) for pair in product(*keys)}

    expected = [
        (row, other)
        for row, other in product(range(len(rows)), range(len(others)))
        if not list_keys(rows[row]).isdisjoint(list_keys(others[other]))
    ]
    own, compared = (pl.DataFrame(each, schema=SCHEMA, orient="row") for each in (rows, others))
    table = AliasTable(pl.DataFrame(aliases, schema=["name", "alias"], orient="row") if aliases else None)
    assert pair_same_triplets(own, compared, table).sort(pl.all()).rows() == expected
