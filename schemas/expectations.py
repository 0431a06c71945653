"""The expectations of the rows of every stage, as rules over its columns.

Most of them follow from the declarations of the columns. Rules about several columns or rows are in
`edition_rules` and `answer_rules`.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import polars as pl

from schemas.answer_rules import ANSWER_RULES
from schemas.columns import Column, Stage
from schemas.edition_rules import EDITION_RULES, Rule

RULES = EDITION_RULES | ANSWER_RULES
# Further sets of columns, beside the key, whose values are unique per row.
UNIQUE: dict[str, tuple[tuple[str, ...], ...]] = {
    "triplets": (("relation", "head", "is_positive"),),
    "samples": (("method", "triplet_id", "sample_index"),),
}
# Column -> (least, greatest) value; None means no bound. A log-probability is the rounded difference of two
# floats, so it may be slightly above 0.
BOUNDS: dict[str, tuple[float | None, float | None]] = {
    **dict.fromkeys(("sample_index", "attempts", "repeat", "n_demonstrations_dropped"), (0, None)),
    **dict.fromkeys(("n_answers", "n_agreeing", "n_prompt_tokens", "n_completion_tokens"), (0, None)),
    "attempt": (1, None),
    **dict.fromkeys(("lexical_distance", "structural_distance"), (0, 1)),
    **dict.fromkeys(("lexical_spread", "structural_spread"), (0, 1)),
    **dict.fromkeys(("logprob_true", "logprob_false"), (None, 1e-3)),
}
STRUCTURE_RULES = (
    Rule(
        "columns_match",
        "the columns are the declared ones, in their order",
        ("column", "declared_column"),
        pl.col("column") == pl.col("declared_column"),
    ),
    # A column that is not declared has no declared type. `columns_match` reports such a column.
    Rule(
        "types_match",
        "the types are the declared ones",
        ("column", "type", "declared_type"),
        pl.col("type") == pl.col("declared_type"),
    ),
)


def describe_structure(stage: Stage, frame: pl.DataFrame) -> pl.DataFrame:
    """One row per position: column and type of the frame, and the declared ones. See `STRUCTURE_RULES`."""
    declared = {n: str(t) for n, t in stage.empty.schema.items()}
    present = {n: str(t) for n, t in frame.schema.items()}
    rows = [
        (column, wanted, present.get(column), declared.get(column))
        for column, wanted in zip_longest(present, declared, fillvalue="nothing")
    ]
    names = ("column", "declared_column", "type", "declared_type")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def list_rules(stage: Stage) -> list[Rule]:
    """Return all rules about the rows of the stage. The columns must be as declared."""
    return [
        Rule("has_rows", f"there is {stage.row}", (), pl.len() > 0),
        *(rule for column in stage.columns for rule in _derive_rules(column)),
        *(
            Rule("is_unique", "no two rows have the same", columns, ~pl.struct(columns).is_duplicated())
            for columns in (stage.key, *UNIQUE.get(stage.name, ()))
        ),
        *RULES.get(stage.name, ()),
    ]


def count_unexpected(rules: Sequence[Rule], frame: pl.DataFrame) -> list[int]:
    """Return how many rows break each rule; 1 if the whole frame breaks it. Null breaks no rule."""
    return list(frame.select(find_breaking(rule).sum().alias(str(n)) for n, rule in enumerate(rules)).row(0))


def find_breaking(rule: Rule) -> pl.Expr:
    """Return an expression that is true of the rows that break the rule."""
    return (~rule.holds).fill_null(value=False)


def breaks_rules(stage: Stage, frame: pl.DataFrame) -> bool:
    """Return whether the rows break a rule of the stage, apart from warnings."""
    rules = [rule for rule in list_rules(stage) if not rule.is_warning]
    return any(count_unexpected(rules, frame))


def _derive_rules(column: Column) -> Iterator[Rule]:
    """Yield the rules that the declaration and the bounds of one column make."""
    name, value = column.name, pl.col(column.name)
    if not column.is_nullable:
        yield Rule("is_not_null", column.meaning, (name,), value.is_not_null())
    if column.pattern is not None:
        yield Rule("matches_pattern", column.pattern, (name,), value.str.contains(column.pattern))
    if column.values is not None:
        yield Rule("is_one_of", ", ".join(column.values), (name,), value.is_in(list(column.values)))
    if name in BOUNDS:
        low, high = BOUNDS[name]
        holds, words = value.cast(pl.Float64).is_not_nan(), ["a number"]
        if low is not None:
            holds, words = holds & (value >= low), [*words, f"at least {low}"]
        if high is not None:
            holds, words = holds & (value <= high), [*words, f"at most {high}"]
        yield Rule("is_in_bounds", ", ".join(words), (name,), holds)
