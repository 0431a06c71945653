"""The folders of an export: what they hold, that they appear whole, and how their code reads answers."""

import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import polars as pl
import pyarrow.parquet as pq
import pytest

from cli.main import main
from exports.bundle import bundle_modules
from exports.export import TARGETS, export_edition
from exports.rows import COLUMNS
from primitives.errors import InputError
from tasks.asking.answer_extraction import cut_completion, extract_answer
from tasks.asking.thoughts import remove_reasoning
from tests.support.data_folder import DataFolder
from tests.support.question_folder import Point, QuestionFolder
from tests.tasks.asking.test_answer_extraction import FALSE, NO_ANSWER, TRUE

EDITION = "starter-seed1-00000000"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two relations with three test pairs and five demonstrations each, by two methods."""
    folder = DataFolder(tmp_path / "data")
    for relation in ("may treat", "symptoms"):
        for n in range(8):
            split = "demonstration" if n < 5 else "test"
            folder.add_pair(relation, f"{relation} {n} é", f"right\u2028{n}", f"wrong {n}", split)
    folder.write_edition(EDITION, ("direct", "pretexeval"))
    return folder.root


def read_files(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read_lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def load_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("exported_functions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_samples_of_a_task_are_the_tested_ones_with_whole_pairs_together(
    root: Path, tmp_path: Path
) -> None:
    export_edition(root, EDITION, "inspect", tmp_path / "out")
    rows = read_lines(tmp_path / "out/pretexeval.jsonl")
    assert len(rows) == 2 * 3 * 2 * 8
    assert len(read_lines(tmp_path / "out/direct.jsonl")) == 2 * 3 * 2
    for start in range(0, len(rows), 16):
        assert len({row["pair_id"] for row in rows[start : start + 16]}) == 1
        assert len({row["triplet_id"] for row in rows[start : start + 8]}) == 1
        assert [row["is_positive"] for row in rows[start : start + 16]] == [True] * 8 + [False] * 8
    for row in rows:
        prompt = str(row["prompt"])
        assert prompt.count("Statement: ") == 6
        assert prompt.endswith(
            f'Statement: "{row["text"]}", is the statement above true or false? '
            "Please answer True or False.\nAnswer:"
        )
    assert json.loads((tmp_path / "out/export.json").read_text())["methods"] == ["pretexeval", "direct"]


def test_pairs_per_relation_chooses_the_same_pairs_as_an_evaluation(root: Path, tmp_path: Path) -> None:
    export_edition(root, EDITION, "inspect", tmp_path / "few", 2)
    export_edition(root, EDITION, "inspect", tmp_path / "fewer", 1)
    few, fewer = (
        {row["pair_id"] for row in read_lines(tmp_path / name / "direct.jsonl")} for name in ("few", "fewer")
    )
    assert (len(few), len(fewer)) == (4, 2)
    assert fewer < few


@pytest.mark.parametrize("target", TARGETS)
def test_an_export_has_the_same_bytes_and_replaces_nothing(root: Path, tmp_path: Path, target: str) -> None:
    for name in ("a", "b"):
        assert main(["export", EDITION, "--to", target, str(tmp_path / name), "--root", str(root)]) == 0
    assert read_files(tmp_path / "a") == read_files(tmp_path / "b")
    assert "Unknown" in (tmp_path / "a/README.md").read_text()
    # Python writes its cache beside a task that a tool has run.
    (tmp_path / "a/__pycache__").mkdir()
    (tmp_path / "a/__pycache__/task.pyc").write_bytes(b"")
    stamp = (tmp_path / "a/README.md").stat().st_mtime_ns
    export_edition(root, EDITION, target, tmp_path / "a")
    assert (tmp_path / "a/README.md").stat().st_mtime_ns == stamp
    with pytest.raises(InputError, match="holds other files, and nothing was written"):
        export_edition(root, EDITION, target, tmp_path / "a", 1)
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "data"]


def test_an_edition_that_is_not_there_or_damaged_leaves_no_folder(root: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'none' is not complete"):
        export_edition(root, "none", "inspect", tmp_path / "out")
    (root / "editions" / EDITION / "samples/symptoms.parquet").write_bytes(b"")
    with pytest.raises(InputError, match="was lost or changed"):
        export_edition(root, EDITION, "inspect", tmp_path / "out")
    assert os.listdir(tmp_path) == ["data"]


def test_the_parquet_file_has_every_sample_and_the_meaning_of_every_column(
    root: Path, tmp_path: Path
) -> None:
    export_edition(root, EDITION, "croissant", tmp_path / "out")
    path = tmp_path / "out/samples.parquet"
    meanings = {field.name: field.metadata[b"meaning"].decode() for field in pq.read_schema(path)}
    assert meanings == COLUMNS
    rows = pl.read_parquet(path)
    assert rows.height == 2 * 8 * 2 * 9
    assert rows["sample_id"].is_unique().all()
    assert set(rows.filter(pl.col("prompt").is_null())["split"]) == {"demonstration"}
    described = json.loads((tmp_path / "out/croissant.json").read_text())
    assert [field["name"] for field in described["recordSet"][0]["field"]] == list(COLUMNS)


def test_questions_are_exported_as_a_table(tmp_path: Path) -> None:
    folder = QuestionFolder(DataFolder(tmp_path / "data"))
    for k in range(8):
        folder.add_point(Point("symptoms", f"Disease {k}", split="demonstration" if k < 5 else "test"))
    folder.write_edition(EDITION)
    export_edition(folder.data.root, EDITION, "croissant", tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == ["README.md", "croissant.json", "questions.parquet"]
    rows = pl.read_parquet(tmp_path / "out/questions.parquet")
    assert rows["question_id"].sort().to_list() == sorted(
        row["question_id"] for row in folder.list_questions()
    )
    asked = rows.filter(split="test")
    assert asked["prompt"].null_count() == 0
    assert rows.filter(split="demonstration")["prompt"].null_count() == rows.height - asked.height
    for text, prompt in asked.select("text", "prompt").iter_rows():
        assert text in prompt.rpartition("Answer:")[0].rpartition("Answer:")[2]
    with pytest.raises(InputError, match="has no samples for inspect; questions are exported to parquet"):
        export_edition(folder.data.root, EDITION, "inspect", tmp_path / "task")


def test_an_exported_task_reads_answers_as_an_evaluation_does(root: Path, tmp_path: Path) -> None:
    export_edition(root, EDITION, "lm-eval", tmp_path / "out")
    exported = load_module(tmp_path / "out/functions.py")
    corpus = [text for text in (*TRUE, *FALSE, *NO_ANSWER) if text is not None]
    corpus += [f"<think>False</think>{text}" for text in TRUE] + [
        "<think>True",
        "\n\nFalse\nTrue",
        "no\nTrue",
    ]
    for text in corpus:
        answer = remove_reasoning(text)
        assert exported.read_prediction(text, "chat") is extract_answer(answer)
        assert exported.read_prediction(text, "completion") is extract_answer(cut_completion(answer))
    row = read_lines(tmp_path / "out/direct.jsonl")[0]
    graded = exported.process_chat(row, [str(row["target"])])
    assert exported.accuracy([graded["accuracy"]]) == 1
    assert graded["no_answer_rate"] is False


def test_two_modules_of_a_bundle_must_not_share_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("first_part", "second_part"):
        (tmp_path / f"{name}.py").write_text('"""D."""\nLIMIT = 1\n')
    with pytest.raises(ValueError, match="first_part and second_part both define LIMIT"):
        bundle_modules(["first_part", "second_part"])
    with pytest.raises(ValueError, match=r"tasks\.asking\.thoughts must be in the bundle"):
        bundle_modules(["tasks.asking.answer_extraction", "exports.answer_reading"])
