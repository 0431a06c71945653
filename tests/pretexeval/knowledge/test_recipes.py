"""The queries of configs/knowledge on a few invented rows in the format in which each base is published."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.hierarchy import read_hierarchy
from pretexeval.knowledge.reader import read_knowledge_base
from tests.pretexeval.knowledge.own_base import read_own
from tests.support.published_bases import MEDLAMA, MEDLAMA_TABLE, RECIPES, needs_reference, read_medlama

EXCERPTS = Path(__file__).with_name("excerpts")


def read_recipe(name: str, file: str, *relations: str) -> KnowledgeBase:
    """Return the base of a recipe, with the hierarchy of the same name if there is one."""
    edges = RECIPES / f"{name}-hierarchy.sql"
    hierarchy = {"hierarchy": edges} if edges.is_file() else {}
    query = RECIPES / f"{name}.sql"
    return read_own(EXCERPTS / file, format="sql", query=query, relations=relations, **hierarchy)


def list_facts(base: KnowledgeBase) -> list[str]:
    """Return a line for each fact: relation, head and tail; + if it is also true, - if it is false."""
    rows = base.triplets.sort("also_true", maintain_order=True).select(
        "relation", "head", "tail", "also_true"
    )
    true = [f"{'+ ' if also_true else ''}{' | '.join(fact)}" for *fact, also_true in rows.iter_rows()]
    return true + [
        f"- {' | '.join(fact)}" for fact in base.also_false.select("relation", "head", "tail").rows()
    ]


def list_edges(base: KnowledgeBase) -> list[tuple[str, ...]]:
    return [tuple(key.removeprefix("id:") for key in edge) for edge in base.hierarchy.iter_rows()]


def test_primekg() -> None:
    base = read_recipe("primekg", "primekg/kg.csv")
    assert list_facts(base) == [
        "contraindicated_in | Colchicine | gout",
        "contraindicated_in | Colchicine | kidney failure",
        "disease_mapped_to_gene | gout | ABCG2 gene",
        "disease_may_have_finding | gout | Tophus",
        "gene_expressed_in_anatomy | ABCG2 gene | liver",
        "gene_participates_in_pathway | ABCG2 gene | Urate export",
        "gene_plays_role_in_biological_process | ABCG2 gene | urate transport",
        "has_target | Colchicine | TUBB",
        "may_treat | Colchicine | gout",
        "may_treat | Ibuprofen, racemic | gout",
        "+ has_target | Colchicine | CYP3A4",
        "+ may_treat | Colchicine | pericarditis",
        "- disease_may_have_finding | gout | Fever",
        "- gene_expressed_in_anatomy | ABCG2 gene | spleen",
        "- may_treat | Colchicine | kidney failure",
    ]
    assert base.triplets.filter(tail="ABCG2 gene")["tail_id"].to_list() == ["NCBI:9429"]


def test_hetionet() -> None:
    assert list_facts(read_recipe("hetionet", "hetionet")) == [
        "disease_mapped_to_gene | gout | ABCG2 gene",
        'disease_may_have_finding | gout | "Foot" pain',
        "gene_expressed_in_anatomy | ABCG2 gene | liver",
        "gene_participates_in_pathway | ABCG2 gene | Transport of urate",
        "has_pharmacologic_class | Colchicine | Tubulin Inhibitors",
        "has_target | Colchicine | ABCG2",
        "may_treat | Colchicine | gout",
        "+ may_treat | Colchicine | osteoarthritis",
    ]


@pytest.mark.parametrize("ontology", ["hpo-obo", "hpo-json"])
def test_hpo(ontology: str) -> None:
    """The two folders also differ in the header of phenotype.hpoa, which HPO has changed."""
    base = read_recipe("hpo", ontology)
    head, finding = '"Invented syndrome, familial"', "disease_may_have_finding"
    assert list_facts(base) == [
        f"disease_has_mode_of_inheritance | {head} | Autosomal dominant inheritance",
        f"{finding} | {head} | Tall stature",
        f'{finding} | Rare "syndrome" #2 | "Long arm, right"',
        f'{finding} | Tall | "Long arm, left"',
        f'+ {finding} | {head} | "Long arm, left"',
        f'+ {finding} | {head} | "Long arm, right"',
        f'+ {finding} | "Tallfirst, included" | "Long arm, right"',
        f'+ {finding} | Rare "syndrome" #2 | Short stature',
        f'+ {finding} | Rare "syndrome" #2 | Tall stature',
        f"- {finding} | {head} | Short stature",
        f'- {finding} | Rare "syndrome" #2 | "Long arm, left"',
        f"- {finding} | Tall | Tall stature",
    ]
    assert base.aliases == {"Tall stature": ('Being "big"',)}
    assert [(child[-1], parent[-3:]) for child, parent in list_edges(base)] == [
        ("2", "118"),
        ("3", "118"),
        ("5", "002"),
        ("5", "118"),
        ("8", "002"),
    ]
    merged = pl.DataFrame({"name": ["Big"], "name_id": ["HP:0000010"]})
    edges, _ = read_hierarchy(RECIPES / "hpo-hierarchy.sql", EXCERPTS / ontology, merged)
    assert edges.row(-1) == ("id:HP:0000010", "id:HP:0000002")


def test_kgx() -> None:
    base = read_recipe("kgx", "kgx")
    assert list_edges(base) == [("HP:1", "HP:0000118")]
    assert list_facts(base) == [
        "disease_mapped_to_gene | gout | ABCG2 gene",
        "disease_may_have_finding | gout | Tophus",
        "- disease_may_have_finding | gout | Fever",
    ]
    assert base.aliases == {"gout": ("podagra",)}


OBO, GRAPH = ((EXCERPTS / "ontology" / name).read_bytes() for name in ("x.obo", "x.json"))
ONTOLOGIES = {
    "x.obo": OBO,
    "windows.OBO": OBO.replace(b"\n", b"\r\n"),
    "x.obo.gz": gzip.compress(OBO),
    "x.json": json.dumps(json.loads(GRAPH)).encode(),
    "x.json.gz": gzip.compress(GRAPH),
}


@pytest.mark.parametrize("name", ONTOLOGIES)
def test_an_ontology_is_a_base_and_a_hierarchy(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(ONTOLOGIES[name])
    base = read_own(tmp_path / name)
    assert list_facts(base) == ["found_in | gout | joint", "is_a | gout | arthritis"]
    assert base.aliases == {"gout": ('the "King"',)}
    assert base.triplets["tail_id"].to_list() == ["M:3", "M:2"]
    names = pl.DataFrame({"name": ["gout"], "name_id": ["M:1"]})
    assert read_hierarchy(tmp_path / name, None, names)[0].rows() == [("id:M:1", "id:M:2")]


def test_columns_that_a_format_does_not_require_may_be_missing() -> None:
    """Rows of KGX may end before their last columns, and a node may have several categories."""
    named = ("disease_may_have_finding", "gout", "Tophus")
    for recipe, file, ids in (
        ("kgx", "kgx-few", ("M:1", "HP:1")),
        ("wikidata", "wikidata-few/query.csv", (None, None)),
    ):
        rows = read_recipe(recipe, file).triplets.select("relation", "head", "tail", "head_id", "tail_id")
        assert rows.rows() == [(*named, *ids)], recipe


def test_wikidata() -> None:
    base = read_recipe("wikidata", "wikidata/query.csv")
    assert base.triplets.select("head", "tail", "head_id", "tail_id", "also_true").rows() == [
        ("clarithromycin", "colchicine", "Q4", "Q1", True),
        ("colchicine", "clarithromycin", "Q1", "Q4", False),
        ("colchicine", "gout", "Q1", "Q2", False),
    ]


def test_umls() -> None:
    base = read_recipe("umls", "umls", "may_treat")
    assert list_edges(base) == [("C2", "C3"), ("C3", "C4")]
    assert base.triplets.select("head", "tail", "head_id", "tail_id").rows() == [
        ("Colchicine", "Gout", "C1", "C2")
    ]
    assert base.aliases == {"Colchicine": ('Colchicine "Lirca"',), "Gout": ("Podagra",)}


def test_snomed() -> None:
    base = read_recipe("snomed", "snomed")
    assert list_edges(base) == [("2", "3")]
    assert list_facts(base) == ["disease_has_associated_anatomic_site | Gout | Joint"]
    assert base.aliases == {"Gout": ("Podagra",)}


def test_medlama() -> None:
    base = read_recipe("medlama", "medlama")
    heads = {"burns", "kidney failure", "Addison's disease", "T-cell leukemia", "BRCA1 tumor", "BURNS"}
    # "Wilms" has no small letter anywhere, so that the name would mix two styles.
    heads.add("Kidney Wilms Tumor")
    assert (base.relations, base.left_out, base.triplets.height) == (["may_treat"], (), 4 * len(heads))
    assert set(base.triplets["head"]) == heads
    assert base.triplets.filter(head="burns").select("tail", "head_id", "tail_id").rows() == [
        ("T-cell leukemia", "C0", "4"),
        ("a tumor and a disease", "C0", "3"),
        ("chronic kidney failure", "C0", "2"),
        ("infection of burns", "C0", "1"),
    ]


@needs_reference
def test_medlama_is_complete() -> None:
    base = read_medlama()
    assert (len(base.relations), base.triplets.height, base.left_out) == (17, 39_053, ())
    assert base.triplets.select("relation", "head").n_unique() == 17_000
    # The ids of its editions depend on it.
    assert base.checksum_relation("may_treat") == "33d25fa60c5dd668f71d7a720a25eaf9"


@pytest.mark.long
@needs_reference
def test_medlama_as_published_is_the_same_base(tmp_path: Path) -> None:
    lists = pl.col("tail_names", "tail_cuis").list.join(" || ")
    for (relation,), rows in pl.read_parquet(MEDLAMA).group_by("relation"):
        columns = rows.select("head_cui", "head_name", lists, rel="relation")
        columns.write_csv(tmp_path / f"{relation}_1000.csv")
        columns.head(9).write_csv(tmp_path / f"{relation}_9_hard.csv")
    (tmp_path / "prompts.csv").write_text("pid,human_prompt\n")
    table = MEDLAMA_TABLE | {"path": str(tmp_path)}
    published, base = read_knowledge_base(KnowledgeConfig.model_validate(table)), read_medlama()
    assert published.relations == base.relations
    assert all(published.checksum_relation(name) == base.checksum_relation(name) for name in base.relations)
