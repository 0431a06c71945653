"""The closing sentence of a question, taken apart around its gap: the place where the answer belongs.

"In addition to aspirin, which of the following drugs should be given?" has the lead "In addition to
aspirin,", the gap "which of the following drugs" with the noun "drugs", and the predicate "should be given".
"""

import re
from dataclasses import dataclass, replace

from pretexeval.gate.lexicon import join_parts, list_words
from tasks.questions.option_forms import make_plural

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
            return join_parts(self.adverbs, self.verb, self.rest)
        if self.verb in _PAST:
            return join_parts("did not", self.adverbs, _PAST[self.verb], self.rest)
        is_lexical_have = self.verb in {"has", "have"} and not _is_auxiliary_have(self.rest)
        if self.verb in _THIRD_PERSON and (self.verb != "has" or is_lexical_have):
            return join_parts("does not", self.adverbs, _THIRD_PERSON[self.verb], self.rest)
        if self.verb in _BASES and (self.verb != "have" or is_lexical_have):
            return join_parts("do not", self.adverbs, self.verb, self.rest)
        return join_parts("cannot" if self.verb == "can" else f"{self.verb} not", self.adverbs, self.rest)


def is_adverb(word: str) -> bool:
    """Return whether a word can stand before a finite verb as an adverb. Verbs such as "apply" cannot."""
    return word in _ADVERBS or (word.endswith("ly") and word not in {"family", "anomaly", "only", *_BASES})


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
    """Return the parts of a text whose first word that is no adverb is a verb; None if it is not known.

    A missing or superfluous "the" before a superlative is corrected: "is best treatment option".
    """
    words = text.split()
    place = next(i for i, word in enumerate(words) if not is_adverb(word))
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


_GAP = re.compile(r"\bwhich (?:one )?of (?:the )?following\b\s*", re.IGNORECASE)
_OTHER_GAP = re.compile(r"^(?P<lead>.*?,\s+)?(?P<word>what|which)\s+(?P<rest>.+)$", re.IGNORECASE)
_TWO_QUESTIONS = re.compile(r"^is (the .+?),? and what is (the .+)$")
_LEAD = re.compile(r"^(?P<lead>.*?,)\s+(?P<rest>[^,]+)$")
_LEADS = list_words(
    """
    according after although among as assuming at based because before besides compared considering currently
    during following for from given if in of on postoperatively preoperatively regarding since to upon when
    while with within without
    """
)
_PREPOSITIONS = list_words("in on at for to from with by of during into over under through between")
_RELATIVES = list_words("that which who whose when where")
_DETERMINERS = list_words("the this that these those a an his her their its your my our")
_PRONOUNS = list_words("he she it they you we one i")
_SUBJECT_PRONOUNS = list_words("he she they you we i")
_PERSONS = list_words("patient baby infant woman man child boy girl")
_TAIL = re.compile(
    r"(?=\s(?:when|as an?|in this|in the|for which|to|during|following|on|after|over|at this|with an)\s)"
)
# Verbs of closing sentences whose gap is at their end.
_LEXICAL_VERBS = list_words(
    """
    acts belongs corresponds decreases fits had has increases indicates involves produces puts relies requires
    spreads supplies uses works
    """
)
# Base forms after which a gap follows in "which effects would the drug also have".
_BASE_VERBS = list_words("be have show expect see reveal find cause recommend demonstrate develop receive")
_MAX_SUBJECT_WORDS = 8


@dataclass(frozen=True)
class Clause:
    """A sentence with a gap: lead, before, gap, predicate (the gap is the subject), or lead, predicate, gap.

    Without ``has_gap_as_subject``, ``before`` is the subject of the predicate, and the gap comes after the
    predicate: "Further evaluation is likely to show which of the following findings".
    """

    lead: str
    before: str
    noun: str
    predicate: Predicate
    tail: str
    has_gap_as_subject: bool


def parse_clause(sentence: str) -> Clause | str:
    """Return the parts of a closing sentence without its mark, or the reason why it cannot be turned."""
    gaps = list(_GAP.finditer(sentence))
    if len(gaps) > 1:
        return "asks for several things"
    if gaps:
        return _parse_around_gap(sentence[: gaps[0].start()].strip(), sentence[gaps[0].end() :])
    match = _OTHER_GAP.match(sentence)
    if match is None:
        return "does not ask with 'which of the following', 'what' or 'which' at its beginning"
    if re.match(r"^(?:given|from|among) the following \w+,\s", sentence, re.IGNORECASE):
        match = _OTHER_GAP.match(match["word"] + " " + match["rest"]) or match
    lead, word, rest = (match["lead"] or "").strip(), match["word"].lower(), match["rest"]
    if rest.startswith(("of ", "the following")):
        return "asks with other words than 'which of the following'"
    if two := _TWO_QUESTIONS.match(rest):
        rest = f"gives {two[1]} and {two[2]}"
    first = rest.split(" ", 1)[0].lower()
    if word == "which" and first in AUXILIARIES and lead.lower().startswith("of the following"):
        return _parse_subject("", "", rest)
    if word == "which" and first in AUXILIARIES:
        return "asks 'which' without 'of the following'"
    return _parse_subject(lead, "", rest)


def _parse_around_gap(before: str, after: str) -> Clause | str:
    """Return the clause of a sentence with "which of the following" between the two texts."""
    lead = ""
    if before.endswith(","):
        lead, before = before, ""
    elif (match := _LEAD.match(before)) and match["lead"].split()[0].lower().strip(",") in _LEADS:
        lead, before = match["lead"], match["rest"]
    if before and before.split()[-1].lower() in _PREPOSITIONS and len(before.split()) == 1:
        return "the gap is the object of a preposition at the beginning"
    if before and not lead and before.split()[0].lower() in {"if", "when", "while"}:
        return "a condition is not divided from the question by a comma"
    if ", which " in before:
        return "the gap is in a relative clause"
    if before and (finite := _find_main_verb(before)) is not None:
        return _parse_in_situ(lead, before, finite, after)
    return _parse_subject(lead, before, after)


def _find_main_verb(text: str) -> int | None:
    """Return the place of the word that is the finite verb of the sentence so far, or None.

    A verb after "that", "which" or "who" belongs to a relative clause, and so does one after a pronoun within
    the sentence ("the drug she was given is …"): the next one is the main verb.
    """
    words = text.lower().split()
    finites = [i for i, word in enumerate(words) if word in AUXILIARIES or (i and word in _LEXICAL_VERBS)]
    relatives = [i for i, word in enumerate(words) if i and word in _RELATIVES]
    for relative in relatives:
        first = next((i for i in range(relative + 1, len(words)) if not is_adverb(words[i])), None)
        inner = next((i for i in finites if i > relative), None)
        has_own_verb = first is not None and (first == inner or words[first] in _DETERMINERS | _PRONOUNS)
        if inner is not None and has_own_verb:
            finites.remove(inner)
    finites = [i for i in finites if i < 2 or words[i - 1] not in _SUBJECT_PRONOUNS]
    return finites[0] if finites else None


def _parse_in_situ(lead: str, before: str, finite: int, after: str) -> Clause | str:
    """Return the clause of a sentence whose gap comes after its finite verb."""
    words = before.split()
    start = finite
    while start > 1 and is_adverb(words[start - 1]):
        start -= 1
    predicate = split_predicate(" ".join(words[start:]))
    if predicate is None:
        return f"the verb {words[finite]!r} is not known"
    noun, tail = _split_noun(after)
    if any(word.lower() in AUXILIARIES for word in tail.split()):
        return "has two finite verbs around the gap"
    return Clause(lead, " ".join(words[:start]), noun, predicate, tail, has_gap_as_subject=False)


def _split_noun(after: str) -> tuple[str, str]:
    """Return the noun of a gap at the end of a sentence, and the words after the noun."""
    noun, *rest = _TAIL.split(f" {after}", maxsplit=1)
    return noun.strip(), "".join(rest).strip()


def _parse_subject(lead: str, before: str, after: str) -> Clause | str:
    """Return the clause of a sentence whose gap is in the subject, or is moved there."""
    noun_and_rest = find_predicate(after)
    if noun_and_rest is None:
        return "has no known verb after the gap"
    noun, rest = noun_and_rest
    if "," in noun or _RELATIVES & set(noun.lower().split()):
        return "the noun of the gap has a clause of its own"
    words = rest.split()
    finite = next(i for i, word in enumerate(words) if not is_adverb(word))
    if finite + 1 < len(words) and (moved := _find_moved_subject(words, finite)) is not None:
        if before:
            return "the gap is an object"
        return _parse_moved(lead, noun, words, finite, moved)
    predicate = split_predicate(rest)
    if predicate is None:
        return f"the verb {words[finite]!r} is not known"
    return Clause(lead, before, noun, predicate, "", has_gap_as_subject=True)


def _find_moved_subject(words: list[str], finite: int) -> int | None:
    """Return the number of words of a subject after the finite verb ("would the drug also have"), or None."""
    verb, following = words[finite].lower(), words[finite + 1].lower()
    if verb in {"is", "are", "was", "were"}:
        is_person = following in _DETERMINERS and bool(_PERSONS & set(words[finite + 2 : finite + 3]))
        is_thing = following in {"a", "an"} and words[-3:-1] == ["likely", "to"]
        return 0 if following in _PRONOUNS or is_person or is_thing else None
    if verb not in MODALS | {"do", "does", "did"} or following not in _DETERMINERS | _PRONOUNS:
        return None
    if following in _PRONOUNS:
        return 1
    for n_words in range(2, _MAX_SUBJECT_WORDS):
        word = words[finite + 1 + n_words : finite + 2 + n_words]
        if word and (is_adverb(word[0]) or word[0].lower() in _BASE_VERBS):
            return n_words
    return 0


def _parse_moved(lead: str, noun: str, words: list[str], finite: int, n_words: int) -> Clause | str:
    """Return "which effects would the drug have" as "which of the following is among the effects that …"."""
    if n_words == 0 or words[finite].lower() not in MODALS or finite:
        return "the gap is an object"
    subject, rest = words[1 : 1 + n_words], words[1 + n_words :]
    what = f"among the {make_plural(noun)} that" if noun else "what"
    complement = " ".join([what, *subject, words[0], *rest])
    return Clause(
        lead, "", "", Predicate("", "is", complement, is_negative=False), "", has_gap_as_subject=True
    )
