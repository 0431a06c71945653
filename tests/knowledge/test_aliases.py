"""Aliases of names: which names they belong to, and that a triplet true under an alias is never false."""

from pathlib import Path

import pytest

from config.tables import KnowledgeConfig
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from primitives.errors import InputError
from tests.support.command import write_base

ROWS = [
    ("aspirin", "may_treat", "fever"),
    ("paracetamol", "may_treat", "pyrexia"),
    ("acetaminophen", "may_treat", "headache"),
    ("ibuprofen", "may_treat", "gout"),
]


def read(tmp_path: Path, aliases: str) -> KnowledgeBase:
    path = write_base(tmp_path / "own.tsv", ROWS)
    (tmp_path / "aliases.csv").write_text(aliases)
    return read_knowledge_base(
        KnowledgeConfig(name="own", format="table", path=path, aliases=tmp_path / "aliases.csv")
    )


def test_names_in_any_spelling_get_their_aliases(tmp_path: Path) -> None:
    base = read(
        tmp_path,
        "name,alias\nFEVER,high temperature\nAspirin,acetylsalicylic acid\nfever,Fever\nmumps,parotitis\n",
    )
    assert base.aliases == {"aspirin": ("acetylsalicylic acid",), "fever": ("high temperature",)}


def test_names_with_an_id_get_the_aliases_of_the_id(tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text("head\trelation\ttail\ttail_id\naspirin\tmay_treat\tfever\tC1\n")
    (tmp_path / "aliases.csv").write_text("id,alias\nC1,pyrexia\nC2,gout\n")
    path, aliases = tmp_path / "own.tsv", tmp_path / "aliases.csv"
    base = read_knowledge_base(KnowledgeConfig(name="own", format="table", path=path, aliases=aliases))
    assert base.aliases == {"fever": ("pyrexia",)}


def test_a_triplet_that_is_true_under_an_alias_is_true(tmp_path: Path) -> None:
    base = read(tmp_path, "name,alias\nfever,Pyrexia\nparacetamol,acetaminophen\n")
    also_true = base.triplets.filter("also_true").select("head", "tail").rows()
    assert also_true == [
        ("acetaminophen", "pyrexia"),
        ("aspirin", "pyrexia"),
        ("paracetamol", "fever"),
        ("paracetamol", "headache"),
    ]
    assert base.triplets.filter(~base.triplets["also_true"]).height == len(ROWS)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("alias\npyrexia\n", "has neither a column name nor a column id"),
        ("name,id,alias\nfever,C1,pyrexia\n,,gout\n", "line 3: the row has neither a name nor an id"),
        ("name,alias\nfever,\n", "line 2: the alias is empty"),
        ("name,synonym\nfever,pyrexia\n", "has no column alias"),
    ],
)
def test_broken_tables_name_the_place(tmp_path: Path, table: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, table)
