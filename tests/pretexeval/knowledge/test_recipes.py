"""The queries of configs/knowledge on a few invented rows in the format in which each base is published."""

import gzip
import json
import re
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.hierarchy import read_hierarchy
from pretexeval.knowledge.query import NOT_NAMED
from pretexeval.knowledge.reader import read_knowledge_base
from tests.pretexeval.knowledge.own_base import read_error, read_own, write
from tests.support.published_bases import MEDLAMA, MEDLAMA_TABLE, RECIPES, needs_reference, read_medlama

EXCERPTS = Path(__file__).with_name("excerpts")


# What the base of each excerpt holds, by its file or folder within `excerpts`.
HELD = pl.read_csv(
    Path(__file__).with_name("recipes.tsv"), separator="\t", quote_char=None, infer_schema=False
)


def read_recipe(file: str) -> KnowledgeBase:
    """Return the base of an excerpt by its recipe, with the hierarchy of the same name if there is one."""
    name = re.split("[-/]", file)[0]
    edges = RECIPES / f"{name}-hierarchy.sql"
    hierarchy = {"hierarchy": edges} if edges.is_file() else {}
    return read_own(EXCERPTS / file, format="sql", query=RECIPES / f"{name}.sql", **hierarchy)


def list_held(base: KnowledgeBase) -> list[tuple[str | None, ...]]:
    """Return rows of a kind, a relation, two names and two ids: the facts, aliases, and edges of a base."""
    return [
        *(("also true" if also_true else "true", *fact) for *fact, also_true in base.triplets.iter_rows()),
        *(("false", *fact) for fact in base.also_false.iter_rows()),
        *(("alias", None, name, alias, None, None) for name in base.aliases for alias in base.aliases[name]),
        *(("edge", None, None, None, *edge) for edge in base.hierarchy.iter_rows()),
    ]


@pytest.mark.parametrize("file", HELD["file"].unique(maintain_order=True))
def test_the_recipe_of_a_base_gives_its_facts_aliases_and_hierarchy(file: str) -> None:
    """The two folders of HPO also differ in the header of phenotype.hpoa, which HPO has changed.

    The folders -few lack columns that a format does not require. Rows of KGX may end before their last
    columns, and a node may have several categories. In MedLAMA, "Wilms" has no small letter anywhere, so that
    the name with it would mix two styles.
    """
    base = read_recipe(file)
    assert list_held(base) == HELD.filter(file=file).drop("file").rows()
    assert base.left_out == ()


@pytest.mark.parametrize("ontology", ["hpo-obo", "hpo-json"])
def test_a_term_that_was_merged_is_below_the_other_one(ontology: str) -> None:
    merged = pl.DataFrame({"name": ["Big"], "name_id": ["HP:0000010"]})
    edges, *_ = read_hierarchy(RECIPES / "hpo-hierarchy.sql", EXCERPTS / ontology, [merged])
    assert edges.row(-1) == ("id:HP:0000010", "id:HP:0000002")


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
    assert list_held(base) == [
        ("true", "found_in", "gout", "joint", "M:1", "M:3"),
        ("true", "is_a", "gout", "arthritis", "M:1", "M:2"),
        ("alias", None, "gout", 'the "King"', None, None),
    ]
    names = pl.DataFrame({"name": ["gout"], "name_id": ["M:1"]})
    assert read_hierarchy(tmp_path / name, None, [names])[0].rows() == [("id:M:1", "id:M:2")]


UNNAMED = """
[Term]
id: M:1
name: term 1
is_a: M:2
is_a: M:7

[Term]
id: M:2
name: term 2

[Term]
id: M:3
name: term 3
is_a: M:4

[Term]
id: M:4
is_a: M:2

[Term]
id: M:5
name: term 5
is_a: M:9

[Term]
id: M:6
relationship: found_in M:1

[Term]
id: M:7
name: old
is_obsolete: true
"""


def convert_to_obographs(obo: str) -> str:
    stanzas = [re.findall(r"^(\w+): (.*)$", stanza, re.MULTILINE) for stanza in obo.split("[Term]")[1:]]
    keys = {"id": "id", "name": "lbl", "is_obsolete": "meta"}
    nodes = [
        {
            keys[key]: {"deprecated": True} if key == "is_obsolete" else text
            for key, text in rows
            if key in keys
        }
        for rows in stanzas
    ]
    links = [(rows[0][1], *f"{key} {text}".split()[-2:]) for rows in stanzas for key, text in rows]
    edges = [
        {"sub": sub, "pred": pred, "obj": obj} for sub, pred, obj in links if pred in ("is_a", "found_in")
    ]
    return json.dumps({"graphs": [{"nodes": nodes, "edges": edges}]})


def test_links_of_terms_without_a_name_are_counted_and_connect_the_hierarchy(tmp_path: Path) -> None:
    for name, content in (("x.obo", UNNAMED), ("x.json", convert_to_obographs(UNNAMED))):
        path = write(tmp_path / name, content)
        base = read_own(path)
        assert base.triplets.select("relation", "head", "tail").rows() == [("is_a", "term 1", "term 2")]
        assert [(item.where, item.what, item.reason) for item in base.left_out] == [
            (name, "1 row of found_in, such as M:6 → term 1", NOT_NAMED),
            (name, "3 rows of is_a, such as term 3 → M:4", NOT_NAMED),
        ]
        below = pl.DataFrame({"name": ["term 3"], "name_id": ["M:3"]})
        edges = read_hierarchy(path, None, [below])[0].rows()
        assert edges == [("id:M:3", "id:M:4"), ("id:M:4", "id:M:2")]
    unnamed = write(tmp_path / "x.obo", "[Term]\nid: M:1\nis_a: M:2\n")
    assert "x.obo: 1 row of is_a, such as M:1 → M:2: the ontology has no name" in read_error(unnamed)


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
