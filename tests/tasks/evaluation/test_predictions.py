from collections.abc import Sequence

import polars as pl
import pytest

from schemas.stages import PREDICTIONS, REQUESTS
from tasks.asking.reasoning import read_answers
from tasks.asking.thoughts import THINK_MARKS
from tasks.evaluation.predictions import Scoring, score_responses


def make_requests(*keys: str, labels: Sequence[bool] = ()) -> pl.DataFrame:
    """Return one request per prompt key, of the samples s0, s1, …; labels are true by default."""
    rows = [
        (f"s{i}", "m", key, 0, "r", 0, "completion", "{}", label)
        for i, (key, label) in enumerate(zip(keys, labels or [True] * len(keys), strict=True))
    ]
    return pl.DataFrame(rows, schema=REQUESTS.names, orient="row").with_columns(
        pl.col("repeat").cast(pl.Int16)
    )


def make_responses(**responses: str | None) -> pl.DataFrame:
    """Return the answers of responses under these prompt keys; without a response, the prompt has failed."""
    columns = dict.fromkeys(("prompt_key", "response", "error", "finish_reason"), pl.String)
    rows = [(key, text, "HTTP 400: no" if text is None else None, "stop") for key, text in responses.items()]
    frame = pl.DataFrame(rows, columns, orient="row").with_columns(pl.lit(0, pl.Int16).alias("repeat"))
    return read_answers(frame, THINK_MARKS, is_chat=False)


def score(responses: pl.DataFrame, *keys: str, labels: list[bool]) -> list[tuple[object, ...]]:
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
        (None, False, None, None),
        ("<think>Not false. </think>\nTrue", True, True, True),
    ],
)
def test_prediction_and_score_under_the_strict_policy(
    response: str | None, label: bool, prediction: bool | None, is_correct: bool | None
) -> None:
    rows = score(make_responses(k=response), "k", labels=[label])
    assert rows == [("s0", prediction, is_correct)]


def score_under(*policies: str, n: int = 400) -> pl.DataFrame:
    """Score n samples without an answer and one right answer under several policies; all labels are true."""
    keys = ["silence"] * n + ["answer"]
    responses = make_responses(silence="Hm.", answer="True")
    return score_responses(make_requests(*keys), responses, Scoring(policies))


def test_excluded_policy_does_not_grade_no_answer() -> None:
    frame = score_under("excluded", n=2)
    assert frame["is_correct"].to_list() == [None, None, True]
    assert frame["prediction"].to_list() == [None, None, True]


def test_coin_flip_policy_grades_no_answer_by_a_seeded_coin_but_keeps_the_prediction_null() -> None:
    frame = score_under("coin-flip")
    assert frame.equals(score_under("coin-flip"))
    silent = frame.filter(pl.col("prediction").is_null())
    assert silent.height == 400
    assert 150 < silent["is_correct"].sum() < 250
    assert frame["is_correct"].to_list()[-1] is True


def test_every_policy_has_rows_of_its_own() -> None:
    frame = score_under("strict", "excluded", n=1)
    assert frame.select("scoring_policy", "sample_id", "is_correct").rows() == [
        ("strict", "s0", False),
        ("strict", "s1", True),
        ("excluded", "s0", None),
        ("excluded", "s1", True),
    ]


def test_requests_keep_their_order_and_share_answers_of_the_same_prompt() -> None:
    responses = make_responses(b="False", unused="True", a="True")
    assert score(responses, "a", "b", "a", labels=[True, True, False]) == [
        ("s0", True, True),
        ("s1", False, False),
        ("s2", True, False),
    ]


def test_failed_prompt_is_graded_under_no_policy_and_keeps_its_error() -> None:
    policies = ("strict", "coin-flip", "excluded")
    responses = make_responses(failed=None, silence="Hm.")
    frame = score_responses(make_requests("failed", "silence", "unasked"), responses, Scoring(policies))
    failed, silent, unasked = (
        frame.filter(pl.col("sample_id") == sample_id) for sample_id in ("s0", "s1", "s2")
    )
    assert failed.select("prediction", "is_correct", "error").rows() == [(None, None, "HTTP 400: no")] * 3
    assert silent["is_correct"].null_count() == 1
    assert silent["error"].null_count() == 3
    assert unasked["is_correct"].null_count() == unasked.height - unasked["error"].null_count() == 3


def test_response_of_another_repeat_does_not_count() -> None:
    responses = make_responses(a="True").with_columns(pl.lit(1, pl.Int16).alias("repeat"))
    assert score(responses, "a", labels=[True]) == [("s0", None, None)]


def test_completion_is_read_up_to_its_first_line_and_chat_reply_entirely() -> None:
    responses = make_responses(k="\n\nHard to say.\nTrue")
    requests = make_requests("k")
    chat = requests.with_columns(prompt_style=pl.lit("chat"))
    assert score_responses(requests, responses)["prediction"].to_list() == [None]
    assert score_responses(chat, responses)["prediction"].to_list() == [True]


def test_unfinished_thought_is_no_answer_of_its_own_kind() -> None:
    answers = make_responses(a="<think>It is false", b="Hm.")
    frame = score_responses(make_requests("a", "b", "missing"), answers, Scoring(("strict", "excluded")))
    assert frame["prediction"].null_count() == 6
    assert frame["is_unfinished_reasoning"].to_list() == [True, None, None] * 2
