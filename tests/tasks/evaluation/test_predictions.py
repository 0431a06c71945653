from collections.abc import Sequence

import polars as pl
import pytest

from schemas.stages import PREDICTIONS, REQUESTS
from tasks.asking.answer_extraction import AnswerWords
from tasks.evaluation.predictions import Scoring, score_responses


def make_requests(*keys: str, labels: Sequence[bool] = ()) -> pl.DataFrame:
    """One request per prompt key, of the samples s0, s1, …; every label is true if none is given."""
    rows = [
        (f"s{i}", "m", key, 0, "r", 0, "completion", "{}", label)
        for i, (key, label) in enumerate(zip(keys, labels or [True] * len(keys), strict=True))
    ]
    return pl.DataFrame(rows, schema=REQUESTS.names, orient="row").with_columns(
        pl.col("repeat").cast(pl.Int16)
    )


def make_responses(**responses: str | None) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "prompt_key": list(responses),
            "repeat": [0] * len(responses),
            "response": list(responses.values()),
        },
        schema={"prompt_key": pl.String, "repeat": pl.Int16, "response": pl.String},
    )


def judge(responses: pl.DataFrame, *keys: str, labels: list[bool]) -> list[tuple[object, ...]]:
    frame = score_responses(make_requests(*keys, labels=labels), responses)
    assert frame.columns == PREDICTIONS.names
    assert set(frame["scoring_policy"]) == {"strict"}
    return frame.select("sample_id", "prediction", "is_correct").rows()


@pytest.mark.parametrize(
    ("response", "label", "prediction", "is_correct"),
    [
        (" True", True, True, True),
        (" True", False, True, False),
        (" False", False, False, True),
        (" False", True, False, False),
        ("not true", False, False, True),
        ("perhaps", True, None, False),
        ("perhaps", False, None, False),
        ("", True, None, False),
        (None, False, None, False),
    ],
)
def test_no_answer_is_wrong_and_never_null(
    response: str | None, label: bool, prediction: bool | None, is_correct: bool
) -> None:
    rows = judge(make_responses(k=response), "k", labels=[label])
    assert rows == [("s0", prediction, is_correct)]


def judge_under(*policies: str, n: int = 400) -> pl.DataFrame:
    """Silence on n samples, and one right answer, under several policies; every label is true."""
    keys = ["silence"] * n + ["answer"]
    responses = make_responses(silence="Hm.", answer="True")
    return score_responses(make_requests(*keys), responses, Scoring(policies))


def test_under_excluded_silence_is_not_graded() -> None:
    frame = judge_under("excluded", n=2)
    assert frame["is_correct"].to_list() == [None, None, True]
    assert frame["prediction"].to_list() == [None, None, True]


def test_under_coin_flip_a_seeded_coin_decides_and_silence_stays_silence() -> None:
    frame = judge_under("coin-flip")
    assert frame.equals(judge_under("coin-flip"))
    silent = frame.filter(pl.col("prediction").is_null())
    assert silent.height == 400
    assert 150 < silent["is_correct"].sum() < 250
    assert frame["is_correct"].to_list()[-1] is True


def test_policies_stand_side_by_side() -> None:
    frame = judge_under("strict", "excluded", n=1)
    assert frame.select("scoring_policy", "sample_id", "is_correct").rows() == [
        ("strict", "s0", False),
        ("strict", "s1", True),
        ("excluded", "s0", None),
        ("excluded", "s1", True),
    ]


def test_other_words_may_be_the_answer() -> None:
    scoring = Scoring(words=AnswerWords(("wahr", "ja doch"), ("falsch",)))
    responses = make_responses(a="Ja  doch, nicht falsch", b="True")
    frame = score_responses(make_requests("a", "b"), responses, scoring)
    assert frame["prediction"].to_list() == [True, None]


def test_requests_keep_their_order_and_share_an_answer_by_prompt() -> None:
    responses = make_responses(b="False", unused="True", a="True")
    assert judge(responses, "a", "b", "a", labels=[True, True, False]) == [
        ("s0", True, True),
        ("s1", False, False),
        ("s2", True, False),
    ]


def test_a_prompt_that_was_never_answered_has_no_answer() -> None:
    assert judge(make_responses(), "a", labels=[True]) == [("s0", None, False)]


def test_another_repeat_is_another_response() -> None:
    responses = make_responses(a="True").with_columns(pl.lit(1, pl.Int16).alias("repeat"))
    assert judge(responses, "a", labels=[True]) == [("s0", None, False)]


def test_a_completion_ends_at_its_first_line_and_a_chat_reply_does_not() -> None:
    responses = make_responses(k="\n\nHard to say.\nTrue")
    requests = make_requests("k")
    chat = requests.with_columns(prompt_style=pl.lit("chat"))
    assert score_responses(requests, responses)["prediction"].to_list() == [None]
    assert score_responses(chat, responses)["prediction"].to_list() == [True]
