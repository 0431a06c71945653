"""Check that a text is one plain statement: no preamble, list, question, answer, explanation or fragment."""

import re
from collections.abc import Sequence

from gate.entities import SLOTS
from gate.grammar import has_claim, is_garbled, split_clauses
from gate.lexicon import CONDITIONS
from gate.vocabulary import load_words
from gate.words import MARKS, stem_word

# Fast filter: a text without any of these needs no closer check.
_SUSPICIOUS = re.compile(r"[\"\n\r\t?!;*#\[\]<>|_{}~`=\\…%$^]|:(?:\s|$)|\.\s*\S|^\s*(?:[-•–]|\d+[.)])")
# A full stop that ends a sentence; not the one in "e.g." or "E. coli".
_STOP = r"(?<!\bvs)(?<!\bcf)(?<!\bDr)(?<!\bSt)(?<!\bsp)(?<!\bspp)(?<!\betc)(?<!\b[A-Za-z])\."
_MALFORMED = re.compile(
    r"[\n\r\t?!;*#\[\]<>|_{}~`=\\…%$^]|:(?:\s|$)|\.\s*\.|^\s*(?:[-•–]|\d+[.)])|" + _STOP + r"[\"”’')\]]*\s+\S"
)
_ANSWERS = (
    "yes no true false correct incorrect right wrong sure certainly absolutely okay ok answer note well"
)
_PREAMBLES = (
    r"here(?:'s|’s| is| are| you)",
    "of course|sorry|unfortunately|please|in other words|in summary|rephrase|paraphrase|rewrite",
    r"i (?:am|have|can|would|will|think|believe|apologi[sz]e)",
    r"i['’](?:m|ve|ll|d)",
    "as an? (?:ai|expert|clinical|medical|language)",
    "to (?:rephrase|summarize)",
    "the following|this (?:statement|sentence)|system|user|assistant|output",
)
_PREAMBLE = re.compile(
    rf"(?:(?:{_ANSWERS.replace(' ', '|')})\s*(?:[,.:!]|$|-\s)|(?:{'|'.join(_PREAMBLES)})\b)", re.IGNORECASE
)
_EXPLAINING = load_words("explaining")
_UNFINISHED = load_words("unfinished")
_ENGLISH = load_words("english")
_REASONING = {(",", "as", word) for word in ("it", "they", "this", "these", "there", "he", "she")} | {
    (",", "that", "means"),
    (",", "this", "means"),
    (",", "which", "means"),
}
# The least share of English function words among the words of a text.
MIN_ENGLISH = 0.12
# A text may have this many times the words of its statement, plus MAX_ADDED.
MAX_LONGER = 2.5
MAX_ADDED = 18


def is_malformed(text: str, names: Sequence[str]) -> bool:
    """Return whether a preamble or marks outside the names show that the text is not one statement."""
    is_suspicious = _SUSPICIOUS.search(text) or _PREAMBLE.match(text.lstrip("\"'“ "))
    return is_suspicious is not None and _is_malformed_without(text, names)


def _is_malformed_without(text: str, names: Sequence[str]) -> bool:
    """Repeat the check after replacing the names, which may contain any mark."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(re.escape(name), "Entity", text, flags=re.IGNORECASE)
    text = text.strip().removesuffix(".")
    return '"' in text.replace('"Entity"', "") or bool(
        _MALFORMED.search(text) or _PREAMBLE.match(text.lstrip("\"'“ "))
    )


def is_not_a_sentence(statement: Sequence[str], text: Sequence[str], has_premise: bool) -> bool:
    """Return whether the masked words are a fragment, another language, an explanation or far too many.

    With a premise, a name may stand for "this drug": it may be once more in the text than in the statement.
    """
    words = [token for token in text if token not in SLOTS and token not in MARKS]
    new = set(words).difference(statement)
    return (
        not has_claim(text)
        or text[-1] in _UNFINISHED
        or len(text) > MAX_LONGER * len(statement) + MAX_ADDED
        or not _EXPLAINING.isdisjoint(new)
        or not "".join(new).isascii()
        or (len(words) > 4 and len(_ENGLISH.intersection(words)) < MIN_ENGLISH * len(words))
        or any(text.count(slot) > statement.count(slot) + has_premise for slot in SLOTS)
        or any(text[i - 1 : i + 2] in _REASONING for i in range(1, len(text)))
        or is_garbled(statement, text)
    )


def contradicts_itself(text: Sequence[str], tags: Sequence[frozenset[str]]) -> bool:
    """Return whether one clause affirms and another one denies the same words about the same entity."""
    clauses: list[tuple[set[str], bool]] = []
    for start, end in split_clauses(text):
        words = text[start:end]
        if text[start] in CONDITIONS and not all(slot in words for slot in SLOTS):
            continue
        content = {stem_word(word) for word in words if word not in _ENGLISH and word not in MARKS}
        n_negations = sum("neg" in tag for tag in tags[start:end])
        clauses.append((content, n_negations % 2 == 1))
    return any(
        is_denied != is_also_denied and any(slot in shared for slot in SLOTS) and len(shared) > 1
        for i, (content, is_denied) in enumerate(clauses)
        for other, is_also_denied in clauses[:i]
        if (shared := content & other)
    )
