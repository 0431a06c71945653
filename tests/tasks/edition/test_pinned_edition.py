"""The bytes of tiny editions, of which one relation has two pieces. No change of the code may change them.

An edition that exists is built again from its configuration, and its manifest lists the bytes that it had. If
other bytes are intended, count up EDITION_FORMAT (or QUESTION_FORMAT for questions), so that editions get
another name, and pin the new checksums.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.primitives.hashing import hash_text
from prototypes.question_wording import QuestionTexts, QuestionWording, RelationWording
from tasks.drawing import pieces
from tasks.edition.edition import Edition
from tests.support.command import REPOSITORY
from tests.support.small_bases import make_base, make_edition, make_facts, shuffle, write_files

BASE = make_base(r=make_facts(26, 7), s=make_facts(14, 5))
TEXTS = {
    "MCQ": QuestionTexts("Which has [X]?", "Which lacks [X]?"),
    "MAQ": QuestionTexts("Which have [X]?", "Which lack [X]?"),
    "TFQ": QuestionTexts("[X] has [Y].", "[X] lacks [Y]."),
}
WORDING = QuestionWording("own", {relation: RelationWording(relation, TEXTS) for relation in "rs"})
WEEK: dict[str, Any] = {"series": 3, "number": 5}
STAGES = ("triplets", "variants", "statements", "samples", "questions")
UNIFORM = {"negatives": "uniform"}
CAPPED = {"heads_per_relation": 22}
PINNED: list[tuple[dict[str, Any], str]] = [
    ({}, "48cb0dea0e92364b 2fa25e6d1a84ae2a 3617861ec118d084 fdb16f30e829f030 79ac94fde718f128"),
    (WEEK, "3760b2805f801668 ec8339f87a31b59c 5d3eaabf8a03d5a6 77b38bc3630fffb4 8a07a57962776cfe"),
    (CAPPED | WEEK, "6ea45e7fb744786e 3bc33458c31e1fb4 d634ba14fc389147 1ec9ea56d9d84939 bfd2fe5ead6e872d"),
    (UNIFORM, "a0a39eda78697242 5bcacbf96e9e3163 ab13b96e05a44e50 c62272255fc165ef 3aef27309b0b224e"),
    (UNIFORM | WEEK, "99ee3878d4d5e7cc dc47fa051755a97e 2828551d93d9c4eb 2ba62e7190533303 0ab03cc32ba116c5"),
]


def build(root: Path, table: dict[str, Any], seed: int | None = None) -> dict[str, str]:
    """Build an edition, from rows in another order if there is a seed; return stage -> hash of its files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "BLOCK_HEADS", 8)
        patch.setattr(pieces, "PIECE_BLOCKS", 2)
        planned = make_edition(root, BASE, tables={"questions": {"settings": ["answer_only"]}}, **table)
        base = BASE if seed is None else shuffle(BASE, seed)
        edition = Edition(planned.config, base, planned.pool, WORDING)
        assert list(edition.pieces) == ["r", "r.0002", "s"]
        files = defaultdict(list)
        for path, ref in write_files(edition).items():
            files[path.split("/")[-2]].append(ref.sha256)
        return {stage: hash_text(*checksums) for stage, checksums in files.items()}


def name_stages(checksums: str) -> dict[str, str]:
    return dict(zip(STAGES, checksums.split(), strict=True))


@pytest.mark.parametrize(("table", "checksums"), PINNED, ids=str)
def test_bytes_never_change(tmp_path: Path, table: dict[str, Any], checksums: str) -> None:
    assert build(tmp_path, table) == name_stages(checksums)


@pytest.mark.parametrize(("table", "checksums"), [PINNED[1], PINNED[4]], ids=("balanced", "uniform"))
def test_the_next_edition_of_a_series_has_other_bytes(
    tmp_path: Path, table: dict[str, Any], checksums: str
) -> None:
    following = build(tmp_path, table | {"number": 6})
    assert not following.items() & name_stages(checksums).items()


def print_checksums(root: str) -> None:
    """Print the checksums of the first edition from shuffled rows; another process runs this."""
    print(json.dumps([pl.thread_pool_size(), build(Path(root), {}, seed=7)]))


def test_another_process_with_one_thread_and_shuffled_rows_writes_the_same_bytes(tmp_path: Path) -> None:
    code = f"import sys; from {__name__} import print_checksums; print_checksums(sys.argv[1])"
    settings = {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "12345", "PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env=os.environ | settings,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout) == [1, name_stages(PINNED[0][1])]
