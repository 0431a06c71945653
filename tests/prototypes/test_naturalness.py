"""How natural the wordings are: measured by a benchmark, and described from its file."""

import polars as pl
import pytest

from benchmarks.naturalness import N_FACTS, list_filled, rank_wordings
from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.reader import read_knowledge_base
from prototypes.naturalness import FILE, describe_naturalness
from prototypes.pool import load_pool

POOL = load_pool("revised")


def test_the_wordings_of_the_starter_base_were_measured_as_they_are() -> None:
    """After a change of a wording: `python -m benchmarks --only naturalness MODEL --write`."""
    relations = read_knowledge_base(KnowledgeConfig()).relations
    found = describe_naturalness(POOL, relations)
    assert found["n_relations"] == len(relations)
    assert found["n_wordings"] == sum(
        len(cell.texts) for name in relations for cell in POOL.select_relation(name).cells.values()
    )
    assert found["mean_excess"] < -0.6
    assert found["stilted_rate"] < 0.1


def test_relations_count_by_their_wordings_and_unmeasured_ones_do_not() -> None:
    rows = pl.read_csv(FILE, separator="\t").head(2)
    names = rows["relation"].to_list()
    found = describe_naturalness(POOL, [*names, "has_target"])
    assert found["n_relations"] == 2
    assert found["stilted_rate"] == sum(rows["n_stilted"]) / sum(rows["n_wordings"])
    assert found["mean_excess"] == pytest.approx(rows["mean_excess"].mean(), abs=0.001)
    assert describe_naturalness(POOL, ["has_target"]) == {}


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
