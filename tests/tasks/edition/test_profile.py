"""The profile of a base: `validate` says the same as the manifest, and no head of the base is forgotten."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands.preflight.validate import validate_config
from pretexeval.config.file import Config
from pretexeval.config.tables import KnowledgeConfig
from pretexeval.storage.records import read_manifest
from report.page import write_report
from tasks.edition.planning import plan_edition
from tests.support.command import write_base
from tests.support.parsed_page import parse
from tests.support.published_bases import MEDLAMA_TABLE, needs_reference
from tests.support.small_bases import build_edition, read_rows_of
from warehouse.publishing import build_warehouse


def name_own(folder: Path) -> KnowledgeConfig:
    """Return a base with heads that are placeholders, a tail that repeats its head, and doubtful names."""
    tails = [
        *(f"disease {letter}" for letter in "abcdef"),
        "gout (acute",
        "small_dents_in_nails",
        "CID100003121",
    ]
    rows = [(f"drug {i}", "may_treat", tails[(i + k) % 9]) for i in range(40) for k in (0, 1 + i % 4)]
    rows += [("combinations", "may_treat", tails[0]), ("various drugs", "may_treat", tails[1])]
    path = write_base(folder / "own.tsv", [*rows, ("gout", "may_treat", "Gout")])
    return KnowledgeConfig(name="own", format="table", path=path)


def name_medlama(folder: Path) -> KnowledgeConfig:
    return KnowledgeConfig.model_validate(MEDLAMA_TABLE)


@pytest.mark.parametrize(
    ("name_base", "edition"),
    [
        (name_own, {"heads_per_relation": 9, "negatives": "uniform"}),
        pytest.param(name_medlama, {}, marks=[pytest.mark.long, needs_reference]),
    ],
)
def test_validate_the_manifest_and_the_page_agree_on_every_relation(
    tmp_path: Path, name_base: Callable[[Path], KnowledgeConfig], edition: dict[str, Any]
) -> None:
    tables = {"edition": {"methods": ["direct"], **edition}, "storage": {"root": tmp_path / "data"}}
    config = Config.model_validate({"knowledge": name_base(tmp_path), **tables})
    found = {each.name: each.rows for each in validate_config(config)}
    planned = plan_edition(config)
    triplets = read_rows_of(build_edition(planned)[0], planned.root).filter(split="test")
    manifest = read_manifest(planned.root, planned.edition_id)
    profile = manifest["profile"]
    doubtful = [(row["kind"], row["n"], list(row["examples"])) for row in found.get("names", ())]
    assert doubtful == [(row["kind"], row["n"], row["examples"]) for row in profile["doubtful_names"]]
    assert found.get("left out", []) == profile["left_out"]
    for row in found["relations"]:
        name, of_relation = row["relation"], profile["relations"][row["relation"]]
        heads = triplets.filter(relation=name)["head"].n_unique()
        assert heads == row["n_tested_heads"] == of_relation["n_tested_heads"]
        assert heads == manifest["balance"][name]["n_pairs"]
        lost = [each for each in found["lost heads"] if each["relation"] == name]
        assert [{"relation": name, **each} for each in of_relation["lost_heads"]] == lost
        assert of_relation["n_base_heads"] == heads + sum(each["n_heads"] for each in lost)
        assert {key: of_relation[key] for key in of_relation if key in row} == {
            key: row[key] for key in row if key in of_relation
        }
    assert {row["relation"] for row in found["relations"]} == set(triplets["relation"])
    build_warehouse(planned.root)
    text = parse(write_report(planned.root, planned.edition_id).with_name("data.html").read_text()).text
    for row in profile["doubtful_names"]:
        assert f"{row['n']} {row['kind']}: {'; '.join(row['examples'])}" in text
    assert profile["relations"]["may_treat"]["lost_heads"]
    for lost in profile["relations"]["may_treat"]["lost_heads"]:
        assert f"{lost['n_heads']}: {lost['reason']}" in text
