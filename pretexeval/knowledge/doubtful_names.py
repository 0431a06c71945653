"""Names that are no names, whose rows are left out, and names that look wrong, which are counted by kind.

The patterns of each kind are in `names.toml`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pretexeval.knowledge.names import AliasTable
from pretexeval.knowledge.rows import LEFT_OUT_ROWS
from pretexeval.primitives.toml_files import parse_toml

VOCABULARY = parse_toml(Path(__file__).with_name("names.toml"))
MAX_LENGTH = 120
N_EXAMPLES = 3
NO_NAMES = {kind: "|".join(each["patterns"]) for kind, each in VOCABULARY["no_names"].items()}
"""Kind of names whose rows are left out -> their pattern."""
REASONS = {kind: each["reason"] for kind, each in VOCABULARY["no_names"].items()}
"""Kind of these names -> the reason, in which {} is the end of the row."""
DOUBTFUL = {each["kind"]: "|".join(each["patterns"]) for each in VOCABULARY["doubtful"]}
"""Fault of a doubtful name -> its pattern."""
LISTS, ALIAS_LISTS = "look like lists", "are aliases, and look like lists"
REMEDIES = {each["kind"]: each["remedy"] for each in VOCABULARY["doubtful"] if "remedy" in each} | {
    ALIAS_LISTS: "write each alias in a row of its own; in a column of the base, join them by ||"
}
"""Kind of doubtful names -> the key that may correct them."""
_MODIFIERS, _CLASSES, _KEPT = (
    "|".join(VOCABULARY["inverted"][key]) for key in ("modifiers", "classes", "kept")
)
_WORD = r"[\pL\d'’-]+"
_INVERTED = (
    rf"(?i)^(?:[^,()]*\pL{{3}}[^,()]*(?:, (?:{_WORD} ){{0,3}}(?:{_MODIFIERS}))+"
    rf"|(?:{_CLASSES}), {_WORD}(?: {_WORD}){{0,2}})$"
)
OF_ID = "the {} is the end of its id, and no name"
UNBALANCED = "have a bracket or a quotation mark without its counterpart"
CUT = "have the same greatest length, as if they had been cut"
MIN_CUT, MIN_CUT_LENGTH = 5, 20
"""The least number and length of names that count as cut. A relation of MedLAMA has at most two of them."""
LONG = f"have more than {MAX_LENGTH} characters"


@dataclass(frozen=True)
class NameTrouble:
    """The names of the tested facts that have one kind of trouble."""

    kind: str
    n: int
    examples: tuple[str, ...]
    """The first names in the order of text."""


def leave_out_no_names(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the clean rows whose head and tail are names, and the others with the columns LEFT_OUT_ROWS.

    Ids that are marks of missing values are null in the rows: as ids, they would make all their names one.
    """
    is_id = {end: _is_end_of_id(end) for end in ("head", "tail")}
    names = pl.concat([rows["head"], rows["tail"]]).unique()
    wrong = names.filter(names.str.contains("|".join(f"(?:{pattern})" for pattern in NO_NAMES.values())))
    is_named = ~pl.any_horizontal(pl.col("head", "tail").is_in(wrong.implode()), *is_id.values())
    reason = pl.coalesce(
        *(pl.when(is_found).then(pl.lit(OF_ID.format(end))) for end, is_found in is_id.items()),
        *(
            pl.when(pl.col(end).str.contains(pattern)).then(pl.lit(REASONS[kind].format(end)))
            for end in ("head", "tail")
            for kind, pattern in NO_NAMES.items()
        ),
    )
    left_out = rows.filter(~is_named).with_columns(reason=reason).select(LEFT_OUT_ROWS)
    named = rows if left_out.is_empty() else rows.filter(is_named)
    ids = [name for name in ("head_id", "tail_id") if named.select(_is_missing(name).any()).item()]
    return named.with_columns(pl.when(~_is_missing(name)).then(name).alias(name) for name in ids), left_out


def _is_end_of_id(end: str) -> pl.Expr:
    """Return an expression for a name that is the last part of its id, as where a label is missing.

    Symbols such as TP53 are names, also where they are the end of an id.
    """
    last = pl.col(f"{end}_id").str.extract(r"[/#:]([A-Z]\d+|[^/#:\d]*\d{3,})$")
    return (pl.col(end) == last).fill_null(value=False)


def _is_missing(column: str) -> pl.Expr:
    return pl.col(column).str.contains(rf"{NO_NAMES['missing']}|^[^\pL\d]*$").fill_null(value=False)


def turn_inverted(rows: pl.DataFrame) -> pl.DataFrame:
    """Return clean rows in which "Vomiting, Anticipatory" is "Anticipatory Vomiting", with this alias."""
    names = pl.concat([rows["head"], rows["tail"]]).unique()
    inverted = names.filter(names.str.contains(_INVERTED) & ~names.str.contains(f"(?i){_KEPT}"))
    turned = inverted.str.split(", ").list.reverse().list.join(" ")
    aliases = (
        pl.when(pl.col(end).is_in(inverted.implode()))
        .then(pl.concat_str(f"{end}_aliases", end, separator="||", ignore_nulls=True))
        .otherwise(f"{end}_aliases")
        .alias(f"{end}_aliases")
        for end in ("head", "tail")
    )
    return rows.with_columns(*aliases, pl.col("head", "tail").replace(inverted, turned))


def list_name_troubles(triplets: pl.DataFrame, aliases: AliasTable | None = None) -> tuple[NameTrouble, ...]:
    """Return the kinds of trouble that the names of the tested facts have, and the names with several ids.

    Args:
        triplets: those of a knowledge base.
        aliases: those of its names, which may be lists.
    """
    tested = triplets.filter(~pl.col("also_true"))
    names = pl.concat([tested["head"], tested["tail"]]).unique().sort()
    is_kind = {kind: names.str.contains(pattern) for kind, pattern in DOUBTFUL.items()}
    lengths = names.str.len_chars()
    is_kind[LONG] = lengths > MAX_LENGTH
    is_longest = (lengths == (lengths.max() or 0)) & (lengths >= MIN_CUT_LENGTH)
    is_kind[CUT] = is_longest & (is_longest.sum() >= MIN_CUT)
    is_kind[UNBALANCED] = _find_unbalanced(names)
    found = {kind: names.filter(is_found) for kind, is_found in is_kind.items()} | {
        "have several ids": _list_homonyms(triplets)
    }
    if aliases is not None:
        listed = aliases.pairs["alias"].unique().sort()
        found[ALIAS_LISTS] = listed.filter(listed.str.contains(DOUBTFUL[LISTS]))
    return tuple(
        NameTrouble(kind, len(names), tuple(names.head(N_EXAMPLES)))
        for kind, names in found.items()
        if len(names)
    )


def summarize_name_troubles(triplets: pl.DataFrame, aliases: AliasTable | None = None) -> list[str]:
    """Return one line that counts the doubtful names by kind; nothing without any."""
    kinds = ", ".join(f"{each.n:,} {each.kind}" for each in list_name_troubles(triplets, aliases))
    return [f"names look wrong ({kinds}): `pretexeval validate` shows some of each kind"] if kinds else []


def _find_unbalanced(names: pl.Series) -> pl.Series:
    """Return which names have a bracket that is not closed or opened, or an odd number of quotation marks."""
    is_odd = names.str.count_matches('"', literal=True) % 2 == 1
    for opening, closing in ("()", "[]", "{}", "（）", "“”"):
        n_open, n_closed = (names.str.count_matches(sign, literal=True) for sign in (opening, closing))
        is_reversed = names.str.contains(f"^[^{re.escape(opening)}]*{re.escape(closing)}")
        is_odd |= (n_open != n_closed) | is_reversed
    return is_odd


def _list_homonyms(triplets: pl.DataFrame) -> pl.Series:
    """Return the names that have several ids at one end of a relation, with their number."""
    ends = (
        triplets.select("relation", name=end, id=f"{end}_id", end=pl.lit(end)) for end in ("head", "tail")
    )
    counted = pl.concat(ends).group_by("relation", "end", "name").agg(n=pl.col("id").drop_nulls().n_unique())
    most = counted.filter(pl.col("n") > 1).group_by("name").agg(pl.col("n").max())
    ordered = most.sort("n", "name", descending=[True, False])
    return ordered.select(pl.format("{} ({} ids)", "name", "n")).to_series()
