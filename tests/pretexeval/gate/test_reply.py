import pytest
from hypothesis import given
from hypothesis import strategies as st

from pretexeval.gate import clean_reply


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("  A treats B.\n", "A treats B."),
        ('"A treats B."', "A treats B."),
        ('"A treats B".', "A treats B."),
        ("“A treats B.”", "A treats B."),
        ("Statement: A treats B.", "A treats B."),
        ("Rephrased statement: A treats B..", "A treats B."),
        ('Rephrased statement: "A treats B. ."', "A treats B."),
        ('"A" treats "B"', '"A" treats "B"'),
        ("A treats B", "A treats B"),
        ("Here is one: A treats B.", "Here is one: A treats B."),
        ("A treats B...", "A treats B..."),
        ("A treats B. Note: C.", "A treats B. Note: C."),
        ("", ""),
        ('"', '"'),
    ],
)
def test_only_what_surrounds_the_statement_is_removed(reply: str, text: str) -> None:
    assert clean_reply(reply) == text


@given(st.text(max_size=40))
def test_cleaning_a_reply_twice_changes_nothing_more(reply: str) -> None:
    assert clean_reply(clean_reply(reply)) == clean_reply(reply)
