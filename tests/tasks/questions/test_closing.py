import pytest

from tasks.questions.closing import find_closing


@pytest.mark.parametrize(
    ("question", "before", "sentence", "after"),
    [
        ("He coughs. What is the cause?", "He coughs. ", "What is the cause", ""),
        ("What is the cause?", "", "What is the cause", ""),
        ("Is he ill? Yes. What is the cause?", "Is he ill? Yes. ", "What is the cause", ""),
        ('She says, "Am I ill?" What  is it?', 'She says, "Am I ill?" ', "What is it", ""),
        ("Na+: 140\nWhat is low?\nTable", "Na+: 140\n", "What is low", "\nTable"),
        ('He coughs. What is low?"\nAbstract', "He coughs. ", "What is low", "\nAbstract"),
        ("He coughs. It is due to which drug:", "He coughs. ", "It is due to which drug", ""),
        ("Values (pH 7.3) Which drug is it?", "Values (pH 7.3) ", "Which drug is it", ""),
    ],
)
def test_the_last_sentence_that_asks_is_found(question: str, before: str, sentence: str, after: str) -> None:
    asked = find_closing(question)
    assert asked is not None
    assert (asked.before, asked.sentence, asked.after) == (before, sentence, after)


def test_the_case_is_the_text_around_the_sentence() -> None:
    asked = find_closing("He coughs.\n\nWhat is low?\nNa+: 120")
    assert asked is not None
    assert asked.case == "He coughs.\nNa+: 120"


def test_a_text_that_asks_nothing_has_no_closing_sentence() -> None:
    assert find_closing("He coughs. Is he ill?") is None
    assert find_closing("He coughs.") is None
