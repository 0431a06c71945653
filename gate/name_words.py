"""Words of names that mean the same, that add little to a name, or that may stand between its words."""

from functools import lru_cache

from gate.vocabulary import CACHE_SIZE, load_lists, load_words
from gate.words import make_singular, stem_word

# Each line holds words of one meaning: an organ and its adjective, a Latin word and an English one.
_SAME = {word: group.split()[0] for group in load_lists("names")["same"].split(";") for word in group.split()}

# Terminologies append these class words to a name in brackets.
CLASS_TAGS = load_words("class_tags")
# A name without these words is still the same name, if other words are left.
WEAK_WORDS = load_words("weak_words")
# These may stand between the words of a name that are in another order: "cancer of the lung".
LIGHT_WORDS = load_words("light_words")
# These may replace a preposition of the name: "stage 2 according to the scale" for "stage 2 by the scale".
CONNECTIVES = load_words("connectives")
# With these words in a name, its order matters: "G0 to G1" is not "G1 to G0".
ORDERING_WORDS = frozenset(("to", "from"))
# These verbs say that something brings about the change that a name contains: "lowers X" for "decreased X".
CHANGE_VERBS = load_words("change_verbs")
CHANGE_VERBS_AFTER_MODAL = load_words("change_verbs_after_modal")


@lru_cache(CACHE_SIZE)
def normalize_name_word(word: str) -> str:
    """Return the singular of a folded word of a name; words of one meaning give the same word."""
    if word in _SAME:
        return _SAME[word]
    singular = make_singular(word)
    return _SAME.get(singular, singular)


@lru_cache(CACHE_SIZE)
def stem_name_word(word: str) -> str:
    """Return the stem by which words of names are compared."""
    return stem_word(normalize_name_word(word))
