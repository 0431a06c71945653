"""Which of the two entities is the source of each relation that a sentence states."""

from collections.abc import Mapping, Sequence

from gate.cues import Cue, find_cue
from gate.labels import LIST_VERBS, find_kind
from gate.polarity import SLOTS
from gate.words import list_words

_AGENT = frozenset(("by", "with", "using", "through", "via"))
_BE = frozenset(("is", "are", "be", "been", "being", "was", "were"))
_PRONOUNS = frozenset(("it", "them", "this", "these", "such", "its"))
# "X has the effect of Y" makes X the source, "X is an effect of Y" does not.
_OWNING = list_words("has have having exerts exert with experience experiences show shows feel feels")
_OF_THE = (("of", "the"), ("of", "this"), ("of", "that"))
_RELATIVE = frozenset(["that", "which", "who", "to", "can", "may", "could", "might"])
_FINITE = list_words(
    """
    causes triggers induces produces generates treats prevents encodes specifies exhibits displays
    harbors
    """
)
# Participles of what nobody else does to the subject.
_ACTIVE = frozenset(["originated", "stemmed", "derived", "emerged", "succeeded"])
_POSSESSION = Cue("host", is_source_subject=True)
_HAVE = LIST_VERBS | {"has", "have", "lacks", "lack", "features", "shows"}
_DUAL = frozenset(("before", "after", "earlier", "later"))
_LIGHT = frozenset(("the", "a", "an", "of", "any"))


def find_sources(tokens: Sequence[str]) -> dict[str, str]:
    """Family of relation -> the slot that is its source; families on which the cues disagree are left out."""
    places = [i for i, token in enumerate(tokens) if token in SLOTS]
    if len({tokens[i] for i in places}) < 2:
        return {}
    first, second = places[0], next(i for i in places if tokens[i] != tokens[places[0]])
    found: dict[str, set[str]] = {}
    for at, token in enumerate(tokens):
        cue = find_cue(token) or _find_possession(tokens, at, first, second)
        if cue is None or _only_describes(tokens, at):
            continue
        if (source := _find_source(tokens, at, cue, first, second)) is not None:
            found.setdefault(cue.family, set()).add(tokens[source])
    return {family: sources.pop() for family, sources in found.items() if len(sources) == 1}


def _find_source(tokens: Sequence[str], at: int, cue: Cue, first: int, second: int) -> int | None:
    """Position of the slot that is the source for this cue; None if it does not tell."""
    if cue.is_adverb or (tokens[at] in _DUAL and _is_alone(tokens, at)):
        told = second if at > first else first
        return told if cue.is_source_subject else first + second - told
    if tokens[at] in ("effect", "effects") and first < at < second and _OWNING.intersection(tokens[first:at]):
        return first
    subject = _find_agent(tokens, at, first, second)
    if subject is None:
        return None
    return subject if cue.is_source_subject else first + second - subject


def _find_possession(tokens: Sequence[str], at: int, first: int, second: int) -> Cue | None:
    """The cue in "X has Y", "the features of X include Y"; none where a person has it, or something of Y."""
    if tokens[at] not in _HAVE or not first < at < second or second - at > 4 or at - first > 3:
        return None
    return None if "," in tokens[first:second] else _POSSESSION


def _only_describes(tokens: Sequence[str], at: int) -> bool:
    """Whether this is the adjective of "a pattern characteristic of X", which says what the pattern is."""
    return tokens[at] == "characteristic" and at > 0 and find_kind(tokens[at - 1]) is not None


def _is_alone(tokens: Sequence[str], at: int) -> bool:
    """Whether "before" or "after" stands without an event behind it."""
    if at + 1 == len(tokens):
        return True
    if tokens[at] in ("earlier", "later"):
        return tokens[at + 1] != "than"
    return tokens[at + 1] in (",", "he", "she", "they")


def _find_agent(tokens: Sequence[str], at: int, first: int, second: int) -> int | None:
    """Position of the slot that is the subject of the cue, once passives and pronouns are undone."""
    is_passive = _has_agent_behind(tokens, at, first, second)
    if is_passive is None or (at < first and _has_other_subject(tokens, at)):
        return None
    if at > second:
        is_undergone = tokens[at].endswith("ed") and tokens[at] not in _ACTIVE
        return first if is_undergone or _points_back(tokens, max(second, at - 2), at) else second
    if at < first:
        return first if is_passive else second
    is_pointing = _points_back(tokens, at + 1, min(at + 7, second))
    is_pointing = is_pointing or (tokens[at] in ("source", "origin") and tokens[at + 1] == "in")
    # "The antecedents include Y" lists them; "the uses of the medication include Y" does not.
    is_list = tuple(tokens[at - 2 : at]) not in _OF_THE and LIST_VERBS.intersection(
        tokens[at + 1 : second][:3]
    )
    is_pointing = is_pointing or bool(is_list)
    return second if is_passive != is_pointing else first


def _has_other_subject(tokens: Sequence[str], at: int) -> bool:
    """Whether a verb ahead of both entities has its own subject: "if a cell produces X"."""
    is_finite = tokens[at].endswith("s") and not tokens[at].endswith("ss") and tokens[at] in _FINITE
    return is_finite and not _RELATIVE.intersection(tokens[max(0, at - 2) : at])


def _points_back(tokens: Sequence[str], start: int, end: int) -> bool:
    """Whether the stretch holds a word for the entity before: "it", "this condition", "that disease"."""
    for i in range(start, end):
        if tokens[i] in _PRONOUNS:
            return True
        if tokens[i] == "that" and i + 1 < len(tokens) and find_kind(tokens[i + 1]):
            return True
    return False


def _has_agent_behind(tokens: Sequence[str], at: int, first: int, second: int) -> bool | None:
    """Whether the agent comes behind the cue, as in "treated with"; None for a passive without one."""
    following = next((slot for slot in (first, second) if slot > at), None)
    if following is None:
        return False
    is_participle = tokens[at].endswith("ed")
    stretch = tokens[at + 1 : following][: 4 if is_participle else 1]
    if _AGENT.intersection(stretch):
        return True
    is_passive = is_participle and _BE.intersection(tokens[max(0, at - 3) : at])
    return None if is_passive and tokens[at] not in _ACTIVE else False


def is_swapped(statement: Mapping[str, str], text: Mapping[str, str]) -> bool:
    """Whether a relation that both sentences state has another source in the text."""
    return any(text.get(family, source) != source for family, source in statement.items())


def is_mirrored(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Whether the text is the statement with its entities exchanged, a symmetric relation aside."""
    mirrored = [{"X": "Y", "Y": "X"}.get(token, token) for token in text if token not in _LIGHT]
    if mirrored != [token for token in statement if token not in _LIGHT]:
        return False
    return any(token not in _SYMMETRIC and find_kind(token) is None for token in mirrored)


_SYMMETRIC = list_words(
    """
    X Y is are not no associated linked connected related correlated correlates correlate with to and
    between there may might can be , a
    """
)
