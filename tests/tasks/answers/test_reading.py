"""Replies are read as they are meant. Reading never fails and takes linear time, whatever a model writes."""

import csv
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.answers.reading import NOTHING, OTHER_QUESTION, Reading, read_answer, read_statement
from tasks.answers.segments import cut_completion
from tasks.evaluation.subject import ANSWER_TEXTS
from tests.support.examples import count_examples

# Tables of replies with their right reading. An empty cell is no answer, or a rule that is not checked.
FOLDER = Path(__file__).parent
CHOICES = ("Heparin", "Vitamin B12", "Metformin", "Lithium", "Sodium bicarbonate")
DRUGS = ("Aspirin", "Atropine", "Clonidine", "Difficile toxin assay", 'Warfarin therapy\n"')
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


def read_table(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def list_traps(*kinds: str) -> list[str]:
    return [row["reply"] for row in read_table("traps.csv") if row["kind"] in kinds]


def test_replies_in_any_wrapping_are_read_by_what_they_say_of_the_item() -> None:
    rows = read_table("replies.csv")
    found = [
        row
        | {"expected": read_answer(row["type"], row["reply"], CHOICES, "A", "Which drug is it?").answer or ""}
        for row in rows
    ]
    assert found == rows


def test_each_trap_is_read_with_its_rule_or_as_a_fragment() -> None:
    """A reply that states half of a revision, or answers another question, is a fragment and no answer."""
    rows, found = read_table("traps.csv"), []
    for row in rows:
        options = () if row["type"].startswith("TF") else DRUGS
        reading = read_answer(row["type"], row["reply"], options, "D")
        said = {"answer": reading.answer or "", "fragment": reading.fragment or ""}
        found.append(row | said | ({"rule": reading.rule or ""} if row["rule"] else {}))
        assert (reading.rule is None) == (reading == NOTHING), row
    assert found == rows
    assert read_answer("MCQ", None, DRUGS) == NOTHING


def test_doubts_are_an_answer_only_to_a_question_that_offers_it() -> None:
    assert "U" not in {read_answer("TFQ", reply).answer for reply in list_traps("doubt")}


def test_early_stop_changes_no_answer() -> None:
    """The response ends with the first of the texts that is complete, as vLLM generates it."""
    changed = []
    # "True or False" is stopped after "True".
    for response in set(list_traps("statement")) - {"True or False", "true/false"}:
        for more in ("", " because", "\n\nStatement", ". No.", ", not true", "*", "ly", "_1", "1"):
            # "notrue." would be ended too, but "untrue" is the only word that ends so, and it is an answer.
            whole = response.replace("notrue", "nothing") + more
            ends = [whole.index(text) + len(text) for text in ANSWER_TEXTS if text in whole]
            stopped = whole[: min(ends, default=len(whole))]
            changed += [
                whole
                for cut in (str, cut_completion)
                if read_statement(cut(stopped)) is not read_statement(cut(whole))
            ]
    assert not changed


def test_completion_is_cut_after_its_first_line_with_text() -> None:
    texts = {
        None: None,
        "": "",
        " \n\n": "",
        " True": "True",
        "\n\n False\nStatement: another is True": "False",
        "maybe\nTrue": "maybe",
        "True\r\n\r\nAnswer: False": "True",
    }
    assert {response: cut_completion(response) for response in texts} == texts


def test_replies_are_read_as_answers_to_their_own_question_and_its_options() -> None:
    """The answer to another question is a fragment."""
    rows, found = read_table("replies_in_context.csv"), []
    for row in rows:
        options = tuple(filter(None, row["options"].split("|")))
        reading = read_answer(row["type"], row["reply"], options, row["offered"] or None, row["question"])
        found.append(row | {"answer": reading.answer or "", "fragment": reading.fragment or ""})
        is_half = row["type"] == "RQ" and reading.rule != OTHER_QUESTION
        assert is_half or (reading.rule == OTHER_QUESTION) == (row["fragment"] != ""), row
    assert found == rows


def test_a_question_that_cannot_be_read_is_refused() -> None:
    refused: dict[str, tuple[Any, ...]] = {
        "The question type 'FITB' is unknown": ("FITB", "A", OPTIONS),
        "needs the letter of the answer that it offers": ("RQ", "A", OPTIONS),
        "needs its options": ("MCQ", "A"),
    }
    for message, arguments in refused.items():
        with pytest.raises(ValueError, match=message):
            read_answer(*arguments)


@given(texts=st.lists(st.text(max_size=12), min_size=1, max_size=10), response=st.text(max_size=200))
@settings(max_examples=count_examples(60))
def test_any_options_can_be_read(texts: list[str], response: str) -> None:
    for text in (response, " ".join(texts), f"The answer is {texts[-1]}"):
        reading = read_answer("MAQ", text, texts)
        assert set((reading.answer or "A").split(",")) <= set("ABCDEFGHIJ")


@pytest.mark.parametrize("piece", [row["piece"] for row in read_table("repeated.csv")])
def test_reading_takes_linear_time(piece: str) -> None:
    # 10 kB take 0.005 to 0.05 s. Quadratic time would take 1.2 s and more.
    start = time.process_time()
    for question_type in TYPES:
        read(question_type, piece * (10_000 // len(piece)))
    read_statement(piece * (10_000 // len(piece)))
    assert time.process_time() - start < 1
