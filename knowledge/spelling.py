"""Spellings of one name: characters that nobody sees, and characters that look alike.

Two names that look the same are one name, because a twin of a true tail must not be drawn as a false one.
Names are compared in the folded form and stored as the source writes them, so that a base keeps its checksum.
"""

import re
import unicodedata

# The code points that are shown as nothing (Unicode's Default_Ignorable_Code_Point, the marks of interlinear
# annotations): soft hyphen, zero width, direction marks, joiners, variation selectors, byte-order mark, tags.
INVISIBLE = (
    "\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Letters and signs that are shown as a blank: the Hangul fillers, and the Braille pattern without dots.
BLANK = "\u115f\u1160\u3164\uffa0\u2800"
_SEPARATORS = re.compile(r"[\W_]+")
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
    """Return the name without case, punctuation and extra white space, so that spellings can be compared."""
    return _SEPARATORS.sub(" ", normalize_text(name)).strip()


def list_name_keys(name: str, identifier: str | None) -> tuple[str, ...]:
    """Return the keys of a head or a tail: two that have a key in common are the same.

    An invisible character can stand where another spelling has a space or a hyphen, or within a word. A name
    that has one gets a key for each of the two.
    """
    spellings = [fold_name(name)]
    if not name.isascii():
        spellings.append(fold_name(remove_invisible(name, by=" ")))
    keys = tuple(dict.fromkeys(f"name:{spelling}" for spelling in spellings))
    shown = remove_invisible(identifier or "").strip()
    return (*keys, f"id:{shown}") if shown else keys
