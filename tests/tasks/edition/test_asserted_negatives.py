"""Negatives that the base asserts: preferred, marked in the stage triplets, loaded into the warehouse."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from pretexeval.knowledge.base import FALSE_COLUMNS, KnowledgeBase
from tasks.drawing.heads import Policy, TripletSampling
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.edition.triplets import draw_triplets
from tests.support.small_bases import as_facts, as_rows, make_edition, make_facts, write_files
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

FACTS = make_facts(30, 10)
# A false tail of each head that is true of other heads.
ASSERTED = {head: f"tail {(i * 7 + 5) % 10}" for i, head in enumerate(FACTS)}
ASSERTED = {head: tail for head, tail in ASSERTED.items() if tail not in FACTS[head]}


def as_false(facts: dict[str, str]) -> pl.DataFrame:
    rows = [{"relation": "r", "head": head, "tail": tail} for head, tail in facts.items()]
    return pl.DataFrame(rows, schema=FALSE_COLUMNS)


def draw(policy: Policy, asserted: dict[str, str], facts: pl.DataFrame | None = None) -> pl.DataFrame:
    rows = as_facts(FACTS) if facts is None else facts
    return draw_triplets(KnowledgeBase("own", rows, (), as_false(asserted)), "r", TripletSampling(1, policy))


def list_marked(frame: pl.DataFrame) -> set[tuple[str, str]]:
    return set(frame.filter("is_asserted").select("head", "tail").iter_rows())


@pytest.mark.parametrize("policy", ["balanced", "uniform"])
def test_exactly_the_asserted_negatives_are_marked(policy: Policy) -> None:
    frame = draw(policy, ASSERTED)
    negatives = set(frame.filter(~pl.col("is_positive")).select("head", "tail").iter_rows())
    assert list_marked(frame) == negatives & set(ASSERTED.items())
    assert draw(policy, {})["is_asserted"].is_null().all()


def test_uniform_draws_every_asserted_negative() -> None:
    outside = ASSERTED | {"head 0": "a tail of no true triplet"}
    assert list_marked(draw("uniform", outside)) == set(outside.items())


def test_balanced_prefers_asserted_negatives_and_keeps_the_balance() -> None:
    frame = draw("balanced", ASSERTED).filter(split="test")
    true, false = (Counter(frame.filter(is_positive=b)["tail"]) for b in (True, False))
    assert true == false
    assert frame.height == 50
    n_marked = len(list_marked(frame))
    assert n_marked >= 0.8 * len(ASSERTED.keys() & set(frame["head"]))


def test_an_assertion_settles_whether_a_generalisation_is_true() -> None:
    facts = {f"h{i}": ["Acute Pain" if i % 2 else "Gout"] for i in range(20)} | {"p": ["Pain"], "q": ["Pain"]}
    of_pain = {head: "Pain" for head, tails in facts.items() if tails == ["Acute Pain"]}
    for asserted, has_pain in (({}, False), (of_pain, True)):
        frame = draw("balanced", asserted, as_facts(facts))
        negatives = frame.filter(~pl.col("is_positive"), pl.col("head").is_in(list(of_pain)))
        assert ("Pain" in negatives["tail"].to_list()) is has_pain


def test_what_is_true_by_an_id_is_not_asserted() -> None:
    rows = [{"head": head, "tail": tail, "head_id": head} for head, tails in FACTS.items() for tail in tails]
    rows.append({"head": "other name", "tail": "tail 9", "head_id": "head 0"})
    frame = draw("uniform", {"head 0": "tail 9"}, as_rows(rows))
    assert list_marked(frame) == set()


def build(root: Path, also_false: pl.DataFrame) -> Edition:
    edition = make_edition(root, KnowledgeBase("own", as_facts(FACTS), (), also_false), negatives="balanced")
    complete_edition(edition, list(write_files(edition).values()), [])
    return edition


def test_the_mark_reaches_files_manifest_and_warehouse(tmp_path: Path) -> None:
    edition = build(tmp_path, as_false(ASSERTED))
    written = pl.read_parquet(tmp_path / edition.path_of("triplets", "r"))
    marked = written.filter("is_asserted", split="test")
    build_warehouse(tmp_path)
    query = "select head, tail from triplets where is_asserted and split = 'test' and not is_positive"
    assert sorted(run_query(tmp_path, query)[1]) == sorted(marked.select("head", "tail").rows())
    assert marked.height > 10
