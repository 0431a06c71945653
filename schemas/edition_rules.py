"""Row rules of an edition: triplets, variants, statements and samples."""

import polars as pl

from schemas.rules import Rule, is_as_most, is_same
from schemas.transformations import NAMES, POSITIVE_OF

N_TRANSFORMATIONS = len(NAMES)
# Line breaks of every kind among them; templates are cut at the first of them.
CONTROL_CHARACTERS = [chr(n) for n in (*range(0x20), 0x7F, 0x85, 0x2028, 0x2029)]
# Methods that word all eight variants of a triplet.
COMPLETE_METHODS = ("pretexeval", "prototype")
_PAIR = ("pair_id",)
_TRIPLET = ("triplet_id",)
_NEGATED = list(POSITIVE_OF)


def _judge_text(column: str) -> tuple[Rule, ...]:
    """Rules of a text that is shown to a model."""
    text = pl.col(column)
    return (
        Rule("is_not_blank", "there is something to read", (column,), text.str.contains(r"\S")),
        Rule(
            "is_one_line",
            "no line breaks or control characters",
            (column,),
            ~text.str.contains_any(CONTROL_CHARACTERS),
        ),
        Rule(
            "is_trimmed",
            "no white space at either end",
            (column,),
            text.str.strip_chars() == text,
        ),
        # Names may hold a slot's letters, two spaces or a last full stop; the authors' pool, read
        # as published, has templates with two spaces and some without a full stop.
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


def _judge_variants(within: tuple[str, ...], are_complete: pl.Expr) -> tuple[Rule, ...]:
    """Rules of the eight variants of a triplet.

    Args:
        within: a triplet has its variants once for each value of these columns.
        are_complete: the rows that have all eight.
    """
    group, pair = (*within, *_TRIPLET), (*within, *_PAIR)
    n_true = pl.col("label").sum().over(group)
    return (
        Rule(
            "triplet_has_all_transformations",
            "each of the eight exactly once",
            (*group, "transformation"),
            ~are_complete
            | (
                (pl.len().over(group) == N_TRANSFORMATIONS)
                & (pl.col("transformation").n_unique().over(group) == N_TRANSFORMATIONS)
            ),
        ),
        Rule(
            "triplet_has_four_true_four_false",
            "half of a triplet's labels are true",
            (*group, "label"),
            ~are_complete | ((n_true * 2 == N_TRANSFORMATIONS) & (pl.len().over(group) == N_TRANSFORMATIONS)),
        ),
        Rule(
            "label_flips_under_negation",
            "label XOR negated, the truth of the triplet, is the same for all of its rows",
            (*_TRIPLET, "transformation", "label"),
            is_as_most(pl.col("label") != pl.col("transformation").is_in(_NEGATED), _TRIPLET),
        ),
        Rule(
            "triplet_is_in_one_place",
            "all rows of a triplet have one pair, relation and split",
            (*_TRIPLET, "pair_id", "relation", "split"),
            is_same(("pair_id", "relation", "split"), _TRIPLET),
        ),
        Rule(
            "pair_has_two_triplets",
            "the positive and the negative one",
            (*pair, "triplet_id"),
            ~are_complete | (pl.col("triplet_id").n_unique().over(pair) == 2),
        ),
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
        is_same(("relation", "head", "head_id", "split"), _PAIR),
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

_STATEMENT_RULES = (
    *_judge_text("statement"),
    *_judge_variants((), pl.lit(True)),
    Rule(
        "prototype_is_one_per_cell",
        "a relation and transformation have one prototype",
        ("relation", "transformation", "prototype_id"),
        is_same(("prototype_id",), ("relation", "transformation")),
    ),
)

_IS_LLMEVAL = pl.col("method") == "llmeval"
_IS_COMPLETE = pl.col("method").is_in(list(COMPLETE_METHODS))
_SAMPLE_RULES = (
    *_judge_text("text"),
    *_judge_variants(("method",), _IS_COMPLETE),
    Rule(
        "direct_is_asked_once",
        "method direct has the one sample of transformation none",
        ("method", "triplet_id", "transformation"),
        (pl.col("method") != "direct")
        | ((pl.col("transformation") == "none") & (pl.len().over("method", "triplet_id") == 1)),
    ),
    Rule(
        "variant_fits_method",
        "variant_id and transformation are null for llmeval and for nothing else",
        ("method", "variant_id", "transformation"),
        (pl.col("variant_id").is_null() == _IS_LLMEVAL) & (pl.col("transformation").is_null() == _IS_LLMEVAL),
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

_VARIANT = ("variant_id",)
_IS_LAST = pl.col("attempt") == pl.col("attempt").max().over(_VARIANT)
_ATTEMPT_RULES = (
    Rule(
        "attempts_are_counted",
        "the attempts at a variant are numbered from 1, without a gap",
        (*_VARIANT, "attempt"),
        (pl.col("attempt").max().over(_VARIANT) == pl.len().over(_VARIANT))
        & (pl.col("attempt").min().over(_VARIANT) == 1),
    ),
    Rule(
        "reasons_fit_verdict",
        "what is rejected has a reason, and what is accepted has a text and none",
        ("is_accepted", "reasons", "text"),
        (pl.col("is_accepted") == (pl.col("reasons").list.len() == 0))
        & ~(pl.col("is_accepted") & pl.col("text").is_null()),
    ),
    Rule(
        "acceptance_ends_attempts",
        "nothing is tried after a rewording was accepted",
        (*_VARIANT, "attempt", "is_accepted"),
        _IS_LAST | ~pl.col("is_accepted"),
    ),
)

EDITION_RULES: dict[str, tuple[Rule, ...]] = {
    "triplets": _TRIPLET_RULES,
    "variants": _judge_variants((), pl.lit(True)),
    "statements": _STATEMENT_RULES,
    "attempts": _ATTEMPT_RULES,
    "samples": _SAMPLE_RULES,
}
