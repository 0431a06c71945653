"""Find the entity that is the source of each relation that a sentence states."""

from collections.abc import Mapping, Sequence

from gate.entities import SLOTS
from gate.entity_kinds import LIST_VERBS, find_noun_kind
from gate.relation_cues import Cue, find_cue
from gate.words import list_words

_AGENT_PREPOSITIONS = frozenset(("by", "with", "using", "through", "via"))
_BE = frozenset(("is", "are", "be", "been", "being", "was", "were"))
_PRONOUNS = frozenset(("it", "them", "this", "these", "such", "its"))
# "X has the effect of Y" makes X the source; "X is an effect of Y" does not.
_HAVING = list_words("has have having exerts exert with experience experiences show shows feel feels")
_OF_THE = (("of", "the"), ("of", "this"), ("of", "that"))
_RELATIVE = frozenset(["that", "which", "who", "to", "can", "may", "could", "might"])
_FINITE = list_words(
    """
    causes triggers induces produces generates treats prevents encodes specifies exhibits displays
    harbors
    """
)
# Participles that are always read as active: nobody else does this to the subject.
_NEVER_PASSIVE = frozenset(["originated", "stemmed", "derived", "emerged", "succeeded"])
_POSSESSION = Cue("host", is_source_subject=True)
_POSSESSION_VERBS = LIST_VERBS | {"has", "have", "lacks", "lack", "features", "shows"}
_BEFORE_OR_AFTER = frozenset(("before", "after", "earlier", "later"))
_LIGHT = frozenset(("the", "a", "an", "of", "any"))


def find_sources(tokens: Sequence[str]) -> dict[str, str]:
    """Return kind of relation -> its source slot; kinds on which the cues disagree are left out."""
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
            found.setdefault(cue.kind, set()).add(tokens[source])
    return {kind: sources.pop() for kind, sources in found.items() if len(sources) == 1}


def _find_source(tokens: Sequence[str], at: int, cue: Cue, first: int, second: int) -> int | None:
    """Return the position of the slot that is the source by this cue; None if the cue does not show it."""
    if cue.is_adverb or (tokens[at] in _BEFORE_OR_AFTER and _has_no_event_after(tokens, at)):
        described = second if at > first else first
        return described if cue.is_source_subject else first + second - described
    if tokens[at] in ("effect", "effects") and first < at < second and _HAVING.intersection(tokens[first:at]):
        return first
    subject = _find_subject(tokens, at, first, second)
    if subject is None:
        return None
    return subject if cue.is_source_subject else first + second - subject


def _find_possession(tokens: Sequence[str], at: int, first: int, second: int) -> Cue | None:
    """Return the cue in "X has Y" or "the features of X include Y".

    The result is None if X or Y is too far away: then a person has Y, or X has a part of Y.
    """
    if tokens[at] not in _POSSESSION_VERBS or not first < at < second or second - at > 4 or at - first > 3:
        return None
    return None if "," in tokens[first:second] else _POSSESSION


def _only_describes(tokens: Sequence[str], at: int) -> bool:
    """Return whether this is the adjective in "a pattern characteristic of X": it describes the pattern."""
    return tokens[at] == "characteristic" and at > 0 and find_noun_kind(tokens[at - 1]) is not None


def _has_no_event_after(tokens: Sequence[str], at: int) -> bool:
    """Return whether no event follows this "before" or "after"."""
    if at + 1 == len(tokens):
        return True
    if tokens[at] in ("earlier", "later"):
        return tokens[at + 1] != "than"
    return tokens[at + 1] in (",", "he", "she", "they")


def _find_subject(tokens: Sequence[str], at: int, first: int, second: int) -> int | None:
    """Return the position of the slot that is the subject of the cue in the active voice; None if unknown.

    Passives are turned into actives, and pronouns are replaced by the entity that they refer to.
    """
    is_passive = _is_agent_after(tokens, at, first, second)
    if is_passive is None or (at < first and _has_other_subject(tokens, at)):
        return None
    if at > second:
        is_passive_participle = tokens[at].endswith("ed") and tokens[at] not in _NEVER_PASSIVE
        return first if is_passive_participle or _refers_back(tokens, max(second, at - 2), at) else second
    if at < first:
        return first if is_passive else second
    is_reference = _refers_back(tokens, at + 1, min(at + 7, second))
    is_reference = is_reference or (tokens[at] in ("source", "origin") and tokens[at + 1] == "in")
    # "The antecedents include Y" lists antecedents; "the uses of the drug include Y" does not list drugs.
    is_list = tuple(tokens[at - 2 : at]) not in _OF_THE and LIST_VERBS.intersection(
        tokens[at + 1 : second][:3]
    )
    is_reference = is_reference or bool(is_list)
    return second if is_passive != is_reference else first


def _has_other_subject(tokens: Sequence[str], at: int) -> bool:
    """Return whether a verb before both entities has its own subject: "if a cell produces X"."""
    is_finite = tokens[at].endswith("s") and not tokens[at].endswith("ss") and tokens[at] in _FINITE
    return is_finite and not _RELATIVE.intersection(tokens[max(0, at - 2) : at])


def _refers_back(tokens: Sequence[str], start: int, end: int) -> bool:
    """Return whether tokens[start:end] refer to an earlier entity: "it", "this condition", "that disease"."""
    for i in range(start, end):
        if tokens[i] in _PRONOUNS:
            return True
        if tokens[i] == "that" and i + 1 < len(tokens) and find_noun_kind(tokens[i + 1]):
            return True
    return False


def _is_agent_after(tokens: Sequence[str], at: int, first: int, second: int) -> bool | None:
    """Return whether the agent follows the cue, as in "treated with"; None for a passive without an agent."""
    following = next((slot for slot in (first, second) if slot > at), None)
    if following is None:
        return False
    is_participle = tokens[at].endswith("ed")
    stretch = tokens[at + 1 : following][: 4 if is_participle else 1]
    if _AGENT_PREPOSITIONS.intersection(stretch):
        return True
    is_passive = is_participle and _BE.intersection(tokens[max(0, at - 3) : at])
    return None if is_passive and tokens[at] not in _NEVER_PASSIVE else False


def are_sources_swapped(statement: Mapping[str, str], text: Mapping[str, str]) -> bool:
    """Return whether a relation that both sentences state has another source in the text."""
    return any(text.get(kind, source) != source for kind, source in statement.items())


def are_entities_exchanged(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether the text is the statement with exchanged entities, unless the relation is symmetric."""
    mirrored = [{"X": "Y", "Y": "X"}.get(token, token) for token in text if token not in _LIGHT]
    if mirrored != [token for token in statement if token not in _LIGHT]:
        return False
    return any(token not in _SYMMETRIC and find_noun_kind(token) is None for token in mirrored)


_SYMMETRIC = list_words(
    """
    X Y is are not no associated linked connected related correlated correlates correlate with to and
    between there may might can be , a
    """
)
