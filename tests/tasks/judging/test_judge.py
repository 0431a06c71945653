"""Judges: how they are asked, what their answers mean, and their thresholds from other relations."""

import json
import math
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from commands.main import main
from pretexeval.config.engines import WriterConfig
from pretexeval.config.file import Config, load_config
from pretexeval.config.tables import JudgeConfig
from pretexeval.primitives.errors import InputError
from pretexeval.storage.store import Store
from schemas.exchange import hash_prompt
from tasks.asking.writers import Reply, Writer
from tasks.edition.planning import plan_edition
from tasks.judging.calibrated_judge import calibrate_judge, plan_judge, write_calibration
from tasks.judging.calibration import (
    Calibration,
    JudgedRewording,
    Limits,
    calibrate,
    choose_lift,
    choose_threshold,
    choose_thresholds,
    count_outcome,
    render_calibration,
)
from tasks.judging.judge import Judge, Thresholds, combine_scores
from tasks.judging.measurement import COLUMNS
from tests.support.command import list_half_written, read_bytes, write_config
from tests.support.tiny_entailment import write_tiny_model

WRITER = Writer(WriterConfig(name="j", model="org/j"), "j-00000000")
STATEMENT, TEXT = "Salbutamol may treat asthma.", "Asthma may be treated by salbutamol."


def make_judge(thresholds: Thresholds = Thresholds(), **table: Any) -> Judge:  # noqa: ANN401, B008
    return Judge(WRITER, JudgeConfig(**table), thresholds)


def test_log_probabilities_are_asked_for_and_give_the_score() -> None:
    plain, judge = make_judge(writer="j"), make_judge(writer="j", logprobs=True)
    (of_plain, _), (prompt, _) = plain.build_prompts(STATEMENT, TEXT), judge.build_prompts(STATEMENT, TEXT)
    # The key of answers that are stored.
    assert of_plain.key == "65231ebb0d8791052f4cf3ab49d5f526" != prompt.key
    assert not plain.has_scores
    assert prompt.sampling.answer_words == ("Yes", "No")
    assert judge.read_score(Reply("Yes.", logprobs=(math.log(0.6), math.log(0.2)))) == pytest.approx(0.75)
    # An engine that gives none leaves the words.
    scores = {"Yes.": 1.0, "No.": 0.0, "Perhaps.": None, None: None}
    assert {text: judge.read_score(Reply(text)) for text in scores} == scores


def test_an_entailment_model_is_asked_for_pairs_and_its_label_gives_the_score() -> None:
    judge = make_judge(model="org/nli")
    forth, back = judge.build_prompts(STATEMENT, TEXT)
    assert [json.loads(each.prompt.text) for each in (forth, back)] == [[STATEMENT, TEXT], [TEXT, STATEMENT]]
    assert forth.key == hash_prompt(WRITER.model_id, forth.prompt, forth.sampling)
    assert judge.read_score(Reply('{"contradiction":0.1,"entailment":0.7,"neutral":0.2}')) == 0.7
    assert judge.read_score(Reply('{"ENTAILMENT":0.4,"not_entailment":0.6}')) == 0.4


def test_the_verdict_is_the_score_against_the_threshold_and_a_lifting_judge_hears_of_rejections() -> None:
    judge = make_judge(Thresholds(0.7), model="org/nli")
    assert [judge.decide(score) for score in (0.7, 0.69, None)] == [True, False, None]
    assert combine_scores(0.9, 0.2) == 0.2
    assert combine_scores(0.9, None) is None
    lifting = Thresholds(0.5, lift=0.9)
    assert [lifting.is_lifted(score) for score in (0.9, 0.89, None)] == [True, False, False]
    reasons = ["", "tail lost", "tail lost, roles", "tail lost, polarity", "unchanged"]
    rejections = [tuple(text.split(", ")) if text else () for text in reasons]
    asked = [make_judge(lifting, model="org/nli").is_asked(each) for each in rejections]
    assert asked == [True, True, True, False, False]
    assert [judge.is_asked(each) for each in rejections] == [True, False, False, False, False]


def test_settings_that_contradict_each_other_are_refused() -> None:
    tables: tuple[tuple[dict[str, Any], str], ...] = (
        ({"writer": "pen", "model": "org/nli"}, "writer and model are both given"),
        ({"writer": "pen", "revision": "1"}, "revision is not allowed without model"),
        ({"model": "m", "logprobs": True}, "logprobs is not allowed without writer"),
        ({"model": "m", "instruction": "{premise}"}, "instruction must contain {conclusion}"),
    )
    for table, problem in tables:
        with pytest.raises(ValidationError, match=problem):
            JudgeConfig(**table)
    # An entailment model is a judge and nothing else.
    pen = {"name": "pen", "model": "org/pen"}
    with pytest.raises(ValidationError, match=r"judge\.model is not allowed without rephraser.kind"):
        Config.model_validate({"judge": {"model": "org/nli"}})
    with pytest.raises(ValidationError, match=r"an entailment model is given as model in \[judge\]"):
        Config.model_validate({"writers": [pen | {"engine": "entailment"}]})
    config = Config.model_validate(
        {"writers": [pen], "rephraser": {"kind": "model", "writer": "pen"}, "judge": {"model": "org/nli"}}
    )
    assert [writer.name for writer in config.list_writers()] == ["pen", "nli"]
    assert config.find_judge() == config.judge.to_writer()


LOST = ("tail lost",)
NO_LIMITS = Limits(0.0, 0.0)


def judge(
    relation: str, is_sound: bool, *scores: float | None, reasons: tuple[str, ...] = ()
) -> list[JudgedRewording]:
    return [JudgedRewording(relation, is_sound, reasons, score) for score in scores]


def test_the_threshold_catches_most_within_the_allowed_share() -> None:
    """One of four sound ones may be lost: 0.3, so 0.1, 0.2 and 0.45 can be caught, and 0.8 cannot."""
    rows = judge("r", True, 0.3, 0.5, 0.9, 0.95) + judge("r", False, 0.1, 0.2, 0.45, 0.8)
    assert choose_threshold(rows, 0.25) == (0.45 + 0.5) / 2
    assert choose_threshold(rows, 0.0) == (0.2 + 0.3) / 2


def test_what_the_rules_reject_does_not_count_and_a_missing_answer_is_a_rejection() -> None:
    rejected = judge("r", True, *[None] * 50, reasons=("polarity",))
    rows = judge("r", True, 0.5, 0.9) + judge("r", False, 0.6) + rejected
    assert choose_threshold(rows, 0.05) == 0.0
    outcome = count_outcome(rows, Thresholds(0.55))
    assert (outcome.n_sound, outcome.n_rejected_by_rules, outcome.n_rejected) == (52, 50, 51)
    assert (outcome.n_wrong, outcome.n_caught_by_rules, outcome.n_caught) == (1, 0, 0)
    outcome = count_outcome(judge("r", True, None, 0.4) + judge("r", False, None), Thresholds(0.0))
    assert (outcome.n_rejected, outcome.n_caught) == (1, 1)


def test_a_judge_lifts_most_within_the_allowed_share_of_wrong_ones() -> None:
    """One of four wrong ones may pass: 0.8, so the sound ones above 0.6 are lifted. Polarity stays."""
    rows = judge("r", True, 0.5, 0.7, 0.9, reasons=LOST) + judge("r", True, 1.0, reasons=(*LOST, "polarity"))
    rows += judge("r", False, 0.8, 0.6, 0.1, reasons=LOST) + judge("r", False, 0.9)
    assert choose_lift(rows, 0.25) == (0.7 + 0.6) / 2
    assert choose_lift(rows, 0.0) == (0.9 + 0.8) / 2
    outcome = count_outcome(rows, Thresholds(0.0, 0.65))
    assert (outcome.n_rejected_by_rules, outcome.n_rejected) == (4, 2)
    assert (outcome.n_caught_by_rules, outcome.n_caught) == (3, 2)
    assert choose_lift(judge("r", True, 0.5) + judge("r", False, 0.4, reasons=LOST), 0.0) is None


def test_a_relation_is_measured_with_the_thresholds_from_the_others() -> None:
    rows = judge("a", True, 0.6, 0.9) + judge("a", False, 0.5)
    rows += judge("b", True, 0.6) + judge("b", False, 0.1)
    calibration = calibrate(rows, NO_LIMITS)
    (of_a, a), (of_b, b) = calibration.relations["a"], calibration.relations["b"]
    assert (of_a.accept, a.n_caught, a.n_rejected) == (0.35, 0, 0)
    assert (of_b.accept, b.n_caught, b.n_rejected) == (0.55, 1, 0)
    assert calibration.thresholds == Thresholds(0.55)
    assert (calibration.pooled.n_caught, calibration.pooled.n_rejected) == (1, 0)
    table = render_calibration(calibration).splitlines()
    assert "".join(table[3].split()) == "a0.35nothing10(0.0%)0(0.0%)20(0.0%)0(0.0%)"
    assert "thresholds from all relations: rejects below 0.55, lifts from nothing" in table


def test_a_judge_does_what_helps_on_relations_left_out_alone() -> None:
    """Of each relation it can learn to reject and to lift, and what it learned is wrong for the other."""
    rows = judge("a", False, 0.5) + judge("a", True, 0.6) + judge("b", False, 0.1) + judge("b", True, 0.2)
    rows += judge("a", False, 0.9, reasons=LOST) + judge("a", True, 0.95, reasons=LOST)
    rows += judge("b", False, 0.7, reasons=LOST) + judge("b", True, 0.8, reasons=LOST)
    calibration = calibrate(rows, NO_LIMITS)
    assert calibration.thresholds == Thresholds(0.0)
    assert {thresholds for thresholds, _ in calibration.relations.values()} == {Thresholds(0.0)}
    assert choose_thresholds(rows[:2] + rows[4:6], NO_LIMITS) == Thresholds(0.55, 0.925)
    alike = [
        row for r in "ab" for row in judge(r, True, 0.9, reasons=LOST) + judge(r, False, 0.1, reasons=LOST)
    ]
    assert calibrate(alike, NO_LIMITS).thresholds == Thresholds(0.0, 0.5)


def write_labelled(path: Path, relations: tuple[str, ...] = ("treats", "helps", "cures")) -> Path:
    texts = {
        "asthma may be treated by salbutamol .": None,
        "asthma may be treated by salbutamol and asthma .": "entity_changed: two",
        "salbutamol": "entity_changed: one",
    }
    names = ("salbutamol", "asthma", "eczema", "positive", "salbutamol may treat asthma .")
    rows = [(relation, *names, *labelled) for relation in relations for labelled in texts.items()]
    pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row").write_parquet(path)
    return path


def write_judged(folder: Path, **table: Any) -> Path:  # noqa: ANN401
    """Write a configuration with this judge, and return its path."""
    return write_config(
        folder / "config.toml",
        folder / "data",
        rephraser={"kind": "model", "writer": "pen"},
        writers=[{"name": "pen", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}],
        judge=table,
    )


def load_judged(folder: Path, **table: Any) -> Config:  # noqa: ANN401
    return load_config(write_judged(folder, **table))


def calibrate_tiny(data: Path, config: Config) -> tuple[Judge, Calibration]:
    progress = nullcontext(lambda _: None)
    return calibrate_judge(data, config, Store(config.storage), Limits(), lambda *_: progress)


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A real entailment model with random weights."""
    return str(write_tiny_model(tmp_path / "tiny"))


def test_the_command_writes_what_the_edition_reads(
    tmp_path: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = write_labelled(tmp_path / "labelled.parquet"), tmp_path / "judge.toml"

    def command(config: Path, *files: Path) -> int:
        options = ["--max-rejected", "0.2", "--judge", str(config), "--calibrate", *map(str, files)]
        return main(["gate", str(data), *options])

    config = write_judged(tmp_path, model=model)
    assert command(config, out) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^treats +[\d.]+ +(nothing|[\d.]+) +2 ", printed, re.MULTILINE)
    assert "all, each left out" in printed
    plain = plan_edition(load_judged(tmp_path, model=model))
    calibrated = plan_edition(load_judged(tmp_path, model=model, calibration=str(out)))
    assert calibrated.rephraser is not None
    assert calibrated.rephraser.judge is not None
    assert f"threshold = {calibrated.rephraser.judge.thresholds.accept!r}\n" in out.read_text()
    out.write_text(out.read_text().replace("max_rejected", "# max_rejected"))
    changed = plan_edition(load_judged(tmp_path, model=model, calibration=str(out)))
    assert len({edition.edition_id for edition in (plain, calibrated, changed)}) == 3
    # No pair is asked twice: without the weights the same table is printed.
    stored = read_bytes(tmp_path / "data", "**/*.parquet")
    capsys.readouterr()
    assert command(write_judged(tmp_path, model=model), out) == 0
    assert capsys.readouterr().out == printed
    assert read_bytes(tmp_path / "data", "**/*.parquet") == stored
    # Without a file, the calibration is written to that of the configuration.
    assert command(write_judged(tmp_path, model=model, calibration=str(tmp_path / "named.toml"))) == 0
    assert (tmp_path / "named.toml").exists()
    assert command(write_judged(tmp_path, model=model)) == 2
    assert main(["gate", str(data), "--calibrate", "out.toml"]) == 2
    assert list_half_written(tmp_path) == []


def test_a_calibration_of_another_judge_is_refused(tmp_path: Path, model: str) -> None:
    """The file can also be read if the name of a relation has quotes."""
    out = tmp_path / "judge.toml"
    data = write_labelled(tmp_path / "labelled.parquet", ("treats", 'helps "at once"', "cures"))
    judge, calibration = calibrate_tiny(data, load_judged(tmp_path, model=model))
    write_calibration(out, calibration, judge, data)
    other = write_tiny_model(tmp_path / "other" / "tiny", seed=1)
    with pytest.raises(InputError, match="is of another judge"):
        plan_judge(load_judged(tmp_path, calibration=str(out), model=str(other)))
    config = load_judged(tmp_path, model=model, calibration=str(out))
    same = plan_judge(config)
    assert same is not None
    assert same.thresholds == calibration.thresholds
    out.unlink()
    for content, problem in {
        None: "is not a calibration",
        "threshold = ": "is not a calibration",
        "threshold = 0.5": "is not a calibration .KeyError",
        'judge = "x/0"\nthreshold = 0.5': "is of another judge, x/0",
    }.items():
        if content is not None:
            out.write_text(content)
        with pytest.raises(InputError, match=rf"judge\.toml.* {problem}"):
            plan_judge(config)


def test_what_cannot_be_calibrated_is_refused(tmp_path: Path, model: str) -> None:
    data = write_labelled(tmp_path / "labelled.parquet", ("treats",))
    with pytest.raises(InputError, match="has one relation"):
        calibrate_tiny(data, load_judged(tmp_path, model=model))
    with pytest.raises(InputError, match="has no judge"):
        calibrate_tiny(data, load_judged(tmp_path))
