"""Row rules of the stages of an evaluation: requests, responses and predictions."""

import polars as pl

from schemas.edition_rules import SAMPLING_IS_JSON, Rule, is_constant_within, is_majority_value

_HAS_ERROR = pl.col("error").is_not_null()
_IS_EXCLUDED = ((pl.col("scoring_policy") == "excluded") | _HAS_ERROR) & pl.col("prediction").is_null()
_IMPLIED_LABEL = pl.col("prediction") == pl.col("is_correct")

ANSWER_RULES: dict[str, tuple[Rule, ...]] = {
    "requests": (
        SAMPLING_IS_JSON,
        Rule(
            "prompt_is_one_per_sample",
            "all repeats of a sample have one prompt",
            ("sample_id", "prompt_key"),
            is_constant_within(("prompt_key",), ("sample_id",)),
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
    "predictions": (
        Rule(
            "is_correct_fits_policy",
            "is_correct is null if and only if the prompt failed or the policy excludes no answer",
            ("scoring_policy", "prediction", "is_correct", "error"),
            pl.col("is_correct").is_null() == _IS_EXCLUDED,
        ),
        Rule(
            "no_answer_is_wrong",
            "under the policy strict, a sample without an answer is wrong unless its prompt failed",
            ("scoring_policy", "prediction", "is_correct"),
            ~((pl.col("scoring_policy") == "strict") & pl.col("prediction").is_null() & pl.col("is_correct")),
        ),
        Rule(
            "failed_prompt_has_no_prediction",
            "a prompt that failed has no prediction",
            ("prediction", "error"),
            ~(_HAS_ERROR & pl.col("prediction").is_not_null()),
        ),
        Rule(
            "sample_has_one_label",
            "all predictions of a sample are graded by the same label",
            ("sample_id", "prediction", "is_correct"),
            is_majority_value(_IMPLIED_LABEL, ("sample_id",)),
        ),
    ),
}
