"""Stage statements: every variant as a sentence, from its prototype (method, 2.4)."""

import re

import polars as pl

from primitives.hashing import hash_text
from prototypes.templates import RelationPrototypes
from schemas.stages import STATEMENTS

# A vowel letter, or a capital whose name begins with a vowel in an abbreviation: "an MRI". Some vowel letters
# sound like a consonant: "a uterus", "a European".
_VOWEL_SOUND = (
    r"^(?:[AaIi]|[Oo][^n]|[Oo]n[^ce]|[Ee][^u]|[Uu](?:[^nrst]|n[^i]|r[^ei]|[st][^eu])|[FHLMNRSX][A-Z0-9-])"
)
_SMALL_WORD = r"^[a-z]{2,}(?:[\s,.;)-]|$)"


def fill_prototypes(
    variants: pl.DataFrame, triplets: pl.DataFrame, prototypes: RelationPrototypes
) -> pl.DataFrame:
    """Return one row per variant: its prototype with both slots filled in one pass."""
    names = prototypes.cells.keys()
    templates = {name: prototypes.cells[name].prototype for name in names}
    ids = {name: hash_text("prototype", prototypes.relation, name, templates[name]) for name in names}
    entities = triplets.select("triplet_id", "head", "tail")
    return (
        variants.join(entities, on="triplet_id", how="left", maintain_order="left_right")
        .with_columns(
            pl.col("transformation").replace_strict(templates).alias("template"),
            pl.col("transformation").replace_strict(ids).alias("prototype_id"),
        )
        .with_columns(write_sentence(pl.col("template")).alias("statement"))
        .select(STATEMENTS.names)
    )


def write_sentence(template: pl.Expr) -> pl.Expr:
    """Return the template filled with the columns head and tail, with a capital and the right articles.

    A name that begins the sentence gets a capital if its first word has only small letters. "a" and "an"
    before a slot follow the name in it.
    """
    for slot, name in (("[X]", "head"), ("[Y]", "tail")):
        article = (
            pl.when(pl.col(name).str.contains(_VOWEL_SOUND)).then(pl.lit("${a}n ")).otherwise(pl.lit("${a} "))
        )
        template = template.str.replace(rf"\b(?<a>[Aa])n? {re.escape(slot)}", article + slot)
    sentence = fill_template(template)
    is_capital_missing = template.str.starts_with("[") & sentence.str.contains(_SMALL_WORD)
    capital = sentence.str.slice(0, 1).str.to_uppercase() + sentence.str.slice(1)
    return pl.when(is_capital_missing).then(capital).otherwise(sentence)


def fill_template(template: pl.Expr) -> pl.Expr:
    """Return the template with [X] and [Y] replaced by the columns head and tail, in one pass.

    The template is cut at its slots before a name is put in, because names may contain `[X]` themselves.
    """
    starts_with_head = template.str.find(r"[X]", literal=True) < template.str.find(r"[Y]", literal=True)
    cut = template.str.replace_many(["[X]", "[Y]"], ["\x00", "\x00"]).str.splitn("\x00", 3)
    first = pl.when(starts_with_head).then(pl.col("head")).otherwise(pl.col("tail"))
    second = pl.when(starts_with_head).then(pl.col("tail")).otherwise(pl.col("head"))
    return pl.concat_str(
        cut.struct.field("field_0"),
        first,
        cut.struct.field("field_1"),
        second,
        cut.struct.field("field_2"),
    )


def join_entities(statements: pl.DataFrame, triplets: pl.DataFrame) -> pl.DataFrame:
    """Return the statements with the columns head and tail of their triplets."""
    entities = triplets.select("triplet_id", "head", "tail")
    return statements.join(entities, on="triplet_id", how="left", maintain_order="left")
