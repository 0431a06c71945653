r"""Names that are no names, whose rows are left out, and names that look wrong, which are counted by kind.

The patterns are those of polars: \pL is any letter, \p{Lu} a capital and \p{Ll} a small letter.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from pretexeval.knowledge.names import ENTITY
from pretexeval.knowledge.rows import LEFT_OUT_ROWS

_IDS = ("head_id", "tail_id")
MAX_LENGTH = 120
N_EXAMPLES = 3
MAX_SHOWN = 60
"""Characters of an example that a report shows."""
_MISSING = (
    r"^\W*(?:NA|na|N[ /\\]A|n/a|[Nn]\. ?[AaDd]\.?|[Nn]/[DdKk]|k\. ?A\.?|NaN|nan|NAN|NaT|#N/A N/A"
    r"|#REF|#VALUE|#NAME|#DIV/0|(?i:<na>|null|nil|nulo|tbd|tba|todo|xxx+|undefined"
    r"|missing(?: values?| data)?|empty|blank|not a number)|无)\W*$|^\\N$"
)
"""The marks of missing values. "Na" and "Nd" are none, because they are elements."""
NO_NAMES = {
    (
        r"^\PL*$|^[-+]?(?:[\d.,]+[eE][-+]?\d+|[Ii]nf)$"
    ): "the {} is a number or has no letter (write a number that is a name in words)",
    _MISSING: "the {} is the mark of a missing value",
    (
        r"(?i)^\W*(?:(?:https?|s?ftps?|file)://|www\.|urn:|mailto:)\S*$|^\S+@[\w-]+\.[\w.-]+$"
        r"|^[\w-]+(?:\.[\w-]+)*\.(?:org|com|net|gov|edu|int|info|io|eu|uk|de|fr|cn)/\S*$"
    ): "the {} is an address, and no name",
}
"""Pattern of names whose rows are left out -> the reason, in which {} is the end of the row."""
UNBALANCED = "have a bracket or a quotation mark without its counterpart"
LONG = f"read like sentences, or have more than {MAX_LENGTH} characters"
DOUBTFUL = {
    "look like ids": (
        r"^\W*(?:[A-Za-z]{1,10}[:_#-]?\d{5,}|rs\d{3,}|[A-Za-z]\w{0,9}[:_=][A-Za-z]{0,4}\d+|[A-Z]\d{2}\.\d+"
        r"|[A-Z]\d{2}[A-Z]{2}\d{2}|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27,})\W*$"
        r"|\b[A-Za-z]\w{1,15}[:_][A-Za-z]{0,4}\d{3,}|\b\d{6,}\b|^\d{5,}\b"
        r"|\b(?:CID|CHEMBL|CHEBI|DB|MESH|UMLS|OMIM|DOID|HP|CUI|SCTID)[:_ ]?[A-Z]?\d{2,}\b"
    ),
    "have underscores or hyphens in place of blanks": (
        r"_|^[a-z]+(?:[A-Z][a-z]+){2,}$|^[a-z]+(?:-[a-z]+){3,}$"
    ),
    "have tags or entities of HTML": f"<[/!]?[A-Za-z][^<>]*>|{ENTITY}|&#\\d|&[a-z]{{2,}}",
    "look like lists": (
        r"[\pL)\d] ?; ?[\pL\d]+(?:[ ;-]|\pL{2}|$)|[\pL)\d] ?\|+ ?[\pL\d]|\pL / \pL|[•·] ?\pL.*[•·]"
        r"|\pL[；、]|^\[.*,.*\]$|^\{.*\}$|^\(?1[.)] .*\b2[.)] |(?:\pL[^,]*, ){3}"
    ),
    "end or begin like text that was cut, or end like a sentence": (
        r"(?:\.\.|…|[\pL\d)]{4}\.|[\pL\d)\]][,;:?!/&|、。，]| [-–]|[(\[{=<])$|^(?:\.\.|…|[-,;:.=*~#>]+ ?\pL)"
        r"|\b(?:and|or|of|the|with)$"
    ),
    UNBALANCED: "",
    "stand in quotation marks, or end with a note or its mark": (
        r"""^["'“”«„‘`].*["'“”»’`]$|".*"|[\pL\d)] ?\[[^\]]*\]$|【[^】]*】$|[\pL)][*†‡§#¹²³]$"""
        r"""|(?i:\((?:disorder|finding|procedure|substance|(?:medicinal )?product|morphologic abnormality"""
        r"""|body structure|organism|event|qualifier value|observable entity|situation|clinical drug)\))$"""
    ),
    "have an amount of money": (
        r"[$€£¥₹]\s?\d|\d\s?[$€£¥₹]|\d\s?(?:USD|EUR|GBP|CHF|CNY|[Ee]uros?|dollars?)\b"
        r"|\b(?:USD|EUR|GBP|CHF) ?\d"
    ),
    "have an address": r"(?i)https?://|\bwww\.",
    LONG: r"\b(?:is|are|was|were|should|must|will) [a-z]",
    "deny, exclude or comment (a row that is false is marked also_false)": (
        r"(?i)^(?:not|no|never|without|excluded?|excludes|excluding|except|ruled out|negative for|see)\b[: ]"
        r"|\(see "
    ),
    "begin or end like the rest of a class": (
        r"(?i)^(?:others?|unspecified|unknown|various)(?: |$)"
        r"|\b(?:NOS|NEC|n\.e\.c\.|not elsewhere classified)$"
    ),
    "have a comma, as inverted names and lists have it": r"\pL[^,]*, +\pL|\pL{3},\pL{3}",
    "are in capitals": (
        r"^[^\p{Ll}\d]*\p{Lu}{6,}[^\p{Ll}\d]*$|^\P{Ll}*\p{Lu}{4,}[ -]\P{Ll}*\p{Lu}{4,}\P{Ll}*$"
    ),
    "have letters that were read in another encoding": r"\x{FFFD}|[ÃÂ][\x{80}-\x{BF}]|â€",
}
"""What doubtful names do -> their pattern. A name can be of several kinds."""


@dataclass(frozen=True)
class NameTrouble:
    """The names of the tested facts that have one kind of trouble."""

    kind: str
    n: int
    examples: tuple[str, ...]
    """The first names in the order of text."""


def leave_out_no_names(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the clean rows of which both ends are names, and the others, with LEFT_OUT_ROWS.

    Ids that are marks of missing values are null in the rows: as ids, they would make all their names one.
    """
    names = pl.concat([rows["head"], rows["tail"]]).unique()
    wrong = names.filter(names.str.contains("|".join(f"(?:{pattern})" for pattern in NO_NAMES)))
    is_named = ~pl.any_horizontal(pl.col("head", "tail").is_in(wrong.implode()))
    reason = pl.coalesce(
        pl.when(pl.col(end).str.contains(pattern)).then(pl.lit(text.format(end)))
        for end in ("head", "tail")
        for pattern, text in NO_NAMES.items()
    )
    left_out = rows.filter(~is_named).with_columns(reason=reason).select(LEFT_OUT_ROWS)
    named = rows if left_out.is_empty() else rows.filter(is_named)
    unknown = [end for end in _IDS if named.select(_is_missing(end).any()).item()]
    return named.with_columns(pl.when(~_is_missing(end)).then(end).alias(end) for end in unknown), left_out


def _is_missing(column: str) -> pl.Expr:
    return pl.col(column).str.contains(rf"{_MISSING}|^[^\pL\d]*$").fill_null(value=False)


def list_name_troubles(triplets: pl.DataFrame) -> tuple[NameTrouble, ...]:
    """Return the kinds of trouble that the names of the tested facts have, and the names with several ids.

    Args:
        triplets: those of a knowledge base.
    """
    tested = triplets.filter(~pl.col("also_true"))
    names = pl.concat([tested["head"], tested["tail"]]).unique().sort()
    is_kind = {kind: names.str.contains(pattern) for kind, pattern in DOUBTFUL.items()}
    is_kind[LONG] |= names.str.len_chars() > MAX_LENGTH
    is_kind[UNBALANCED] = _find_unbalanced(names)
    found = {kind: names.filter(is_found) for kind, is_found in is_kind.items()} | {
        "have several ids": _list_homonyms(triplets)
    }
    return tuple(
        NameTrouble(kind, len(listed), tuple(listed.head(N_EXAMPLES)))
        for kind, listed in found.items()
        if len(listed)
    )


def render_name_troubles(troubles: Sequence[NameTrouble]) -> list[str]:
    """Return the part of a report about doubtful names; empty without any."""
    lines = []
    for each in troubles:
        shown = (f"{name[:MAX_SHOWN]}…" if len(name) > MAX_SHOWN else name for name in each.examples)
        lines.append(f"  {each.n:,} {each.kind}: {', '.join(map(repr, shown))}")
    return ["\n".join(["names that look wrong (correct them in the base):", *lines])] if lines else []


def summarize_name_troubles(triplets: pl.DataFrame) -> list[str]:
    """Return one line that counts the doubtful names by kind; nothing without any."""
    kinds = ", ".join(f"{each.n:,} {each.kind}" for each in list_name_troubles(triplets))
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
