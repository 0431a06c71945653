"""Recorded responses imported by id: as questions and as samples, from good and from broken files."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from commands.main import main
from pretexeval.config.file import Config
from pretexeval.config.questions import Setting
from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import read_record
from pretexeval.storage.store import Store
from tasks.asking.prompts import render_answer
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.import_run import ImportedRun, import_responses, match_rows
from tasks.evaluation.items import select_items
from tasks.evaluation.missing_answers import ask_missing
from tasks.evaluation.recorded_rows import NO_RESPONSE, RecordedRow, read_recorded_file
from tasks.evaluation.request_files import write_requests
from tasks.evaluation.run_record import read_run
from tasks.evaluation.scoring import score_again
from tests.support.command import write_base
from tests.support.small_bases import build_edition
from warehouse.loading import load_warehouse

RELATION = "therapeutic_drugs"
Row = dict[str, Any]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, str]:
    """An edition with samples and questions, in a folder that every test copies."""
    folder = tmp_path_factory.mktemp("built")
    rows = [(f"condition {i}", RELATION, f"drug {(i + k) % 17}") for i in range(21) for k in range(1 + i % 4)]
    config = Config.model_validate(
        {
            "knowledge": {
                "name": "own",
                "format": "table",
                "path": write_base(folder / "base.tsv", rows),
            },
            "edition": {"methods": ["direct"]},
            "questions": {"settings": ["answer_only"]},
            "storage": {"root": folder / "data"},
        }
    )
    edition = plan_edition(config)
    build_edition(edition)
    return config, edition.edition_id


@pytest.fixture
def folder(built: tuple[Config, str], tmp_path: Path) -> "Folder":
    config, edition_id = built
    shutil.copytree(config.storage.root, tmp_path / "data")
    return Folder(tmp_path, edition_id)


class Folder:
    """A data folder with one edition, and the files of responses beside it."""

    def __init__(self, path: Path, edition_id: str) -> None:
        self.path, self.edition_id, self.root = path, edition_id, path / "data"
        self._loaded: tuple[tuple[int, ...], duckdb.DuckDBPyConnection] | None = None

    def read_tested(self, stage: str) -> pl.DataFrame:
        rows = pl.concat(
            pl.read_parquet(p) for p in (self.root / "editions" / self.edition_id / stage).glob("*.parquet")
        )
        return rows.filter(split="test")

    def answer_questions(self, **fields: object) -> list[Row]:
        """The right answers to all questions, in words."""
        return [
            {"question_id": i, "response": render_answer(kind, answer), **fields}
            for i, kind, answer in self.read_tested("questions")
            .select("question_id", "type", "answer")
            .iter_rows()
        ]

    def write(self, rows: list[Row], name: str = "responses.jsonl") -> Path:
        path = self.path / name
        if path.suffix == ".parquet":
            pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
        else:
            path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return path

    def configure(self, path: Path, **model: object) -> Config:
        table = {"name": "m", "engine": "imported", "model": str(path), "prompt_style": "chat", **model}
        return Config.model_validate({"models": [table], "storage": {"root": self.root}})

    def run(self, path: Path, setting: Setting | None = "answer_only", **model: object) -> ImportedRun:
        config = self.configure(path, **model)
        return import_responses(config, read_recorded_file(path), self.edition_id, "m", setting)

    def read_files(self) -> Mapping[str, bytes]:
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and path.suffix != ".lock"
        }

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The result of a query; the warehouse is loaded again only if another evaluation was completed."""
        runs = tuple(path.stat().st_mtime_ns for path in sorted(self.root.rglob("run.json")))
        if self._loaded is None or self._loaded[0] != runs:
            connection = duckdb.connect()
            load_warehouse(connection, self.root)
            self._loaded = runs, connection
        return self._loaded[1].execute(sql).fetchall()


@pytest.mark.parametrize("name", ["responses.jsonl", "responses.parquet"])
def test_responses_to_questions_enter_the_warehouse(folder: Folder, name: str) -> None:
    imported = folder.run(folder.write(folder.answer_questions(), name))
    assert imported.report.n_responses == imported.n_stored == folder.read_tested("questions").height
    scores = folder.query("select facet, accuracy, no_answer_rate, error_rate from facet_accuracy")
    assert len(scores) == 15
    assert {row[1:] for row in scores} == {(1.0, 0.0, 0.0)}
    assert folder.query("select name, engine from models") == [("m", "imported")]
    ((prompt,),) = folder.query("select prompt from responses where response = 'True' limit 1")
    assert prompt.count("true or false?") == 1


def test_importing_twice_changes_nothing(folder: Folder) -> None:
    path = folder.write(folder.answer_questions())
    folder.run(path)
    before = folder.read_files()
    assert folder.run(path).n_stored == 0
    assert folder.read_files() == before


def test_responses_to_samples_are_imported(folder: Folder) -> None:
    samples = folder.read_tested("samples")
    rows = [
        {"sample_id": i, "response": str(label)} for i, label in samples["sample_id", "label"].iter_rows()
    ]
    rows[0]["response"] = "I do not know."
    imported = folder.run(folder.write(rows), None)
    assert imported.evaluation.folder.startswith("predictions/")
    ((n, n_right, n_none),) = folder.query(
        "select count(*), count(*) filter (is_correct), count(*) filter (prediction is null) from predictions"
    )
    assert (n, n_right, n_none) == (len(rows), len(rows) - 1, 1)


def test_responses_within_a_budget_are_imported(folder: Folder, tmp_path: Path) -> None:
    """The pairs that were not asked are not missing, and the asked ones stand for all of their relation."""
    samples = folder.read_tested("samples")
    n_pairs, n_asked = samples["pair_id"].n_unique(), 5
    kept = select_items(samples, n_asked, "pair_id")
    path = folder.write([{"sample_id": i, "response": "True"} for i in kept["sample_id"]])
    arguments = ["import-responses", str(path), "--edition", folder.edition_id, "--root", str(folder.root)]
    budget = str(n_asked * samples.height // n_pairs)
    assert main([*arguments, "--model", "m", "--no-publish", "--budget", budget]) == 0
    assert folder.query("select count(*), count(error) from predictions") == [(kept.height, 0)]
    weighed = folder.query(
        "select weighting, n_pairs, average_accuracy, error_rate from weighted_accuracy order by weighting"
    )
    accuracy = pytest.approx(kept["label"].mean())
    assert weighed == [(name, n_asked, accuracy, 0.0) for name in ("pairs", "relations")]
    questions = folder.write(folder.answer_questions(), "questions.jsonl")
    assert main(["import-responses", str(questions), *arguments[2:], "--model", "m", "--budget", budget]) == 2


def test_repeats_vote(folder: Folder) -> None:
    wrong = {"A": "B", "B": "A", "C": "A", "D": "A"}
    rows = [row | {"repeat": n} for n in (2, 0, 1) for row in folder.answer_questions()]
    for row in rows:
        if row["repeat"] == 1 and row["response"] in wrong:
            row["response"] = wrong[row["response"]]
    folder.run(folder.write(rows), "chain_of_thought")
    assert folder.query("select distinct is_correct from question_predictions") == [(True,)]
    assert folder.query("select distinct n_agreeing from question_predictions order by 1") == [(2,), (3,)]
    assert folder.query("select setting, n_repeats from runs") == [("chain_of_thought", 3)]


def test_unknown_repeated_and_missing_ids_are_reported_and_never_guessed(folder: Folder) -> None:
    rows = folder.answer_questions()
    ids = [row["question_id"] for row in rows]
    missing, same, different = rows.pop(0), dict(rows[0]), {**rows[1], "response": "another answer"}
    unknown = {"question_id": "0" * 16, "response": "A"}
    imported = folder.run(folder.write([*rows, same, different, unknown]))
    report = imported.report
    assert report.unknown == ("0" * 16,)
    assert report.missing == (missing["question_id"],)
    assert report.repeated == (same["question_id"],)
    assert report.contradictory == (different["question_id"],)
    assert (report.n_responses, report.n_errors) == (len(ids) - 2, 1)
    for ids_of_kind in (report.unknown, report.missing, report.repeated, report.contradictory):
        assert ids_of_kind[0] in report.render()
    failed = folder.query("select question_id, is_correct from question_predictions where error is not null")
    assert sorted(failed) == sorted([(missing["question_id"], None), (different["question_id"], None)])
    assert read_run(imported.evaluation)["n_errors"] == 2


def test_a_type_without_any_row_is_no_part_of_the_evaluation(folder: Folder) -> None:
    types = dict(folder.read_tested("questions").select("question_id", "type").iter_rows())
    rows = [row for row in folder.answer_questions() if types[row["question_id"]] == "MCQ"]
    imported = folder.run(folder.write(rows))
    assert imported.report.missing == ()
    assert f"{RELATION}, MAQ, negated" in imported.report.not_asked
    assert folder.query("select distinct type from facet_accuracy where facet is not null") == [("MCQ",)]
    columns = "accuracy, accuracy_ci_low, n_points"
    mean = folder.query(f"select {columns} from facet_accuracy where facet is null and is_negated is null")
    assert mean == [(None, None, 0)]


def test_files_of_another_edition_are_refused(folder: Folder) -> None:
    rows = folder.answer_questions()
    before = folder.read_files()
    changed = [{**row, "question_id": row["question_id"][::-1]} for row in rows[:9]] + rows[9:]
    with pytest.raises(InputError, match="9 ids that the edition does not test"):
        folder.run(folder.write(changed))
    with pytest.raises(InputError, match="9 ids with different rows"):
        folder.run(folder.write([*rows, *({**row, "response": "x"} for row in rows[:9])]))
    with pytest.raises(InputError, match="numbered 0, 1, 2"):
        folder.run(folder.write([{**row, "repeat": 1} for row in rows]))
    with pytest.raises(InputError, match="samples need sample_id"):
        folder.run(folder.write(rows), None)
    assert folder.read_files() == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: not a JSON object"),
        ('{"question_id": 7, "response": "A"}', "row 2: question_id is 7, not a text"),
        ('{"question_id": "b", "response": ["A"]}', "row 2: response is neither a text nor null"),
        ('{"question_id": "b", "repeat": -1, "response": "A"}', "row 2: repeat is -1"),
        ('{"question_id": "b", "repeat": true, "response": "A"}', "row 2: repeat is True"),
        ('{"sample_id": "b", "response": "A"}', "either question_id or sample_id"),
    ],
)
def test_broken_rows_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "responses.jsonl"
    path.write_text(f'{{"question_id": "a", "response": "A"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_recorded_file(path)


def test_rows_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    lines = [
        '{"question_id": "a", "response": "x\\u2028y \\ud800", "finish_reason": "stop", "other": 1}',
        "",
        '{"question_id": "b", "repeat": 1, "response": null}',
        '{"question_id": "c", "error": "timeout"}',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read_recorded_file(path).rows == [
        RecordedRow("a", 0, "x\u2028y \ufffd", finish_reason="stop"),
        RecordedRow("b", 1, error=NO_RESPONSE),
        RecordedRow("c", error="timeout"),
    ]


def test_files_that_are_neither_parquet_nor_json_lines_are_refused(tmp_path: Path) -> None:
    for name, message in (
        ("a.parquet", "not a Parquet file"),
        ("a.csv", "must end in"),
        ("b.jsonl", "no rows"),
    ):
        (tmp_path / name).write_text("", encoding="utf-8")
        with pytest.raises(InputError, match=message):
            read_recorded_file(tmp_path / name)


def test_a_third_row_of_a_contradiction_does_not_count_either() -> None:
    rows = [RecordedRow("a", response=text) for text in ("A", "B", "A")]
    found, report = match_rows(rows, {"a": ("MCQ",)})
    assert found["a", 0].response is None
    assert report.contradictory == ("a",)


def test_files_of_one_revision_belong_together(folder: Folder) -> None:
    types = dict(folder.read_tested("questions").select("question_id", "type").iter_rows())
    rows = folder.answer_questions()
    mcq = [row for row in rows if types[row["question_id"]] == "MCQ"]
    others = [row for row in rows if types[row["question_id"]] != "MCQ"]
    first = folder.run(folder.write(mcq, "mcq.jsonl"), revision="1")
    second = folder.run(folder.write(others, "others.jsonl"), revision="1")
    assert first.evaluation.model_id == second.evaluation.model_id
    assert folder.query("select count(distinct type) from facet_accuracy") == [(4,)]
    reasoned = folder.run(
        folder.write([{**row, "response": "?"} for row in mcq]), "chain_of_thought", revision="1"
    )
    assert reasoned.n_stored == len(mcq)
    before = folder.read_files()
    with pytest.raises(InputError, match="other responses are stored under revision '1'"):
        folder.run(folder.write([{**mcq[0], "response": "?"}]), revision="1")
    assert folder.read_files() == before


def test_an_interrupted_import_is_completed_by_the_next(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder.write(folder.answer_questions())

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tasks.evaluation.import_run.complete_run", crash)
        with pytest.raises(KeyboardInterrupt):
            folder.run(path)
    assert folder.query("select count(*) from runs") == [(0,)]
    assert folder.run(path).n_stored == 0
    assert folder.query("select count(*) from runs") == [(1,)]


def test_imported_responses_are_scored_again_and_never_asked(folder: Folder) -> None:
    rows = folder.answer_questions()
    rows[0]["response"] = ""
    missing = rows.pop()["question_id"]
    path = folder.write(rows)
    config = folder.configure(path)
    with pytest.raises(InputError, match="import-responses"):
        score_again(plan_evaluation(config, folder.edition_id, "m", "answer_only"))
    folder.run(path)
    again = config.model_copy(
        update={"scoring": config.scoring.model_copy(update={"policies": ("excluded",)})}
    )
    evaluation = plan_evaluation(again, folder.edition_id, "m", "answer_only")
    score_again(evaluation)
    counts = folder.query(
        "select scoring_policy, count(*), count(is_correct) from question_predictions group by 1 order by 1"
    )
    n = len(rows) + 1
    assert counts == [("excluded", n, n - 2), ("strict", n, n - 1)]
    with pytest.raises(InputError, match="cannot be asked"):
        ask_missing(evaluation, write_requests(evaluation), Store(evaluation.storage), lambda _: None)
    assert folder.query(f"select error from question_predictions where question_id = '{missing}'")[0] == (
        "missing in the imported file",
    )


def test_the_command_imports_and_reports(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    rows = folder.answer_questions()
    path = folder.write(rows[:-9])
    base = ["import-responses", str(path), "--edition", folder.edition_id, "--root", str(folder.root)]
    arguments = [*base, "--model", "m", "--no-publish"]
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert rows[-1]["question_id"] in said.out
    assert "max_error_rate" in said.err
    assert main([*arguments, "--max-error-rate", "0.5", "--policy", "strict", "--policy", "excluded"]) == 0
    ((record,),) = [list((folder.root / "question_predictions").rglob("run.json"))]
    assert (read_record(record) or {})["scoring_policies"] == ["strict", "excluded"]
    assert main([*base, "--model", "no/name", "--no-publish"]) == 2
    samples = folder.write([{"sample_id": "a", "response": "True"}])
    refused = ["import-responses", str(samples), *arguments[2:], "--setting", "answer_only"]
    assert main(refused) == 2
    assert "--setting is only for questions" in capsys.readouterr().err
