import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.config.file import Config
from pretexeval.config.tables import KnowledgeConfig, StorageConfig
from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import read_stage_file
from pretexeval.storage.records import read_manifest
from prototypes.pool import Pool
from schemas.stages import TRIPLETS
from tasks.edition.edition import Edition
from tasks.edition.manifest import NO_NEGATIVE, complete_edition, list_left_out
from tasks.edition.planning import plan_edition
from tests.support.small_bases import (
    STAGES,
    make_base,
    make_edition,
    make_facts,
    make_pool,
    make_prototypes,
    shuffle,
    write_files,
)

BASE = make_base(r=make_facts(20, 6), s=make_facts(16, 5))


def test_name_contains_base_and_label(tmp_path: Path) -> None:
    seeded, labelled = (
        make_edition(tmp_path, BASE, seed=7),
        make_edition(tmp_path, BASE, seed=7, label="2026-W47"),
    )
    assert re.fullmatch(r"own-seed7-[0-9a-f]{8}", seeded.edition_id)
    assert re.fullmatch(r"own-2026-W47-[0-9a-f]{8}", labelled.edition_id)
    assert seeded.folder == f"editions/{seeded.edition_id}"


@pytest.mark.parametrize(
    "table",
    [
        {"seed": 2},
        {"negatives": "uniform"},
        {"heads_per_relation": 10},
        {"methods": ("pretexeval", "direct")},
        {"methods": ("pretexeval", "origin")},
        {"kind": "none"},
        {"base": make_base(r=make_facts(20, 6))},
        {"base": make_base(r=make_facts(20, 6), s=make_facts(17, 5))},
        {"pool": Pool("own", {"r": make_prototypes("r", "or"), "s": make_prototypes("s")})},
    ],
)
def test_every_change_of_the_test_set_changes_the_name(tmp_path: Path, table: dict[str, Any]) -> None:
    other = make_edition(tmp_path, **{"base": BASE, **table})
    assert other.edition_id != make_edition(tmp_path, BASE).edition_id


def test_the_base_s_own_template_changes_only_editions_that_use_it(tmp_path: Path) -> None:
    """So editions of before keep their names, although a CSV of the authors has a default prompt."""
    plain = {"r": make_prototypes("r"), "s": make_prototypes("s")}
    with_prompt = plain | {"r": replace(plain["r"], default_prompt="[Y] r [X].")}
    pools = [Pool("own", relations) for relations in (plain, with_prompt)]
    for methods, n_names in ((("pretexeval",), 1), (("origin",), 2)):
        names = {make_edition(tmp_path, BASE, pool, methods=methods).edition_id for pool in pools}
        assert len(names) == n_names


def test_name_does_not_depend_on_the_folder_or_the_order_of_rows(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    assert make_edition(tmp_path / "elsewhere", shuffle(BASE, 3)).edition_id == edition.edition_id
    more = Pool("own", {**make_pool("r", "s").relations, "t": make_prototypes("t")})
    assert make_edition(tmp_path, BASE, more).edition_id == edition.edition_id
    assert str(tmp_path) not in json.dumps(edition.configuration)


def test_plan_writes_nothing_and_requires_prototypes_for_every_relation(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("head,relation,tail\na,unheard_of,b\n")
    root = tmp_path / "data"
    config = Config(
        knowledge=KnowledgeConfig(name="own", format="table", path=table),
        storage=StorageConfig(root=root),
    )
    with pytest.raises(InputError, match=r"has no prototypes for relation 'unheard_of'"):
        plan_edition(config)
    plan_edition(Config(storage=StorageConfig(root=root)))
    assert not root.exists()


def test_manifest_describes_the_edition_and_lists_its_files(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE, seed=3, methods=("pretexeval", "prototype"))
    assert edition.read_files() == {}
    files = write_files(edition)
    left_out = [LeftOut("own.csv, line 3", "r: a → b", "repeats another row")]
    assert complete_edition(edition, list(files.values()), left_out) == edition.edition_id
    manifest = read_manifest(tmp_path, edition.edition_id)
    described = {
        "edition_id": edition.edition_id,
        "label": "seed3",
        "rephraser": "reviewed",
        "methods": ["pretexeval", "prototype"],
        "n_pairs": 36,
        "configuration": edition.configuration,
    }
    assert described.items() <= manifest.items()
    assert manifest["left_out"] == [vars(left_out[0])]
    assert list(manifest["files"]) == sorted(
        f"{stage.name}/{relation}.parquet" for stage in STAGES for relation in "rs"
    )
    assert make_edition(tmp_path, BASE, seed=3, methods=("pretexeval", "prototype")).read_files() == files


def test_manifest_of_a_complete_edition_is_never_changed(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    path = tmp_path / edition.folder / "manifest.json"
    files = list(write_files(edition).values())
    complete_edition(edition, files, [])
    before = path.read_bytes()
    complete_edition(edition, files, [LeftOut("x", "y", "z")])
    assert path.read_bytes() == before
    elsewhere = make_edition(tmp_path / "elsewhere", BASE)
    complete_edition(elsewhere, list(write_files(elsewhere).values()), [])
    assert (elsewhere.root / elsewhere.folder / "manifest.json").read_bytes() == before


def write_and_list_left_out(edition: Edition) -> list[LeftOut]:
    write_files(edition)
    return list_left_out(edition, lambda piece: read_triplets(edition, piece))


def read_triplets(edition: Edition, piece: str) -> pl.DataFrame:
    return read_stage_file(edition.root / edition.path_of(TRIPLETS.name, piece), TRIPLETS)


def test_left_out_rows_and_heads_are_listed(tmp_path: Path) -> None:
    facts = make_facts(20, 5) | {"all": [f"tail {i}" for i in range(5)]}
    kept = make_base(r=facts, s=make_facts(16, 5))
    source = LeftOut("own.csv, line 3", "r: a → b", "repeats another row")
    edition = make_edition(tmp_path, KnowledgeBase("own", kept.triplets, (source,)))
    assert write_and_list_left_out(edition) == [source, LeftOut("r", "all", NO_NEGATIVE)]
    whole = make_edition(tmp_path, BASE)
    assert write_and_list_left_out(whole) == []


def test_heads_beyond_the_cap_are_not_left_out(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE, heads_per_relation=10)
    assert write_and_list_left_out(edition) == []
    assert [read_triplets(edition, relation).height for relation in edition.pieces] == [20, 20]
