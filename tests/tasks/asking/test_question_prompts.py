import pytest

from tasks.answers.reading import read_answer
from tasks.asking.prompts import AnsweredQuestion, AskedQuestion, render_answer

OPTIONS = ("Fever", "Itch", "Rash\n", "Cough")


def test_choice_shows_its_options_on_lines_of_their_own() -> None:
    asked = AskedQuestion("MCQ", "Which is a sign of [X]?", OPTIONS)
    assert asked.render() == (
        "Question: Which is a sign of [X]?\nA: Fever\nB: Itch\nC: Rash\nD: Cough\n"
        "Please answer with the letter of the correct option.\nAnswer:"
    )


def test_revision_names_the_offered_option() -> None:
    assert "Proposed answer: C\n" in AskedQuestion("RQ", "Which?", OPTIONS, "C").render()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Gout is rare.", 'Statement: "Gout is rare.", is the statement above true or false?'),
        ('He sweats.\nStatement: "It is gout."', 'He sweats.\nStatement: "It is gout.", is the statement'),
    ],
)
def test_statement_is_asked_as_in_the_first_method(text: str, shown: str) -> None:
    assert AskedQuestion("TFQ", text).render().startswith(shown)


def test_demonstration_reasons_before_its_answer() -> None:
    shown = AnsweredQuestion(AskedQuestion("MAQ", "Which?", OPTIONS), "A,D", "Both are signs.").render()
    assert shown.endswith("\nLet's think step by step. Both are signs. Therefore, the answer is: A, D")


@pytest.mark.parametrize(
    ("kind", "answer"), [("MCQ", "B"), ("MAQ", "A,D"), ("TFQ", "F"), ("RQ", "T|C"), ("RQ", "F|A")]
)
def test_answers_of_demonstrations_are_read_as_they_are_meant(kind: str, answer: str) -> None:
    """A model that imitates the demonstrations must be understood."""
    options = () if kind == "TFQ" else OPTIONS
    said = " " + render_answer(kind, answer)
    reasoned = f" Fever is one. Itch is not. Therefore, the answer is:{said}"
    for response in (said, reasoned):
        assert read_answer(kind, response, options, "C" if kind == "RQ" else None).answer == answer
