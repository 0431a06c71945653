"""The option `--refresh`: stages are built again, compared with what is stored, and never replaced."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cli.refresh import MEASURED, OF_EDITION, OF_EVALUATION, refresh_stages
from config.file import Config
from schemas.stages import EDITION_STAGES, STAGES
from schemas.transformations import NAMES
from tasks.edition import recipes
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tasks.quality.measurements import measure_edition
from tests.support.command import make_rows, read_bytes, write_base
from tests.support.evaluations import ask_model, finish, list_prompts
from tests.support.small_bases import write_files

REFRESHED = ("triplets", "variants", "statements", "samples")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Return the configuration of a complete edition with measurements and an evaluation."""
    recording = tmp_path / "m.parquet"
    pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
    model = {"name": "m", "engine": "recorded", "model": str(recording)}
    config = Config.model_validate(
        {
            "knowledge": {
                "name": "own",
                "format": "table",
                "path": write_base(tmp_path / "b.tsv", make_rows("may_treat")),
            },
            "models": [model],
            "storage": {"root": tmp_path / "data"},
        }
    )
    edition = plan_edition(config)
    complete_edition(edition, list(write_files(edition).values()), [])
    measure_edition(edition.root, edition.edition_id)
    evaluation = plan_evaluation(config, edition.edition_id, "m")
    prompts = [prompt.text for prompt in list_prompts(evaluation)]
    pl.DataFrame({"prompt": prompts, "response": ["True"] * len(prompts)}).write_parquet(recording)
    evaluation = plan_evaluation(config, edition.edition_id, "m")
    finish(evaluation, ask_model(evaluation))
    return config


def refresh(config: Config, *stages: str) -> int:
    return refresh_stages(config, plan_edition(config).edition_id, stages)


def test_same_code_gives_what_is_stored(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    before = read_bytes(config.storage.root)
    assert refresh(config, *REFRESHED, *MEASURED, "predictions") == 0
    assert capsys.readouterr().out.count("files are as stored") == len(REFRESHED) + len(MEASURED) + 1
    assert read_bytes(config.storage.root) == before


def test_stage_that_differs_is_named_and_stays(
    config: Config, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = recipes.RECIPES["variants"]

    def change(**arguments: Any) -> pl.DataFrame:  # noqa: ANN401
        return recipe.function(**arguments).with_columns(transformation=pl.lit(NAMES[0]))

    monkeypatch.setitem(recipes.RECIPES, "variants", replace(recipe, function=change))
    before = read_bytes(config.storage.root)
    assert refresh(config, "variants", "statements") == 1
    printed = capsys.readouterr()
    assert f"{plan_edition(config).path_of('variants', 'may_treat')}" in printed.err
    assert "another label" in printed.err
    # The stages after it are built from what is stored.
    assert "statements: built again" in printed.out
    assert read_bytes(config.storage.root) == before


def test_predictions_with_other_words_differ(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    words = config.scoring.model_copy(update={"true_words": ("wahr",), "false_words": ("falsch",)})
    assert refresh(config.model_copy(update={"scoring": words}), "predictions") == 1
    assert "/predictions/may_treat.parquet" in capsys.readouterr().err


def test_every_stage_of_an_edition_can_be_refreshed() -> None:
    assert tuple(stage.name for stage in EDITION_STAGES) == OF_EDITION
    assert {*MEASURED, *OF_EVALUATION} < STAGES.keys()
