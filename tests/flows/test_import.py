"""Imported responses through the commands: published, shown, and scored in a run beside another model."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tasks.asking.prompts import render_answer
from tests.support.command import Outcome, run_command, write_question_config
from tests.support.data_folder import query_rows
from tests.support.endpoint import serve_endpoint
from tests.support.fault_models import answer_by_checksum
from tests.support.parsed_page import Parsed, parse

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Story:
    """An edition that was answered elsewhere, and a run with another model beside the imported one."""

    edition_id: str
    imported: list[Outcome]
    """Of the samples, then of the questions in the setting answer_only."""
    pages: list[Parsed]
    """The edition's page after the imports, and after the run."""
    tables: Outcome
    run: Outcome
    scores: list[dict[str, Any]]
    not_evaluated: list[dict[str, Any]]
    again: Outcome
    """`pretexeval publish --score` after the run."""


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Story:
    folder = tmp_path_factory.mktemp("imported")
    root = folder / "data"
    imported = {"name": "elsewhere", "engine": "imported", "model": "responses", "revision": "1"}
    with serve_endpoint(answer_by_checksum) as endpoint:
        here = {"name": "here", "engine": "openai", "model": "x", "base_url": endpoint.base_url}
        models = [imported | {"prompt_style": "chat"}, here]
        config = write_question_config(folder, n_repeats=1, models=models)

        def call(*arguments: str | Path) -> Outcome:
            return run_command(*arguments, folder=folder, environment=prefect_server)

        call("build", config).require()
        (edition,) = (root / "editions").iterdir()
        page = root / "report" / edition.name / "index.html"
        options = ["--edition", edition.name, "--model", "elsewhere", "--revision", "1", "--root", str(root)]
        samples, questions = write_responses(edition, folder)
        outcomes = [
            call("import-responses", samples, *options, "--no-publish"),
            call("import-responses", questions, *options),
        ]
        pages = [parse(page.read_text(encoding="utf-8"))]
        tables = call("sql", "--papers", edition.name, "--root", str(root))
        run = call("run", config)
        pages.append(parse(page.read_text(encoding="utf-8")))
        scores = query_rows(
            root,
            "select model, null as setting from leaderboard union all "
            "select distinct model, setting from facet_accuracy",
        )
        return Story(
            edition.name,
            outcomes,
            pages,
            tables,
            run,
            scores,
            query_rows(root, "from not_evaluated"),
            call("publish", config, "--score"),
        )


def write_responses(edition: Path, folder: Path) -> tuple[Path, Path]:
    """Write the right answers to the samples and the questions of an edition; return the two files."""
    samples, questions = (
        pl.concat(pl.read_parquet(path) for path in (edition / stage).glob("*.parquet")).filter(split="test")
        for stage in ("samples", "questions")
    )
    rows = {
        "samples": [
            {"sample_id": i, "response": str(b)} for i, b in samples["sample_id", "label"].iter_rows()
        ],
        "questions": [
            {"question_id": i, "response": render_answer(kind, answer)}
            for i, kind, answer in questions["question_id", "type", "answer"].iter_rows()
        ],
    }
    for name, found in rows.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, found)), encoding="utf-8")
    return folder / "samples.jsonl", folder / "questions.jsonl"


def test_an_import_is_published(story: Story) -> None:
    for outcome in story.imported:
        assert "0 rows with an error" in outcome.require().out
    (page, _) = story.pages
    (scored,) = page.table_with("Model", "Mastery(joint, by pair)")[1:]
    assert (scored[0], scored[1].split("\n")[0]) == ("elsewhere", "100.0\xa0%")
    facets, _ = page.table_with("Model", "Setting", "Comparison")[1:]
    assert facets[:2] == ["elsewhere", "answer only"]
    assert {cell.split("\n")[0] for cell in facets[2:9]} == {"100.0\xa0%"}
    lines = [line.split() for line in story.tables.require().out.splitlines()]
    assert ["elsewhere", *["100.0"] * 5] in lines


def test_a_setting_without_imported_responses_is_not_evaluated(story: Story) -> None:
    """The run scores what was imported and evaluates the other model; its status is 1."""
    reason = (
        f"no responses of model 'elsewhere' to the questions in the setting chain_of_thought of "
        f"{story.edition_id} were imported; import them with `pretexeval import-responses`"
    )
    (row,) = story.not_evaluated
    assert (row["model"], row["setting"], row["reason"]) == ("elsewhere", "chain_of_thought", reason)
    assert sorted((row["model"], row["setting"] or "samples") for row in story.scores) == [
        ("elsewhere", "answer_only"),
        ("elsewhere", "samples"),
        ("here", "answer_only"),
        ("here", "chain_of_thought"),
        ("here", "samples"),
    ]
    line = f"elsewhere (chain_of_thought): {reason}"
    assert story.run.require(1).err.splitlines()[-1] == f"pretexeval: {line}"
    for outcome in (story.run, story.again.require()):
        assert [part for part in outcome.out.splitlines() if "not evaluated" in part] == [
            f"not evaluated: {line}"
        ]
    (listed,) = story.pages[1].table_with("Model", "Asked")[1:]
    assert listed[:2] == ["elsewhere", "questions, chain of thought"]
