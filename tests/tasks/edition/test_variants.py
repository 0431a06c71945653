import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prototypes.pool import load_pool
from schemas.stages import TRIPLETS, VARIANTS
from schemas.transformations import NAMES, POSITIVE_OF
from tasks.edition.variants import derive_variants
from tests.support.small_bases import names

INSTANCE = ("TakesDrug", "IsTreatedFor")
PREDICATES = {
    "none": "may_treat(a, b)",
    "inv": "may_treat⁻¹(b, a)",
    "ins": "TakesDrug(a, x) ⇒ ◇IsTreatedFor(x, b)",
    "inv_ins": "IsTreatedFor(x, b) ⇒ ◇TakesDrug(a, x)",
    "dn": "¬(may_treat(a, b))",
    "inv_dn": "¬(may_treat⁻¹(b, a))",
    "ins_dn": "¬(TakesDrug(a, x) ⇒ ◇IsTreatedFor(x, b))",
    "inv_ins_dn": "¬(IsTreatedFor(x, b) ⇒ ◇TakesDrug(a, x))",
}


def make_triplet(head: str = "a", tail: str = "b", is_positive: bool = True, number: int = 0) -> pl.DataFrame:
    """Return one row of the stage triplets."""
    values = {
        "triplet_id": f"{number:016x}",
        "pair_id": "b" * 16,
        "relation": "may_treat",
        "head": head,
        "tail": tail,
        "is_positive": is_positive,
        "split": "test",
    }
    return pl.DataFrame([values], schema=TRIPLETS.empty.schema)


@pytest.mark.parametrize("is_positive", [True, False])
@pytest.mark.parametrize("transformation", NAMES)
def test_predicate_and_label_of_every_transformation(transformation: str, is_positive: bool) -> None:
    variants = derive_variants(make_triplet(is_positive=is_positive), INSTANCE, is_possibility=True)
    row = variants.row(by_predicate=pl.col("transformation") == transformation, named=True)
    assert row["predicate"] == PREDICATES[transformation]
    assert row["label"] is (is_positive != (transformation in POSITIVE_OF))


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_eight_variants_follow_each_triplet_in_the_fixed_order(truths: list[bool]) -> None:
    triplets = pl.concat(make_triplet(is_positive=t, number=i) for i, t in enumerate(truths))
    variants = derive_variants(triplets, INSTANCE, is_possibility=True)
    assert variants.columns == VARIANTS.names
    assert variants["transformation"].to_list() == list(NAMES) * len(truths)
    assert variants["triplet_id"].to_list() == [i for i in triplets["triplet_id"] for _ in NAMES]
    assert variants["variant_id"].n_unique() == variants.height
    for (triplet_id,), group in variants.group_by("triplet_id"):
        labels = dict(group.select("transformation", "label").iter_rows())
        assert labels["none"] is truths[int(str(triplet_id), 16)]
        for negated, partner in POSITIVE_OF.items():
            assert labels[negated] is not labels[partner]
        assert sum(labels.values()) == 4


@given(names(), names())
def test_names_are_unchanged_in_the_predicate(head: str, tail: str) -> None:
    predicates = derive_variants(make_triplet(head, tail), INSTANCE, is_possibility=True)[
        "predicate"
    ].to_list()
    assert predicates[:4] == [
        f"may_treat({head}, {tail})",
        f"may_treat⁻¹({tail}, {head})",
        f"TakesDrug({head}, x) ⇒ ◇IsTreatedFor(x, {tail})",
        f"IsTreatedFor(x, {tail}) ⇒ ◇TakesDrug({head}, x)",
    ]
    assert predicates[4:] == [f"¬({predicate})" for predicate in predicates[:4]]


def test_an_instantiation_claims_certainty_only_where_its_text_does() -> None:
    """Only `ins` of a relation without "may" or "can" follows with certainty."""
    possible = {
        *("disease_may_have_associated_disease", "disease_may_have_finding", "may_prevent", "may_treat"),
        *("disease_may_have_molecular_abnormality", "gene_encodes_gene_product", "may_cause_side_effect"),
    }
    for relation, prototypes in load_pool("revised").relations.items():
        variants = derive_variants(
            make_triplet(), prototypes.instance, is_possibility=prototypes.is_possibility
        )
        marked = variants.filter(pl.col("predicate").str.contains("⇒ ◇", literal=True))["transformation"]
        in_both = ["inv_ins", "inv_ins_dn"]
        assert sorted(marked) == sorted(in_both + (["ins", "ins_dn"] if relation in possible else [])), (
            relation
        )
