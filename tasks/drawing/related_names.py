"""Which names generalise or specialise each other by their words: "Carcinoma" and "Squamous Cell Carcinoma".

Whether a generalisation or a specialisation of a true tail is true as well is uncertain, so it should not be
a negative. The rule looks at words alone. It rather excludes too much: "Lung" and "Lung Carcinoma" count as
related.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from knowledge.spelling import fold_name
from tasks.drawing.candidates import Candidates

# Words that say nothing about what a name means.
STOP_WORDS = frozenset(
    {"a", "an", "and", "at", "by", "due", "for", "from", "in", "nos", "of", "on", "or", "the", "to", "with"}
    | {"unspecified"}
)
# These change the meaning of the word after them: "Non-Small Cell" is not a kind of "Small Cell".
NEGATING_WORDS = frozenset({"no", "non", "not", "without"})
NOT_SPECIFIED = "not otherwise specified"
MIN_PLURAL = 4


@dataclass(frozen=True)
class NameWords:
    """A name reduced to what is compared."""

    words: frozenset[str]
    letters: str
    """The folded name without spaces, so that "T-Lymphocyte" and "T Lymphocyte" equal "TLymphocyte"."""


def reduce_name(name: str) -> NameWords:
    """Return the words of a name without stop words and plural endings.

    A negating word forms one word with the next one.
    """
    folded = fold_name(name)
    words: list[str] = []
    prefix = ""
    for word in folded.replace(NOT_SPECIFIED, " ").split():
        if word in NEGATING_WORDS:
            prefix += word + " "
        elif word not in STOP_WORDS:
            words.append(prefix + remove_plural(word))
            prefix = ""
    return NameWords(frozenset(words), folded.replace(" ", ""))


def remove_plural(word: str) -> str:
    """Return a folded word without the ending of a plural."""
    if len(word) < MIN_PLURAL or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if re.search("(ss|x|ch|sh)es$", word) else word[:-1]


class RelatedNames:
    """An index of names that finds those that generalise or specialise a given name.

    Of two names, one generalises the other if all its words are among the words of the other. Names with the
    same words, or with the same letters, are related too.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Index the names."""
        self._reduced = {name: reduce_name(name) for name in names}
        self._with_word: dict[str, set[str]] = defaultdict(set)
        self._with_letters: dict[str, set[str]] = defaultdict(set)
        for name, reduced in self._reduced.items():
            self._with_letters[reduced.letters].add(name)
            for word in reduced.words:
                self._with_word[word].add(name)
        # A generalisation has its rarest word in common with the name, so only few names are compared. All
        # of 100,000 names with a word in common would be 10,000,000,000 comparisons.
        self._with_rarest_word: dict[str, set[str]] = defaultdict(set)
        for name, reduced in self._reduced.items():
            if reduced.words:
                rarest = min(reduced.words, key=lambda word: (len(self._with_word[word]), word))
                self._with_rarest_word[rarest].add(name)
        self._found: dict[str, frozenset[str]] = {}

    def find(self, name: str) -> frozenset[str]:
        """Return the indexed names that generalise or specialise ``name``, and those that equal it."""
        if name not in self._found:
            self._found[name] = self._search(reduce_name(name))
        return self._found[name]

    def _search(self, wanted: NameWords) -> frozenset[str]:
        having = sorted((self._with_word.get(word, set()) for word in wanted.words), key=len)
        specialisations = set.intersection(*having) if having else set()
        found = set().union(*(self._with_rarest_word.get(word, ()) for word in wanted.words))
        generalisations = {name for name in found if self._reduced[name].words <= wanted.words}
        return frozenset(specialisations | generalisations | self._with_letters.get(wanted.letters, set()))


def exclude_related(candidates: Candidates) -> Candidates:
    """Return the candidates without negatives that generalise or specialise a true tail of their head.

    Tails that the base asserts to be false of the head stay.
    """
    related = RelatedNames(candidates.pool)
    heads = []
    for head in candidates.heads:
        uncertain = frozenset().union(*(related.find(name) for name in head.true_names)) - head.asserted
        heads.append(replace(head, excluded=head.excluded | uncertain))
    return replace(candidates, heads=tuple(heads))
