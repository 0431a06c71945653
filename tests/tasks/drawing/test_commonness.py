"""How common heads and tails are in the base, and how the tested facts differ from it."""

import polars as pl
import pytest

from pretexeval.knowledge.untested import leave_untested
from tasks.drawing.relation_facts import collect_facts
from tasks.edition.risks import compare_with_base
from tests.support.small_bases import make_base

# Ten of twelve heads have pain, which is too general to be asked; "gout" has two further tails.
FACTS = {
    **{f"head {k}": ["pain"] for k in range(9)},
    "gout": ["pain", "tophus", "fever"],
    "flu": ["fever"],
    "x": ["y"],
}


def test_a_fact_of_each_head_has_the_same_weight_and_general_tails_count() -> None:
    facts = collect_facts(leave_untested(make_base(may_have=FACTS), ["may_have"], 0.2), "may_have")
    assert "pain" not in facts.tails
    heads, tails = facts.frequencies
    assert dict(heads.rows())["gout"] == 3
    found = {tail: (n, common) for tail, n, common in tails.rows()}
    # Rare: tophus with a third of gout, and y. Then fever with another third, and flu.
    rare, medium = 1 / 3 + 1, 1 / 3 + 1
    assert {tail: n for tail, (n, _) in found.items()} == {"pain": 10, "tophus": 1, "fever": 2, "y": 1}
    expected = {"tophus": 0, "y": 0, "fever": rare / 12, "pain": (rare + medium) / 12}
    assert {tail: common for tail, (_, common) in found.items()} == pytest.approx(expected, abs=1e-6)
    tested = pl.DataFrame({"head": ["gout"], "head_frequency": [3], "tail_frequency": [1]})
    compared = compare_with_base(facts, [tested])
    assert (compared["tails_per_head"], compared["tested_tails_per_head"]) == (round(14 / 12, 2), 3)
    assert compared["heads_per_tail"] == round((10 * (9 + 1 / 3) + 2 * (1 + 1 / 3) + 1 + 1 / 3) / 12, 2)
    assert (compared["tested_heads_per_tail"], compared["tested_head_length"]) == (1, 4)
    assert compare_with_base(facts, [tested.clear()])["tested_head_length"] is None
