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
    ({}, "48cb0dea0e92364b 2fa25e6d1a84ae2a 3617861ec118d084 fdb16f30e829f030 79ac94fde718f128"),
    (WEEK, "3760b2805f801668 ec8339f87a31b59c 5d3eaabf8a03d5a6 77b38bc3630fffb4 8a07a57962776cfe"),
    (CAPPED | WEEK, "6ea45e7fb744786e 3bc33458c31e1fb4 d634ba14fc389147 1ec9ea56d9d84939 bfd2fe5ead6e872d"),
    (UNIFORM, "a0a39eda78697242 5bcacbf96e9e3163 ab13b96e05a44e50 c62272255fc165ef 3aef27309b0b224e"),
    (UNIFORM | WEEK, "99ee3878d4d5e7cc dc47fa051755a97e 2828551d93d9c4eb 2ba62e7190533303 0ab03cc32ba116c5"),
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
