"""Questions of other types that are made of those of MedQA, with synonyms of their options."""

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pretexeval.knowledge.medqa import MedqaItem, SynonymTable, fold_option, read_synonyms
from schemas.expectations import count_unexpected, list_rules
from schemas.question_stages import QUESTIONS
from tasks.questions.medqa_points import (
    build_medqa_questions,
    find_closing,
    list_unturned,
    replace_options,
    turn_item,
)
from tests.support.command import REPOSITORY

OPTIONS = ("Gout", "Fever", "Mumps", "Asthma", "Scurvy")
SYNONYMS = SynonymTable({"fever": ("Febrile state", "High temperature", "Pyrexia", "fever!", "gout")})


def make_item(number: int, letter: str = "B") -> MedqaItem:
    question = f"A man of {number} sweats. Which of the following is the most likely diagnosis?"
    return MedqaItem(question, OPTIONS, letter, "step1", f"file, row {number}")


ITEMS = [make_item(number, "ABCDE"[number % 5]) for number in range(40)]


@pytest.fixture(scope="module")
def questions() -> pl.DataFrame:
    return build_medqa_questions(ITEMS, SYNONYMS, seed=1)


def test_a_point_has_nine_questions_with_their_facets(questions: pl.DataFrame) -> None:
    assert questions.columns == QUESTIONS.names
    assert not any(count_unexpected(list_rules(QUESTIONS), questions))
    counts = questions.group_by("facet", "type", "is_negated").len().sort("facet", "is_negated").rows()
    assert counts == [
        ("comparison", "MCQ", False, 40),
        ("discrimination", "MAQ", False, 40),
        ("discrimination", "MAQ", True, 40),
        ("rectification", "RQ", False, 80),
        ("verification", "TFQ", False, 80),
        ("verification", "TFQ", True, 80),
    ]
    assert questions["question_id"].n_unique() == questions.height
    assert questions["question_id"].str.len_chars().unique().to_list() == [16]
    assert questions["pair_id"].null_count() == questions.height
    # The answers of both multiple-answer questions divide the options.
    both = questions.filter(type="MAQ").group_by("point_id").agg("answer", "options")
    for row in both.iter_rows(named=True):
        first, second = (set(answer.split(",")) for answer in row["answer"])
        assert first | second == set("ABCDE")
        assert not first & second
        assert row["options"][0] == row["options"][1]


def test_answers_of_one_point() -> None:
    frame = build_medqa_questions([make_item(1)], SYNONYMS, seed=1)
    case = "A man of 1 sweats."
    rows = {(row["type"], row["answer"], row["is_negated"]): row for row in frame.iter_rows(named=True)}
    assert rows["MCQ", "B", False]["options"] == list(OPTIONS)
    assert rows["RQ", "T|B", False]["offered"] == "B"
    assert rows["RQ", "F|B", False]["offered"] in set("ACDE")
    assert rows["TFQ", "T", False]["text"] == f'{case}\nStatement: "Fever is the most likely diagnosis."'
    assert rows["TFQ", "F", True]["text"] == f'{case}\nStatement: "Fever is not the most likely diagnosis."'
    assert rows["TFQ", "F", False]["text"] != rows["TFQ", "T", False]["text"]
    (negated,) = (row for row in frame.iter_rows(named=True) if row["type"] == "MAQ" and row["is_negated"])
    assert negated["text"] == f"{case} Which of the following is not the most likely diagnosis?"


def test_right_options_are_the_answer_and_its_synonyms() -> None:
    seen = set()
    for number in range(60):
        options, right = replace_options(make_item(number), SYNONYMS.find("Fever"), "1", str(number))
        assert len({fold_option(option) for option in options}) == 5
        names = {option for letter, option in zip("ABCDE", options, strict=True) if letter in right}
        assert names <= {"Fever", "Febrile state", "High temperature", "Pyrexia"}
        assert "Fever" in names
        seen.add(len(right))
    assert seen == {1, 2, 3, 4}
    # One wrong option stays.
    item = replace(make_item(1), options=("Gout", "Fever"))
    assert replace_options(item, SYNONYMS.find("Fever"), "1", "x") == (["Gout", "Fever"], ["B"])


def test_questions_depend_on_the_seed_but_not_on_the_order_and_demonstrations_on_neither(
    questions: pl.DataFrame,
) -> None:
    shuffled = random.Random(3).sample(ITEMS, len(ITEMS))
    assert build_medqa_questions(shuffled, SYNONYMS, seed=1).equals(questions)
    other = build_medqa_questions(ITEMS, SYNONYMS, seed=2)
    assert set(other["point_id"]) == set(questions["point_id"])
    assert set(other["question_id"]) != set(questions["question_id"])
    assert set(questions["split"]) == {"demonstration", "test"}
    held_out = questions.filter(split="demonstration")
    assert held_out["point_id"].n_unique() == 5
    assert other.filter(split="demonstration").equals(held_out)


def test_items_that_cannot_be_turned_are_listed() -> None:
    how = replace(make_item(1), question="He sweats. How does it spread?")
    items = [how, make_item(2)]
    frame, left_out = build_medqa_questions(items, SYNONYMS, seed=1), list_unturned(items)
    assert frame["point_id"].n_unique() == 1
    assert [(one.where, one.what) for one in left_out] == [("file, row 1", "He sweats. How does it spread?")]


def test_the_text_after_the_closing_sentence_stays_after_it() -> None:
    item = replace(make_item(1), question="He sweats.\nWhat is the cause?\nNa+: 120")
    turned = turn_item(item)
    assert not isinstance(turned, str)
    assert turned.render_negated() == "He sweats.\nWhich of the following is not the cause?\nNa+: 120"
    assert turned.render_statement("B", False) == 'He sweats.\nNa+: 120\nStatement: "Fever is the cause."'


CLOSINGS = {
    "He coughs. What is the cause?": ("He coughs. ", "What is the cause", ""),
    "What is the cause?": ("", "What is the cause", ""),
    "Is he ill? Yes. What is the cause?": ("Is he ill? Yes. ", "What is the cause", ""),
    'She says, "Am I ill?" What  is it?': ('She says, "Am I ill?" ', "What is it", ""),
    "Na+: 140\nWhat is low?\nTable": ("Na+: 140\n", "What is low", "\nTable"),
    'He coughs. What is low?"\nAbstract': ("He coughs. ", "What is low", "\nAbstract"),
    "He coughs. It is due to which drug:": ("He coughs. ", "It is due to which drug", ""),
    "Values (pH 7.3) Which drug is it?": ("Values (pH 7.3) ", "Which drug is it", ""),
    "He coughs. Is he ill?": None,
    "He coughs.": None,
}


def test_the_last_sentence_that_asks_is_found() -> None:
    found = {question: find_closing(question) for question in CLOSINGS}
    parts = {key: asked and (asked.before, asked.sentence, asked.after) for key, asked in found.items()}
    assert parts == CLOSINGS


# CUI, language, SUPPRESS, name. Two concepts have the name "Cold".
CONCEPTS = """
C1 ENG N Myocardial infarction
C1 ENG N Heart attack
C1 ENG N HEART ATTACK
C1 ENG N Infarction, Myocardial
C1 ENG N Myocardial infarctions
C1 ENG N Myocardial infarction (disorder)
C1 ENG O MI - obsolete
C1 GER N Herzinfarkt
C2 ENG N Cold
C2 ENG N Common cold
C3 ENG N Cold
C3 ENG N Low temperature
C4 ENG N Aspirin
C4 ENG N Acetylsalicylic acid
C4 ENG N The "wonder" drug
"""


def write_rrf(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for line in CONCEPTS.strip().splitlines():
            cui, language, suppress, name = line.split(" ", 3)
            between = "P|L1|PF|S1|Y|A1||||MSH|PT|D1"
            file.write(f"{cui}|{language}|{between}|{name}|0|{suppress}||\n")


def test_synonyms_of_answers_are_read_from_umls(tmp_path: Path) -> None:
    write_rrf(tmp_path / "MRCONSO.RRF")
    medqa, synonyms = tmp_path / "test.jsonl", tmp_path / "synonyms.tsv"
    items = [
        {
            "question": "Which of the following is the most likely diagnosis?",
            "options": {"A": answer, **{letter: f"Option {letter}" for letter in "BCDE"}},
            "answer_idx": "A",
            "answer": answer,
            "meta_info": "step1",
        }
        for answer in ("Myocardial infarction", "Cold", "aspirin", "Another disease")
    ]
    medqa.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    command = [sys.executable, "examples/umls_synonyms.py", str(tmp_path), str(medqa), str(synonyms)]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    assert pl.read_csv(synonyms, separator="\t").rows() == [
        ("Myocardial infarction", "Heart attack", "C1"),
        ("aspirin", "Acetylsalicylic acid", "C4"),
        ("aspirin", 'The "wonder" drug', "C4"),
    ]
    # The table is one that a configuration can name.
    assert read_synonyms(synonyms).find("Myocardial infarction") == ("Heart attack",)
