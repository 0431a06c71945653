"""Questions of other types and sentences that are made of those of MedQA, with synonyms of their options."""

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
from tasks.questions.clauses import Clause, parse_clause
from tasks.questions.medqa_points import (
    build_medqa_questions,
    find_closing,
    list_unturned,
    replace_options,
    turn_item,
)
from tasks.questions.option_forms import Form, find_form, find_forms, make_singular
from tasks.questions.statements import ask, find_option_forms, state
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
    # The wrong option of a statement is drawn apart from the one that a revision offers.
    wrong = questions.filter(pl.col("answer").str.starts_with("F"), is_negated=False)
    stated, offered = (wrong.filter(type=name).sort("point_id") for name in ("TFQ", "RQ"))
    named = [OPTIONS["ABCDE".index(letter)] for letter in offered["offered"]]
    assert 0 < sum(map(str.__contains__, stated["text"], named)) < 40
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


def test_synonyms_of_answers_are_read_from_umls(tmp_path: Path) -> None:
    """Two concepts of the table have the name "Cold"."""
    folder, synonyms = Path(__file__).with_name("umls"), tmp_path / "synonyms.tsv"
    paths = [str(path) for path in (folder, folder / "test.jsonl", synonyms)]
    command = [sys.executable, "examples/umls_synonyms.py", *paths]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    assert pl.read_csv(synonyms, separator="\t").rows() == [
        ("Myocardial infarction", "Heart attack", "C1"),
        ("aspirin", "Acetylsalicylic acid", "C4"),
        ("aspirin", 'The "wonder" drug', "C4"),
    ]
    # The table is one that a configuration can name.
    assert read_synonyms(synonyms).find("Myocardial infarction") == ("Heart attack",)


# One case a line: what is made of a sentence, of an option, or of both.
TABLE = pl.read_csv(Path(__file__).with_name("statements.tsv"), separator="\t", quote_char=None)


def read_cases(kind: str, *columns: str) -> list[tuple[str, ...]]:
    cases = TABLE.filter(kind=kind).select(*columns).rows()
    assert cases
    return cases


def parse(sentence: str) -> Clause:
    clause = parse_clause(sentence)
    assert isinstance(clause, Clause), clause
    return clause


def state_both(sentence: str, option: str) -> tuple[str, str]:
    clause = parse(sentence)
    (form,) = find_option_forms(clause, [option])
    return state(clause, option, form, is_negated=False), state(clause, option, form, is_negated=True)


def test_negated_question() -> None:
    table = read_cases("negated", "sentence", "expected")
    assert [(sentence, ask(parse(sentence), is_negated=True)) for sentence, _ in table] == table
    # A question that is not negated keeps its words.
    sentence = "If he smokes, which of the following nerves is most likely hurt"
    assert ask(parse(sentence), is_negated=False) == f"{sentence}?"


def test_statement_and_its_contradictory() -> None:
    table = read_cases("stated", "sentence", "option", "expected", "negated")
    assert [(*case, *state_both(*case)) for case in (row[:2] for row in table)] == table


def test_what_cannot_be_turned_has_a_reason() -> None:
    for sentence, reason in read_cases("not turned", "sentence", "expected"):
        assert reason in str(parse_clause(sentence)), sentence


def test_form_and_singular_of_an_option() -> None:
    forms, singulars = (read_cases(kind, "option", "expected") for kind in ("form", "singular"))
    assert [(option, find_form(option).name) for option, _ in forms] == forms
    assert [(noun, make_singular(noun)) for noun, _ in singulars] == singulars


def test_options_are_parallel() -> None:
    options = ["It is harmless", "It is painful", "Gout spreads quickly"]
    assert find_forms(options, are_sentences_likely=False) == [Form.SENTENCE] * 3
    one = ["Gout", "It is harmless"]
    assert find_forms(one, are_sentences_likely=False) == [Form.SINGULAR, Form.SENTENCE]
    assert find_forms(one, are_sentences_likely=True) == [Form.SENTENCE] * 2
