"""X and Y in place of the names, for a judge that need not know them."""

import re
from collections.abc import Sequence
from functools import lru_cache

PLACEHOLDERS = ("X", "Y")


def mask_names(texts: Sequence[str], heads: Sequence[str], tails: Sequence[str]) -> tuple[str, ...]:
    """Return the texts with X for the head and Y for the tail, each only if every text has one of its names.

    Case, hyphens, a possessive and a plural may differ. The longer name is replaced first, because it may
    contain the other one.

    Args:
        heads, tails: the name in the statement, and its aliases.
    """
    masked = tuple(texts)
    sides = sorted(zip((heads, tails), PLACEHOLDERS, strict=True), key=lambda side: -len(side[0][0]))
    for names, placeholder in sides:
        pattern = _compile_names(tuple(names))
        if names[0] and all(pattern.search(text) for text in masked):
            masked = tuple(pattern.sub(placeholder, text) for text in masked)
    return masked


@lru_cache(4096)
def _compile_names(names: tuple[str, ...]) -> re.Pattern[str]:
    spelled = (
        r"[\s-]+".join(re.escape(word) for word in re.split(r"[\s-]+", name.strip()) if word)
        for name in sorted(names, key=len, reverse=True)
    )
    return re.compile(rf"(?<!\w)(?:{'|'.join(spelled)})(?:['’]s|e?s)?(?!\w)", re.IGNORECASE)
