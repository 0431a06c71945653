import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from prototypes.pool import load_pool
from schemas.stages import TRIPLETS, VARIANTS
from schemas.transformations import NAMES
from tasks.edition.variants import derive_variants
from tests.support.small_bases import names

INSTANCE = ("TakesDrug", "IsTreatedFor")


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


def list_predicates(head: str, tail: str) -> list[str]:
    return [
        f"may_treat({head}, {tail})",
        f"may_treat⁻¹({tail}, {head})",
        f"TakesDrug({head}, x) ⇒ ◇IsTreatedFor(x, {tail})",
        f"IsTreatedFor(x, {tail}) ⇒ ◇TakesDrug({head}, x)",
    ]


@given(st.lists(st.tuples(names(), names(), st.booleans()), min_size=1, max_size=5))
def test_eight_variants_with_predicate_and_label_follow_each_triplet(
    rows: list[tuple[str, str, bool]],
) -> None:
    triplets = pl.concat(make_triplet(*row, number=i) for i, row in enumerate(rows))
    variants = derive_variants(triplets, INSTANCE, is_possibility=True)
    assert variants.columns == VARIANTS.names
    assert variants["triplet_id"].to_list() == [i for i in triplets["triplet_id"] for _ in NAMES]
    assert variants["variant_id"].n_unique() == variants.height
    order = ["none", "inv", "ins", "inv_ins", "dn", "inv_dn", "ins_dn", "inv_ins_dn"]
    assert variants["transformation"].to_list() == order * len(rows)
    expected: list[tuple[str, bool]] = []
    for head, tail, is_positive in rows:
        predicates = list_predicates(head, tail)
        expected += [(predicate, is_positive) for predicate in predicates]
        expected += [(f"¬({predicate})", not is_positive) for predicate in predicates]
    assert variants.select("predicate", "label").rows() == expected


def test_an_instantiation_claims_certainty_only_where_its_text_does() -> None:
    """Only `ins` of a relation without "may" or "can" follows with certainty."""
    possible = {
        *("disease_may_have_associated_disease", "disease_may_have_finding", "may_prevent", "may_treat"),
        *("disease_may_have_molecular_abnormality", "gene_encodes_gene_product", "may_cause_side_effect"),
    }
    for relation, given_of in load_pool("revised").relations.items():
        variants = derive_variants(make_triplet(), given_of.instance, is_possibility=given_of.is_possibility)
        marked = variants.filter(pl.col("predicate").str.contains("⇒ ◇", literal=True))["transformation"]
        expected = ["inv_ins", "inv_ins_dn"] + (["ins", "ins_dn"] if relation in possible else [])
        assert (relation, sorted(marked)) == (relation, sorted(expected))
