"""MedQA's questions: both formats, what is wrong in a row, and questions that are left out."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.knowledge.medqa import MedqaItem, read_medqa
from pretexeval.primitives.errors import InputError

QUESTION = "A man coughs. Which of the following is the most likely diagnosis?"
OPTIONS = ["Gout", "Asthma", "Mumps"]
KEYED = dict(zip("ABC", OPTIONS, strict=True))
ROW = {"question": QUESTION, "options": KEYED, "answer_idx": "B", "answer": "Asthma", "meta_info": "step1"}


def write_lines(folder: Path, *rows: object) -> Path:
    path = folder / "medqa.jsonl"
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_both_formats_give_the_same_item(tmp_path: Path) -> None:
    path = tmp_path / "medqa.parquet"
    row = {"question": QUESTION, "options": OPTIONS, "answer_letter": "B", "answer": "Asthma"}
    pl.DataFrame([row]).write_parquet(path)
    lines, table = read_medqa(write_lines(tmp_path, ROW)), read_medqa(path)
    expected = (QUESTION, tuple(OPTIONS), "B")
    assert lines.items == (MedqaItem(*expected, "step1", "medqa.jsonl, line 1"),)
    assert table.items == (MedqaItem(*expected, "", "medqa.parquet, row index 0"),)
    assert lines.items[0].answer == "Asthma"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"question": " "}, "the question is empty"),
        ({"options": {"A": "Gout"}}, "options must be 2 to 10 texts"),
        ({"options": ["Gout", " "]}, "an option is empty"),
        ({"options": {"A": "Gout", "C": "Mumps"}}, "options with the keys A, C: name them A, B, C"),
        ({"answer_idx": "D"}, "the answer's letter is 'D': write one of A, B, C"),
        ({"answer": "Gout"}, "the answer 'Gout' is not option B, 'Asthma': correct one of them"),
        ({"answer_idx": "A", "answer": "Gout"}, "asks what .*line 1 asks and answers differently"),
    ],
)
def test_wrong_values_name_file_line_and_remedy(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = write_lines(tmp_path, ROW, {**ROW, **change})
    with pytest.raises(InputError, match=rf"medqa\.jsonl, line 2:? .*{problem}|line 2 {problem}"):
        read_medqa(path)


def test_several_wrong_rows_are_counted(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_medqa(write_lines(tmp_path, "{", "[]", ROW, *(["{"] * 5)))
    message = str(caught.value).splitlines()
    assert message[0] == "7 wrong rows:"
    assert "line 2: is no JSON object" in message[2]
    assert message[-1] == "  and 2 more"


def test_repeated_questions_and_options_are_left_out_and_listed(tmp_path: Path) -> None:
    shuffled = {**ROW, "options": {"A": "asthma", "B": "Mumps", "C": "Gout"}, "answer_idx": "A"}
    twice = {**ROW, "question": "Why?", "options": {"A": "Gout", "B": "Asthma", "C": "asthma "}}
    source = read_medqa(write_lines(tmp_path, ROW, shuffled, twice))
    assert [item.place for item in source.items] == ["medqa.jsonl, line 1"]
    assert [(one.where, one.reason) for one in source.left_out] == [
        ("medqa.jsonl, line 2", "repeats medqa.jsonl, line 1"),
        ("medqa.jsonl, line 3", "two options have the same text"),
    ]
