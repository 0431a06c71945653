from collections import Counter
from collections.abc import Iterator
from itertools import permutations, product
from random import Random
from statistics import fmean

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.drawing import balanced_pairs
from tasks.drawing.balanced_pairs import draw_balanced
from tasks.drawing.candidates import Candidates, collect_candidates
from tasks.drawing.heads import TripletSampling
from tasks.drawing.related_names import RelatedNames, exclude_related
from tasks.edition.balance_report import BalanceReport, report_balance
from tasks.edition.triplets import sample_triplets
from tasks.quality.guessers import guess_truth
from tests.support.largest_circulation import count_keepable
from tests.support.small_bases import as_facts, as_rows, needs_reference, read_medlama, row_lists

WORDS = ("renal", "lung", "cell", "acute", "tumor", "pain")
BALANCED = TripletSampling(1, "balanced")


def draw_facts(random: Random) -> Candidates:
    """Draw up to 20 heads over few tails, of which some are true of many heads and some are related."""
    names = [" ".join(random.sample(WORDS, random.randint(1, 3))) for _ in range(random.randint(2, 9))]
    weights = [random.random() ** random.choice((1, 3, 9)) for _ in names]
    facts = {
        f"{random.choice(WORDS)} h{i}": sorted(set(random.choices(names, weights, k=random.randint(1, 4))))
        for i in range(random.randint(2, 20))
    }
    return exclude_related(collect_candidates("r", as_facts(facts)))


def require_balance(candidates: Candidates, drawn: dict[str, tuple[str, str]]) -> None:
    heads = {head.name: head for head in candidates.heads}
    for name, (positive, negative) in drawn.items():
        assert positive in heads[name].tails
        assert negative not in heads[name].excluded
    assert Counter(p for p, _ in drawn.values()) == Counter(n for _, n in drawn.values())


@given(row_lists(), st.integers(0, 3).map(str))
def test_every_tail_is_true_as_often_as_it_is_false(rows: list[dict[str, object]], salt: str) -> None:
    candidates = exclude_related(collect_candidates("r", as_rows(rows)))
    require_balance(candidates, draw_balanced(candidates, salt))


@pytest.mark.parametrize("seed", range(4))
def test_as_many_heads_are_kept_as_by_the_exact_program(seed: int) -> None:
    random = Random(seed)
    n_crowded = 0
    for i in range(40):
        candidates = draw_facts(random)
        drawn = draw_balanced(candidates, str(i))
        require_balance(candidates, drawn)
        assert len(drawn) == count_keepable(candidates), candidates
        n_crowded += len(drawn) < len(candidates.heads)
    assert n_crowded > 5


def test_false_tails_resemble_their_heads_as_true_ones_do() -> None:
    """A draw at random would give 1 of 40 heads a false tail that shares its first word."""
    sites = [letter * 4 for letter in "abcdefghijklmnopqrst"]
    others = sites[3:] + sites[:3]
    facts = {f"{site} tumor": [f"{site} cell"] for site in sites}
    facts |= {f"{site} rash": [f"{other} cell"] for site, other in zip(sites, others, strict=True)}
    drawn = draw_balanced(collect_candidates("r", as_facts(facts)), "1")
    assert len(drawn) == 40
    for i in (0, 1):
        assert sum(tails[i].split()[0] in head for head, tails in drawn.items()) == 20


def test_parts_of_a_large_relation_are_balanced_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = collect_candidates("r", as_facts({f"h{i}": [f"t{i % 7}"] for i in range(50)}))
    whole = draw_balanced(candidates, "1")
    monkeypatch.setattr(balanced_pairs, "MAX_HEADS", 13)
    monkeypatch.setattr(balanced_pairs, "HEADS_AT_ONCE", 5)
    parts = draw_balanced(candidates, "1")
    require_balance(candidates, parts)
    assert len(whole) == 50
    assert len(parts) > 40
    assert parts != whole


def test_salt_and_relation_change_the_draw() -> None:
    facts = as_facts({f"h{i}": [f"t{i % 12}"] for i in range(40)})
    drawn = [
        draw_balanced(collect_candidates(relation, facts), salt)
        for relation, salt in (("r", "1"), ("r", "1"), ("r", "2"), ("s", "1"))
    ]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    assert drawn[0] != drawn[3]


def test_no_heads_give_no_pairs() -> None:
    assert draw_balanced(Candidates("r", (), ("t",)), "1") == {}


def measure_overlap(relation: str) -> tuple[float, BalanceReport]:
    """Return what the trained guesser scores on a relation of MedLAMA, and what the manifest says of it."""
    rows = read_medlama().select_relation(relation)
    frame = sample_triplets(relation, rows, BALANCED).frame
    tested = frame.filter(split="test")
    is_right = guess_truth("overlap", relation, tested) == tested["is_positive"]
    return fmean(is_right), report_balance(relation, rows, frame)


@needs_reference
@pytest.mark.parametrize(
    ("relation", "matched"),
    [
        ("disease_has_associated_anatomic_site", 0.655),
        ("disease_may_have_molecular_abnormality", 0.600),
        ("gene_product_plays_role_in_biological_process", 0.605),
    ],
)
def test_resemblance_does_not_reveal_the_label_on_medlama(relation: str, matched: float) -> None:
    """`matched`: what the guesser scores on the negatives of the policy `matched`."""
    share, report = measure_overlap(relation)
    assert share <= 0.55 < matched
    assert report.is_balanced


@needs_reference
def test_manifest_lists_the_relation_that_cannot_be_balanced() -> None:
    """Half of the heads are allergies whose only true tail is "Allergic sensitization"."""
    share, report = measure_overlap("occurs_after")
    assert share > 0.7
    assert not report.is_balanced
    assert report.n_unmatchable is not None
    assert 0.4 * report.n_pairs < report.n_unmatchable <= report.n_unmatched


@needs_reference
@pytest.mark.parametrize("relation", ["disease_has_abnormal_cell", "disease_has_normal_tissue_origin"])
def test_no_negative_of_medlama_generalises_or_specialises_a_true_tail(relation: str) -> None:
    rows = read_medlama().select_relation(relation)
    related = RelatedNames(rows["tail"])
    n_related = {}
    for policy in ("matched", "balanced"):
        frame = sample_triplets(relation, rows, TripletSampling(1, policy)).frame
        negatives = frame.filter(~pl.col("is_positive")).select("head", "tail")
        pairs = negatives.join(rows.select("head", true="tail"), on="head")
        n_related[policy] = sum(tail in related.find(true) for _, tail, true in pairs.iter_rows())
    assert n_related["matched"] > 50
    assert n_related["balanced"] == 0


def iterate_balanced_choices(candidates: Candidates) -> Iterator[pl.DataFrame]:
    """Yield the test triplets of every choice in which each head gives a true tail to another one."""
    heads = candidates.heads
    for takers in permutations(heads):
        exchanges = list(zip(heads, takers, strict=True))
        gifts = [
            [tail for tail in giver.tails if giver is not taker and tail not in taker.excluded]
            for giver, taker in exchanges
        ]
        for tails in product(*gifts):
            true = [(giver.name, tail, True) for (giver, _), tail in zip(exchanges, tails, strict=True)]
            false = [(taker.name, tail, False) for (_, taker), tail in zip(exchanges, tails, strict=True)]
            frame = pl.DataFrame(true + false, schema=["head", "tail", "is_positive"], orient="row")
            yield frame.with_columns(split=pl.lit("test"), is_asserted=pl.lit(None, pl.Boolean))


@pytest.mark.parametrize(
    "facts",
    [
        {
            "renal acute": ["acute site"],
            "lung pain": ["lung finding"],
            "cell pain": ["acute site", "pain finding"],
            "cell renal": ["cell finding", "renal site"],
        },
        {
            "lung renal": ["lung site", "renal site"],
            "acute lung": ["lung site"],
            "pain acute": ["acute finding"],
            "cell renal": ["pain finding"],
        },
    ],
)
def test_least_number_of_unmatched_triplets_is_that_of_the_best_choice(facts: dict[str, list[str]]) -> None:
    rows = as_facts(facts)
    candidates = exclude_related(collect_candidates("r", rows))
    reports = [report_balance("r", rows, frame) for frame in iterate_balanced_choices(candidates)]
    least = min(report.n_unmatched for report in reports)
    assert {report.n_unmatchable for report in reports} == {least}
    assert least < max(report.n_unmatched for report in reports)


def test_report_counts_candidates_and_resemblance() -> None:
    facts = {
        "lung cancer": ["lung"],
        "lung tumor": ["lung"],
        "skin cancer": ["skin tissue"],
        "skin rash": ["skin"],
    }
    rows = as_facts(facts)
    triplets = [
        ("lung cancer", "lung", True, "test"),
        ("lung cancer", "skin", False, "test"),
        ("skin rash", "skin", True, "test"),
        ("skin rash", "lung", False, "test"),
        ("lung tumor", "lung", True, "demonstration"),
    ]
    frame = pl.DataFrame(triplets, schema=["head", "tail", "is_positive", "split"], orient="row")
    frame = frame.with_columns(is_asserted=pl.lit(None, pl.Boolean))
    report = report_balance("r", rows, frame).describe()
    assert report == {
        "n_pairs": 2,
        "n_candidates": 8,
        "n_related": 2,
        "n_true_sharing": 2,
        "n_false_sharing": 0,
        "n_unmatched": 2,
        "n_unmatchable": 2,
        "n_asserted": 0,
        "is_balanced": False,
    }
