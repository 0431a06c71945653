"""Aliases of names: which names they belong to, and that a triplet true under an alias is never false."""

import json
import re
from pathlib import Path
from typing import Literal

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError
from tests.support.command import write_base

ROWS = [
    ("aspirin", "may_treat", "fever"),
    ("paracetamol", "may_treat", "pyrexia"),
    ("acetaminophen", "may_treat", "headache"),
    ("ibuprofen", "may_treat", "gout"),
]


def read_base(
    path: Path, aliases: Path | None = None, conflicts: Literal["stop", "leave_out"] = "stop"
) -> KnowledgeBase:
    return read_knowledge_base(
        KnowledgeConfig(name="own", format="table", path=path, aliases=aliases, conflicts=conflicts)
    )


def read(tmp_path: Path, aliases: str) -> KnowledgeBase:
    path = write_base(tmp_path / "own.tsv", ROWS)
    (tmp_path / "aliases.csv").write_text(aliases)
    return read_base(path, tmp_path / "aliases.csv")


def list_added(base: KnowledgeBase) -> list[tuple[str, ...]]:
    return base.triplets.filter("also_true").select("head", "tail").rows()


def test_names_in_any_spelling_get_their_aliases(tmp_path: Path) -> None:
    base = read(
        tmp_path,
        "name,alias\nFEVER,high temperature\nAspirin,acetylsalicylic acid\nfever,Fever\nmumps,parotitis\n",
    )
    assert base.aliases == {"aspirin": ("acetylsalicylic acid",), "fever": ("high temperature",)}


@pytest.mark.parametrize("name", ["own.csv", "own.jsonl", "own.parquet"])
def test_aliases_in_columns_of_the_base(tmp_path: Path, name: str) -> None:
    lists = {
        "head": ["aspirin", "paracetamol"],
        "relation": ["may_treat", "may_treat"],
        "tail": ["fever", "pain"],
        "head_aliases": [["ASA", "acetylsalicylic acid"], None],
        "tail_aliases": [["pyrexia"], []],
    }
    path = tmp_path / name
    frame = pl.DataFrame(lists)
    if name.endswith("parquet"):
        frame.write_parquet(path)
    elif name.endswith("jsonl"):
        path.write_text("\n".join(json.dumps(row) for row in frame.to_dicts()))
    else:
        path.write_text(
            "head,relation,tail,head_aliases,tail_aliases\n"
            "aspirin,may_treat,fever,ASA || acetylsalicylic acid||,pyrexia\nparacetamol,may_treat,pain,,\n"
        )
    (tmp_path / "more.tsv").write_text("name\talias\npain\tache\n")
    assert read_base(path).aliases == {"aspirin": ("ASA", "acetylsalicylic acid"), "fever": ("pyrexia",)}
    assert read_base(path, tmp_path / "more.tsv").aliases["pain"] == ("ache",)


def test_a_triplet_that_is_true_under_an_alias_is_true(tmp_path: Path) -> None:
    base = read(tmp_path, "name,alias\nfever,Pyrexia\nparacetamol,acetaminophen\n")
    assert list_added(base) == [
        ("acetaminophen", "fever"),
        ("acetaminophen", "pyrexia"),
        ("aspirin", "pyrexia"),
        ("paracetamol", "fever"),
        ("paracetamol", "headache"),
    ]
    assert base.triplets.filter(~pl.col("also_true")).height == len(ROWS)


def test_an_alias_that_names_something_with_another_id_is_a_conflict(tmp_path: Path) -> None:
    facts = "aspirin,may_treat,fever,C1,gout\nnaproxen,may_treat,fever,C1,gout\nx,may_treat,gout,C2,\n"
    header = "head,relation,tail,tail_id,tail_aliases\n"
    (tmp_path / "own.csv").write_text(header + facts + "naproxen,may_treat,pyrexia,C1,\n")
    (tmp_path / "aliases.csv").write_text("id,alias\nC1,pyrexia\nC1,Gout\nC3,gout\n")
    taken = "may_treat: '{}' is an alias of {}, and the name of the tail C2"
    # A fact repeats the aliases of its names, and the repetitions are one conflict.
    found = [
        ("aliases.csv, line 3", taken.format("Gout", "C1")),
        ("own.csv, line 2", taken.format("gout", "fever")),
    ]
    with pytest.raises(
        InputError, match="\n".join(re.escape(f"    {place}: {text}") for place, text in found)
    ):
        read_base(tmp_path / "own.csv", tmp_path / "aliases.csv")
    base = read_base(tmp_path / "own.csv", tmp_path / "aliases.csv", "leave_out")
    assert [(item.where, item.what) for item in base.left_out] == found
    assert base.aliases == {"fever": ("pyrexia",)}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("alias\npyrexia\n", "has neither a column name nor a column id"),
        ("name,id,alias\nfever,C1,pyrexia\n,,gout\n", "line 3: the row has neither a name nor an id"),
        ("name,alias\nfever,\n", "line 2: the alias is empty"),
        ("name,synonym\nfever,pyrexia\n", "has no column alias"),
        ("name,alias\n", "holds no rows"),
    ],
)
def test_broken_tables_name_the_place(tmp_path: Path, table: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, table)


def test_names_with_an_id_get_the_aliases_of_the_id(tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text("head\trelation\ttail\ttail_id\naspirin\tmay_treat\tfever\tC1\n")
    (tmp_path / "aliases.csv").write_text("id,alias\nC1,pyrexia\nC2,gout\n")
    assert read_base(tmp_path / "own.tsv", tmp_path / "aliases.csv").aliases == {"fever": ("pyrexia",)}
