"""Row rules: what must hold within a row, or among the rows of a group, stage by stage.

Great Expectations has no words for most of them, so each is computed as a boolean column, which is then
expected to be true. Where a value that a rule needs is null the rule is silent: that is the not-null
expectation's to report.
"""

from dataclasses import dataclass

import polars as pl

from schemas import transformations

N_TRANSFORMATIONS = len(transformations.NAMES)
# Line breaks of every kind among them; the templates are cut at \x00.
CONTROL_CHARACTERS = r"[\x00-\x1f\x7f\x{85}\x{2028}\x{2029}]"
# Methods that word all eight variants of a triplet.
COMPLETE_METHODS = ("pretexeval", "prototype")


@dataclass(frozen=True)
class Rule:
    """A boolean expression that must be true of every row."""

    name: str
    meaning: str
    columns: tuple[str, ...]
    """What is shown, beside the key, of a row that breaks it."""
    holds: pl.Expr
    is_warning: bool = False
    """Reported, but real data can break it, so it stops nothing."""


def _is_same(columns: tuple[str, ...], group: tuple[str, ...]) -> pl.Expr:
    """Whether the group holds one value of each column."""
    return pl.all_horizontal(pl.col(c).n_unique().over(group) == 1 for c in columns)


def _find_faults(column: str) -> tuple[Rule, ...]:
    """Rules of a text that is shown to a model."""
    text = pl.col(column)
    return (
        Rule("is_not_blank", "there is something to read", (column,), text.str.contains(r"\S")),
        Rule(
            "is_one_line",
            "no line breaks or control characters",
            (column,),
            ~text.str.contains(CONTROL_CHARACTERS),
        ),
        Rule(
            "is_trimmed",
            "no white space at either end",
            (column,),
            ~text.str.contains(r"^\s|\s$"),
        ),
        # Names may hold a slot's letters, two spaces or a last full stop, and the authors' pool, which is
        # read as published, has templates with two spaces or without a full stop.
        Rule(
            "has_no_slot",
            "every slot is filled, unless a name holds [X] or [Y]",
            (column,),
            ~text.str.contains_any(["[X]", "[Y]"]),
            is_warning=True,
        ),
        Rule(
            "is_single_spaced",
            "no two spaces in a row, unless a name has them",
            (column,),
            ~text.str.contains("  ", literal=True),
            is_warning=True,
        ),
        Rule(
            "ends_in_one_full_stop",
            "a sentence, unless the template or a name at its end says otherwise",
            (column,),
            text.str.ends_with(".") & ~text.str.ends_with(".."),
            is_warning=True,
        ),
    )


_PAIR = ("pair_id",)
_TRIPLET = ("triplet_id",)
_METHOD_TRIPLET = ("method", "triplet_id")
_TRUTH = pl.col("label") != pl.col("transformation").is_in(list(transformations.POSITIVE_OF))


def _find_variant_faults(
    group: tuple[str, ...], holds_for: pl.Expr | None = None
) -> tuple[Rule, ...]:
    """Rules of the eight variants of a triplet; ``holds_for``: the rows that they are about."""
    exempt = pl.lit(False) if holds_for is None else ~holds_for
    n_true = pl.col("label").sum().over(group)
    return (
        Rule(
            "triplet_has_all_transformations",
            "each of the eight exactly once",
            (*_TRIPLET, "transformation"),
            exempt
            | (
                (pl.len().over(group) == N_TRANSFORMATIONS)
                & (pl.col("transformation").n_unique().over(group) == N_TRANSFORMATIONS)
            ),
        ),
        Rule(
            "triplet_has_four_true_four_false",
            "half of a triplet's labels are true",
            (*_TRIPLET, "label"),
            exempt
            | ((n_true * 2 == N_TRANSFORMATIONS) & (pl.len().over(group) == N_TRANSFORMATIONS)),
        ),
        _LABEL_FLIPS,
        Rule(
            "triplet_is_in_one_place",
            "all rows of a triplet have one pair, relation and split",
            (*_TRIPLET, "pair_id", "relation", "split"),
            _is_same(("pair_id", "relation", "split"), _TRIPLET),
        ),
        Rule(
            "pair_has_two_triplets",
            "the positive and the negative one",
            ("pair_id", *_TRIPLET),
            pl.col("triplet_id").n_unique().over(_PAIR) == 2,
        ),
    )


_LABEL_FLIPS = Rule(
    "label_flips_under_negation",
    "label XOR negated, which is the triplet's truth, is the same for all of its rows",
    (*_TRIPLET, "transformation", "label"),
    (_TRUTH == _TRUTH.drop_nulls().first().over(_TRIPLET)),
)

_TRIPLET_RULES = (
    Rule(
        "pair_is_one_positive_one_negative",
        "every pair is two rows, one of either truth",
        ("pair_id", "is_positive"),
        (pl.len().over(_PAIR) == 2) & (pl.col("is_positive").sum().over(_PAIR) == 1),
    ),
    Rule(
        "pair_shares_head",
        "both rows of a pair have one head, relation and split",
        ("pair_id", "relation", "head", "split"),
        _is_same(("relation", "head", "head_id", "split"), _PAIR),
    ),
    Rule(
        "pair_differs_in_tail",
        "the negative has another tail",
        ("pair_id", "tail"),
        ~pl.struct("pair_id", "tail").is_duplicated(),
    ),
    Rule(
        "relation_has_both_splits",
        "something to test, and demonstrations to ask it with",
        ("relation", "split"),
        pl.col("split").n_unique().over("relation") == 2,
    ),
)

_IS_LLMEVAL = pl.col("method") == "llmeval"
_IS_COMPLETE = pl.col("method").is_in(list(COMPLETE_METHODS))
_SAMPLE_RULES = (
    *_find_faults("text"),
    *_find_variant_faults(_METHOD_TRIPLET, _IS_COMPLETE),
    Rule(
        "direct_is_asked_once",
        "method direct has the one sample of transformation none",
        ("method", "triplet_id", "transformation"),
        (pl.col("method") != "direct")
        | ((pl.col("transformation") == "none") & (pl.len().over(_METHOD_TRIPLET) == 1)),
    ),
    Rule(
        "variant_fits_method",
        "variant_id and transformation are null for llmeval and for nothing else",
        ("method", "variant_id", "transformation"),
        (pl.col("variant_id").is_null() == _IS_LLMEVAL)
        & (pl.col("transformation").is_null() == _IS_LLMEVAL),
    ),
    Rule(
        "status_fits_attempts",
        "as_is exactly where nothing was tried",
        ("status", "attempts"),
        (pl.col("status") == "as_is") == (pl.col("attempts") == 0),
    ),
    Rule(
        "status_fits_reasons",
        "a fallback has reasons, and what was never gated has none",
        ("status", "reasons"),
        pl.when(pl.col("status") == "fallback")
        .then(pl.col("reasons").list.len() > 0)
        .when(pl.col("status") == "as_is")
        .then(pl.col("reasons").list.len() == 0)
        .otherwise(True),
    ),
    Rule(
        "text_has_one_label",
        "no text of a relation and split is both true and false",
        ("relation", "split", "text", "label"),
        pl.col("label").n_unique().over("text", "relation", "split") == 1,
        is_warning=True,
    ),
)

_HAS_ERROR = pl.col("error").is_not_null()
_IS_EXCLUDED = (pl.col("scoring_policy") == "excluded") & pl.col("prediction").is_null()
_LABEL_SEEN = pl.col("prediction") == pl.col("is_correct")

RULES: dict[str, tuple[Rule, ...]] = {
    "triplets": _TRIPLET_RULES,
    "variants": _find_variant_faults(_TRIPLET),
    "statements": (
        *_find_faults("statement"),
        *_find_variant_faults(_TRIPLET),
        Rule(
            "prototype_is_one_per_cell",
            "a relation and transformation have one prototype",
            ("relation", "transformation", "prototype_id"),
            _is_same(("prototype_id",), ("relation", "transformation")),
        ),
    ),
    "samples": _SAMPLE_RULES,
    "requests": (
        Rule(
            "sampling_is_json",
            "the sampling parameters are a JSON object",
            ("sampling",),
            pl.col("sampling").str.starts_with("{")
            & pl.col("sampling").str.json_path_match("$").is_not_null(),
        ),
        Rule(
            "prompt_is_one_per_sample",
            "all repeats of a sample have one prompt",
            ("sample_id", "prompt_key"),
            _is_same(("prompt_key",), ("sample_id",)),
        ),
    ),
    "responses": (
        Rule(
            "status_fits_response",
            "a response is there exactly where the status is ok",
            ("status", "response"),
            (pl.col("status") == "ok") == pl.col("response").is_not_null(),
        ),
        Rule(
            "status_fits_error",
            "a reason is there exactly where the status is error",
            ("status", "error"),
            (pl.col("status") == "error") == _HAS_ERROR,
        ),
    ),
    "predictions": (
        Rule(
            "is_correct_fits_policy",
            "is_correct is null exactly where the policy excludes a sample without an answer",
            ("scoring_policy", "prediction", "is_correct"),
            pl.col("is_correct").is_null() == _IS_EXCLUDED,
        ),
        Rule(
            "no_answer_is_wrong",
            "under the policy strict",
            ("scoring_policy", "prediction", "is_correct"),
            ~(
                (pl.col("scoring_policy") == "strict")
                & pl.col("prediction").is_null()
                & pl.col("is_correct")
            ),
        ),
        Rule(
            "sample_has_one_label",
            "all judgements of a sample agree on what is right",
            ("sample_id", "prediction", "is_correct"),
            _LABEL_SEEN == _LABEL_SEEN.drop_nulls().first().over("sample_id"),
        ),
    ),
}
