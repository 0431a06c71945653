"""The queries of configs/knowledge on a few invented rows in the format in which each base is published."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.hierarchy import read_hierarchy
from tests.pretexeval.knowledge import own_base
from tests.support.published_bases import RECIPES

Fact = tuple[str, str, str]


def read_recipe(name: str, path: Path, **settings: object) -> KnowledgeBase:
    """Return the base of a recipe and, if a folder is given, with the hierarchy of the same name."""
    if path.is_dir() and (edges := RECIPES / f"{name}-hierarchy.sql").is_file():
        settings |= {"hierarchy": edges}
    return own_base.read_own(path, format="sql", query=RECIPES / f"{name}.sql", **settings)


def list_facts(base: KnowledgeBase, *, also_true: bool = False) -> list[Fact]:
    rows = base.triplets.filter(also_true=also_true)
    return rows.select("relation", "head", "tail").rows()


def list_false(base: KnowledgeBase) -> list[Fact]:
    return base.also_false.select("relation", "head", "tail").rows()


def write(path: Path, *rows: str) -> None:
    own_base.write(path, "\n".join(rows) + "\n")


def write_tabs(path: Path, *rows: str) -> None:
    write(path, *(re.sub(" ?; ?", "\t", row) for row in rows))


def test_primekg(tmp_path: Path) -> None:
    write(
        tmp_path / "kg.csv",
        "relation,display_relation,x_index,x_id,x_type,x_name,x_source,y_index,y_id,y_type,y_name,y_source",
        'indication,indication,1,DB1,drug,"Ibuprofen, racemic",DrugBank,9,100,disease,gout,MONDO',
        'indication,indication,9,100,disease,gout,MONDO,1,DB1,drug,"Ibuprofen, racemic",DrugBank',
        "off-label use,off-label use,1,DB2,drug,Colchicine,DrugBank,8,101,disease,pericarditis,MONDO",
        "contraindication,contraindication,1,DB2,drug,Colchicine,DrugBank,9,100,disease,gout,MONDO",
        "indication,indication,1,DB2,drug,Colchicine,DrugBank,9,100,disease,gout,MONDO",
        "contraindication,contraindication,1,DB2,drug,Colchicine,DrugBank,7,102,disease,kidney failure,MONDO",
        "disease_phenotype_positive,present,9,100,disease,gout,MONDO,5,3,effect/phenotype,Tophus,HPO",
        "disease_phenotype_negative,absent,9,100,disease,gout,MONDO,5,4,phenotype,Fever,HPO",
        "disease_protein,associated with,9,100,disease,gout,MONDO,4,9429,gene/protein,ABCG2,NCBI",
        "drug_protein,target,1,DB2,drug,Colchicine,DrugBank,3,203068,gene/protein,TUBB,NCBI",
        "drug_protein,enzyme,1,DB2,drug,Colchicine,DrugBank,2,1576,gene/protein,CYP3A4,NCBI",
        "anatomy_protein_present,present,4,9429,gene/protein,ABCG2,NCBI,6,2107,anatomy,liver,UBERON",
        "anatomy_protein_present,present,6,2107,anatomy,liver,UBERON,4,9429,gene/protein,ABCG2,NCBI",
        "anatomy_protein_absent,absent,4,9429,gene/protein,ABCG2,NCBI,6,2106,anatomy,spleen,UBERON",
        "pathway_protein,interacts with,4,9429,gene/protein,ABCG2,NCBI,6,R1,pathway,Urate export,REACTOME",
        "bioprocess_protein,interacts with,4,9429,gene/protein,ABCG2,NCBI,6,15747,"
        "biological_process,urate transport,GO",
        "drug_drug,synergistic interaction,1,DB1,drug,A,DrugBank,1,DB2,drug,B,DrugBank",
    )
    base = read_recipe("primekg", tmp_path / "kg.csv")
    assert list_facts(base) == [
        ("contraindicated_in", "Colchicine", "gout"),
        ("contraindicated_in", "Colchicine", "kidney failure"),
        ("disease_mapped_to_gene", "gout", "ABCG2 gene"),
        ("disease_may_have_finding", "gout", "Tophus"),
        ("gene_expressed_in_anatomy", "ABCG2 gene", "liver"),
        ("gene_participates_in_pathway", "ABCG2 gene", "Urate export"),
        ("gene_plays_role_in_biological_process", "ABCG2 gene", "urate transport"),
        ("has_target", "Colchicine", "TUBB"),
        ("may_treat", "Colchicine", "gout"),
        ("may_treat", "Ibuprofen, racemic", "gout"),
    ]
    assert list_facts(base, also_true=True) == [
        ("has_target", "Colchicine", "CYP3A4"),
        ("may_treat", "Colchicine", "pericarditis"),
    ]
    assert list_false(base) == [
        ("disease_may_have_finding", "gout", "Fever"),
        ("gene_expressed_in_anatomy", "ABCG2 gene", "spleen"),
        ("may_treat", "Colchicine", "kidney failure"),
    ]
    assert base.triplets.filter(tail="ABCG2 gene")["tail_id"].to_list() == ["NCBI:9429"]


def test_hetionet(tmp_path: Path) -> None:
    write_tabs(
        tmp_path / "hetionet-v1.0-nodes.tsv",
        "id ; name ; kind",
        "Compound::DB1 ; Colchicine ; Compound",
        "Disease::DOID:1 ; gout ; Disease",
        "Disease::DOID:2 ; osteoarthritis ; Disease",
        "Pharmacologic Class::N1 ; Tubulin Inhibitors ; Pharmacologic Class",
        "Gene::1 ; ABCG2 ; Gene",
        "Anatomy::U1 ; liver ; Anatomy",
        "Pathway::P1 ; Transport of urate ; Pathway",
        'Symptom::D1 ; "Foot" pain ; Symptom',
    )
    write_tabs(
        tmp_path / "hetionet-v1.0-edges.sif",
        "source ; metaedge ; target",
        "Compound::DB1 ; CtD ; Disease::DOID:1",
        "Compound::DB1 ; CpD ; Disease::DOID:2",
        "Pharmacologic Class::N1 ; PCiC ; Compound::DB1",
        "Disease::DOID:1 ; DaG ; Gene::1",
        "Disease::DOID:1 ; DpS ; Symptom::D1",
        "Gene::1 ; GiG ; Gene::1",
        "Gene::1 ; GpPW ; Pathway::P1",
        "Anatomy::U1 ; AeG ; Gene::1",
        "Compound::DB1 ; CbG ; Gene::1",
    )
    base = read_recipe("hetionet", tmp_path)
    assert list_facts(base) == [
        ("disease_mapped_to_gene", "gout", "ABCG2 gene"),
        ("disease_may_have_finding", "gout", '"Foot" pain'),
        ("gene_expressed_in_anatomy", "ABCG2 gene", "liver"),
        ("gene_participates_in_pathway", "ABCG2 gene", "Transport of urate"),
        ("has_pharmacologic_class", "Colchicine", "Tubulin Inhibitors"),
        ("has_target", "Colchicine", "ABCG2"),
        ("may_treat", "Colchicine", "gout"),
    ]
    assert list_facts(base, also_true=True) == [("may_treat", "Colchicine", "osteoarthritis")]


HPOA = """\
OMIM:1 ; Invented syndrome, familial ;  ; HP:0000002 ; 5/100 ; P
OMIM:1 ; Invented syndrome, familial ; NOT ; HP:0000003 ;  ; P
OMIM:1 ; Invented syndrome, familial ; NOT ; HP:0000002 ;  ; P
OMIM:1 ; Invented syndrome, familial ;  ; HP:0000005 ; 0/5 ; P
OMIM:1 ; Invented syndrome, familial ;  ; HP:0000008 ; 1/21 ; P
OMIM:1 ; Invented syndrome, familial ;  ; HP:0000004 ;  ; I
OMIM:1 ; Invented syndrome, familial ;  ; HP:0000006 ;  ; I
OMIM:1 ; Invented syndrome, familial ;  ; HP:0000007 ;  ; C
OMIM:2 ; Rare "syndrome" #2 ;  ; HP:0000002 ; HP:0040284 ; P
OMIM:2 ; Rare "syndrome" #2 ;  ; HP:0000003 ; HP:0040284 ; P
OMIM:2 ; Rare "syndrome" #2 ;  ; HP:0000003 ; 4.9% ; P
OMIM:2 ; Rare "syndrome" #2 ;  ; HP:0000005 ; HP:0040285 ; P
OMIM:2 ; Rare "syndrome" #2 ;  ; HP:0000008 ; 5% ; P
OMIM:3 ; Tall ; NOT ; HP:0000002 ;  ; P
OMIM:3 ; Tall ;  ; HP:0000005 ; HP:0040283 ; P
OMIM:3 ; Tallfirst, included ;  ; HP:0000008 ;  ; P"""
TERMS = {
    "HP:0000001": ("All", [], []),
    "HP:0000118": ("Phenotypic abnormality", [], ["HP:0000001"]),
    "HP:0000002": ("Tall stature", ["Tall", "short stature", 'Being "big"'], ["HP:0000118"]),
    "HP:0000003": ("Short stature", [], ["HP:0000118"]),
    "HP:0000004": ("Autosomal dominant inheritance", [], ["HP:0000001"]),
    "HP:0000005": ("Long arm, left", [], ["HP:0000002", "HP:0000118"]),
    "HP:0000006": ("Genetic anticipation", [], ["HP:0000001"]),
    "HP:0000007": ("Adult onset", [], ["HP:0000001"]),
    "HP:0000008": ("Long arm, right", [], ["HP:0000002"]),
}
MERGED = {"HP:0000002": "HP:0000010"}


def write_obo(path: Path) -> None:
    stanzas = []
    for hpo_id, (name, synonyms, parents) in TERMS.items():
        lines = [f"[Term]\nid: {hpo_id}", f"name: {name}", 'synonym: "Odd" RELATED []']
        lines += [f"alt_id: {MERGED[hpo_id]}"] if hpo_id in MERGED else []
        lines += ['synonym: "{}" EXACT layperson [x]'.format(each.replace('"', '\\"')) for each in synonyms]
        stanzas.append("\n".join([*lines, *(f"is_a: {parent} ! name" for parent in parents)]))
    old = '[Term]\nid: HP:0000009\nname: obsolete\nsynonym: "Being \\"big\\"" EXACT []\nis_obsolete: true'
    typedef = "[Typedef]\nid: part_of\nname: part of\nis_a: HP:0000003"
    write(path, "\n\n".join(["format-version: 1.2", old, *stanzas, typedef]))


def write_obo_json(path: Path) -> None:
    def name_node(hpo_id: str) -> str:
        return "http://purl.obolibrary.org/obo/" + hpo_id.replace(":", "_")

    old = {"deprecated": True, "synonyms": [{"pred": "hasExactSynonym", "val": 'Being "big"'}]}
    nodes: list[dict[str, object]] = [
        {"id": name_node("HP:0000009"), "lbl": "obsolete", "type": "CLASS", "meta": old},
        {"id": "http://purl.obolibrary.org/obo/BFO_0000050", "type": "PROPERTY"},
    ]
    edges = []
    for hpo_id, (name, synonyms, parents) in TERMS.items():
        exact = [{"pred": "hasExactSynonym", "val": each} for each in synonyms]
        values = [{"pred": "http://a.org/oio#hasAlternativeId", "val": MERGED.get(hpo_id, "X:1")}]
        values.append({"pred": "http://a.org/oio#created_by", "val": "HP:0000010"})
        synonyms_of = [*exact, {"pred": "hasRelatedSynonym", "val": "Odd"}]
        meta = {"synonyms": synonyms_of, "basicPropertyValues": values}
        nodes.append({"id": name_node(hpo_id), "lbl": name, "type": "CLASS", "meta": meta})
        edges += [{"sub": name_node(hpo_id), "pred": "is_a", "obj": name_node(each)} for each in parents]
    edges.append({"sub": name_node("HP:0000002"), "pred": "part_of", "obj": name_node("HP:0000003")})
    write(path, json.dumps({"graphs": [{"nodes": nodes, "edges": edges}]}))


@pytest.mark.parametrize(
    ("ontology", "header"),
    [("hp.obo", "#DatabaseID ; DiseaseName"), ("hp.json", "database_id ; disease_name")],
)
def test_hpo(tmp_path: Path, ontology: str, header: str) -> None:
    cells = (line.split(" ; ") for line in HPOA.splitlines())
    rows = (" ; ".join([*c[:4], "OMIM:1", "TAS", "", c[4], "", "", c[5], "HPO:x"]) for c in cells)
    columns = (
        " ; qualifier ; hpo_id ; reference ; evidence ; onset ; frequency ; sex ; modifier ; aspect ; by"
    )
    write_tabs(tmp_path / "phenotype.hpoa", "#version: 2024-01-01", header + columns, *rows)
    (write_obo if ontology == "hp.obo" else write_obo_json)(tmp_path / ontology)
    base = read_recipe("hpo", tmp_path)
    head, finding = '"Invented syndrome, familial"', "disease_may_have_finding"
    assert list_facts(base) == [
        ("disease_has_mode_of_inheritance", head, "Autosomal dominant inheritance"),
        (finding, head, "Tall stature"),
        (finding, 'Rare "syndrome" #2', '"Long arm, right"'),
        (finding, "Tall", '"Long arm, left"'),
    ]
    assert list_facts(base, also_true=True) == [
        (finding, head, '"Long arm, left"'),
        (finding, head, '"Long arm, right"'),
        (finding, '"Tallfirst, included"', '"Long arm, right"'),
        (finding, 'Rare "syndrome" #2', "Short stature"),
        (finding, 'Rare "syndrome" #2', "Tall stature"),
    ]
    assert list_false(base) == [
        (finding, head, "Short stature"),
        (finding, 'Rare "syndrome" #2', '"Long arm, left"'),
        (finding, "Tall", "Tall stature"),
    ]
    assert base.aliases == {"Tall stature": ('Being "big"',)}
    assert [(child[6:], parent[6:]) for child, parent in base.hierarchy.iter_rows()] == [
        ("0000002", "0000118"),
        ("0000003", "0000118"),
        ("0000005", "0000002"),
        ("0000005", "0000118"),
        ("0000008", "0000002"),
    ]
    merged = pl.DataFrame({"tail": ["Big"], "tail_id": ["HP:0000010"]})
    edges, _ = read_hierarchy(RECIPES / "hpo-hierarchy.sql", tmp_path, merged)
    assert edges.row(-1) == ("id:HP:0000010", "id:HP:0000002")


def test_kgx(tmp_path: Path) -> None:
    write_tabs(
        tmp_path / "own_nodes.tsv",
        "id ; category ; name ; synonym",
        "MONDO:1 ; biolink:Disease ; gout ; podagra|gouty arthritis",
        "MONDO:2 ; biolink:Disease ; arthritis ; gouty arthritis",
        "HP:1 ; biolink:PhenotypicFeature ; Tophus ;",
        "HP:2 ; biolink:PhenotypicFeature ; Fever ;",
        "HGNC:1 ; biolink:Gene ; ABCG2 ;",
    )
    write_tabs(
        tmp_path / "own_edges.tsv",
        "id ; subject ; predicate ; object ; negated",
        "1 ; MONDO:1 ; biolink:has_phenotype ; HP:1 ;",
        "2 ; MONDO:1 ; biolink:has_phenotype ; HP:2 ; True",
        "3 ; HGNC:1 ; biolink:gene_associated_with_condition ; MONDO:1 ; false",
        "4 ; HGNC:1 ; biolink:has_phenotype ; HP:1 ;",
        "5 ; HP:1 ; biolink:subclass_of ; HP:0000118 ;",
        "6 ; HP:0000118 ; biolink:subclass_of ; HP:0000001 ;",
        "7 ; HP:1 ; biolink:subclass_of ; HP:2 ; True",
    )
    base = read_recipe("kgx", tmp_path)
    assert base.hierarchy.rows() == [("id:HP:1", "id:HP:0000118")]
    assert list_facts(base) == [
        ("disease_mapped_to_gene", "gout", "ABCG2 gene"),
        ("disease_may_have_finding", "gout", "Tophus"),
    ]
    assert list_false(base) == [("disease_may_have_finding", "gout", "Fever")]
    assert base.aliases == {"gout": ("podagra",)}


def test_wikidata(tmp_path: Path) -> None:
    item = "http://www.wikidata.org/entity"
    write(
        tmp_path / "query.csv",
        "head,headLabel,relation,tail,tailLabel",
        f'{item}/Q1,"colchicine",may_treat,{item}/Q2,"gout"',
        f"{item}/Q1,colchicine,may_treat,{item}/Q3,Q3",
        f"{item}/Q1,colchicine,has_significant_drug_interaction,{item}/Q4,clarithromycin",
    )
    base = read_recipe("wikidata", tmp_path / "query.csv")
    assert base.triplets.select("head", "tail", "head_id", "tail_id", "also_true").rows() == [
        ("clarithromycin", "colchicine", "Q4", "Q1", True),
        ("colchicine", "clarithromycin", "Q1", "Q4", False),
        ("colchicine", "gout", "Q1", "Q2", False),
    ]


def name_atom(concept: str, name: str, *, is_preferred: bool = False, language: str = "ENG") -> str:
    kind = "P|L1|PF" if is_preferred else "S|L2|VO"
    flag = "Y" if is_preferred else "N"
    return f"{concept}|{language}|{kind}|S1|{flag}|A1||||NCI|PT|X|{name}|0|N||"


def relate(second: str, relation: str, first: str, suppress: str = "N", kind: str = "RO") -> str:
    return f"{first}|A1|AUI|{kind}|{second}|A2|AUI|{relation}|R1||NCI|NCI||Y|{suppress}||"


def test_umls(tmp_path: Path) -> None:
    write(
        tmp_path / "MRCONSO.RRF",
        name_atom("C1", "Colchicine", is_preferred=True),
        name_atom("C1", 'Colchicine "Lirca"'),
        name_atom("C1", "Colchicin", language="GER"),
        name_atom("C2", "Gout", is_preferred=True),
        name_atom("C2", "Podagra"),
        name_atom("C2", "arthritis"),
        name_atom("C3", "Arthritis", is_preferred=True),
    )
    write(
        tmp_path / "MRREL.RRF",
        relate("C1", "may_treat", "C2"),
        relate("C2", "may_be_treated_by", "C1"),
        relate("C1", "may_treat", "C3", suppress="Y"),
        relate("C3", "", "C2"),
        relate("C3", "inverse_isa", "C2", kind="PAR"),
        relate("C2", "isa", "C3", kind="CHD"),
        relate("C4", "", "C3", kind="PAR"),
        relate("C5", "part_of", "C3", kind="PAR"),
        relate("C5", "inverse_isa", "C3", suppress="Y", kind="PAR"),
    )
    base = read_recipe("umls", tmp_path, relations=["may_treat"])
    assert base.hierarchy.rows() == [("id:C2", "id:C3"), ("id:C3", "id:C4")]
    assert base.triplets.select("head", "tail", "head_id", "tail_id").rows() == [
        ("Colchicine", "Gout", "C1", "C2")
    ]
    assert base.aliases == {"Colchicine": ('Colchicine "Lirca"',), "Gout": ("Podagra",)}


def test_snomed(tmp_path: Path) -> None:
    terms, language = tmp_path / "Terminology", tmp_path / "Refset" / "Language"
    synonym, full = "900000000000013009", "900000000000003001"
    preferred, acceptable = "900000000000548007", "900000000000549004"
    write_tabs(
        terms / "sct2_Description_Snapshot-en_INT_20240101.txt",
        "id ; effectiveTime ; active ; moduleId ; conceptId ; languageCode ; typeId ; term ; case",
        f"11 ; 20240101 ; 1 ; 9 ; 1 ; en ; {synonym} ; Gout ; 9",
        f"12 ; 20240101 ; 1 ; 9 ; 1 ; en ; {synonym} ; Podagra ; 9",
        f"13 ; 20240101 ; 1 ; 9 ; 1 ; en ; {full} ; Gout (disorder) ; 9",
        f"21 ; 20240101 ; 1 ; 9 ; 2 ; en ; {synonym} ; Joint ; 9",
        f"22 ; 20240101 ; 0 ; 9 ; 2 ; en ; {synonym} ; Old joint ; 9",
    )
    write_tabs(
        language / "der2_cRefset_LanguageSnapshot-en_INT_20240101.txt",
        "id ; effectiveTime ; active ; moduleId ; refsetId ; referencedComponentId ; acceptabilityId",
        *(
            f"{n} ; 20240101 ; 1 ; 9 ; 900000000000509007 ; {n} ; {kind}"
            for n, kind in [(11, preferred), (12, acceptable), (21, preferred)]
        ),
    )
    write_tabs(
        terms / "sct2_Relationship_Snapshot_INT_20240101.txt",
        "id ; effectiveTime ; active ; moduleId ; sourceId ; destinationId ; relationshipGroup ; typeId ; "
        "characteristicTypeId ; modifierId",
        "1 ; 20240101 ; 1 ; 9 ; 1 ; 2 ; 1 ; 363698007 ; 9 ; 9",
        "2 ; 20240101 ; 0 ; 9 ; 2 ; 1 ; 1 ; 363698007 ; 9 ; 9",
        "3 ; 20240101 ; 1 ; 9 ; 2 ; 3 ; 0 ; 116680003 ; 9 ; 9",
        "4 ; 20240101 ; 1 ; 9 ; 3 ; 138875005 ; 0 ; 116680003 ; 9 ; 9",
        "5 ; 20240101 ; 0 ; 9 ; 2 ; 4 ; 0 ; 116680003 ; 9 ; 9",
    )
    base = read_recipe("snomed", tmp_path)
    assert base.hierarchy.rows() == [("id:2", "id:3")]
    assert list_facts(base) == [("disease_has_associated_anatomic_site", "Gout", "Joint")]
    assert base.aliases == {"Gout": ("Podagra",)}
