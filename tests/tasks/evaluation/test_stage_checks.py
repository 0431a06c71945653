"""The stages of an evaluation are validated once, and the reports are published."""

import polars as pl
import pytest

from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.layout import run_file
from pretexeval.storage.records import read_reports
from pretexeval.storage.responses import N_DIGITS
from schemas.columns import Stage
from schemas.stages import RESPONSES
from tasks.evaluation import scoring
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import write_requests
from tasks.evaluation.scoring import score_evaluation
from tasks.quality.measurements import measure_edition
from tasks.quality.validation import Report, StageInvalid, check_stage
from tests.support.evaluations import ask_model, finish
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows


def test_reports_are_published_with_the_model_that_they_concern(evaluation: Evaluation) -> None:
    finish(evaluation, ask_model(evaluation))
    measure_edition(evaluation.root, evaluation.edition_id)
    build_warehouse(evaluation.root)
    rows = read_rows(
        evaluation.root,
        "select stage, model, n_rows, count(*) as n_expectations, bool_and(is_passed) as is_passed, "
        "max(checked_at) as checked_at from checks group by all order by stage",
    )
    models = dict.fromkeys(("predictions", "readings", "requests", "responses"), "yes")
    assert {row["stage"]: row["model"] for row in rows} == models | dict.fromkeys(("diversity", "guesses"))
    n_requests = sum(ref.n_rows for ref in write_requests(evaluation).files)
    assert {row["n_rows"] for row in rows if row["model"]} == {n_requests}
    assert all(row["is_passed"] and row["n_expectations"] > 5 and row["checked_at"] for row in rows)


def test_same_requests_and_responses_are_not_validated_again(
    evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(evaluation, ask_model(evaluation))
    record = evaluation.root / run_file(evaluation.folder)
    before = read_reports(record)

    def refuse(stage: Stage, rows: pl.DataFrame, folder: str) -> Report:
        assert stage.name in ("readings", "predictions"), "a stage was validated again"
        return check_stage(stage, rows, folder)

    monkeypatch.setattr(scoring, "check_stage", refuse)
    scored = score_evaluation(evaluation, write_requests(evaluation))
    assert [check["stage"] for check in before] == ["requests", "responses", "readings", "predictions"]
    assert list(scored.checks[:2]) == before[:2]


def test_stored_response_that_breaks_an_expectation_stops_scoring_and_is_kept(evaluation: Evaluation) -> None:
    report = ask_model(evaluation)
    path = evaluation.store.list_files()[0]
    rows = pl.read_parquet(path).with_columns(
        response=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("response")
    )
    path.unlink()
    content = path.with_name("rows.parquet")
    rows.write_parquet(content)
    checksum = checksum_file(content)[:N_DIGITS]
    stored = content.rename(path.with_name(f"part-{checksum}.parquet"))
    with pytest.raises(StageInvalid, match="status_fits_response") as caught:
        finish(evaluation, report)
    assert rows["prompt_key"][3] in str(caught.value)
    assert stored.is_file()
    assert not (evaluation.root / run_file(evaluation.folder)).exists()
    check_stage(RESPONSES, rows.filter(pl.col("response").is_not_null()), "the others")
