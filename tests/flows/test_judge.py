"""A real build whose rewordings are judged by an entailment model."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.file import load_config
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tests.flows.test_rephrase import list_prompts, read_stage
from tests.support.command import make_rows, read_stamps, run_command, write_base, write_config
from tests.support.tiny_entailment import LABELS, write_tiny_model


def write_judged(folder: Path) -> tuple[Path, Edition]:
    """Write a configuration whose recorded writer says that every statement is correct."""
    base = write_base(folder / "base.tsv", make_rows("may_treat"))
    recording = folder / "played.parquet"
    pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
    config = write_config(
        folder / "judged.toml",
        folder / "data",
        knowledge={"name": "own", "format": "table", "path": str(base)},
        rephraser={"kind": "model", "writer": "player", "max_attempts": 1},
        writers=[{"name": "player", "engine": "recorded", "model": str(recording)}],
        judge={"model": str(write_tiny_model(folder / "judge", max_tokens=128))},
    )
    edition = plan_edition(load_config(config))
    rows = [
        (prompt, f"It is correct that {text[0].lower()}{text[1:]}") for text, prompt in list_prompts(edition)
    ]
    pl.DataFrame(rows, schema=["prompt", "response"], orient="row").write_parquet(recording)
    return config, plan_edition(load_config(config))


@pytest.mark.long
def test_an_edition_keeps_the_scores_and_asks_no_pair_twice(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    config, edition = write_judged(tmp_path)
    run_command("build", config, folder=tmp_path, environment=prefect_server).require()
    attempts = read_stage(tmp_path / "data", "attempts")
    judged = attempts.filter(pl.col("judge_score_implied").is_not_null())
    assert judged.height > attempts.height * 0.9
    lowest = pl.min_horizontal("judge_score_implied", "judge_score_implying")
    assert (judged["is_accepted"] == judged.select(lowest >= 0.5).to_series()).all()
    assert judged["is_accepted"].any()
    rejected = judged.filter(~pl.col("is_accepted"))
    assert all(reasons == ["judge"] for reasons in rejected["reasons"].to_list())
    # The answers are probabilities under the id of the model, like every other answer.
    assert edition.rephraser is not None
    assert edition.rephraser.judge is not None
    model_id = edition.rephraser.judge.writer.model_id
    file, *_ = (tmp_path / "data" / "responses" / model_id).glob("part-*.parquet")
    assert set(json.loads(pl.read_parquet(file)["response"][0])) == set(LABELS)
    asked = read_stamps(tmp_path / "data", "responses/**/*.parquet")
    for lost in ("editions", "cache"):
        shutil.rmtree(tmp_path / "data" / lost, ignore_errors=True)
    run_command("build", config, folder=tmp_path, environment=prefect_server).require()
    assert read_stage(tmp_path / "data", "attempts").equals(attempts)
    assert read_stamps(tmp_path / "data", "responses/**/*.parquet") == asked
