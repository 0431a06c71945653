"""Evidence: what excludes a negative, and the chance that an unlisted pair is true."""

from math import log

import numpy as np
import polars as pl
import pytest

from pretexeval.config.tables import EvidenceKind
from pretexeval.knowledge.untested import leave_untested
from prototypes.pool import load_pool
from tasks.drawing.evidence import EDGES, NEPER, UNIT, Evidence
from tasks.drawing.heads import Policy, TripletSampling, choose_heads
from tasks.drawing.pieces import Piece
from tasks.drawing.relation_facts import RelationFacts, collect_facts
from tasks.edition.risks import estimate_wrong_twins
from tasks.edition.triplets import build_triplets
from tasks.questions.points import collect_points
from tests.support.small_bases import as_facts, index_facts, needs_reference, read_medlama

# Of 12 heads with "x", 9 have "y"; nobody else has "y".
PAIRED = (
    {f"a{i}": ["x", "y"] for i in range(9)}
    | {f"b{i}": ["x"] for i in range(3)}
    | {f"c{i}": [f"t{i}"] for i in range(30)}
)


def list_possible(facts: RelationFacts, head: str) -> set[str]:
    (possible,) = Evidence(facts).judge(pl.Series([head])).iterate_possible()
    return set(facts.tails.filter(pl.Series(possible)))


def sum_up(facts: RelationFacts, head: str, tail: str, omitted: str | None = None) -> int:
    evidence = Evidence(facts)
    columns = [facts.tails.search_sorted(name) for name in (tail, omitted or tail)]
    judged = evidence.judge(pl.Series([head]))
    pair = np.array([0]), np.array(columns[:1])
    return int(judged.sum_up_pairs(*pair, None if omitted is None else np.array(columns[1:]))[0])


def test_evidence_is_the_share_of_the_heads_with_a_tail_of_the_head() -> None:
    """9 of 12 heads, and none of three imagined ones."""
    expected = -NEPER * log(1 - 9 / 15)
    assert sum_up(index_facts(as_facts(PAIRED)), "b0", "y") == pytest.approx(expected, abs=1)
    assert sum_up(index_facts(as_facts(PAIRED)), "c0", "y") == 0


def test_a_fact_is_judged_as_if_it_were_not_listed() -> None:
    """Without the head itself, 8 of 11 heads with "x" have "y"; without "x", nothing speaks for it."""
    facts = index_facts(as_facts(PAIRED))
    expected = -NEPER * log(1 - 8 / 14)
    assert sum_up(facts, "a0", "y", omitted="y") == pytest.approx(expected, abs=1)
    assert sum_up(facts, "b0", "y", omitted="x") == 0


def test_words_of_the_head_and_specialisations_are_evidence() -> None:
    facts = index_facts(as_facts({f"renal {i}": ["cyst"] for i in range(9)} | {"renal x": ["pain"]}))
    assert sum_up(facts, "renal x", "cyst") == pytest.approx(-NEPER * log(1 - 9 / 13), abs=1)
    general = index_facts(as_facts({"h": ["pain"], "i": ["acute pain"]}))
    # Nobody has both, and half of three imagined heads: 1.5 of 4.
    assert sum_up(general, "h", "acute pain") == pytest.approx(-NEPER * log(1 - 1.5 / 4), abs=1)


def test_chances_rise_with_the_sum_and_do_not_depend_on_the_order_of_rows() -> None:
    rows = as_facts(PAIRED)
    chances = Evidence(index_facts(rows)).chances
    assert (np.diff(chances) >= 0).all()
    assert 0 <= chances[0] < chances[-1] < UNIT
    shuffled = rows.sample(fraction=1, shuffle=True, seed=3)
    assert (Evidence(index_facts(shuffled)).chances == chances).all()
    assert len(chances) == len(EDGES)


LINE = [("acute leukemia", "leukemia"), ("leukemia", "neoplasm"), ("neoplasm", "disease")]
TREE: dict[str, list[str]] = {
    "h": ["leukemia"],
    "i": ["acute leukemia"],
    "j": ["neoplasm"],
    "k": ["disease"],
    "l": ["gout"],
    "m": ["scabies"],
}


@pytest.mark.parametrize(
    ("evidence", "possible"),
    [
        (("hierarchy",), {"gout", "scabies"}),
        (("names",), {"neoplasm", "disease", "gout", "scabies", "acute leukemia"}),
        ((), {"neoplasm", "disease", "gout", "scabies", "acute leukemia"}),
    ],
)
def test_neither_ancestors_nor_descendants_of_a_true_tail_are_negatives(
    evidence: tuple[EvidenceKind, ...], possible: set[str]
) -> None:
    facts = index_facts(as_facts(TREE), edges=LINE, evidence=evidence)
    assert list_possible(facts, "h") == possible


def test_the_base_cannot_assert_what_the_hierarchy_contradicts() -> None:
    asserted = as_facts({"h": ["neoplasm", "acute leukemia", "gout"]})
    facts = index_facts(as_facts(TREE), asserted, LINE)
    given = pl.DataFrame({"head": ["h"]})
    assert facts.list_false(given, facts.list_true(given)).rows() == [("h", "gout")]


def test_a_tail_whose_words_stand_in_the_name_of_the_head_is_no_negative() -> None:
    names = {"benign hereditary chorea": ["tremor"], "i": ["chorea"], "j": ["ataxia"]}
    assert list_possible(index_facts(as_facts(names)), "benign hereditary chorea") == {"ataxia"}
    assert "chorea" in list_possible(index_facts(as_facts(names), evidence=()), "benign hereditary chorea")


@pytest.mark.parametrize("negatives", ["balanced", "uniform"])
def test_no_draw_uses_what_the_hierarchy_excludes(negatives: Policy) -> None:
    """Eight families of a disease, its parent and its child; each head has one of the three."""
    families = [f"disease{i}" for i in range(8)]
    edges = [(f"acute {name}", name) for name in families] + [(name, f"kind {name}") for name in families]
    facts = {
        f"h{i} {k}": [f"{prefix}{name}"]
        for i, name in enumerate(families)
        for k, prefix in enumerate(("acute ", "", "kind "))
    }
    found = index_facts(as_facts(facts), edges=edges, evidence=("hierarchy",))
    sampling = TripletSampling(1, negatives)
    triplets = build_triplets(Piece("r"), lambda: found, sampling)
    family = pl.col("tail").str.split(" ").list.last()
    pairs = triplets.with_columns(family=family).group_by("pair_id").agg(pl.col("family").n_unique())
    assert pairs.height >= 20
    assert (pairs["family"] == 2).all()
    points = collect_points(found, Piece("r"), triplets, sampling)
    for point in (*points.tested, *points.demonstrations):
        own = {name.split()[-1] for name in point.true}
        assert not own & {name.split()[-1] for name in found.tails if name not in point.forbidden}


@pytest.mark.long
@needs_reference
def test_few_hidden_facts_of_medlama_become_false_twins() -> None:
    """Without evidence, 5 % of the balanced negatives are hidden facts."""
    base, pool = read_medlama(), load_pool("revised")
    possible = [r for r in base.relations if "may" in pool.relations[r].cells["none"].prototype.split()]
    base = leave_untested(base, possible, 0.05)
    found = [
        estimate_wrong_twins(collect_facts(base, relation), TripletSampling(1)) for relation in base.relations
    ]
    assert sum(each["n_tried"] for each in found) > 14_000
    assert sum(each["n_wrong"] for each in found) <= 0.0035 * sum(each["n_tried"] for each in found)
    assert max(each["wrong_rate"] for each in found) <= 0.02
    general = {"Anemia", "Pain", "Fever", "Weight Loss"}
    for relation in possible:
        if "may_have" in relation:
            facts = collect_facts(base, relation)
            assert general.isdisjoint(choose_heads(facts, TripletSampling(1)).evidence.tails)
