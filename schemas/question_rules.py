"""Row rules of the stages of questions."""

import polars as pl

from schemas.edition_rules import Rule, is_constant_within
from schemas.question_stages import FACET_OF, LETTERS

_TYPE, _TEXT, _ANSWER, _OFFERED = (pl.col(name) for name in ("type", "text", "answer", "offered"))
_N_OPTIONS = pl.col("options").list.len()
_IS_RQ, _IS_TFQ = _TYPE == "RQ", _TYPE == "TFQ"
# The letters of the right options; TFQ have none.
_RIGHT = _ANSWER.str.split("|").list.last()
_ANSWER_OF = {"MCQ": "^[A-J]$", "RQ": r"^[TF]\|[A-J]$", "MAQ": "^[A-J](,[A-J])*$", "TFQ": "^[TF]$"}


def _fits_type() -> pl.Expr:
    return pl.any_horizontal(
        (name == _TYPE) & _ANSWER.str.contains(form) for name, form in _ANSWER_OF.items()
    )


def _is_an_option(letters: pl.Expr) -> pl.Expr:
    """Return whether the last of the sorted letters names an option."""
    positions = letters.str.tail(1).replace_strict(
        {letter: k for k, letter in enumerate(LETTERS)}, default=None, return_dtype=pl.Int64
    )
    return positions < _N_OPTIONS.cast(pl.Int64)


QUESTION_RULES: dict[str, tuple[Rule, ...]] = {
    "questions": (
        Rule("is_not_blank", "the text has visible characters", ("text",), _TEXT.str.contains(r"\S")),
        Rule(
            "facet_fits_type",
            "every type examines one facet",
            ("facet", "type"),
            pl.col("facet") == _TYPE.replace_strict(FACET_OF, default=None, return_dtype=pl.String),
        ),
        Rule("answer_fits_type", "the answer has the form of its type", ("answer", "type"), _fits_type()),
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
