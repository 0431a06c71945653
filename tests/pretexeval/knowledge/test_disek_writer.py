from pathlib import Path

import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.disek import ASPECTS, WRITERS, read_disek, write_disek
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.knowledge.rows import build_base, clean_rows
from pretexeval.primitives.errors import InputError
from tests.support.small_bases import as_rows

ODD = ('β "blocker"', "a, b; c", "[X]", "it's | one", "=1+1")
EVERY_FORMAT = pytest.mark.parametrize("suffix", list(WRITERS))


def read_again(path: Path) -> KnowledgeBase:
    return build_base("disek", clean_rows(read_disek(path)))


@EVERY_FORMAT
def test_starter_base_is_the_same_after_writing_and_reading(tmp_path: Path, suffix: str) -> None:
    starter = read_knowledge_base(KnowledgeConfig(relations=tuple(ASPECTS)))
    assert set(starter.relations) == set(ASPECTS)
    again = read_again(write_disek(starter, tmp_path / f"starter{suffix}"))
    assert again.triplets.equals(starter.triplets)
    assert [again.checksum_relation(r) for r in ASPECTS] == [starter.checksum_relation(r) for r in ASPECTS]
    assert again.left_out == ()


@EVERY_FORMAT
def test_odd_names_and_ids_are_the_same_after_writing_and_reading(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"relation": "symptoms", "head": head, "tail": tail, "head_id": f"C{i}", "also_true": tail == "[X]"}
        for i, head in enumerate(ODD)
        for tail in ODD
    ]
    base = KnowledgeBase("own", as_rows(rows).sort("relation", "head", "tail"))
    again = read_again(write_disek(base, tmp_path / f"odd{suffix}"))
    assert again.triplets.equals(base.triplets)


def test_failed_write_leaves_no_file(tmp_path: Path) -> None:
    row = {"relation": "symptoms", "head": "gout", "tail": "pain || fever"}
    base = KnowledgeBase("own", as_rows([row]))
    for name, message in (
        ("own.jsonl", "contains \\|\\|"),
        ("own.xlsx", "has the extension '.xlsx'; allowed"),
    ):
        with pytest.raises(InputError, match=message):
            write_disek(base, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
