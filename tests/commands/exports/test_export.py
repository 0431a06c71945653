"""The folders of an export: what they hold, that they appear whole, and how their code reads and scores."""

import ast
import json
import math
import os
import runpy
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from commands.exports.export import export_edition
from commands.exports.grading import Grade, compute_accuracy, compute_joint_accuracy, compute_mastery
from commands.exports.tool_tasks import CODE, COPIED, bundle_modules
from commands.main import main
from commands.transfer import TARGETS
from pretexeval.engines.thoughts import split_reply
from pretexeval.primitives.errors import InputError
from tasks.answers.reading import read_answer, read_statement
from tasks.answers.segments import cut_completion
from tasks.asking.prompts import render_answer
from tests.support.command import read_bytes
from tests.support.data_folder import DataFolder
from tests.support.question_folder import Point, QuestionFolder
from tests.tasks.answers.test_reading import list_traps

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


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


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
    files = json.loads((tmp_path / "out/export.json").read_text())["files"]
    assert list(files) == ["pretexeval", "direct"]
    export_edition(root, EDITION, "inspect", tmp_path / "few", pairs_per_relation=2)
    few = read_lines(tmp_path / "few/pretexeval.jsonl")
    assert len(few) == 2 * 2 * 16
    assert [row for row in rows if row in few] == few
    assert "--pairs-per-relation 2" in (tmp_path / "few/README.md").read_text()


@pytest.mark.parametrize("target", TARGETS[:-1])
def test_an_export_has_the_same_bytes_and_replaces_nothing(root: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "b").mkdir()
    for name in ("a", "b"):
        assert main(["export", EDITION, "--to", target, str(tmp_path / name), "--root", str(root)]) == 0
    assert read_bytes(tmp_path / "a") == read_bytes(tmp_path / "b")
    before = read_bytes(tmp_path / "a")
    with pytest.raises(InputError, match="exists, and nothing was written"):
        export_edition(root, EDITION, target, tmp_path / "a", 1)
    assert read_bytes(tmp_path / "a") == before
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "data"]


def test_an_edition_that_is_not_there_or_damaged_leaves_no_folder(root: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no edition 'none'"):
        export_edition(root, "none", "inspect", tmp_path / "out")
    (root / "editions" / EDITION / "samples/symptoms.parquet").write_bytes(b"")
    with pytest.raises(InputError, match="was lost or changed"):
        export_edition(root, EDITION, "inspect", tmp_path / "out")
    assert os.listdir(tmp_path) == ["data"]


def test_the_parquet_file_has_every_sample_and_the_readme_every_column(root: Path, tmp_path: Path) -> None:
    export_edition(root, EDITION, "parquet", tmp_path / "out")
    rows = pl.read_parquet(tmp_path / "out/samples.parquet")
    readme = (tmp_path / "out/README.md").read_text()
    assert all(f"| `{column}` |" in readme for column in rows.columns)
    assert rows.height == 2 * 8 * 2 * 9
    assert rows["sample_id"].is_unique().all()
    assert set(rows.filter(pl.col("prompt").is_null())["split"]) == {"demonstration"}


@pytest.fixture
def questions(tmp_path: Path) -> QuestionFolder:
    """An edition with questions about eight points; two of the three tested ones lack a question."""
    folder = QuestionFolder(DataFolder(tmp_path / "data"))
    for k in range(8):
        split, left_out = "demonstration" if k < 5 else "test", ("negated MCQ",) if k in (5, 6) else ()
        folder.add_point(Point("symptoms", f"Disease {k}", split=split, left_out=left_out))
    folder.write_edition(EDITION)
    return folder


def test_questions_are_exported_as_a_table(questions: QuestionFolder, tmp_path: Path) -> None:
    export_edition(questions.data.root, EDITION, "parquet", tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == ["README.md", "questions.parquet"]
    rows = pl.read_parquet(tmp_path / "out/questions.parquet")
    assert sorted(rows["question_id"]) == sorted(row["question_id"] for row in questions.list_questions())
    asked = rows.filter(split="test")
    assert asked["prompt"].null_count() == 0
    assert rows.filter(split="demonstration")["prompt"].null_count() == rows.height - asked.height
    for text, prompt in asked.select("text", "prompt").iter_rows():
        assert text in prompt.rpartition("Answer:")[0].rpartition("Answer:")[2]


def test_questions_are_exported_as_tasks(questions: QuestionFolder, tmp_path: Path) -> None:
    answers = {row["question_id"]: row["answer"] for row in questions.list_questions()}
    tasks = {
        "inspect": ["task.py", "words.toml"],
        "lm-eval": ["functions.py", "questions_chat.yaml", "questions_completion.yaml", "words.toml"],
    }
    for target, code in tasks.items():
        folder = tmp_path / target
        export_edition(questions.data.root, EDITION, target, folder, 2)
        assert sorted(os.listdir(folder)) == sorted(["README.md", "export.json", "questions.jsonl", *code])
        rows = read_lines(folder / "questions.jsonl")
        for row in rows:
            assert row["target"] == answers[row["question_id"]]
            assert str(row["text"]) in str(row["prompt"])
        # The questions of a point follow each other.
        points = [row["point_id"] for row in rows]
        assert len(set(points)) == 2
        assert points == sorted(points)
        assert {row["n_in_point"] for row in rows} == {10}
        readme = (folder / "README.md").read_text()
        assert all(name in readme for name in (f"{len(rows)} questions", "32 tokens per", "`n_in_point`"))
        assert "samples by the method" not in readme


def test_an_exported_task_reads_answers_to_questions_as_an_evaluation_does(
    questions: QuestionFolder, tmp_path: Path
) -> None:
    export_edition(questions.data.root, EDITION, "lm-eval", tmp_path / "out")
    exported = SimpleNamespace(**runpy.run_path(str(tmp_path / "out/functions.py")))
    corpus = list_traps("revision", "truth", "letter", "letters")
    corpus += ["", "<think>A</think>B", "True\nFalse", "\nA, C\nB"]
    for row in read_lines(tmp_path / "out/questions.jsonl")[:10]:
        kind, options, offered, text = (row[name] for name in ("type", "options", "offered", "text"))
        for response in corpus:
            answer = split_reply(response).answer
            for style, said in (("chat", answer), ("completion", cut_completion(answer))):
                found = exported.read_row(response, row, style)
                assert found == read_answer(kind, said, options, offered, text).answer
        graded = exported.process_chat(row, [render_answer(kind, str(row["target"]))])
        assert graded.keys() == {"no_answer_rate", "accuracy", f"accuracy_{kind}", "mastered_points"}
        assert exported.accuracy([graded["accuracy"]]) == 1
        assert graded["no_answer_rate"] is False
    outcomes = ((1, True), (1, True), (2, True), (2, False))
    items = [(f"point {k}", f"point {k}", 2, is_right) for k, is_right in outcomes]
    assert exported.mastered_points(items) == 0.5


def test_an_exported_task_reads_answers_as_an_evaluation_does(root: Path, tmp_path: Path) -> None:
    export_edition(root, EDITION, "lm-eval", tmp_path / "out")
    exported = SimpleNamespace(**runpy.run_path(str(tmp_path / "out/functions.py")))
    row = read_lines(tmp_path / "out/direct.jsonl")[0]
    corpus = list_traps("statement")
    corpus += ["<think>True", "\n\nFalse\nTrue", "no\nTrue"]
    corpus += [f"<think>False</think>{text}" for text in corpus]
    for text in corpus:
        answer = split_reply(text).answer
        for style, said in (("chat", answer), ("completion", cut_completion(answer))):
            expected = read_statement(said)
            assert exported.read_row(text, row, style) == (None if expected is None else str(expected))
    graded = exported.process_chat(row, [str(row["target"])])
    assert exported.accuracy([graded["accuracy"]]) == 1
    assert graded["no_answer_rate"] is False


def test_the_code_of_a_task_is_whole_and_defines_each_name_once() -> None:
    """A second definition of a name would replace the one of another module."""
    for _, module in CODE.values():
        tree = ast.parse(bundle_modules((*COPIED, module)))
        defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        targets = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
        targets += [[node.target] for node in tree.body if isinstance(node, ast.AnnAssign)]
        defined += [
            part.id
            for names in targets
            for name in names
            for part in ast.walk(name)
            if isinstance(part, ast.Name)
        ]
        assert len(defined) > 100
        assert [name for name, n in Counter(defined).items() if n > 1] == []
    with pytest.raises(ValueError, match=r"tasks\.answers\.reading must be in the bundle"):
        bundle_modules(["tasks.answers.unwrapping", "commands.exports.grading"])


def grade(*pairs: tuple[str, str]) -> list[Grade]:
    """Return the samples of pairs of triplets with two samples each: R right, W wrong, - missing."""
    return [
        (f"p{number}", f"t{number}{side}", 2, grade == "R")
        for number, pair in enumerate(pairs)
        for side, grades in enumerate(pair)
        for grade in grades
        if grade != "-"
    ]


PAIRS = grade(("RR", "RR"), ("RR", "RW"), ("WW", "RW"), ("RR", "R-"), ("WR", "WW"))


def test_scores_count_complete_triplets_and_pairs() -> None:
    assert compute_accuracy(PAIRS) == 12 / 19
    assert compute_joint_accuracy(PAIRS) == 4 / 9
    assert compute_mastery(PAIRS) == 1 / 4
    assert math.isnan(compute_mastery(grade(("R-", "RR"))))
    assert math.isnan(compute_accuracy([]))
