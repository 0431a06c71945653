"""Check that a text is one plain statement: no preamble, list, question, answer, explanation or fragment."""

import re
from collections.abc import Sequence

from gate.entities import SLOTS
from gate.words import MARKS, list_words

# Fast filter: a text without any of these needs no closer check.
_SUSPICIOUS = re.compile(r"[\n\r\t?!:;*#\[\]<>|_{}~`=\\…%$^]|\.\s*\S|^\s*(?:[-•–]|\d+[.)])")
# A full stop that ends a sentence; not the one in "e.g." or "E. coli".
_STOP = r"(?<!\bvs)(?<!\bcf)(?<!\bDr)(?<!\bSt)(?<!\bsp)(?<!\bspp)(?<!\betc)(?<!\b[A-Za-z])\."
_MALFORMED = re.compile(
    r"[\n\r\t?!:;*#\[\]<>|_{}~`=\\…%$^]|\.\s*\.|^\s*(?:[-•–]|\d+[.)])|" + _STOP + r"[\"”’')\]]*\s+\S"
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
_EXPLAINING = list_words(
    """
    because therefore thus hence whereas however although though but moreover furthermore additionally
    nevertheless consequently meanwhile statement sentence rephrase rephrased rephrasing rephrases
    paraphrase paraphrased paraphrasing reword reworded rewording rewrite rewritten
    """
)
_UNFINISHED = list_words(
    """
    the a an and or is are be may can could might that which than as if then its their while has have ,
    ( : ;
    """
)
_ENGLISH = list_words(
    """
    the a an of in on to for with by from and or as at is are was were be been being has have had does
    do did can could may might will would should must not no it its that this which who if then when
    there one among than into
    """
)
_JOINING = list_words("the a an and or of in with , ( ) to for")
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
    return bool(_MALFORMED.search(text) or _PREAMBLE.match(text.lstrip("\"'“ ")))


def is_not_a_sentence(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether the masked words are a fragment, another language, an explanation or far too many."""
    words = [token for token in text if token not in SLOTS and token not in MARKS]
    if all(token in _JOINING for token in words):
        return True
    new = set(words).difference(statement)
    return (
        text[-1] in _UNFINISHED
        or len(text) > MAX_LONGER * len(statement) + MAX_ADDED
        or not _EXPLAINING.isdisjoint(new)
        or not "".join(new).isascii()
        or (len(words) > 4 and len(_ENGLISH.intersection(words)) < MIN_ENGLISH * len(words))
        or any(text.count(slot) > statement.count(slot) + 1 for slot in SLOTS)
    )
