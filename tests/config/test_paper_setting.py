"""The configurations of the papers' setting, and the page that says what makes the papers' results."""

import argparse
import re
from pathlib import Path

import pytest

from cli.main import build_parser
from config.file import Config, load_config
from schemas.stages import STAGES
from tests.test_architecture import REPOSITORY

PAGE = (REPOSITORY / "docs" / "paper-results.md").read_text(encoding="utf-8")
FILES = ("paper.toml", "paper-phi3.toml")


@pytest.fixture
def configs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Config]:
    monkeypatch.setenv("PRETEXEVAL_REFERENCE_DATA", str(tmp_path))
    return [load_config(REPOSITORY / "configs" / name) for name in FILES]


def test_two_editions_differ_only_in_their_rephraser(configs: list[Config]) -> None:
    """So `edition_drift` shows what the rephraser does, as table 9 of PretexEval."""
    first, second = configs
    of_rephraser = {"edition", "rephraser", "llmeval", "writers"}
    assert first.model_dump(exclude=of_rephraser) == second.model_dump(exclude=of_rephraser)
    assert first.rephraser.model_copy(update={"writer": None}) == second.rephraser.model_copy(
        update={"writer": None}
    )
    for table in ("seed", "negatives", "heads_per_relation", "pool"):
        assert getattr(first.edition, table) == getattr(second.edition, table)
    assert {config.rephraser.writer for config in configs} == {"llama3-70b-instruct", "phi3-medium"}


def test_setting_is_that_of_the_papers(configs: list[Config]) -> None:
    for config in configs:
        rephraser = config.rephraser
        assert (rephraser.gate, rephraser.temperature) == ("off", 0)
        assert "\n" not in rephraser.instruction
        assert rephraser.instruction.endswith("without other text. Statement: {statement}")
        assert len(config.models) == 12
    assert configs[0].llmeval.instruction.endswith("Knowledge triplet: {triplet}.")
    assert "origin" in configs[0].edition.methods


def list_subcommands() -> set[str]:
    parser = build_parser()
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return set(actions[0].choices)


def test_everything_that_makes_a_table_or_a_figure_exists() -> None:
    subcommands = list_subcommands()
    views = {path.stem for path in (REPOSITORY / "warehouse" / "views").glob("*.sql")} | STAGES.keys()
    html = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "report").glob("*.html"))
    rows = [line.split("|")[3] for line in PAGE.splitlines() if re.match(r"\| (table|figure)", line)]
    assert len(rows) == 18
    for cell in rows:
        for name in re.findall(r"`([^`]+)`", cell.partition(";")[0]):
            first, _, rest = name.partition(" ")
            if first == "pretexeval":
                assert rest in subcommands, name
            elif name.startswith("#"):
                assert f'id="{name[1:]}"' in html, name
            elif name.startswith("configs/"):
                assert (REPOSITORY / name).is_file(), name
            else:
                assert name in views, name
