"""Names: how they are compared, their keys, the aliases of a base, and which triplets are the same.

Two heads, or two tails, are the same if their folded names or their ids are equal, or if the name or an alias
of one is the name or an alias of the other. Two triplets are the same if their relation, head and tail are.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import polars as pl

# The code points that are shown as nothing (Unicode's Default_Ignorable_Code_Point, the marks of interlinear
# annotations): soft hyphen, zero width, direction marks, joiners, variation selectors, byte-order mark, tags.
INVISIBLE = (
    "\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Letters and signs that are shown as a blank: the Hangul fillers, and the Braille pattern without dots.
BLANK = "\u115f\u1160\u3164\uffa0\u2800"
ENTITY = r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);"
"""The pattern of an entity of HTML."""
# These only say where a line may break. Joiners change how the letters of some alphabets are written.
_BREAKS = "\u00ad\u200b\u2060\ufeff"
_UNTIDY = rf"{ENTITY}|[\p{{Zs}}--\x20]|\x20\x20|[{_BREAKS}]"
_ENTITY, _BLANKS = re.compile(ENTITY), re.compile(r"[^\S\t-\r\x1c-\x1f\x85\u2028\u2029]+")
NOTE = (
    r"<[/!]?[A-Za-z][^<>]*>|[*†‡§#®™¹²³⁰⁴-⁹ᵃ-ᵢ]+$|\s*\[[^\]]*\]$|\s*\(see [^()]*\)$"
    r"|\(?\b[A-Za-z]\w{0,9}:[A-Za-z]{0,4}\d+\b\)?"
    r"|\s*(?i:\((?:drug|disorder|finding|procedure|substance|(?:medicinal )?product|organism|event|situation"
    r"|(?:morphologic )?abnormality|body structure|qualifier value|observable entity|clinical drug)\))$"
)
"""The pattern of additions to the words of a name: tags of HTML, notes, their marks, and ids."""
PLURALS = {r"(\w{2})ies\b": "${1}y", r"(ss|x|ch|sh)es\b": "${1}", r"(\w\w[^\Wsui])s\b": "${1}"}
"""The pattern of a plural in a folded name -> its singular."""
_OBO_ID = r"^(?:https?://\S*[/#])?([A-Za-z]+)[_:]([A-Z]?\d+)$"
# A final plus or minus ("HER2+ tumour", "O -"), one in brackets ("(-)-menthol"), and an arrow are parts of a
# name. A plus between two words ("trimethoprim+sulfamethoxazole") and a hyphen are not, except the plus of
# "CD4+CD25-".
_PARTS = re.compile(
    r"[^\W_]+|[↑↓⇑⇓⬆⬇▲▼⇧⇩±]|(?<=[\w)\]\s+-])[+-](?=[+-]*\s*(?:$|[,;/)\]]))|(?<=[\w)\]+-])[+-](?=[+-]*\s)"
    r"|(?<=[(\[])[+-](?=[)\]])|(?<=\w)\+(?=\S*[+-](?:[\s,;/)\]]|$))"
)
_SIGN = r"\+|-(?:[-+\s,;/)\]]|$)"
"""The pattern of ASCII names that may have such a part."""
_DASHES = dict.fromkeys(map(ord, "‒–—―−"), "-")
_INVISIBLE, _BLANK = re.compile(f"[{INVISIBLE}]"), re.compile(f"[{BLANK}]")
# Unicode calls these apostrophes and primes letters, so that no other rule finds them.
_APOSTROPHES = dict.fromkeys(
    map(ord, "\u02b9\u02ba\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\u02ca\u02cb\ua78b\ua78c"), "'"
)


def remove_invisible(text: str, by: str = "") -> str:
    """Return the text without the characters that nobody sees.

    Args:
        by: what replaces each of them. Characters that look like a space always become one.
    """
    return text if text.isascii() else _INVISIBLE.sub(by, _BLANK.sub(" ", text))


def tidy_names(names: pl.Series) -> pl.Series:
    """Return the names with entities of HTML decoded, runs of blanks as one space, and no marks of breaks.

    Line breaks and control characters stay: they are errors of the base.
    """
    untidy = names.filter(names.str.contains(_UNTIDY)).unique()
    return names.replace(untidy, [_tidy(name) for name in untidy]) if len(untidy) else names


def _tidy(name: str) -> str:
    # Text that was exported twice has entities of entities ("&amp;#945;").
    while (decoded := _ENTITY.sub(lambda entity: html.unescape(entity[0]), name)) != name:
        name = decoded
    shown = _BLANKS.sub(" ", name).translate(dict.fromkeys(map(ord, _BREAKS)))
    return shown if shown.strip() else name


def unify_spellings(rows: pl.DataFrame) -> pl.DataFrame:
    """Return clean rows in which tested heads, and tails, that differ in case only have one spelling.

    This is the most frequent one of the relation; of equally frequent ones, the first in the order of text.
    Names with different ids are different ones.
    """
    is_tested = ~pl.any_horizontal("also_true", "also_false")
    for end in ("head", "tail"):
        name = ["relation", end, f"{end}_id"]
        names = rows.filter(is_tested).group_by(name).agg(n=pl.len()).sort("n", end, descending=[True, False])
        first = pl.col(end).first().over("relation", f"{end}_id", pl.col(end).str.to_lowercase())
        changed = names.with_columns(spelling=first).filter(pl.col("spelling") != pl.col(end)).drop("n")
        if not changed.is_empty():
            rows = rows.join(changed, on=name, how="left", nulls_equal=True, maintain_order="left")
            spelling = pl.coalesce(pl.when(is_tested).then("spelling"), end)
            rows = rows.with_columns(spelling.alias(end)).drop("spelling")
    return rows


def normalize_text(text: str) -> str:
    """Return the text without invisible characters and case; characters that look alike become the same.

    Compatibility forms (NFKC) unite composed and decomposed accents, full-width letters, ligatures, raised
    digits and non-breaking spaces. Letters of other alphabets that look like Latin ones stay different.
    """
    if text.isascii():
        # The rest changes no ASCII character, and takes most of the time in a base of 300,000 rows.
        return text.casefold()
    return unicodedata.normalize("NFKC", remove_invisible(text)).translate(_APOSTROPHES).casefold()


def fold_name(name: str) -> str:
    """Return the name without case, punctuation and extra white space, so that spellings can be compared.

    Arrows, and a plus or minus at the end of a word, are words: "HER2+ tumour" becomes "her2 + tumour".
    """
    return " ".join(_PARTS.findall(normalize_text(name).translate(_DASHES)))


def list_name_keys(name: str, identifier: str | None) -> tuple[str, ...]:
    """Return the keys of a head or a tail: two that have a key in common are the same.

    An invisible character can stand where another spelling has a space or a hyphen, or within a word. So a
    name with such a character has a key for each of these two cases.
    """
    spellings = [fold_name(name)]
    if not name.isascii():
        spellings.append(fold_name(remove_invisible(name, by=" ")))
    keys = tuple(dict.fromkeys(f"name:{spelling}" for spelling in spellings))
    shown = re.sub(_OBO_ID, r"\1:\2", remove_invisible(identifier or "").strip())
    return (*keys, f"id:{shown}") if shown else keys


_KEYS = {"name": pl.String, "key": pl.String}
# What `fold_name` removes from ASCII names.
_ASCII_SEPARATORS = r"[^a-z0-9]+"
# The ASCII characters that `str.strip` removes.
_ASCII_SPACES = " \t\n\v\f\r\x1c\x1d\x1e\x1f"


def fold_names(names: pl.Series) -> pl.Series:
    """Return each name as `fold_name` does."""
    is_plain = _is_plain(names) & ~names.str.contains(_SIGN)
    folded = names.str.to_lowercase().str.replace_all(_ASCII_SEPARATORS, " ").str.strip_chars(" ")
    if is_plain.all():
        return folded
    others = pl.Series([fold_name(name) for name in names.filter(~is_plain)], dtype=pl.String)
    return folded.scatter((~is_plain).arg_true(), others)


def unify_ids(ids: pl.Expr) -> pl.Expr:
    """Return ids of ontologies as CURIEs: MONDO:0005015 is also written as MONDO_0005015 or with a URL."""
    return ids.str.replace(_OBO_ID, "${1}:${2}")


def list_keys(rows: pl.DataFrame, end: str) -> pl.DataFrame:
    """Return the distinct keys of the names at one end of the rows, as the columns name and key.

    Args:
        end: head or tail; its ids are in the column `<end>_id`.
    """
    identified = rows.select(name=end, id=f"{end}_id").filter(pl.col("id").is_not_null()).unique()
    return pl.concat([key_names(rows[end].unique()), *_list_ids(identified)])


def key_names(names: pl.Series) -> pl.DataFrame:
    """Return the distinct keys of distinct names, as the columns name and key."""
    is_plain = _is_plain(names)
    plain = names.filter(is_plain)
    spelled = pl.DataFrame({"name": plain, "key": "name:" + fold_names(plain)})
    return pl.concat([spelled, _list_slowly((name, None) for name in names.filter(~is_plain))])


def key_variants(names: pl.Series) -> pl.DataFrame:
    """Return keys of distinct names that have them besides their own, as the columns name and key.

    These are the keys without notes and tags, and with every word in the singular.
    """
    bare = names.str.replace_all(NOTE, " ")
    folded = pl.DataFrame({"name": names, "bare": fold_names(bare)})
    single = pl.col("bare")
    for plural, singular in PLURALS.items():
        single = single.str.replace_all(plural, singular)
    spelled = pl.concat([folded, folded.with_columns(bare=single)]).filter(pl.col("bare") != "")
    return spelled.select("name", key="name:" + pl.col("bare")).unique(maintain_order=True)


def key_ids(ids: pl.Series) -> pl.DataFrame:
    """Return the key of each of the distinct ids that has one, as the columns id and key."""
    found = ids.drop_nulls()
    keys = _list_ids(pl.DataFrame({"name": found, "id": found}))
    return pl.concat([pl.DataFrame(schema=_KEYS), *keys]).rename({"name": "id"})


def _list_ids(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the distinct keys of ids, as the columns name and key.

    Args:
        rows: the distinct names and ids; no id is null.
    """
    if rows.is_empty():
        return
    is_plain = _is_plain(rows["id"])
    shown = rows.filter(is_plain).with_columns(unify_ids(pl.col("id").str.strip_chars(_ASCII_SPACES)))
    yield shown.filter(pl.col("id") != "").select("name", key="id:" + pl.col("id")).unique()
    yield _list_slowly(rows.filter(~is_plain).iter_rows()).filter(pl.col("key").str.starts_with("id:"))


def _is_plain(names: pl.Series) -> pl.Series:
    """Return which names are ASCII, where bytes and characters are the same."""
    return names.str.len_bytes() == names.str.len_chars()


def _list_slowly(rows: Iterable[tuple[str, str | None]]) -> pl.DataFrame:
    pairs = [(name, key) for name, identifier in rows for key in list_name_keys(name, identifier)]
    return pl.DataFrame(pairs, schema=_KEYS, orient="row").unique()


PAIRS = {"name": pl.String, "alias": pl.String}


class AliasTable(Mapping[str, tuple[str, ...]]):
    """Name, as the base writes it -> its aliases, sorted. A name without aliases is missing.

    A terminology has millions of aliases, and most editions never look one up: a dict of them would take
    seconds and gigabytes. Prefect would also visit every item of a dict in the parameters of a task.
    """

    def __init__(self, pairs: pl.DataFrame | None = None) -> None:
        """Keep the aliases.

        Args:
            pairs: the columns name and alias; by default none.
        """
        rows = pl.DataFrame(schema=PAIRS) if pairs is None else pairs
        self.pairs = rows.select(list(PAIRS)).unique().sort("name", "alias")

    def __getitem__(self, name: str) -> tuple[str, ...]:
        """Return the aliases of a name that has one."""
        return self._listed[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names that have an alias, sorted."""
        return iter(self._listed)

    def __len__(self) -> int:
        """Return the number of names that have an alias."""
        return self.pairs["name"].n_unique()

    @cached_property
    def alias_keys(self) -> pl.DataFrame:
        """The name and the key of every alias. A name that is spelled like the alias has the same key."""
        return self.pairs.select("name", key="name:" + fold_names(self.pairs["alias"]))

    @cached_property
    def _listed(self) -> dict[str, tuple[str, ...]]:
        listed = self.pairs.group_by("name", maintain_order=True).agg("alias")
        return {name: tuple(aliases) for name, aliases in listed.iter_rows()}


SIDES = ("head", "tail")
_PAIRS = {"row": pl.UInt32, "other_row": pl.UInt32}
CELLS = ("relation", "head", "head_id", "tail", "tail_id")
"""The columns that say which triplet a row is."""


def pair_same_triplets(
    triplets: pl.DataFrame, others: pl.DataFrame, aliases: AliasTable | None = None
) -> pl.DataFrame:
    """Return all pairs of the same triplets by their positions, as the columns row and other_row.

    Args:
        triplets: relation, head, head_id, tail and tail_id; an id may be null.
        others: the same columns.
        aliases: the aliases of names in either table.
    """
    keyed = (AliasTable() if aliases is None else aliases).alias_keys
    own = triplets.select(CELLS).with_row_index("row")
    compared = others.select(CELLS).with_row_index("row")
    pairs = [pl.DataFrame(schema=_PAIRS)]
    # One relation at a time takes less memory.
    for relation in triplets["relation"].unique().sort():
        is_chosen = pl.col("relation") == relation
        pairs.append(_pair_rows(own.filter(is_chosen), compared.filter(is_chosen), keyed))
    return pl.concat(pairs)


def _pair_rows(own: pl.DataFrame, others: pl.DataFrame, aliases: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of one relation.

    Args:
        aliases: the columns name and key.
    """
    keys, other_keys = {}, {}
    for end in SIDES:
        own, keys[end] = _number_names(own, end, aliases)
        others, other_keys[end] = _number_names(others, end, aliases)
    paired = own.lazy().select("row", *SIDES)
    for end in SIDES:
        same = keys[end].lazy().join(other_keys[end].lazy(), on="key", suffix="_other")
        numbers = same.select(pl.col("number").alias(end), pl.col("number_other").alias(f"{end}_other"))
        paired = paired.join(numbers.unique(), on=end)
    on = [f"{end}_other" for end in SIDES]
    found = paired.join(others.lazy().select(*SIDES, other_row="row"), left_on=on, right_on=list(SIDES))
    return found.select(list(_PAIRS)).collect()


def _number_names(rows: pl.DataFrame, end: str, aliases: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows with a number for each distinct name and id at one end, and the keys of the numbers.

    Names with a key in common are the same: the columns of the keys are number and key.
    """
    named = rows.select(name=end, id=f"{end}_id")
    numbers = named.unique().with_row_index("number")
    found = named.join(numbers, on=named.columns, how="left", nulls_equal=True, maintain_order="left")
    names, ids = numbers["name"].unique(), numbers["id"].unique()
    spelled = pl.concat([key_names(names), aliases.join(names.to_frame(), on="name", how="semi")])
    keys = [numbers.join(spelled, on="name"), numbers.join(key_ids(ids), on="id")]
    numbered = rows.with_columns(found["number"].alias(end))
    return numbered, pl.concat([each.select("number", "key") for each in keys])
