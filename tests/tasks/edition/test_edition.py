"""The plan of an edition and the manifest that completes it."""

from pathlib import Path

import pytest

from pretexeval.config.file import Config
from pretexeval.config.tables import KnowledgeConfig, StorageConfig
from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import read_manifest
from tasks.edition.edition import Edition
from tasks.edition.manifest import NO_NEGATIVE, complete_edition, list_left_out
from tasks.edition.planning import plan_edition
from tests.support.small_bases import (
    STAGES,
    build_frames,
    make_base,
    make_edition,
    make_facts,
    write_files,
)

BASE = make_base(r=make_facts(20, 6), s=make_facts(16, 5))


def test_plan_writes_nothing_and_requires_prototypes_for_every_relation(tmp_path: Path) -> None:
    table, storage = tmp_path / "own.csv", StorageConfig(root=tmp_path / "data")
    table.write_text("head,relation,tail\na,unheard_of,b\n")
    knowledge = KnowledgeConfig(name="own", format="table", path=table)
    with pytest.raises(InputError, match=r"has no prototypes for relation 'unheard_of'"):
        plan_edition(Config(knowledge=knowledge, storage=storage))
    plan_edition(Config(storage=storage))
    assert not storage.root.exists()


def test_manifest_describes_the_edition_and_is_never_changed(tmp_path: Path) -> None:
    def make(root: Path) -> Edition:
        return make_edition(root, BASE, seed=3, methods=("pretexeval", "prototype"))

    edition = make(tmp_path)
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
        "left_out": [vars(left_out[0])],
    }
    assert described.items() <= manifest.items()
    assert list(manifest["files"]) == sorted(
        f"{stage.name}/{relation}.parquet" for stage in STAGES for relation in "rs"
    )
    assert make(tmp_path).read_files() == files
    path = tmp_path / edition.folder / "manifest.json"
    before = path.read_bytes()
    complete_edition(edition, list(files.values()), [LeftOut("x", "y", "z")])
    assert path.read_bytes() == before
    elsewhere = make(tmp_path / "elsewhere")
    complete_edition(elsewhere, list(write_files(elsewhere).values()), left_out)
    assert (elsewhere.root / elsewhere.folder / "manifest.json").read_bytes() == before


def test_left_out_rows_and_heads_without_a_negative_are_listed_but_not_those_beyond_the_cap(
    tmp_path: Path,
) -> None:
    with_full = make_base(r=make_facts(20, 5) | {"all": [f"tail {i}" for i in range(5)]}, s=make_facts(16, 5))
    source = LeftOut("own.csv, line 3", "r: a → b", "repeats another row")
    for edition, left_out in (
        (
            make_edition(tmp_path, KnowledgeBase("own", with_full.triplets, (source,))),
            [source, LeftOut("r", "all", NO_NEGATIVE)],
        ),
        (make_edition(tmp_path, BASE), []),
        (make_edition(tmp_path, BASE, heads_per_relation=10), []),
    ):
        frames = {piece: build_frames(edition, piece)["triplets"] for piece in edition.pieces}
        assert list_left_out(edition, frames.__getitem__) == left_out
    assert [frame.height for frame in frames.values()] == [20, 20]
