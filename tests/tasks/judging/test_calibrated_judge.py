"""The calibration of a judge, a real entailment model with random weights; what an edition reads of it."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commands.main import main
from pretexeval.config.file import Config, load_config
from pretexeval.primitives.errors import InputError
from pretexeval.storage.store import Store
from tasks.edition.planning import plan_edition
from tasks.judging.calibrated_judge import calibrate_judge, plan_judge, write_calibration
from tasks.judging.calibration import Limits
from tasks.judging.measurement import COLUMNS
from tests.support.command import list_half_written, write_config
from tests.support.tiny_entailment import write_tiny_model

SOUND, WRONG = "asthma may be treated by salbutamol .", "asthma may be treated by salbutamol and asthma ."


def write_labelled(path: Path, relations: tuple[str, ...] = ("treats", "helps", "cures")) -> Path:
    rows = [
        (relation, "salbutamol", "asthma", "eczema", "positive", "salbutamol may treat asthma .", text, error)
        for relation in relations
        for text, error in (
            (SOUND, None),
            (WRONG, "entity_changed: two"),
            ("salbutamol", "entity_changed: one"),
        )
    ]
    pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row").write_parquet(path)
    return path


def write_judged(folder: Path, **judge: Any) -> Path:  # noqa: ANN401
    """Write a configuration with this judge, and return its path."""
    return write_config(
        folder / "config.toml",
        folder / "data",
        rephraser={"kind": "model", "writer": "pen"},
        writers=[{"name": "pen", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}],
        judge=judge,
    )


def load_judged(folder: Path, **judge: Any) -> Config:  # noqa: ANN401
    return load_config(write_judged(folder, **judge))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "tiny")


def test_the_command_writes_what_the_edition_reads(
    tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = write_labelled(tmp_path / "labelled.parquet"), tmp_path / "judge.toml"
    config = write_judged(tmp_path, model=str(model))
    arguments = ["gate", str(data), "--judge", str(config), "--calibrate", str(out), "--max-rejected", "0.2"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^treats +[\d.]+ +(nothing|[\d.]+) +2 ", printed, re.MULTILINE)
    assert "all, each left out" in printed
    plain = plan_edition(load_judged(tmp_path, model=str(model)))
    calibrated = plan_edition(load_judged(tmp_path, model=str(model), calibration=str(out)))
    assert calibrated.edition_id != plain.edition_id
    assert calibrated.rephraser is not None
    assert calibrated.rephraser.judge is not None
    assert f"threshold = {calibrated.rephraser.judge.thresholds.accept!r}\n" in out.read_text()
    out.write_text(out.read_text().replace("max_rejected", "# max_rejected"))
    assert plan_edition(load_judged(tmp_path, model=str(model), calibration=str(out))).edition_id not in (
        plain.edition_id,
        calibrated.edition_id,
    )
    # Without a file, the calibration is written to that of the configuration.
    named = write_judged(tmp_path, model=str(model), calibration=str(tmp_path / "named.toml"))
    assert main(["gate", str(data), "--judge", str(named), "--calibrate", "--max-rejected", "0.2"]) == 0
    assert (tmp_path / "named.toml").exists()
    unnamed = write_judged(tmp_path, model=str(model))
    assert main(["gate", str(data), "--judge", str(unnamed), "--calibrate"]) == 2
    capsys.readouterr()
    # No pair is asked twice: without the weights the same table is printed.
    stored = {path: path.read_bytes() for path in (tmp_path / "data").rglob("*.parquet")}
    assert main(arguments) == 0
    assert capsys.readouterr().out == printed
    assert {path: path.read_bytes() for path in (tmp_path / "data").rglob("*.parquet")} == stored
    assert list_half_written(tmp_path) == []


def test_a_calibration_of_another_judge_is_refused(tmp_path: Path, model: Path) -> None:
    """The file can also be read if the name of a relation has quotes."""
    out = tmp_path / "judge.toml"
    data = write_labelled(tmp_path / "labelled.parquet", ("treats", 'helps "at once"', "cures"))
    config = load_judged(tmp_path, model=str(model))
    judge, calibration = calibrate_judge(data, config, Store(config.storage), Limits(), show_nothing)
    write_calibration(out, calibration, judge, data)
    other = write_tiny_model(tmp_path / "other" / "tiny", seed=1)
    with pytest.raises(InputError, match="is of another judge"):
        plan_judge(load_judged(tmp_path, calibration=str(out), model=str(other)))
    same = plan_judge(load_judged(tmp_path, model=str(model), calibration=str(out)))
    assert same is not None
    assert same.thresholds == calibration.thresholds


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "is not a calibration"),
        ("threshold = ", "is not a calibration"),
        ("threshold = 0.5", "is not a calibration .KeyError"),
        ('judge = "x/0"\nthreshold = 0.5', "is of another judge, x/0"),
    ],
)
def test_a_file_that_is_no_calibration_is_named(
    tmp_path: Path, model: Path, content: str | None, problem: str
) -> None:
    out = tmp_path / "judge.toml"
    if content is not None:
        out.write_text(content)
    with pytest.raises(InputError, match=problem) as error:
        plan_judge(load_judged(tmp_path, model=str(model), calibration=str(out)))
    assert "judge.toml" in str(error.value)


def test_what_cannot_be_calibrated_is_refused(tmp_path: Path, model: Path) -> None:
    data = write_labelled(tmp_path / "labelled.parquet", ("treats",))
    config = load_judged(tmp_path, model=str(model))
    with pytest.raises(InputError, match="has one relation"):
        calibrate_judge(data, config, Store(config.storage), Limits(), show_nothing)
    with pytest.raises(InputError, match="has no judge"):
        calibrate_judge(data, load_judged(tmp_path), Store(config.storage), Limits(), show_nothing)
    assert main(["gate", str(data), "--calibrate", "out.toml"]) == 2


def show_nothing(title: str, total: int) -> Any:  # noqa: ANN401
    from contextlib import nullcontext

    return nullcontext(lambda n: None)
