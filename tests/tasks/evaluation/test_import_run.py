"""Recorded responses imported by id: as questions and as samples, once, in parts and in repeats."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from commands import in_process
from commands.main import main
from pretexeval.config.file import Config
from pretexeval.config.questions import Setting
from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import read_record
from pretexeval.storage.store import Store
from tasks.asking.prompts import render_answer
from tasks.evaluation.evaluation import Evaluation, plan_evaluation
from tasks.evaluation.import_run import ImportedRun, import_responses
from tasks.evaluation.items import select_items
from tasks.evaluation.missing_answers import ask_missing
from tasks.evaluation.recorded_rows import read_recorded_file
from tasks.evaluation.request_files import write_requests
from tasks.evaluation.run_record import read_run
from tasks.evaluation.scoring import score_finished
from tests.support.command import read_bytes
from tests.tasks.evaluation.conftest import build_questions
from warehouse.loading import load_warehouse
from warehouse.publishing import build_warehouse
from warehouse.sources import collect_sources

Row = dict[str, Any]


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The root and the name of an edition with samples and questions; every test gets a copy."""
    config, edition_id = build_questions(tmp_path_factory.mktemp("built"), "answer_only")
    return config.storage.root, edition_id


class Folder:
    """A data folder with one edition, and the files of responses beside it."""

    def __init__(self, path: Path, edition_id: str) -> None:
        self.path, self.edition_id, self.root = path, edition_id, path / "data"
        questions = self.read_tested("questions")
        self.types = dict(questions.select("question_id", "type").iter_rows())
        self.answers: list[Row] = [
            {"question_id": i, "response": render_answer(kind, answer)}
            for i, kind, answer in questions.select("question_id", "type", "answer").iter_rows()
        ]
        """The right answers to all questions, in words."""

    def read_tested(self, stage: str) -> pl.DataFrame:
        rows = pl.read_parquet(self.root / "editions" / self.edition_id / stage / "*.parquet")
        return rows.filter(split="test")

    def write(self, rows: list[Row]) -> Path:
        path = self.path / "responses.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return path

    def configure(self, path: Path, **model: object) -> Config:
        table = {"name": "m", "engine": "imported", "model": str(path), "prompt_style": "chat", **model}
        return Config.model_validate({"models": [table], "storage": {"root": self.root}})

    def run(self, rows: list[Row], setting: Setting | None = "answer_only", **model: object) -> ImportedRun:
        path = self.write(rows)
        config = self.configure(path, **model)
        return import_responses(config, read_recorded_file(path), self.edition_id, "m", setting)

    def command(self, path: Path, *options: str, publishes: bool = False) -> int:
        names = ["--edition", self.edition_id, "--root", str(self.root), "--model", "m"]
        names += [] if publishes else ["--no-publish"]
        return main(["import-responses", str(path), *names, *options])

    def read_rows(self, evaluation: Evaluation, stage: str = "predictions") -> pl.DataFrame:
        return pl.read_parquet(self.root / evaluation.folder / stage / "*.parquet")

    def query(self, *queries: str) -> list[list[tuple[Any, ...]]]:
        """Return the rows of each query."""
        with duckdb.connect() as connection:
            load_warehouse(connection, collect_sources(self.root, {}))
            return [connection.execute(sql).fetchall() for sql in queries]


@pytest.fixture
def folder(questions: tuple[Path, str], tmp_path: Path) -> Folder:
    root, edition_id = questions
    shutil.copytree(root, tmp_path / "data")
    return Folder(tmp_path, edition_id)


def test_responses_to_questions_enter_the_warehouse_once(folder: Folder) -> None:
    imported = folder.run(folder.answers)
    assert imported.report.n_responses == imported.n_stored == len(folder.types)
    scores, models, prompts = folder.query(
        "select accuracy, no_answer_rate, error_rate from facet_accuracy",
        "select name, engine from models",
        "select prompt from responses where response = 'True' limit 1",
    )
    assert scores == [(1.0, 0.0, 0.0)] * 15
    assert models == [("m", "imported")]
    assert prompts[0][0].count("true or false?") == 1
    before = read_bytes(folder.root, "**/*.[jp]*")
    assert folder.run(folder.answers).n_stored == 0
    assert read_bytes(folder.root, "**/*.[jp]*") == before
    parquet = folder.path / "responses.parquet"
    pl.DataFrame(folder.answers).write_parquet(parquet)
    assert read_recorded_file(parquet).rows == read_recorded_file(folder.write(folder.answers)).rows


def test_responses_to_samples_about_some_pairs_are_imported(folder: Folder) -> None:
    """The pairs that were not asked are not missing, and the asked ones stand for all of their relation."""
    samples = folder.read_tested("samples")
    n_asked = 5
    kept = select_items(samples, n_asked, "pair_id")
    first, *others = kept["sample_id"]
    rows = [{"sample_id": first, "response": "?"}, *({"sample_id": i, "response": "True"} for i in others)]
    assert folder.command(folder.write(rows), "--pairs-per-relation", str(n_asked)) == 0
    counts, weighed = folder.query(
        "select count(*), count(prediction), count(error) from answers",
        "select group_name, n_pairs, average_accuracy, error_rate from scores "
        "where grouping_by = 'weighting' order by group_name",
    )
    assert counts == [(kept.height, len(others), 0)]
    accuracy = pytest.approx(kept["label"][1:].sum() / kept.height)
    assert weighed == [(name, n_asked, accuracy, 0.0) for name in ("facts", "pairs", "relations")]
    assert folder.command(folder.write(folder.answers), "--pairs-per-relation", str(n_asked)) == 2


def test_files_that_do_not_fit_the_edition_are_refused(folder: Folder) -> None:
    rows, before = folder.answers, read_bytes(folder.root, "**/*.[jp]*")
    unknown = {"question_id": "0" * 16, "response": "A"}
    refused: tuple[tuple[list[Row], Setting | None, str], ...] = (
        ([*rows, unknown], "answer_only", "1 ids that the edition does not test: 0000"),
        ([*rows, {**rows[3], "response": "x"}], "answer_only", f"repeat: {rows[3]['question_id']}"),
        ([{**row, "repeat": 1} for row in rows], "answer_only", "numbered 0, 1, 2"),
        (rows, None, "samples need sample_id"),
    )
    for given, setting, message in refused:
        with pytest.raises(InputError, match=message):
            folder.run(given, setting)
    assert read_bytes(folder.root, "**/*.[jp]*") == before


def test_files_of_one_revision_belong_together(folder: Folder) -> None:
    """A type without any row is no part of the evaluation."""
    mcq = [row for row in folder.answers if folder.types[row["question_id"]] == "MCQ"]
    others = [row for row in folder.answers if folder.types[row["question_id"]] != "MCQ"]
    first = folder.run(mcq, revision="1")
    assert first.report.missing == ()
    assert "therapeutic_drugs, MAQ, negated" in first.report.not_asked
    columns = "facet, is_negated, type, accuracy, accuracy_ci_low, n_points"
    (scores,) = folder.query(f"select {columns} from facet_accuracy")
    assert {row[2] for row in scores if row[0] is not None} == {"MCQ"}
    assert [row[3:] for row in scores if row[:2] == (None, None)] == [(None, None, 0)]
    second = folder.run(others, revision="1").evaluation
    assert second.model_id == first.evaluation.model_id
    assert set(folder.read_rows(second)["item_id"]) == set(folder.types)
    answered_otherwise = [{**row, "response": "?"} for row in mcq]
    assert folder.run(answered_otherwise, "chain_of_thought", revision="1").n_stored == len(mcq)
    before = read_bytes(folder.root, "**/*.[jp]*")
    with pytest.raises(InputError, match="other responses are stored under revision '1'"):
        folder.run(answered_otherwise[:1], revision="1")
    assert read_bytes(folder.root, "**/*.[jp]*") == before


def test_an_interrupted_import_is_completed_by_the_next(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tasks.evaluation.import_run.complete_run", crash)
        with pytest.raises(KeyboardInterrupt):
            folder.run(folder.answers)
    assert list(folder.root.rglob("run.json")) == []
    again = folder.run(folder.answers)
    assert again.n_stored == 0
    assert read_run(again.evaluation)["n_errors"] == 0


def test_imported_responses_without_one_are_scored_again_and_never_asked(folder: Folder) -> None:
    """Equal rows count once, and the missing id is reported."""
    *rows, missing = folder.answers
    rows[0] = {**rows[0], "response": ""}
    config = folder.configure(folder.write(rows))
    with pytest.raises(InputError, match="import-responses"):
        score_finished(plan_evaluation(config, folder.edition_id, "m", "answer_only"))
    imported = folder.run([*rows, rows[1]])
    report = imported.report
    assert report.missing == (missing["question_id"],)
    assert (report.n_responses, report.n_errors) == (len(rows), 0)
    assert missing["question_id"] in report.render()
    assert read_run(imported.evaluation)["n_errors"] == 1
    scoring = config.scoring.model_copy(update={"policies": ("excluded",)})
    again = config.model_copy(update={"scoring": scoring})
    evaluation = plan_evaluation(again, folder.edition_id, "m", "answer_only")
    score_finished(evaluation)
    for policy, n_unanswered in (("strict", 0), ("excluded", 1)):
        scored = folder.read_rows(evaluation).filter(scoring_policy=policy)
        assert scored.height == len(folder.answers)
        assert scored["is_correct"].null_count() == 1 + n_unanswered
        errors = scored.drop_nulls("error").select("item_id", "error").rows()
        assert errors == [(missing["question_id"], "missing in the imported file")]
    with pytest.raises(InputError, match="cannot be asked"):
        ask_missing(evaluation, write_requests(evaluation), Store(evaluation.storage), lambda _: None)


def test_the_command_imports_and_reports(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder.write(folder.answers[:-9])
    assert folder.command(path) == 1
    said = capsys.readouterr()
    assert folder.answers[-1]["question_id"] in said.out
    assert "max_error_rate" in said.err
    options = ["--max-error-rate", "0.5", "--policy", "strict", "--policy", "excluded"]
    assert folder.command(path, *options) == 0
    build_warehouse(folder.root)
    monkeypatch.setattr(in_process, "run_publish", lambda *_: "1 part was left out")
    assert folder.command(path, *options, publishes=True) == 1
    assert capsys.readouterr().err.endswith("\npretexeval: 1 part was left out\n")
    (record,) = (folder.root / "question_predictions").rglob("run.json")
    assert (read_record(record) or {})["scoring_policies"] == ["strict", "excluded"]
    assert folder.command(path, "--model", "no/name") == 2
    samples = folder.write([{"sample_id": "a", "response": "True"}])
    assert folder.command(samples, "--setting", "answer_only") == 2
    assert "--setting is only for questions" in capsys.readouterr().err
