"""What changes the name of an edition, the keys of its files and their bytes."""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.primitives.hashing import hash_text
from prototypes.pool import Pool
from prototypes.question_wording import QuestionTexts, QuestionWording, RelationWording
from prototypes.templates import build_prototypes
from tasks.drawing import pieces
from tasks.edition.edition import Edition
from tasks.edition.recipes import RECIPES
from tests.support.command import REPOSITORY
from tests.support.small_bases import (
    list_keys,
    make_base,
    make_edition,
    make_facts,
    make_pool,
    make_prototypes,
    shuffle,
    write_files,
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


def test_changes_of_the_test_set_change_its_name_and_the_keys_of_what_they_concern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edition, known = make_edition(tmp_path, BASE), dict[str, pl.DataFrame]()
    before = list_keys(edition, known)
    # Another version of a step changes the keys of its stage. Files of later stages keep their keys as long
    # as the same bytes are built.
    for changed in (STAGES[::2], STAGES[1::2]):
        with monkeypatch.context() as patch:
            for stage in changed:
                patch.setitem(RECIPES, stage, replace(RECIPES[stage], version=RECIPES[stage].version + 1))
            expected = {(stage, relation) for stage in changed for relation in "rs"}
            assert find_changes(before, list_keys(edition, known)) == expected
    for change, (table, stages, relations) in CHANGES.items():
        other = make_edition(tmp_path, **{"base": BASE, **table})
        assert other.edition_id != edition.edition_id, change
        expected = {(stage, relation) for stage in stages for relation in relations}
        assert find_changes(before, list_keys(other, known)) == expected, change


def test_nothing_else_changes_them(tmp_path: Path) -> None:
    """Neither do the folder, the order of rows and relations of the pool that the base has not."""
    edition = make_edition(tmp_path / "one", BASE)
    assert re.fullmatch(r"own-seed1-[0-9a-f]{8}", edition.edition_id)
    assert edition.folder == f"editions/{edition.edition_id}"
    labelled = make_edition(tmp_path, BASE, label="2026-W47").edition_id
    assert re.fullmatch(r"own-2026-W47-[0-9a-f]{8}", labelled)
    keys = list_keys(edition)
    assert len(set(keys.values())) == 8
    assert {len(key) for key in keys.values()} == {32}
    assert str(tmp_path) not in json.dumps(edition.configuration)
    others = [make_edition(tmp_path / "two", shuffle(BASE, 1), make_pool("r", "s", "t"))]
    # Editions of before keep their names, although a CSV of the authors has a default prompt.
    origin = replace(make_prototypes("r"), default_prompt="[Y] r [X].")
    prompted = Pool("own", make_pool("s").relations | {"r": origin})
    others.append(make_edition(tmp_path / "three", BASE, prompted))
    for other in others:
        assert other.edition_id == edition.edition_id
        assert list_keys(other) == keys
    names = {make_edition(tmp_path, BASE, pool, methods=("origin",)).edition_id for pool in (None, prompted)}
    assert len(names) == 2


# The bytes of tiny editions, of which one relation has two pieces. No change of the code may change them.
# An edition that exists is built again from its configuration, and its manifest lists the bytes that it had.
# If other bytes are intended, count up EDITION_FORMAT (or QUESTION_FORMAT for questions), so that editions
# get another name, and pin the new checksums.
PINNED_BASE = make_base(r=make_facts(26, 7), s=make_facts(14, 5))
TEXTS = {
    "MCQ": QuestionTexts("Which has [X]?", "Which lacks [X]?"),
    "MAQ": QuestionTexts("Which have [X]?", "Which lack [X]?"),
    "TFQ": QuestionTexts("[X] has [Y].", "[X] lacks [Y]."),
}
WORDING = QuestionWording("own", {relation: RelationWording(relation, TEXTS) for relation in "rs"})
WEEK: dict[str, Any] = {"series": 3, "number": 5}
PINNED_STAGES = ("triplets", "variants", "statements", "samples", "questions")
UNIFORM = {"negatives": "uniform"}
CAPPED = {"heads_per_relation": 22}
PINNED: list[tuple[dict[str, Any], str]] = [
    ({}, "e2888fc80ec167d5 2fa25e6d1a84ae2a 3617861ec118d084 fdb16f30e829f030 79ac94fde718f128"),
    (WEEK, "a49106fb61313049 ec8339f87a31b59c 5d3eaabf8a03d5a6 77b38bc3630fffb4 8a07a57962776cfe"),
    (CAPPED | WEEK, "441d18f92a00569d 3bc33458c31e1fb4 d634ba14fc389147 1ec9ea56d9d84939 bfd2fe5ead6e872d"),
    (UNIFORM, "dc74df1e76ac4f77 5bcacbf96e9e3163 ab13b96e05a44e50 c62272255fc165ef 3aef27309b0b224e"),
    (UNIFORM | WEEK, "672dca72568e8dd5 dc47fa051755a97e 2828551d93d9c4eb 2ba62e7190533303 0ab03cc32ba116c5"),
]


def build(root: Path, table: dict[str, Any], seed: int | None = None) -> dict[str, str]:
    """Build an edition, from rows in another order if there is a seed; return stage -> hash of its files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "BLOCK_HEADS", 8)
        patch.setattr(pieces, "PIECE_BLOCKS", 2)
        planned = make_edition(
            root, PINNED_BASE, tables={"questions": {"settings": ["answer_only"]}}, **table
        )
        base = PINNED_BASE if seed is None else shuffle(PINNED_BASE, seed)
        edition = Edition(planned.config, base, planned.pool, WORDING)
        assert list(edition.pieces) == ["r", "r.0002", "s"]
        files = defaultdict(list)
        for path, ref in write_files(edition).items():
            files[path.split("/")[-2]].append(ref.sha256)
        return {stage: hash_text(*checksums) for stage, checksums in files.items()}


def name_stages(checksums: str) -> dict[str, str]:
    return dict(zip(PINNED_STAGES, checksums.split(), strict=True))


@pytest.mark.parametrize(("table", "checksums"), PINNED, ids=str)
def test_bytes_never_change(tmp_path: Path, table: dict[str, Any], checksums: str) -> None:
    assert build(tmp_path, table) == name_stages(checksums)


def print_checksums(root: str) -> None:
    """Print the checksums of the first edition from shuffled rows; another process runs this."""
    print(json.dumps([pl.thread_pool_size(), build(Path(root), {}, seed=7)]))


@pytest.mark.long
def test_another_process_with_more_threads_and_shuffled_rows_writes_the_same_bytes(tmp_path: Path) -> None:
    n_threads = pl.thread_pool_size() + 1
    code = f"import sys; from {__name__} import print_checksums; print_checksums(sys.argv[1])"
    settings = {
        "POLARS_MAX_THREADS": str(n_threads),
        "PYTHONHASHSEED": "12345",
        "PYTHONPATH": str(REPOSITORY),
    }
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env=os.environ | settings,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout) == [n_threads, name_stages(PINNED[0][1])]
