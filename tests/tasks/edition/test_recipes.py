from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prototypes.pool import Pool
from prototypes.templates import RelationPrototypes, build_prototypes
from schemas.stages import EDITION_STAGES
from schemas.transformations import NAMES
from tasks.edition.recipes import RECIPES
from tests.support.small_bases import (
    build_frames,
    list_keys,
    make_base,
    make_edition,
    make_facts,
    make_pool,
    make_prototypes,
    shuffle,
)

BASE = make_base(r=make_facts(20, 6), s=make_facts(16, 5))
STAGES = ("triplets", "variants", "statements", "samples")
Keys = dict[tuple[str, str], str]


def find_changes(before: Keys, after: Keys) -> set[tuple[str, str]]:
    """Return (stage, relation) of the files whose keys differ."""
    assert before.keys() == after.keys() == {(stage, relation) for stage in STAGES for relation in "rs"}
    return {key for key in before if before[key] != after[key]}


def every_relation(*stages: str) -> set[tuple[str, str]]:
    return {(stage, relation) for stage in stages for relation in "rs"}


def replace_texts(position: int) -> RelationPrototypes:
    """Return the prototypes of r with another text at this position of the cell inv."""
    cells = {name: list(cell.texts) for name, cell in make_prototypes("r").cells.items()}
    cells["inv"][position] = "Another [Y] for [X]."
    return build_prototypes("r", ("P", "Q"), cells)


def test_every_stage_of_an_edition_has_a_recipe() -> None:
    names = [stage.name for stage in EDITION_STAGES]
    assert list(RECIPES) == names
    for position, recipe in enumerate(RECIPES.values()):
        assert {stage.name for stage in recipe.inputs} <= set(names[:position])


def test_keys_do_not_depend_on_the_folder_or_the_order_of_rows(tmp_path: Path) -> None:
    keys = list_keys(make_edition(tmp_path / "one", BASE))
    assert keys == list_keys(make_edition(tmp_path / "two", shuffle(BASE, 1)))
    assert len(set(keys.values())) == 8
    assert {len(key) for key in keys.values()} == {32}


def test_another_prototype_changes_statements_and_samples_of_its_relation(tmp_path: Path) -> None:
    pool = Pool("own", {"r": replace_texts(0), "s": make_prototypes("s")})
    changes = find_changes(
        list_keys(make_edition(tmp_path, BASE)), list_keys(make_edition(tmp_path, BASE, pool))
    )
    assert changes == {("statements", "r"), ("samples", "r")}


def test_another_wording_changes_only_samples_of_its_relation(tmp_path: Path) -> None:
    pool = Pool("own", {"r": replace_texts(1), "s": make_prototypes("s")})
    changes = find_changes(
        list_keys(make_edition(tmp_path, BASE)), list_keys(make_edition(tmp_path, BASE, pool))
    )
    assert changes == {("samples", "r")}


def test_another_instance_changes_everything_from_variants_on(tmp_path: Path) -> None:
    cells = {name: cell.texts for name, cell in make_prototypes("r").cells.items()}
    renamed = build_prototypes("r", ("P", "Another"), cells)
    pool = Pool("own", {"r": renamed, "s": make_prototypes("s")})
    changes = find_changes(
        list_keys(make_edition(tmp_path, BASE)), list_keys(make_edition(tmp_path, BASE, pool))
    )
    assert changes == {("variants", "r"), ("statements", "r"), ("samples", "r")}


@pytest.mark.parametrize("table", [{"seed": 2}, {"negatives": "uniform"}, {"heads_per_relation": 9}])
def test_another_draw_changes_everything(tmp_path: Path, table: dict[str, Any]) -> None:
    changes = find_changes(
        list_keys(make_edition(tmp_path, BASE)), list_keys(make_edition(tmp_path, BASE, **table))
    )
    assert changes == every_relation(*STAGES)


@pytest.mark.parametrize("table", [{"kind": "none"}, {"methods": ("pretexeval", "direct")}])
def test_another_method_changes_only_samples(tmp_path: Path, table: dict[str, Any]) -> None:
    changes = find_changes(
        list_keys(make_edition(tmp_path, BASE)), list_keys(make_edition(tmp_path, BASE, **table))
    )
    assert changes == every_relation("samples")


def test_another_fact_changes_its_relation(tmp_path: Path) -> None:
    other = make_base(r=make_facts(20, 6) | {"head 0": ["tail 0", "tail 5"]}, s=make_facts(16, 5))
    changes = find_changes(list_keys(make_edition(tmp_path, BASE)), list_keys(make_edition(tmp_path, other)))
    assert changes == {(stage, "r") for stage in STAGES}


def test_additional_relation_changes_no_keys_of_the_others(tmp_path: Path) -> None:
    more = make_base(r=make_facts(20, 6), s=make_facts(16, 5), t=make_facts(9, 3))
    keys = list_keys(make_edition(tmp_path, more))
    assert {key: keys[key] for key in keys if key[1] != "t"} == list_keys(make_edition(tmp_path, BASE))


@pytest.mark.parametrize("stage", STAGES)
def test_another_version_of_a_step_changes_the_keys_of_its_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """Files of later stages keep their keys as long as the same bytes are built."""
    before = list_keys(make_edition(tmp_path, BASE))
    recipe = RECIPES[stage]
    monkeypatch.setitem(RECIPES, stage, replace(recipe, version=recipe.version + 1))
    assert find_changes(before, list_keys(make_edition(tmp_path, BASE))) == every_relation(stage)


def test_recipes_build_a_relation_from_its_own_rows(tmp_path: Path) -> None:
    frames = build_frames(make_edition(tmp_path, BASE, make_pool("r", "s")), "s")
    assert [frame.height for frame in frames.values()] == [32, 256, 256, 256]
    assert {name for frame in frames.values() for name in frame["relation"].unique()} == {"s"}
    assert set(frames["samples"]["transformation"]) == set(NAMES)
