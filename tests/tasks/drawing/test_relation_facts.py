"""The facts of a relation: what excludes a negative or makes it doubtful, and how common its names are."""

from dataclasses import replace
from functools import partial
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pretexeval.config.file import Config
from pretexeval.config.tables import EvidenceKind
from pretexeval.knowledge.names import fold_name
from pretexeval.knowledge.untested import leave_untested
from pretexeval.primitives.mixing import combine, hash_column
from prototypes.pool import load_pool
from schemas.choices import Negatives
from tasks.drawing.doubts import MIN_SLOPE, Doubts, SimilarHeads, fit_doubts
from tasks.drawing.evidence import EDGES, NEPER, UNIT, Evidence
from tasks.drawing.name_features import AFFIX_LENGTHS, GRAM_LENGTHS, NameFeatures
from tasks.drawing.pieces import Piece, TripletSampling, choose_heads
from tasks.drawing.related_names import RelatedNames
from tasks.drawing.relation_facts import PAIR, RelationFacts, SameNames, collect_facts
from tasks.edition.planning import plan_edition
from tasks.edition.risks import compare_with_base, estimate_wrong_twins
from tasks.edition.triplets import build_triplets
from tasks.questions.points import collect_points
from tests.support.published_bases import needs_reference, read_medlama
from tests.support.small_bases import as_facts, as_rows, find_excluded, index_facts, make_base

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


RENAL = {f"renal {i}": ["cyst"] for i in range(9)} | {"renal x": ["pain"]}


@pytest.mark.parametrize(
    ("facts", "head", "tail", "omitted", "share"),
    [
        (PAIRED, "b0", "y", None, 9 / 15),
        (PAIRED, "c0", "y", None, 0),
        # A fact is judged as if it were not listed.
        (PAIRED, "a0", "y", "y", 8 / 14),
        (PAIRED, "b0", "y", "x", 0),
        # Words of the head and specialisations are evidence, too. Half of the imagined heads have both tails.
        (RENAL, "renal x", "cyst", None, 9 / 13),
        ({"h": ["pain"], "i": ["acute pain"]}, "h", "acute pain", None, 1.5 / 4),
    ],
)
def test_evidence_is_the_share_of_the_heads_with_a_tail_of_the_head_and_of_three_imagined_ones(
    facts: dict[str, list[str]], head: str, tail: str, omitted: str | None, share: float
) -> None:
    found = sum_up(index_facts(as_facts(facts)), head, tail, omitted)
    assert found == pytest.approx(-NEPER * log(1 - share), abs=1 if share else 0)


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


def test_neither_ancestors_nor_descendants_of_a_true_tail_are_negatives() -> None:
    others = {"gout", "scabies"}
    by_name = others | {"neoplasm", "disease", "acute leukemia"}
    kinds: dict[tuple[EvidenceKind, ...], set[str]] = {
        ("hierarchy",): others,
        ("names",): by_name,
        (): by_name,
    }
    found = {
        evidence: list_possible(index_facts(as_facts(TREE), edges=LINE, evidence=evidence), "h")
        for evidence in kinds
    }
    assert found == kinds


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
def test_no_draw_uses_what_the_hierarchy_excludes(negatives: Negatives) -> None:
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
    assert max(each["n_wrong"] / each["n_tried"] for each in found) <= 0.02
    general = {"Anemia", "Pain", "Fever", "Weight Loss"}
    for relation in possible:
        if "may_have" in relation:
            facts = collect_facts(base, relation)
            assert general.isdisjoint(choose_heads(facts, TripletSampling(1)).evidence.tails)


# Facts, with an id after a slash, and "!" where a fact is only also true; a head; the tails that may be its
# positive; and those that may not be its negative.
OF_SPELLINGS = "Angina>chest pain, angina.>Dyspnea, Gout>Chest-Pain, Gout>Itch"
OF_IDS = "a/1>t, a/2>t, b/1>u, c/2>v, d/3>w"
OF_ITSELF = "Pain/1>t, b>pain, c>ache/1, d>D, e>E, e>t"
SAME = [
    (OF_SPELLINGS, "Angina", "chest pain", "Chest-Pain, Dyspnea, chest pain"),
    ("a>x/9, b>y/9, c>z/8", "a", "x", "x, y"),
    (OF_IDS, "a", "t", "t, u, v"),
    (OF_IDS, "d", "w", "w"),
    ("a>t, a>u!, a>only also true!, b>u", "a", "t", "t, u"),
    (OF_ITSELF, "Pain", "t", "ache, pain, t"),
    (OF_ITSELF, "e", "E, t", "E, t"),
]


def read_facts(text: str) -> list[dict[str, Any]]:
    rows = []
    for fact in text.split(", "):
        (head, _, head_id), (tail, _, tail_id) = (end.partition("/") for end in fact.strip("!").split(">"))
        ids = {"head_id": head_id or None, "tail_id": tail_id or None}
        rows.append({"head": head, "tail": tail, "also_true": fact.endswith("!"), **ids})
    return rows


def test_truth_is_tested_on_folded_names_and_ids() -> None:
    """A tail that is only also true is neither tested nor a negative, nor is the head itself."""
    facts = index_facts(as_facts({"b": ["z", "y"], "a": ["y"], "B": ["y"]}))
    assert (facts.heads["head"].to_list(), facts.tails.to_list()) == (["B", "a", "b"], ["y", "z"])
    for text, head, tested, excluded in SAME:
        for order in (1, -1):
            facts = index_facts(as_rows(read_facts(text)[::order]))
            found = facts.list_tested(pl.DataFrame({"head": [head]}))["tail"], find_excluded(facts)[head]
            assert [", ".join(sorted(names)) for names in found] == [tested, excluded], (text, head)


def test_names_are_the_same_through_shared_keys() -> None:
    keys = [("Fever", "fever"), ("fever", "fever"), ("fever", "1"), ("Pyrexia", "1"), ("Pyrexia", "2")]
    same = SameNames([*keys, ("Hot", "2"), ("Cough", "cough"), ("Itch", "itch")])
    assert same.find_groups(["Fever", "fever", "Pyrexia", "Hot"]) == {"Fever"}
    assert same.list_same(["Hot", "Cough", "never seen"]) == {
        *("Fever", "fever", "Pyrexia", "Hot"),
        *("Cough", "never seen"),
    }


# A name, another one, and whether that one has all words of the first.
NAMES = pl.read_csv(Path(__file__).with_name("general_names.tsv"), separator="\t")


def list_parts(name: str) -> tuple[set[str], set[str], set[str]]:
    """Return the n-grams, the beginnings and the endings of the words of a name."""
    words = fold_name(name).split(" ")
    padded = [f" {word} " for word in words]
    grams = {word[i : i + n] for word in padded for n in GRAM_LENGTHS for i in range(len(word) - n + 1)}
    beginnings = {word[:n] for word in words for n in AFFIX_LENGTHS if len(word) >= n}
    endings = {word[-n:] for word in words for n in AFFIX_LENGTHS if len(word) >= n}
    return grams, beginnings, endings


def test_names_share_the_parts_that_both_have() -> None:
    odd = ("+++", "Déjà-vu syndromes", "Not otherwise specified pains", "TLymphocytes of the", "x")
    names = sorted({*odd, *NAMES["name"], *NAMES["other"]})
    features = NameFeatures(pl.Series(names))
    parts = [list_parts(name) for name in names]
    for kind, matrix in enumerate((features.grams, features.beginnings, features.endings)):
        shared = [[len(one[kind] & other[kind]) for other in parts] for one in parts]
        assert (matrix @ matrix.T).toarray().tolist() == shared


def test_a_name_generalises_those_that_have_all_its_words() -> None:
    for *pair, is_general in NAMES.iter_rows():
        general, _ = RelatedNames(pl.Series(pair)).list_general(np.array([1]), np.array([0]))
        assert (pair, len(general) > 0) == (pair, is_general)


# Ten of twelve heads have pain, which is too general to be asked; "gout" has two further tails.
COMMON = {
    **{f"head {k}": ["pain"] for k in range(9)},
    "gout": ["pain", "tophus", "fever"],
    "flu": ["fever"],
    "x": ["y"],
}


def test_a_fact_of_each_head_has_the_same_weight_and_general_tails_count() -> None:
    facts = collect_facts(leave_untested(make_base(may_have=COMMON), ["may_have"], 0.2), "may_have")
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


def test_rows_that_are_also_true_do_not_make_a_name_common() -> None:
    """The numbers are those of docs/analysis.md."""
    facts = plan_edition(Config()).find_facts("symptoms")
    listed = facts.rows.filter(tail="urinary urgency")
    assert (listed.height, listed["also_true"].sum()) == (25, 20)
    heads, tails = facts.frequencies
    assert tails.row(by_predicate=pl.col("tail") == "urinary urgency", named=True)["tail_frequency"] == 5
    asked = facts.rows.filter(~pl.col("also_true")).group_by("head").agg(pl.col("tail").n_unique())
    assert dict(heads.iter_rows()) == dict(asked.iter_rows())


SMALL = (
    "disease_has_associated_anatomic_site",
    "disease_has_normal_tissue_origin",
    "disease_may_have_molecular_abnormality",
    "gene_product_has_associated_anatomy",
)


def test_the_most_similar_head_with_the_tail_is_found() -> None:
    facts = {
        "renal cyst": ["pain"],
        "renal cysts": ["fever"],
        "gout": ["pain", "rash"],
        "renal abscess": ["rash"],
    }
    pairs = pl.DataFrame({"head": ["renal cysts", "gout", "gout"], "tail": ["pain", "fever", "rash"]})
    found = SimilarHeads(index_facts(as_facts(facts))).find_peers(pairs)
    assert found.names.to_list() == ["renal cyst", None, None]
    assert found.evidence[0] > 0.25
    assert found.evidence[1] == 0
    # The head itself does not count.
    assert found.evidence[2] < 0.05


def test_a_regression_tells_listed_facts_by_their_evidence() -> None:
    listed, unlisted = np.repeat([0.0, 50.0], [20, 80]), np.repeat([0.0, 50.0], [80, 20])
    doubts = fit_doubts(listed, unlisted, prior_odds=0.01)
    low, high = doubts.estimate(np.array([0.0, 50.0]))
    # The odds are those of a pair times 20 / 80, and times 80 / 20; the ridge makes them a little more alike.
    assert low == pytest.approx(0.01 / 4, rel=0.2)
    assert high == pytest.approx(0.01 * 4, rel=0.2)


@pytest.mark.parametrize("listed", [[], [0.0], [5.0] * 3])
def test_more_evidence_is_more_doubtful_even_if_the_base_shows_nothing(listed: list[float]) -> None:
    doubts = fit_doubts(np.array(listed), np.array([9.0] * len(listed)), prior_odds=0.1)
    assert doubts == Doubts(doubts.intercept, MIN_SLOPE)
    assert (np.diff(doubts.estimate(np.array([0.0, 1.0, 40.0, 900.0]))) > 0).all()


@needs_reference
@pytest.mark.parametrize(("n_rows", "least"), [(1000, 0.6), pytest.param(None, 0.7, marks=pytest.mark.long)])
def test_hidden_truths_come_early_in_the_order(n_rows: int | None, least: float) -> None:
    """Bases of 1,000 rows, and all of MedLAMA, with 30 % of the facts hidden."""
    base, ranks = read_medlama(), list[float]()
    for relation in SMALL if n_rows else base.relations:
        facts = collect_facts(base, relation)
        listed = facts.rows.filter(~pl.col("also_true")).select(PAIR).unique()
        n_of_heads = listed.join(facts.heads, on="head").group_by("head", "number").len().sort("number")
        heads = n_of_heads.filter(pl.col("len").cum_sum() <= (n_rows or listed.height))["head"]
        listed = listed.filter(pl.col("head").is_in(heads.implode()))
        order = combine("hide", hash_column(listed["head"]), hash_column(listed["tail"]))
        hidden = listed.with_columns(order=order).sort("order").head(3 * listed.height // 10).select(PAIR)
        shown = facts.rows.filter(pl.col("head").is_in(heads.implode())).join(hidden, on=PAIR, how="anti")
        shown_facts = partial(replace, facts, rows=shown)
        triplets = build_triplets(Piece(relation), shown_facts, TripletSampling(1))
        negatives = triplets.filter(~pl.col("is_positive"), split="test").sort("doubt")
        assert negatives["doubt"].null_count() == 0
        assert negatives["doubt"].n_unique() >= 100
        places = negatives.with_columns(rank=pl.col("doubt").rank() / negatives.height)
        ranks += places.join(hidden, on=PAIR, how="semi")["rank"].to_list()
    assert len(ranks) >= (5 if n_rows else 15)
    assert np.mean(ranks) >= least
