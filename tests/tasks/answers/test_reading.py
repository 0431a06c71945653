"""Reading never fails and takes linear time, whatever a model writes; votes count answers only."""

import csv
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.answers.reading import NOTHING, OTHER_QUESTION, Reading, read_answer, read_statement
from tests.support.examples import count_examples

# Replies of models, with their right reading: type, kind, expected (empty: no answer), reply.
REPLIES = Path(__file__).with_name("replies.csv")
CHOICES = ("Heparin", "Vitamin B12", "Metformin", "Lithium", "Sodium bicarbonate")
OPTIONS = ("Aspirin", "A pacemaker", "Increased cortisol", "Cortisol", 'Warfarin\n"')
TYPES = ("MCQ", "RQ", "MAQ", "TFQ")
WORDS = (
    *("answer is", "Answer:", "Question:", "not ", "correct", "incorrect", "Option ", "question 1 "),
    *("the last question ", "true", "or", "false"),
)
SIGNS = ("A", "B)", "C.", "(D)", "**", "\n", " ", "\\boxed{", '{"answer": ', "aspirin", "İ", "ß", "\0")
PIECES = st.sampled_from((*WORDS, *SIGNS, "increased cortisol"))
JOINED = st.tuples(st.lists(PIECES, max_size=40), st.sampled_from(("", " ")))
HOSTILE = st.one_of(st.text(), JOINED.map(lambda drawn: drawn[1].join(drawn[0])))


def read(question_type: str, response: str) -> Reading:
    options, offered = ((), None) if question_type == "TFQ" else (OPTIONS, "D")
    return read_answer(question_type, response, options, offered, "A man has a rash.")


@pytest.mark.parametrize("question_type", TYPES)
@given(response=HOSTILE)
@example(response="Question: question 1 aspirin and question 2 increased cortisol")
@settings(max_examples=count_examples(60))
def test_any_text_is_read_into_the_encoding_of_its_type(question_type: str, response: str) -> None:
    reading = read(question_type, response)
    assert (reading.answer is None) or (reading.fragment is None)
    assert (reading.rule is None) == (reading == NOTHING)
    if reading.answer is not None:
        letters = reading.answer.rpartition("|")[2].split(",")
        valid = set("TF") if question_type == "TFQ" else set("ABCDE")
        assert set(letters) <= valid
        assert letters == sorted(set(letters))
        assert len(letters) == 1 or question_type == "MAQ"
        assert (reading.answer[:2] in ("T|", "F|")) == (question_type == "RQ")


def test_replies_in_any_wrapping_are_read_by_what_they_say_of_the_item() -> None:
    with REPLIES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [
        row
        | {"expected": read_answer(row["type"], row["reply"], CHOICES, "A", "Which drug is it?").answer or ""}
        for row in rows
    ]
    assert found == rows


def test_the_statement_of_another_question_is_another_question() -> None:
    question = (
        'A man has anemia after a gastrectomy. Statement: "Vitamin B12 deficiency is the likely cause."'
    )
    quoted = (
        'The statement "Heparin prevents thrombosis in bedridden adults" is true.',
        'Statement: "Lithium treats bipolar disorder in young people." True',
    )
    found = {text: read_answer("TFQ", text, question=question) for text in quoted}
    assert found == dict.fromkeys(quoted, Reading(None, OTHER_QUESTION, "T"))
    own = 'The statement "Vitamin B12 deficiency is the likely cause" is false.'
    assert read_answer("TFQ", own, question=question).answer == "F"
    assert read_answer("TFQ", f"False. {quoted[0]}", question=question).answer == "F"


@given(texts=st.lists(st.text(max_size=12), min_size=1, max_size=10), response=st.text(max_size=200))
@settings(max_examples=count_examples(60))
def test_any_options_can_be_read(texts: list[str], response: str) -> None:
    for text in (response, " ".join(texts), f"The answer is {texts[-1]}"):
        reading = read_answer("MAQ", text, texts)
        assert set((reading.answer or "A").split(",")) <= set("ABCDEFGHIJ")


REPEATED = (
    *("A ", "A, ", "A:\n", "answer is ", "Answer: ", "Option A ", "(", " ", "\n", "Question:\n", "*"),
    *('"answer": ', "true or ", "aspirin is the ", "the most likely is aspirin ", "\\boxed{"),
    *("1. A: Aspirin\n", "1. The correct answer is A\n", "the first question. question 2: A. "),
    *("the answer is: true. D is false. ", "the best step is to give a ", "not ", "not the ", "an", "n't "),
    *(
        "a* ",
        "not" + " " * 99,
        '{"a": ',
        "{'answer': 'A', ",
        "[{",
        "A ✅ ",
        "I cannot say if ",
        "Options: A: x ",
    ),
    *(
        "\nno wait, ",
        "A. Aspirin: x\n",
        "→ A and ",
        "the statement 'a ",
        "although it sounds true, ",
        "A=T, ",
    ),
    *("\\text{", "<answer>", "1. True ", "all of them but ", "答案", "It is not true or ", "True, "),
)


@pytest.mark.parametrize("piece", REPEATED)
def test_reading_takes_linear_time(piece: str) -> None:
    # 20 kB take 0.01 to 0.1 s. Quadratic time would take 5 s and more.
    start = time.process_time()
    for question_type in TYPES:
        read(question_type, piece * (20_000 // len(piece)))
    read_statement(piece * (20_000 // len(piece)))
    assert time.process_time() - start < 2
