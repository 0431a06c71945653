"""Stage statements: every variant as a sentence, from its prototype (method, 2.4)."""

import re

import polars as pl

from pretexeval.primitives.hashing import hash_text
from prototypes.capitals import write_within_sentence
from prototypes.templates import RelationPrototypes
from schemas.stages import STATEMENTS

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# Names after "an": those that begin with a vowel sound. U sounds like a consonant in "uterus", "unit", "UV",
# E in "European" and "Ewing", O in "one"; letters of abbreviations are spelled out ("an MRI", "an mRNA", "an
# X-ray"), unless they look like a word ("a SARS virus"); numbers are read ("an 8-year", "an 11-beta").
_VOWEL_SOUND = "^(?:" + "|".join(
    (
        r"[AaIi]",
        r"[Ee](?:[^uw]|$)",
        r"[Oo](?:[^n]|n(?:[^ce]|c[^e]|$)|$)",
        r"[Uu](?:[cdfghjlmopwxyz]|n(?:[^i]|in|im[pm]|ide)|[rst][^aeiou]|b[^i])",
        r"(?i:hour|hono|honest|heir)",
        r"[FHLMNRSX](?:[^a-zAEIOU]|[AEIO][A-Z]?(?:[^A-Za-z]|$)|$)",
        r"[fhlmnrsx][A-Z]|s[hi][A-Z]|lnc[A-Z]",
        r"8|1[18](?:[^0-9]|$)",
        r"[αεηιοω]|(?i:[àáâãäåæèéêëìíîïòóôõöø])",
    )
) + ")"  # fmt: skip
_SLOTS = re.compile(r"(\[X\]|\[Y\])")
_ARTICLE = re.compile(r"\b([Aa])n? $")
# A name such as "mTOR", "p53" or "β-catenin" keeps its small letter.
_SMALL_WORD = r"^[\p{Ll}--\p{Greek}]{2,}(?:[^\p{L}\p{N}]|$)"


def write_on_one_line(text: str) -> str:
    """Return a text of a model without white space at its ends; each line break becomes a space."""
    return _CONTROL.sub(" ", text).strip()


def write_sentences(rows: pl.DataFrame, template: str = "template") -> pl.Series:
    """Return the template of each row, filled with its names, with a capital and the right articles.

    A name loses the capitals of a title ("nerve tissue"). If it begins the sentence, it gets a capital if its
    first word has only small letters. "a" and "an" before a slot follow the sound with which the name begins.

    Args:
        rows: the columns head and tail, and that of the templates.
    """
    names = pl.concat([rows["head"], rows["tail"]]).unique().to_list()
    written = {name: write_within_sentence(name) for name in names}
    named = rows.with_columns(pl.col("head", "tail").replace(written))
    parts = named.with_row_index("row").partition_by(template, as_dict=True)
    texts = [part.select("row", text=_write_template(str(key))) for (key,), part in parts.items()]
    return pl.concat(texts).sort("row")["text"] if texts else pl.Series("text", [], pl.String)


def _write_template(template: str) -> pl.Expr:
    """Return the sentences of one template. It is cut at its slots, because names may contain slots."""
    parts = _SLOTS.split(template)
    written = []
    for text, slot in zip(parts[::2], [*parts[1::2], None], strict=True):
        name = pl.col("head" if slot == "[X]" else "tail")
        article = None if slot is None else _ARTICLE.search(text)
        if article is None:
            written.append(pl.lit(text))
        else:
            start, letter = text[: article.start()], article[1]
            has_vowel = pl.when(name.str.contains(_VOWEL_SOUND))
            written.append(
                has_vowel.then(pl.lit(f"{start}{letter}n ")).otherwise(pl.lit(f"{start}{letter} "))
            )
        written += [] if slot is None else [name]
    sentence = pl.concat_str(written)
    return _write_capital(sentence) if template.startswith("[") else sentence


def _write_capital(sentence: pl.Expr) -> pl.Expr:
    """Return the sentences with a capital, if their first word has only small letters."""
    capital = sentence.str.slice(0, 1).str.to_uppercase() + sentence.str.slice(1)
    return pl.when(sentence.str.contains(_SMALL_WORD)).then(capital).otherwise(sentence)


def join_entities(rows: pl.DataFrame, triplets: pl.DataFrame) -> pl.DataFrame:
    """Return variants or statements with the columns head and tail of their triplets."""
    entities = triplets.select("triplet_id", "head", "tail")
    return rows.join(entities, on="triplet_id", how="left", maintain_order="left")


STATEMENTS_VERSION = 2
"""Count it up when the function gives other rows for the same arguments."""


def fill_prototypes(
    variants: pl.DataFrame, triplets: pl.DataFrame, prototypes: RelationPrototypes
) -> pl.DataFrame:
    """Return one row per variant: its prototype with both slots filled in one pass."""
    names = prototypes.cells.keys()
    templates = {name: prototypes.cells[name].prototype for name in names}
    ids = {name: hash_text("prototype", prototypes.relation, name, templates[name]) for name in names}
    rows = join_entities(variants, triplets).with_columns(
        pl.col("transformation").replace_strict(templates).alias("template"),
        pl.col("transformation").replace_strict(ids).alias("prototype_id"),
    )
    return rows.with_columns(write_sentences(rows).alias("statement")).select(STATEMENTS.names)
