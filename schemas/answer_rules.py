"""Row rules of the stage questions, and of the stages of an evaluation, from requests to predictions."""

import polars as pl

from schemas.edition_rules import SAMPLING_IS_JSON, Rule, is_constant_within
from schemas.question_stages import FACET_OF, LETTERS, TYPES

_HAS_ERROR = pl.col("error").is_not_null()
_HAS_NO_ANSWER = pl.col("prediction").is_null()
_IS_UNSURE = (pl.col("prediction") == "U").fill_null(value=False)
_IS_EXCLUDED = (pl.col("scoring_policy") == "excluded") & (_HAS_NO_ANSWER | _IS_UNSURE) | (
    _HAS_ERROR & _HAS_NO_ANSWER
)
_TYPE, _TEXT, _ANSWER, _OFFERED = (pl.col(name) for name in ("type", "text", "answer", "offered"))
_N_OPTIONS = pl.col("options").list.len()
_IS_RQ, _IS_TFQ = _TYPE == "RQ", _TYPE == "TFQ"
# The letters of the right options; TFQ have none.
_RIGHT = _ANSWER.str.split("|").list.last()
_ANSWER_OF = {"MCQ": "^[A-J]$", "RQ": r"^[TF]\|[A-J]$", "MAQ": "^[A-J](,[A-J])*$", "TFQ": "^[TF]$"}
_FITS_TYPE = pl.any_horizontal((name == _TYPE) & _ANSWER.str.contains(_ANSWER_OF[name]) for name in TYPES)


def _is_an_option(letters: pl.Expr) -> pl.Expr:
    """Return whether the last of the sorted letters names an option."""
    positions = letters.str.tail(1).replace_strict(
        {letter: k for k, letter in enumerate(LETTERS)}, default=None, return_dtype=pl.Int64
    )
    return positions < _N_OPTIONS.cast(pl.Int64)


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
    "questions": (
        Rule("is_not_blank", "the text has visible characters", ("text",), _TEXT.str.contains(r"\S")),
        Rule(
            "facet_fits_type",
            "every type examines one facet",
            ("facet", "type"),
            pl.col("facet") == _TYPE.replace_strict(FACET_OF, default=None, return_dtype=pl.String),
        ),
        Rule("answer_fits_type", "the answer has the form of its type", ("answer", "type"), _FITS_TYPE),
        Rule(
            "options_fit_type",
            "TFQ have no options, and all other questions have at least two",
            ("options", "type"),
            pl.when(_IS_TFQ).then(_N_OPTIONS == 0).otherwise(_N_OPTIONS >= 2),
        ),
        Rule(
            "answer_is_an_option",
            "the letters of the answer name options",
            ("answer", "options", "type"),
            _IS_TFQ | _is_an_option(_RIGHT),
        ),
        Rule(
            "offered_fits_type",
            "RQ, and only they, offer an option",
            ("offered", "options", "type"),
            pl.when(_IS_RQ).then(_is_an_option(_OFFERED).fill_null(False)).otherwise(_OFFERED.is_null()),
        ),
        Rule(
            "judgement_fits_offer",
            "the offered option is judged right if and only if it is the right one",
            ("answer", "offered", "type"),
            ~_IS_RQ | (_ANSWER.str.starts_with("T") == (_RIGHT == _OFFERED)),
        ),
        Rule(
            "letters_are_sorted",
            "the letters of an answer are sorted, without repeats",
            ("answer", "type"),
            (_TYPE != "MAQ") | (_ANSWER.str.split(",").list.unique().list.sort().list.join(",") == _ANSWER),
        ),
        Rule(
            "point_is_one",
            "all questions of a point have the same relation, head, pair and split",
            ("point_id", "relation", "head", "pair_id", "split"),
            is_constant_within(("relation", "head", "pair_id", "split"), ("point_id",)),
        ),
    ),
}
