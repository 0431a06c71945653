"""Imported responses through the commands: published, shown, and scored in a run beside another model."""

import json
from pathlib import Path

import polars as pl
import pytest

from tasks.asking.prompts import render_answer
from tests.support.command import Outcome, run_command, write_question_config
from tests.support.data_folder import query_rows
from tests.support.endpoint import serve_endpoint
from tests.support.fault_models import answer_by_checksum

pytestmark = pytest.mark.long


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


def test_a_setting_without_imported_responses_is_not_evaluated(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    """The run scores what was imported and evaluates the other model; its status is 1."""
    root = tmp_path / "data"

    def call(*arguments: str | Path) -> Outcome:
        return run_command(*arguments, folder=tmp_path, environment=prefect_server)

    with serve_endpoint(answer_by_checksum) as endpoint:
        imported = {"name": "elsewhere", "engine": "imported", "model": "responses", "revision": "1"}
        here = {"name": "here", "engine": "openai", "model": "x", "base_url": endpoint.base_url}
        models = [imported | {"prompt_style": "chat"}, here]
        config = write_question_config(tmp_path, n_repeats=1, models=models)
        call("build", config).require()
        (edition,) = (root / "editions").iterdir()
        options = ["--edition", edition.name, "--model", "elsewhere", "--revision", "1", "--root", str(root)]
        for file in write_responses(edition, tmp_path):
            said = call("import-responses", file, *options, "--no-publish").require().out
            assert "0 rows with an error" in said
        run, again = call("run", config).require(1), call("publish", config, "--score").require()
    reason = (
        f"no responses of model 'elsewhere' to the questions in the setting chain_of_thought of "
        f"{edition.name} were imported; import them with `pretexeval import-responses`"
    )
    (row,) = query_rows(root, "from not_evaluated")
    assert (row["model"], row["setting"], row["reason"]) == ("elsewhere", "chain_of_thought", reason)
    scores = query_rows(
        root,
        "select model, 'samples' as setting from leaderboard union all "
        "select distinct model, setting from facet_accuracy order by all",
    )
    assert [(row["model"], row["setting"]) for row in scores] == [
        ("elsewhere", "answer_only"),
        ("elsewhere", "samples"),
        ("here", "answer_only"),
        ("here", "chain_of_thought"),
        ("here", "samples"),
    ]
    line = f"elsewhere (chain_of_thought): {reason}"
    assert run.err.splitlines()[-1] == f"pretexeval: {line}"
    for outcome in (run, again):
        named = [part for part in outcome.out.splitlines() if "not evaluated" in part]
        assert named == [f"not evaluated: {line}"]
