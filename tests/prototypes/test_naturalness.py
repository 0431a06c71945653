"""How natural the wordings are, as a benchmark measures it."""

import polars as pl

from benchmarks.naturalness import N_FACTS, list_filled, rank_wordings
from prototypes.pool import load_pool

POOL = load_pool("revised")


def test_the_least_natural_wording_of_a_relation_comes_first() -> None:
    """A relation with long names surprises the model in its plain statement, too."""
    rows = [
        ("short", "none", 0, "plain", 3.0),
        ("short", "none", 0, "plain", 5.0),
        ("short", "dn", 1, "stilted", 6.0),
        ("long", "none", 0, "plain", 8.0),
        ("long", "ins", 2, "fluent", 7.5),
    ]
    columns = ["relation", "transformation", "entry", "template", "surprisal"]
    ranked = rank_wordings(pl.DataFrame(rows, columns, orient="row"))
    assert ranked.select("template", "excess").rows() == [
        ("stilted", 2.0),
        ("plain", 0.0),
        ("plain", 0.0),
        ("fluent", -0.5),
    ]


def test_every_wording_of_a_relation_is_filled_with_several_facts() -> None:
    rows = list_filled(POOL).filter(relation="may_treat")
    assert rows.group_by("transformation", "entry").len()["len"].to_list() == [N_FACTS] * 40
    for head, tail, text in rows.select("head", "tail", "text").iter_rows():
        assert head.lower() in text.lower()
        assert tail.lower() in text.lower()
