"""The bytes of tiny editions, of which one relation has two pieces. No change of the code may change them.

An edition that exists is built again from its configuration, and its manifest lists the bytes that it had. If
other bytes are intended, count up EDITION_FORMAT (or QUESTION_FORMAT for questions), so that editions get
another name, and pin the new checksums.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from pretexeval.primitives.hashing import hash_text
from prototypes.question_wording import QuestionTexts, QuestionWording, RelationWording
from tasks.drawing import pieces
from tasks.edition.edition import Edition
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

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
    ({}, "030da02fe7bf643b 230ed2046639f43d 2b58ec570c82c2e8 1a5ffa8f6e514e90 bbfd0c8edc8f7e19"),
    (WEEK, "9aa736a770832699 1752137721cd2d80 a6d48b3c3ebe4b92 8065642941e28c98 83ffc14f2864180a"),
    (CAPPED | WEEK, "3b9ecdeca3a99743 1b727e07cd9e0a8a 601fe9ffb2e4913a 51a8f495f477754b b6f18313175068da"),
    (UNIFORM, "e8a03460c3d1649d 5bcacbf96e9e3163 ab13b96e05a44e50 c62272255fc165ef 3aef27309b0b224e"),
    (UNIFORM | WEEK, "c76c22939101ead3 dc47fa051755a97e 2828551d93d9c4eb 2ba62e7190533303 0ab03cc32ba116c5"),
]


def build(root: Path, monkeypatch: pytest.MonkeyPatch, **table: Any) -> dict[str, str]:  # noqa: ANN401
    """Build an edition, and return stage -> the hash of the checksums of its files."""
    monkeypatch.setattr(pieces, "BLOCK_HEADS", 8)
    monkeypatch.setattr(pieces, "PIECE_BLOCKS", 2)
    planned = make_edition(root, BASE, tables={"questions": {"settings": ["answer_only"]}}, **table)
    edition = Edition(planned.config, planned.base, planned.pool, WORDING)
    assert list(edition.pieces) == ["r", "r.0002", "s"]
    files = defaultdict(list)
    for path, ref in write_files(edition).items():
        files[path.split("/")[-2]].append(ref.sha256)
    return {stage: hash_text(*checksums) for stage, checksums in files.items()}


@pytest.mark.parametrize(("table", "checksums"), PINNED, ids=str)
def test_bytes_never_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: dict[str, Any], checksums: str
) -> None:
    assert build(tmp_path, monkeypatch, **table) == dict(zip(STAGES, checksums.split(), strict=True))


@pytest.mark.parametrize("negatives", ["balanced", "uniform"])
def test_the_next_edition_of_a_series_has_other_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, negatives: str
) -> None:
    one, other = (
        build(tmp_path / str(n), monkeypatch, negatives=negatives, **WEEK | {"number": n}) for n in (5, 6)
    )
    assert all(one[stage] != other[stage] for stage in ("triplets", "variants", "statements", "samples"))
