"""Row rules of the stages of an edition: triplets, variants, statements, attempts and samples."""

from dataclasses import dataclass

import polars as pl

from schemas.stages import GATE_OFF, SINGLE_METHODS
from schemas.transformations import NAMES, POSITIVE_OF


@dataclass(frozen=True)
class Rule:
    """A boolean expression that must be true of every row."""

    name: str
    meaning: str
    columns: tuple[str, ...]
    """The columns to show, beside the key, of a row that breaks the rule."""
    holds: pl.Expr
    is_warning: bool = False
    """True if a broken rule is only reported. Real data can break such a rule, so the run goes on."""


SAMPLING_IS_JSON = Rule(
    "sampling_is_json",
    "the sampling parameters are a JSON object",
    ("sampling",),
    pl.col("sampling").str.starts_with("{") & pl.col("sampling").str.json_path_match("$").is_not_null(),
)


def is_constant_within(columns: tuple[str, ...], group: tuple[str, ...]) -> pl.Expr:
    """Return whether each column has a single value in the group. Null counts as a value."""
    return pl.all_horizontal(pl.col(c).n_unique().over(group) == 1 for c in columns)


N_TRANSFORMATIONS = len(NAMES)
# These include line breaks of every kind.
CONTROL_CHARACTERS = [chr(n) for n in (*range(0x20), 0x7F, 0x85, 0x2028, 0x2029)]
_PAIR = ("pair_id",)
_TRIPLET = ("triplet_id",)
_NEGATED = list(POSITIVE_OF)


def _build_text_rules(column: str) -> tuple[Rule, ...]:
    """Return the rules of a text that is shown to a model."""
    text = pl.col(column)
    return (
        Rule("is_not_blank", "the text has visible characters", (column,), text.str.contains(r"\S")),
        Rule(
            "is_one_line",
            "the text has no line breaks or control characters",
            (column,),
            ~text.str.contains_any(CONTROL_CHARACTERS),
        ),
        Rule(
            "is_trimmed",
            "the text has no white space at either end",
            (column,),
            text.str.strip_chars() == text,
        ),
        # The next three are warnings, because names can contain `[X]`, two spaces or a full stop at the end.
        # The authors' pool, read as published, has templates with two spaces or without a full stop.
        Rule(
            "has_no_slot",
            "every slot is filled, unless a name contains [X] or [Y]",
            (column,),
            ~text.str.contains_any(["[X]", "[Y]"]),
            is_warning=True,
        ),
        Rule(
            "is_single_spaced",
            "there are no two spaces in a row, unless a name has them",
            (column,),
            ~text.str.contains("  ", literal=True),
            is_warning=True,
        ),
        Rule(
            "ends_in_one_full_stop",
            "the text ends in one full stop, unless the template or a name at the end differs",
            (column,),
            text.str.ends_with(".") & ~text.str.ends_with(".."),
            is_warning=True,
        ),
    )


def _build_variant_rules(within: tuple[str, ...], are_complete: pl.Expr) -> tuple[Rule, ...]:
    """Return the rules of the eight variants of a triplet.

    Args:
        within: columns; a triplet has its variants once per value of these columns.
        are_complete: whether the triplet of a row must have all eight variants.
    """
    group, pair = (*within, *_TRIPLET), (*within, *_PAIR)
    n_true = pl.col("label").sum().over(group)
    is_positive = pl.col("label") != pl.col("transformation").is_in(_NEGATED)
    return (
        Rule(
            "triplet_has_all_transformations",
            "a triplet has each of the eight transformations exactly once",
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
            "label XOR negated is the truth of the triplet, so all of its rows agree on it",
            (*_TRIPLET, "transformation", "label"),
            # A row breaks this if it differs from most rows of its triplet, or from true in a tie.
            is_positive == (is_positive.mean().over(_TRIPLET) >= 0.5),
        ),
        Rule(
            "triplet_is_in_one_place",
            "all rows of a triplet have the same pair, relation and split",
            (*_TRIPLET, "pair_id", "relation", "split"),
            is_constant_within(("pair_id", "relation", "split"), _TRIPLET),
        ),
        Rule(
            "pair_has_two_triplets",
            "a pair has a positive and a negative triplet",
            (*pair, "triplet_id"),
            ~are_complete | (pl.col("triplet_id").n_unique().over(pair) == 2),
        ),
    )


_TRIPLET_RULES = (
    Rule(
        "pair_is_one_positive_one_negative",
        "every pair has two rows, one positive and one negative",
        ("pair_id", "is_positive"),
        (pl.len().over(_PAIR) == 2) & (pl.col("is_positive").sum().over(_PAIR) == 1),
    ),
    Rule(
        "pair_shares_head",
        "both rows of a pair have the same head, relation and split",
        ("pair_id", "relation", "head", "split"),
        is_constant_within(("relation", "head", "head_id", "split"), _PAIR),
    ),
    Rule(
        "pair_differs_in_tail",
        "the negative triplet has another tail than the positive one",
        ("pair_id", "tail"),
        ~pl.struct("pair_id", "tail").is_duplicated(),
    ),
    Rule(
        "asserted_is_negative",
        "only negative triplets are asserted to be false, and those that are not have no value",
        ("is_asserted", "is_positive"),
        pl.col("is_asserted").is_null() | (pl.col("is_asserted") & ~pl.col("is_positive")),
    ),
    Rule(
        "age_is_of_positive",
        "positive triplets alone have a first release, and if one has it, all of them do",
        ("first_release", "is_positive"),
        pl.when(pl.col("first_release").is_null().all())
        .then(statement=True)
        .otherwise(pl.col("is_positive") == pl.col("first_release").is_not_null()),
    ),
    Rule(
        "relation_has_both_splits",
        "every relation has pairs to test and pairs for demonstrations",
        ("relation", "split"),
        pl.col("split").n_unique().over("relation") == 2,
    ),
)

_STATEMENT_RULES = (
    *_build_text_rules("statement"),
    *_build_variant_rules((), pl.lit(True)),
    Rule(
        "prototype_is_one_per_cell",
        "each relation and transformation has one prototype",
        ("relation", "transformation", "prototype_id"),
        is_constant_within(("prototype_id",), ("relation", "transformation")),
    ),
)

_IS_LLMEVAL = pl.col("method") == "llmeval"
_IS_UNGATED = (pl.col("reasons").list.len() == 1) & (pl.col("reasons").list.first() == GATE_OFF)
# Methods that make a sample of all eight variants of a triplet.
_IS_COMPLETE = pl.col("method").is_in(["pretexeval", "prototype"])
_SAMPLE_RULES = (
    *_build_text_rules("text"),
    *_build_variant_rules(("method",), _IS_COMPLETE),
    Rule(
        "direct_is_asked_once",
        "methods direct and origin have one sample per triplet, of the transformation none",
        ("method", "triplet_id", "transformation"),
        ~pl.col("method").is_in(SINGLE_METHODS)
        | ((pl.col("transformation") == "none") & (pl.len().over("method", "triplet_id") == 1)),
    ),
    Rule(
        "variant_fits_method",
        "variant_id and transformation are null for llmeval and only for llmeval",
        ("method", "variant_id", "transformation"),
        (pl.col("variant_id").is_null() == _IS_LLMEVAL) & (pl.col("transformation").is_null() == _IS_LLMEVAL),
    ),
    Rule(
        "status_fits_attempts",
        "the status is as_is if and only if there was no attempt, or a single one with the gate off",
        ("status", "attempts", "reasons"),
        (pl.col("status") == "as_is")
        == ((pl.col("attempts") == 0) | (_IS_UNGATED & (pl.col("attempts") == 1))),
    ),
    Rule(
        "status_fits_reasons",
        "a fallback has reasons; a sample with the status as_is has none, or that the gate was off",
        ("status", "reasons"),
        pl.when(pl.col("status") == "fallback")
        .then(pl.col("reasons").list.len() > 0)
        .when(pl.col("status") == "as_is")
        .then((pl.col("reasons").list.len() == 0) | _IS_UNGATED)
        .otherwise(True),
    ),
    Rule(
        "text_has_one_label",
        "no text is both true and false in one relation and split",
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
        "a rejected attempt has a reason; an accepted one has a text and no reason",
        ("is_accepted", "reasons", "text"),
        (pl.col("is_accepted") == (pl.col("reasons").list.len() == 0))
        & ~(pl.col("is_accepted") & pl.col("text").is_null()),
    ),
    Rule(
        "acceptance_ends_attempts",
        "no attempt follows an accepted rewording",
        (*_VARIANT, "attempt", "is_accepted"),
        _IS_LAST | ~pl.col("is_accepted"),
    ),
)

EDITION_RULES: dict[str, tuple[Rule, ...]] = {
    "triplets": _TRIPLET_RULES,
    "variants": _build_variant_rules((), pl.lit(True)),
    "statements": _STATEMENT_RULES,
    "attempts": _ATTEMPT_RULES,
    "samples": _SAMPLE_RULES,
}
