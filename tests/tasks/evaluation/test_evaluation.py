"""An evaluation from the requests on disk to checked and published predictions, once and in repeats."""

import re
import shutil
import statistics
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError

from flows.evaluate_model import describe_answers
from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config
from pretexeval.config.questions import UNSURE
from pretexeval.config.tables import ScoringConfig
from pretexeval.primitives.hashing import checksum_file, hash_text
from pretexeval.storage.files import FileRef
from pretexeval.storage.layout import run_file
from pretexeval.storage.records import read_reports
from pretexeval.storage.responses import N_DIGITS
from report.page import write_report
from report.remarks import note_replies, read_reply_remarks
from schemas.columns import Stage
from schemas.exchange import Completion, Sampling
from schemas.stages import PREDICTIONS, READINGS, REQUESTS, RESPONSES
from tasks.asking.prompts import ASK_TRUTH, ASK_UNSURE
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.evaluation import run_record, scoring, subject
from tasks.evaluation.evaluation import Evaluation, hold_evaluation
from tasks.evaluation.request_files import check_files, write_requests
from tasks.evaluation.run_record import is_complete, read_run
from tasks.evaluation.scoring import score_evaluation, score_finished
from tasks.evaluation.subject import ANSWER_TEXTS, Subject, select_subject
from tasks.quality.validation import Report, StageInvalid, check_stage
from tests.support.command import REPOSITORY, read_bytes
from tests.support.evaluations import Scripted, ask_model, evaluate, finish, list_keys, list_prompts
from tests.support.parsed_page import parse
from tests.support.small_bases import write_files
from tests.tasks.evaluation.conftest import Serve
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows

STORED = REPOSITORY / "tests" / "support" / "stored_answers"
"""Answers of a model behind an endpoint to 16 prompts, and the base and the pool of the prompts."""
SAMPLED = {"repeats": 3, "temperature": 0.8, "seed": 5}


def test_requests_are_written_once_before_the_model_is_asked_and_again_if_a_file_is_lost(
    evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = write_requests(evaluation)
    frame = pl.concat(pl.read_parquet(evaluation.root / ref.path) for ref in written.files)
    assert frame.columns == REQUESTS.names
    assert evaluation.store.is_empty
    for lost in ("requests/r.parquet", "requests.json"):
        path = evaluation.root / evaluation.folder / "next" / lost
        path.unlink()
        assert write_requests(evaluation) == written
        assert path.is_file()
    # Any later rendering of prompts is an error.
    monkeypatch.setattr(subject, "build_requests", None)
    assert write_requests(evaluation) == written


def test_complete_evaluation_is_scored_again_without_rendering_until_a_file_is_damaged_or_lost(
    evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_complete(evaluation)
    finish(evaluation, ask_model(evaluation))
    assert is_complete(evaluation)
    folder = evaluation.root / evaluation.folder
    files = sorted(folder.rglob("*.*"))
    assert [path.relative_to(folder).as_posix() for path in files] == [
        *(f"{stage.name}/{name}.parquet" for stage in (PREDICTIONS, READINGS, REQUESTS) for name in "rs"),
        "run.json",
    ]
    n_rows = {path.relative_to(folder).as_posix(): pl.read_parquet(path).height for path in files[:-1]}
    assert {name: entry["rows"] for name, entry in read_run(evaluation)["files"].items()} == n_rows
    content = files[0].read_bytes()
    files[0].write_bytes(b"changed")
    assert not is_complete(evaluation)
    files[0].write_bytes(content)
    assert is_complete(evaluation)
    answers = [path.rename(path.with_suffix(".lost")) for path in evaluation.store.list_files()]
    assert not is_complete(evaluation)
    for path in answers:
        path.rename(path.with_suffix(".parquet"))
    assert is_complete(evaluation)
    with monkeypatch.context() as patched:
        patched.setattr(run_record, "hash_reader", lambda: "another reader")
        assert not is_complete(evaluation)
    monkeypatch.setattr(subject, "build_requests", None)
    # Every answer is read as a thought that does not end.
    model = evaluation.model.model_copy(update={"reasoning_marks": ("", "</think>")})
    score_finished(replace(evaluation, model=model, scoring=ScoringConfig(policies=("excluded",))))
    predictions = pl.read_parquet(folder / "predictions/*.parquet")
    assert predictions["prediction"].null_count() == predictions.height
    assert set(predictions["scoring_policy"]) == {"strict", "excluded"}
    monkeypatch.undo()
    for path in evaluation.store.list_files():
        path.unlink()
    report = ask_model(evaluation)
    assert report.n_asked == report.n_samples


def test_anchors_are_asked_once_in_each_period(evaluation: Evaluation) -> None:
    asked: dict[str | None, int] = {}
    for period in (None, "2026-W47", "2026-W47"):
        place = replace(evaluation, period=period)
        report = ask_model(place)
        finish(place, report)
        asked[period] = asked.get(period, 0) + report.n_asked
        assert is_complete(place)
    assert len(set(asked.values())) == 1
    keys = [set(list_keys(replace(evaluation, period=period))) for period in (*asked, "2026-W48")]
    assert not keys[0] & keys[1] | keys[1] & keys[2] | keys[0] & keys[2]
    assert len(list(evaluation.root.glob("anchor_predictions/*/*/*/run.json"))) == 1


def test_one_process_at_a_time_evaluates_a_model_on_an_edition(evaluation: Evaluation) -> None:
    second_is_in = threading.Event()

    def enter() -> None:
        with hold_evaluation(evaluation):
            second_is_in.set()

    second = threading.Thread(target=enter)
    with hold_evaluation(evaluation):
        second.start()
        assert not second_is_in.wait(0.3)
    assert second_is_in.wait(20)
    second.join()


def test_stages_are_checked_once_and_the_reports_are_published(
    evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(evaluation, ask_model(evaluation))
    before = read_reports(evaluation.root / run_file(evaluation.folder))
    assert [check["stage"] for check in before] == ["requests", "responses", "readings", "predictions"]

    build_warehouse(evaluation.root)
    columns = "stage, model, is_passed, n_rows"
    rows = read_rows(evaluation.root, f"select distinct {columns} from checks order by stage")
    n_rows = write_requests(evaluation).n_samples
    stages = sorted(check["stage"] for check in before)
    assert [tuple(row.values()) for row in rows] == [(stage, "yes", True, n_rows) for stage in stages]

    def refuse(evaluation: Evaluation, stage: Stage, files: Sequence[FileRef]) -> Report:
        assert stage.name in ("readings", "predictions"), "requests are validated again"
        return check_files(evaluation, stage, files)

    monkeypatch.setattr(scoring, "check_files", refuse)
    monkeypatch.setattr(scoring, "validate_parts", lambda *_: pytest.fail("responses are validated again"))
    together = score_evaluation(evaluation, write_requests(evaluation))
    assert list(together.checks[:2]) == before[:2]
    # Files that are scored one by one are those that are scored together.
    monkeypatch.undo()
    monkeypatch.setattr(scoring, "N_SCORED", 1)
    assert score_evaluation(evaluation, write_requests(evaluation)).files == together.files
    assert len(together.files) == 3 * 2


def test_stored_response_that_breaks_an_expectation_stops_scoring_and_is_kept(evaluation: Evaluation) -> None:
    report = ask_model(evaluation)
    path = evaluation.store.list_files()[0]
    is_broken = pl.int_range(pl.len()) == 3
    rows = pl.read_parquet(path).with_columns(response=pl.when(~is_broken).then("response"))
    path.unlink()
    content = path.with_name("rows.parquet")
    rows.write_parquet(content)
    stored = content.rename(path.with_name(f"part-{checksum_file(content)[:N_DIGITS]}.parquet"))
    with pytest.raises(StageInvalid, match="status_fits_response") as caught:
        finish(evaluation, report)
    assert rows["prompt_key"][3] in str(caught.value)
    assert stored.is_file()
    assert not (evaluation.root / run_file(evaluation.folder)).exists()
    check_stage(RESPONSES, rows.filter(pl.col("response").is_not_null()), "the others")


def test_no_stored_prompt_is_asked_again_and_files_of_answers_stay(tmp_path: Path) -> None:
    """If this fails, a change of the prompts or of their keys lets every user pay for all answers again."""
    root, engine = tmp_path / "data", Scripted()
    shutil.copytree(STORED / "responses", root / "responses")
    model = {"name": "far", "engine": "openai", "model": "far", "base_url": "http://127.0.0.1:9/v1"}
    config = Config.model_validate(
        {
            "knowledge": {"name": "own", "format": "table", "path": STORED / "own.tsv"},
            "edition": {"pool": str(STORED / "pool.toml")},
            "models": [model | {"pairs_per_relation": 1}],
            "storage": {"root": root},
        }
    )
    edition = plan_edition(config)
    complete_edition(edition, list(write_files(edition).values()), [])
    assert evaluate(edition.config, edition.edition_id, "far", load=engine.load) is None
    assert engine.asked == []
    assert read_bytes(root / "responses") == read_bytes(STORED / "responses")


def repeat(serve: Serve, name: str) -> Evaluation:
    """Return the evaluation of a model that is asked everything three times."""
    return replace(serve(name, **SAMPLED), subject=Subject(n_repeats=3))


def test_means_and_spread_of_repeats(serve: Serve) -> None:
    for name, n_different in {"erratic": 3, "steady": 1}.items():

        def answer(prompt: str, sampling: Sampling, n: int = n_different) -> str:
            return str(int(hash_text(prompt, str(sampling.repeat % n)), 16) % 4 > 0)

        evaluation = repeat(serve, name)
        report = ask_model(evaluation, Scripted(answer).load)
        assert report.n_samples == 3 * len(list_prompts(replace(evaluation, subject=Subject())))
        finish(evaluation, report)
    root = evaluation.root
    build_warehouse(root)
    erratic, steady = read_rows(root, "from scores where grouping_by = 'repeats' order by model")
    single = read_rows(root, "from leaderboard order by model, repeat")
    for row, of_model in ((erratic, single[:3]), (steady, single[3:])):
        assert [scored["repeat"] for scored in of_model] == [0, 1, 2]
        for measure in ("average_accuracy", "mastery"):
            scores = [scored[measure] for scored in of_model]
            spread = (row[measure], row[f"{measure}_sd"])
            assert spread == pytest.approx((statistics.fmean(scores), statistics.stdev(scores)), abs=1e-12)
    assert erratic["average_accuracy_sd"] > 0
    assert 0 < erratic["same_answer_rate"] < steady["same_answer_rate"] == 1
    # Asking again does not make the interval narrower if the answers are the same.
    measures = ("average_accuracy", "average_accuracy_fixed_base", "mastery")
    names = [f"{measure}_ci_{end}" for measure in measures for end in ("low", "high")]
    assert [steady[name] for name in names] == pytest.approx([single[3][name] for name in names])
    page = parse(write_report(root, evaluation.edition_id).read_text(encoding="utf-8"))
    shown = page.table_with("Model", "Repeats")[1:]
    assert {(row[0], row[1], row[5]) for row in shown} >= {("steady", "3", "0.0")}


def test_what_replies_say_about_their_server_is_beside_the_score(serve: Serve) -> None:
    """Two models answered behind one address, and a part of the replies has no content."""
    endpoint = {"name": "swap", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    evaluation = replace(serve("swap"), model=ModelConfig.model_validate(endpoint))

    def answer(prompt: str, _: Sampling) -> Completion:
        n = int(hash_text(prompt), 16)
        response, reasoning = ("", "So it is true.") if n % 3 == 0 else ("True", None)
        return Completion(response, finish_reason="stop", reasoning=reasoning, served=f"m:{n % 2}")

    finish(evaluation, ask_model(evaluation, Scripted(answer).load))
    build_warehouse(evaluation.root)
    (run,) = read_rows(evaluation.root, "from runs")
    without, change = run["remarks"]
    assert re.match(r"3\d\.\d % of \d+ replies: a thought and no content.*'So it is true.'", without)
    assert re.match(r"The endpoint names 2 models .*: m:0 \(\d+ replies\); m:1 \(\d+ replies\)\.", change)
    assert describe_answers(read_run(evaluation), is_reused=False).endswith(f"0 failed. {without}. {change}")
    shown = note_replies(read_reply_remarks(evaluation.root, evaluation.edition_id))
    assert sorted(shown) == sorted(f"swap: {remark}" for remark in (without, change))
    page = parse(write_report(evaluation.root, evaluation.edition_id).read_text(encoding="utf-8")).text
    assert "The endpoint names 2 models or configurations" in page


def test_repeats_need_a_model_that_samples() -> None:
    refused: tuple[tuple[dict[str, object], str], ...] = (
        ({"temperature": 0.0}, "temperature above 0"),
        ({"seed": None}, "needs a seed"),
        ({"engine": "imported"}, "imported"),
    )
    for changes, message in refused:
        with pytest.raises(ValidationError, match=message):
            ModelConfig.model_validate({"name": "m", "model": "m", **SAMPLED, **changes})
    endpoint = {"engine": "openai", "base_url": "http://127.0.0.1:9/v1", "leave_out": ["temperature"]}
    asked = ModelConfig.model_validate({"name": "m", "model": "m", "repeats": 2, **endpoint})
    assert asked.repeats == 2


def select(evaluation: Evaluation, *, unsure: bool) -> Evaluation:
    """Return the evaluation of a model with `unsure = true`: with two answers, or with three."""
    model = evaluation.model.model_copy(update={"unsure": True})
    subject = select_subject(Config(), model, UNSURE if unsure else None)
    return replace(evaluation, model=model, subject=subject)


def test_a_third_answer_leaves_everything_about_two_answers_as_it_is(evaluation: Evaluation) -> None:
    def doubt(prompt: str, _: Sampling) -> str:
        return " Unsure" if ASK_UNSURE in prompt.rpartition("Statement:")[2] else " True"

    load = Scripted(doubt).load
    finish(evaluation, ask_model(evaluation, load))
    before = read_bytes(evaluation.root)
    two, three = select(evaluation, unsure=False), select(evaluation, unsure=True)
    assert two.model_id == three.model_id == evaluation.model_id
    assert list_keys(two) == list_keys(evaluation)
    assert not set(list_keys(three)) & set(list_keys(two))
    # The prompts differ in the offer alone.
    texts = [[prompt.text for prompt in list_prompts(asked)] for asked in (two, three)]
    assert [text.replace(ASK_UNSURE, ASK_TRUTH) for text in texts[1]] == texts[0]
    assert all(text.count(ASK_UNSURE) == 6 for text in texts[1])
    assert ask_model(two, load).n_asked == 0
    report = ask_model(three, load)
    assert report.n_asked == len(set(list_keys(two)))
    finish(three, report)
    after = read_bytes(evaluation.root)
    assert {name: after[name] for name in before} == before
    answers = pl.read_parquet(evaluation.root / three.folder / "predictions" / "*.parquet")
    assert answers.select("prediction", "is_correct").unique().rows() == [("U", False)]
    assert three.folder.startswith("unsure_predictions/")


def test_early_stop_is_part_of_the_key_and_cuts_no_answer_of_three(evaluation: Evaluation) -> None:
    plain = ModelConfig(name="m", model="hub/model")
    models = (plain, *(plain.model_copy(update={"early_stop": is_set}) for is_set in (False, True)))
    asked = [select(replace(evaluation, model=model), unsure=False) for model in models]
    assert len({each.model_id for each in asked}) == 1
    without, off, early = (each.request_settings.sampling for each in asked)
    assert without == off != early
    assert early.stop[1:] == ANSWER_TEXTS
    assert '"include_stop_str_in_output":true' in early.render_json()
    three = [select(evaluation, unsure=True).subject.build_sampling(model) for model in models]
    assert three[0].stop == ("Statement",)
    assert three[0] == three[1] == three[2]
