"""The folders of all models that this project trained."""

from collections.abc import Callable
from pathlib import Path

import pytest

from config.tables import KnowledgeConfig
from knowledge.reader import read_knowledge_base
from training.card import MODELS, read_card, write_card
from training.facet_card import read_facet_card, write_facet_card
from training.train_facets import read_base
from training.writer_card import read_writer_card, write_writer_card


def rewrite_card(source: Path, target: Path) -> None:
    write_card(target, read_card(source), read_knowledge_base(KnowledgeConfig()))


def rewrite_facet_card(source: Path, target: Path) -> None:
    write_facet_card(target, read_facet_card(source), read_base())


def rewrite_writer_card(source: Path, target: Path) -> None:
    write_writer_card(target, read_writer_card(source))


REWRITERS = {
    "reference-large": rewrite_card,
    "reference-small": rewrite_card,
    "reference-facets-large": rewrite_facet_card,
    "reference-facets-small": rewrite_facet_card,
    "reference-writer": rewrite_writer_card,
}


def test_all_models_are_tested() -> None:
    assert {card.parent.name for card in MODELS.glob("*/card.json")} == set(REWRITERS)


@pytest.mark.parametrize(("name", "rewrite"), REWRITERS.items())
def test_the_readme_is_what_the_code_writes(
    tmp_path: Path, name: str, rewrite: Callable[[Path, Path], None]
) -> None:
    rewrite(MODELS / name, tmp_path)
    for file in ("README.md", "card.json"):
        assert (tmp_path / file).read_bytes() == (MODELS / name / file).read_bytes()


def test_the_models_are_small_enough_to_be_committed() -> None:
    assert sum(path.stat().st_size for path in MODELS.glob("*/*")) < 16_000_000
