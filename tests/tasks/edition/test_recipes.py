from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prototypes.pool import Pool
from prototypes.templates import RelationPrototypes, build_prototypes
from schemas.stages import EDITION_STAGES
from tasks.edition.recipes import RECIPES
from tests.support.small_bases import (
    list_keys,
    make_base,
    make_edition,
    make_facts,
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


def replace_texts(position: int, cell: str = "inv", text: str = "Another [Y] for [X].") -> RelationPrototypes:
    """Return the prototypes of r with another text at this position of a cell."""
    cells = {name: list(each.texts) for name, each in make_prototypes("r").cells.items()}
    cells[cell][position] = text
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


def rename_instance() -> RelationPrototypes:
    cells = {name: cell.texts for name, cell in make_prototypes("r").cells.items()}
    return build_prototypes("r", ("P", "Another"), cells)


@pytest.mark.parametrize(
    ("of_r", "stages"),
    [
        (replace_texts(0), ("statements", "samples")),
        (replace_texts(1), ("samples",)),
        (rename_instance(), ("variants", "statements", "samples")),
        (replace_texts(0, "none", "[X] may have [Y]."), ("variants", "statements", "samples")),
    ],
    ids=("prototype", "wording", "instance", "possibility"),
)
def test_another_prototype_changes_files_of_its_relation(
    tmp_path: Path, of_r: RelationPrototypes, stages: tuple[str, ...]
) -> None:
    pool = Pool("own", {"r": of_r, "s": make_prototypes("s")})
    before, after = (list_keys(make_edition(tmp_path, BASE, given)) for given in (None, pool))
    assert find_changes(before, after) == {(stage, "r") for stage in stages}


@pytest.mark.parametrize(
    ("table", "stages"),
    [
        *(({key: value}, STAGES) for key, value in (("seed", 2), ("negatives", "uniform"))),
        ({"heads_per_relation": 9}, STAGES),
        ({"kind": "none"}, ("samples",)),
        ({"methods": ("pretexeval", "direct")}, ("samples",)),
    ],
)
def test_another_draw_changes_everything_and_another_method_only_samples(
    tmp_path: Path, table: dict[str, Any], stages: tuple[str, ...]
) -> None:
    before, after = (list_keys(make_edition(tmp_path, BASE, **given)) for given in ({}, table))
    assert find_changes(before, after) == every_relation(*stages)


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
