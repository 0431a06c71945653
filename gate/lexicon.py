"""Tag single words by their function in a statement: the general English that the checks share.

Each line lists words of one function; "*" stands for any ending.
"""

import re
from functools import lru_cache

from gate.vocabulary import CACHE_SIZE, compile_lists, load_lists, load_words

ARTICLES = frozenset(("a", "an", "the"))
COPULAS = load_words("copulas")
AUXILIARIES = load_words("auxiliaries")
CONDITIONS = load_words("conditions")
_find_tags = compile_lists(load_lists("tags"))
# A negative prefix before a word that also exists without the prefix.
_PREFIXED = re.compile(
    r"un(?!der|i[cflnqtv]|til|to\b|usual|common|cover|veil|ravel|fold|known|clear|certain|dergo|likely|doubt"
    r"|question|fail|proven|proved|confirm|found|substan|deni|necess|support|determ)\w{3,}"
    r"(?:ed|able|ably|ible|ing|ful|al|ive|ic|ous|ent|ant|ory|own|een|ound|aware)"
    r"|non(?!e)\w{4,}"
    r"|(?:in|im|ir|il|dis|mis)(?:able|accurate|active|adequate|advisable|applicable|appropriate|complete|correct"
    r"|curable|dependent|detectable|direct|discernible|effective|effectual|efficacious|evident|existent|frequent"
    r"|operative|significant|sensitive|separable|stable|sufficient|tolerant|valid|variable|visible|mobile"
    r"|permissible|plausible|possible|potent|practical|probable|proper|regular|relevant|replaceable|responsive"
    r"|reversible|legitimate|logical|associated|connected|joined|similar|proven|proved|counted|qualified|qualifies"
    r"|favored|attributed|attributable)(?:ly)?"
)
# These words only look like prefixed negations, or get their tag from the lists above.
_UNPREFIXED = load_words("unprefixed")
_ENDLESS = re.compile(r"(?!un|never|none|regard|doubt|end|bless|need)\w{3,}less(?:ly|ness)?")


@lru_cache(CACHE_SIZE)
def tag_word(word: str) -> frozenset[str]:
    """Return the tags of a folded word; most words have none."""
    tags = _find_tags(word)
    if tags & {"neg", "rare", "unlike", "doubt", "must"}:
        return tags
    is_prefixed = _PREFIXED.fullmatch(word) is not None and word not in _UNPREFIXED
    return tags | {"neg"} if is_prefixed or _ENDLESS.fullmatch(word) else tags
