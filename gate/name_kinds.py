"""Find the kind of thing that a name shows by its last word: "…ectomy" is a procedure."""

import re
from functools import lru_cache

from gate.kinds import find_noun_kinds
from gate.vocabulary import CACHE_SIZE
from gate.words import fold_word

# Endings of medical words that show the kind of thing.
_ENDINGS = (
    (re.compile(r"(?:itis|osis|emia|uria|algia|pathy|trophy|oma|penia|plegia)$"), "disease"),
    (re.compile(r"(?:ectomy|otomy|ostomy|plasty|scopy|desis|pexy)$"), "procedure"),
    (re.compile(r"(?:mab|tinib|pril|olol|statin|cillin|mycin|sartan)$"), "drug"),
    (re.compile(r"(?:[a-z]{3}ase)$(?<!disease)"), "product"),
)


@lru_cache(CACHE_SIZE)
def find_name_kind(name: str) -> frozenset[str]:
    """Return the kind that the last word of a name shows; nothing if it shows none."""
    last = fold_word(name.split()[-1]) if name.split() else ""
    kinds = find_noun_kinds(last) or frozenset(kind for pattern, kind in _ENDINGS if pattern.search(last))
    return kinds | {"site"} if "cell" in kinds else kinds
