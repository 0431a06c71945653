"""Finite verbs of closing sentences: where they are, their negation and their number."""

import re
from dataclasses import dataclass, replace

from pretexeval.gate.lexicon import list_words

BE = {"is": "are", "was": "were"}
MODALS = list_words("can could may might must shall should will would")
_HAVE = {"has": "have"}
AUXILIARIES = frozenset([*BE, *BE.values(), *MODALS, *_HAVE, "have", "had", "do", "does", "did"])
_ADVERBS = list_words("also best better most more now then thus first still however")
# Base forms of the verbs that may follow the gap in the third person without an adverb before them.
_BASES = list_words(
    """
    account act allow apply belong cause characterize confirm contribute correspond decrease depict
    describe explain fit give have identify increase indicate inhibit involve lead make occur predispose
    produce put rely represent require spread state suggest supply support underlie use work
    """
)
_THIRD_PERSON = {"has" if base == "have" else re.sub("y$", "ie", base) + "s": base for base in _BASES}
_PAST = {
    "accounted": "account",
    "caused": "cause",
    "contributed": "contribute",
    "explained": "explain",
    "increased": "increase",
    "led": "lead",
    "precipitated": "precipitate",
    "predisposed": "predispose",
    "prevented": "prevent",
    "resulted": "result",
    "transmitted": "transmit",
    "triggered": "trigger",
}
# Verbs that are plural nouns too ("which of the following causes is …").
_ALSO_NOUNS = list_words("acts causes decreases fits increases states supports uses works")
# Words that stand between a superlative and its noun, or are its noun.
_NOUNS = list_words("treatment therapy step management diagnosis cause option initial next")
# Words that begin a complement after which "has" is an auxiliary.
_PARTICIPLES = ("ed", "en", "been", "led", "had")


@dataclass(frozen=True)
class Predicate:
    """A finite verb, the adverbs before it and the words after it. A negative one has "not" in its source."""

    adverbs: str
    verb: str
    rest: str
    is_negative: bool

    @property
    def is_plural(self) -> bool:
        """Return whether the verb is a plural in the present or of "be". Modals and past tenses are not."""
        return self.verb in {*BE.values(), "have", "do"} or self.verb in _BASES - {"put"}

    @property
    def agrees(self) -> bool:
        """Return whether the verb changes with the number of its subject."""
        return self.is_plural or self.verb in {*BE, "has"} or self.verb in _THIRD_PERSON

    @property
    def complement(self) -> str:
        """The words after "is" or "would be", or nothing for other verbs."""
        if self.verb in {*BE, *BE.values()}:
            return self.rest
        return self.rest.removeprefix("be ") if self.verb in MODALS and self.rest.startswith("be ") else ""

    def with_number(self, is_plural: bool) -> "Predicate":
        """Return the predicate with its verb in the singular or the plural."""
        if not self.agrees or is_plural == self.is_plural:
            return self
        to_plural = {**BE, **_HAVE, **_THIRD_PERSON}
        table = to_plural if is_plural else {plural: singular for singular, plural in to_plural.items()}
        return replace(self, verb=table[self.verb])

    def render(self, is_negated: bool) -> str:
        """Return the words of the predicate, or of its contradictory: "is not …", "does not best explain …".

        "Not" stands directly after the auxiliary, so that it denies all that follows, "most likely" as well.
        A predicate that was negative in the source is affirmed by its negation.
        """
        if is_negated == self.is_negative:
            return _join(self.adverbs, self.verb, self.rest)
        if self.verb in _PAST:
            return _join("did not", self.adverbs, _PAST[self.verb], self.rest)
        is_lexical_have = self.verb in {"has", "have"} and not _is_auxiliary_have(self.rest)
        if self.verb in _THIRD_PERSON and (self.verb != "has" or is_lexical_have):
            return _join("does not", self.adverbs, _THIRD_PERSON[self.verb], self.rest)
        if self.verb in _BASES and (self.verb != "have" or is_lexical_have):
            return _join("do not", self.adverbs, self.verb, self.rest)
        return _join("cannot" if self.verb == "can" else f"{self.verb} not", self.adverbs, self.rest)


def is_adverb(word: str) -> bool:
    """Return whether a word can stand before a finite verb as an adverb."""
    return word in _ADVERBS or (word.endswith("ly") and word not in {"family", "anomaly", "supply", "only"})


def find_predicate(after: str) -> tuple[str, str] | None:
    """Return the noun of a gap and the predicate after it, or None if no finite verb is known.

    "mechanisms best explains the failure" has the noun "mechanisms".
    """
    words = after.split()
    for place, word in enumerate(words):
        start = place
        while start and is_adverb(words[start - 1]):
            start -= 1
        if word in AUXILIARIES or word in _THIRD_PERSON or (start < place and word in {*_PAST, *_BASES}):
            is_noun = word in _ALSO_NOUNS and start == place and bool(AUXILIARIES & set(words[place:]))
            if not is_noun:
                return " ".join(words[:start]), " ".join(words[start:])
    return None


def split_predicate(text: str) -> Predicate | None:
    """Return a text that begins with a predicate as its parts, or None if its verb is not known.

    A missing or superfluous "the" before a superlative is corrected: "is best treatment option".
    """
    words = text.split()
    place = next((i for i, word in enumerate(words) if not is_adverb(word)), None)
    if place is None:
        return None
    verb, rest = words[place], words[place + 1 :]
    if verb not in AUXILIARIES and verb not in {*_THIRD_PERSON, *_PAST, *_BASES}:
        return None
    is_negative = bool(rest) and rest[0].lower() == "not"
    adverbs = " ".join(words[:place])
    return _correct_article(Predicate(adverbs, verb, " ".join(rest[is_negative:]), is_negative))


def _correct_article(predicate: Predicate) -> Predicate:
    """Return the predicate with the article that its superlative needs: "is the best treatment option"."""
    complement = predicate.complement
    words = complement.split()
    if words[:3] == ["the", "most", "likely"] and set(words[3:4]) & {"to", "responsible", "associated"}:
        corrected = complement.removeprefix("the ")
    elif (words[:1] == ["best"] and set(words[1:2]) & _NOUNS) or (
        words[:1] == ["most"] and set(words[2:3]) & _NOUNS
    ):
        corrected = f"the {complement}"
    else:
        return predicate
    return replace(predicate, rest=predicate.rest.removesuffix(complement) + corrected)


def _is_auxiliary_have(rest: str) -> bool:
    words = [word for word in rest.split() if not is_adverb(word)]
    return bool(words) and words[0].endswith(_PARTICIPLES)


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)
