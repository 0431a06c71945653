"""Fill templates with names, so that the result is a well-formed sentence."""

import re

import polars as pl

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
# A name such as "mTOR", "p53" or "β-catenin" keeps its small letter.
_SMALL_WORD = r"^[\p{Ll}--\p{Greek}]{2,}(?:[^\p{L}\p{N}]|$)"


def write_on_one_line(text: str) -> str:
    """Return a text of a model without white space at its ends; each line break becomes a space."""
    return _CONTROL.sub(" ", text).strip()


def write_sentence(template: pl.Expr) -> pl.Expr:
    """Return the template filled with the columns head and tail, with a capital and the right articles.

    A name that begins the sentence gets a capital if its first word has only small letters. "a" and "an"
    before a slot follow the sound with which the name begins.
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
