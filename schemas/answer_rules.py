"""Row rules of the stages of an evaluation: requests, responses, readings and predictions."""

import polars as pl

from schemas.edition_rules import SAMPLING_IS_JSON, Rule, is_constant_within

_HAS_ERROR = pl.col("error").is_not_null()
_HAS_NO_ANSWER = pl.col("prediction").is_null()
_IS_UNSURE = (pl.col("prediction") == "U").fill_null(value=False)
_IS_EXCLUDED = (pl.col("scoring_policy") == "excluded") & (_HAS_NO_ANSWER | _IS_UNSURE) | (
    _HAS_ERROR & _HAS_NO_ANSWER
)

ANSWER_RULES: dict[str, tuple[Rule, ...]] = {
    "requests": (
        SAMPLING_IS_JSON,
        Rule(
            "prompt_is_one_per_item",
            "all repeats of an item have one prompt",
            ("item_id", "prompt_key"),
            is_constant_within(("prompt_key",), ("item_id",)),
        ),
    ),
    "responses": (
        Rule(
            "status_fits_response",
            "there is a response if and only if the status is ok",
            ("status", "response"),
            (pl.col("status") == "ok") == pl.col("response").is_not_null(),
        ),
        Rule(
            "status_fits_error",
            "there is an error message if and only if the status is error",
            ("status", "error"),
            (pl.col("status") == "error") == _HAS_ERROR,
        ),
    ),
    "readings": (
        Rule(
            "rule_fits_answer",
            "if there is an answer, there is the rule that found it",
            ("answer", "rule"),
            pl.col("answer").is_null() | pl.col("rule").is_not_null(),
        ),
        Rule(
            "failed_prompt_has_no_answer",
            "a prompt that failed has no answer",
            ("answer", "error"),
            ~(_HAS_ERROR & pl.col("answer").is_not_null()),
        ),
    ),
    "predictions": (
        Rule(
            "is_correct_fits_policy",
            "is_correct is null if and only if every prompt failed or the policy excludes what was said",
            ("scoring_policy", "prediction", "is_correct", "error"),
            pl.col("is_correct").is_null() == _IS_EXCLUDED,
        ),
        Rule(
            "no_answer_is_wrong",
            "under the policy strict, an item without an answer is wrong unless every prompt failed",
            ("scoring_policy", "prediction", "is_correct"),
            ~((pl.col("scoring_policy") == "strict") & _HAS_NO_ANSWER & pl.col("is_correct")),
        ),
        Rule(
            "unsure_is_never_right",
            "the answer Unsure is wrong, or not graded",
            ("prediction", "is_correct"),
            ~(_IS_UNSURE & pl.col("is_correct").fill_null(value=False)),
        ),
        Rule(
            "failed_prompt_has_no_prediction",
            "an item whose prompts all failed has no prediction",
            ("prediction", "error"),
            _HAS_NO_ANSWER | ~_HAS_ERROR,
        ),
        Rule(
            "answer_has_one_grade",
            "the same answer to an item, except Unsure, is right in all rows, or wrong in all",
            ("item_id", "prediction", "is_correct"),
            _HAS_NO_ANSWER | _IS_UNSURE | is_constant_within(("is_correct",), ("item_id", "prediction")),
        ),
        Rule(
            "votes_fit_prediction",
            "there is a prediction if and only if a repeat has an answer; it has at least one vote",
            ("prediction", "n_answers", "n_agreeing"),
            ((pl.col("n_answers") == 0) == _HAS_NO_ANSWER)
            & ((pl.col("n_agreeing") == 0) == _HAS_NO_ANSWER)
            & (pl.col("n_agreeing") <= pl.col("n_answers")),
        ),
    ),
}
