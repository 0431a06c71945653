"""What changes the name of an edition, and the keys of its files."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prototypes.pool import Pool
from prototypes.templates import build_prototypes
from schemas.stages import EDITION_STAGES
from tasks.edition.recipes import RECIPES
from tests.support.small_bases import (
    list_keys,
    make_base,
    make_edition,
    make_facts,
    make_pool,
    make_prototypes,
    shuffle,
)

R, S = make_facts(20, 6), make_facts(16, 5)
BASE = make_base(r=R, s=S)
STAGES = ("triplets", "variants", "statements", "samples")
Keys = dict[tuple[str, str], str]


def find_changes(before: Keys, after: Keys) -> set[tuple[str, str]]:
    """Return (stage, relation) of the files whose keys differ, among the relations that both have."""
    shared = before.keys() & after.keys()
    assert {stage for stage, _ in shared} == set(STAGES)
    return {key for key in shared if before[key] != after[key]}


def change_pool(position: int, cell: str = "inv", text: str = "Another [Y] for [X].", q: str = "Q") -> Pool:
    """Return a pool with another text of r at this position of a cell."""
    cells = {name: list(each.texts) for name, each in make_prototypes("r").cells.items()}
    cells[cell][position] = text
    return Pool("own", make_pool("s").relations | {"r": build_prototypes("r", ("P", q), cells)})


def with_default_prompt() -> Pool:
    origin = replace(make_prototypes("r"), default_prompt="[Y] r [X].")
    return Pool("own", make_pool("s").relations | {"r": origin})


CHANGES: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "seed": ({"seed": 2}, STAGES, "rs"),
    "negatives": ({"negatives": "uniform"}, STAGES, "rs"),
    "cap": ({"heads_per_relation": 9}, STAGES, "rs"),
    "rephraser": ({"kind": "none"}, ("samples",), "rs"),
    "method": ({"methods": ("pretexeval", "direct")}, ("samples",), "rs"),
    "template of the base": ({"methods": ("pretexeval", "origin")}, ("samples",), "rs"),
    "a fact": ({"base": make_base(r=R | {"head 0": ["tail 0", "tail 5"]}, s=S)}, STAGES, "r"),
    "a head": ({"base": make_base(r=R, s=make_facts(17, 5))}, STAGES, "s"),
    "a relation less": ({"base": make_base(r=R)}, (), ""),
    "a relation more": ({"base": make_base(r=R, s=S, t=make_facts(9, 3))}, (), ""),
    "prototype": ({"pool": change_pool(0)}, ("statements", "samples"), "r"),
    "wording": ({"pool": change_pool(1)}, ("samples",), "r"),
    "instance": ({"pool": change_pool(0, "none", "r none 0: [X] and [Y].", "Another")}, STAGES[1:], "r"),
    "possibility": ({"pool": change_pool(0, "none", "[X] may have [Y].")}, STAGES[1:], "r"),
}


@pytest.mark.parametrize(("table", "stages", "relations"), CHANGES.values(), ids=CHANGES)
def test_changes_of_the_test_set_change_its_name_and_the_keys_of_what_they_concern(
    tmp_path: Path, table: dict[str, Any], stages: tuple[str, ...], relations: str
) -> None:
    edition, other = (make_edition(tmp_path, **{"base": BASE, **given}) for given in ({}, table))
    assert other.edition_id != edition.edition_id
    changes = find_changes(list_keys(edition), list_keys(other))
    assert changes == {(stage, relation) for stage in stages for relation in relations}


def test_nothing_else_changes_them(tmp_path: Path) -> None:
    """Neither do the folder, the order of rows and relations of the pool that the base has not."""
    edition = make_edition(tmp_path / "one", BASE)
    keys = list_keys(edition)
    assert len(set(keys.values())) == 8
    assert {len(key) for key in keys.values()} == {32}
    assert str(tmp_path) not in json.dumps(edition.configuration)
    others = [make_edition(tmp_path / "two", shuffle(BASE, 1), make_pool("r", "s", "t"))]
    # Editions of before keep their names, although a CSV of the authors has a default prompt.
    others.append(make_edition(tmp_path / "three", BASE, with_default_prompt()))
    for other in others:
        assert other.edition_id == edition.edition_id
        assert list_keys(other) == keys
    pools = (None, with_default_prompt())
    assert len({make_edition(tmp_path, BASE, pool, methods=("origin",)).edition_id for pool in pools}) == 2


def test_name_contains_base_and_label(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE, seed=7)
    assert re.fullmatch(r"own-seed7-[0-9a-f]{8}", edition.edition_id)
    assert edition.folder == f"editions/{edition.edition_id}"
    labelled = make_edition(tmp_path, BASE, seed=7, label="2026-W47").edition_id
    assert re.fullmatch(r"own-2026-W47-[0-9a-f]{8}", labelled)


def test_every_stage_of_an_edition_has_a_recipe() -> None:
    names = [stage.name for stage in EDITION_STAGES]
    assert list(RECIPES) == names
    for position, recipe in enumerate(RECIPES.values()):
        assert {stage.name for stage in recipe.inputs} <= set(names[:position])


def test_another_version_of_a_step_changes_the_keys_of_its_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of later stages keep their keys as long as the same bytes are built."""
    edition = make_edition(tmp_path, BASE)
    before = list_keys(edition)
    for stage in STAGES:
        with monkeypatch.context() as patch:
            patch.setitem(RECIPES, stage, replace(RECIPES[stage], version=RECIPES[stage].version + 1))
            assert find_changes(before, list_keys(edition)) == {(stage, "r"), (stage, "s")}
