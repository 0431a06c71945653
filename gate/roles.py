"""Find which entity is the source of each relation that a sentence states: the cause, the treatment, …"""

from collections.abc import Mapping, Sequence

from gate.entities import SLOTS
from gate.governors import is_predicate_noun
from gate.kinds import LIST_VERBS, find_next_slot, find_noun_kinds
from gate.premises import find_two_slots
from gate.relations import Cue, find_cue
from gate.vocabulary import load_words

_AGENT_PREPOSITIONS = frozenset(("by", "with", "using", "through", "via"))
_PRONOUNS = frozenset(("it", "them", "this", "these", "such", "its"))
_OF_THE = (("of", "the"), ("of", "this"), ("of", "that"))
# Participles that are always read as active: nobody else does this to the subject.
_NEVER_PASSIVE = frozenset(["originated", "stemmed", "derived", "emerged", "succeeded", "involved"])
_RELATIVE = frozenset(("that", "which", "who", "to"))
_POSSESSION = Cue("host", is_source_subject=True)
_POSSESSION_VERBS = LIST_VERBS | {"has", "have", "lacks", "lack", "features", "shows"}
_ACTION_NOUNS = load_words("action_nouns")


def find_sources(tokens: Sequence[str]) -> dict[str, str]:
    """Return kind of relation -> its source slot; kinds on which the cues disagree are left out."""
    if (places := find_two_slots(tokens)) is None:
        return {}
    first, second = places
    found: dict[str, set[str]] = {}
    for at, token in enumerate(tokens):
        # "The symptom X" and "X is a symptom that …" only say what X is.
        is_class = find_noun_kinds(token) and (
            find_next_slot(tokens, at + 1) or tokens[at + 1 : at + 2] in (("that",), ("which",))
        )
        cue = find_cue(token) or _find_possession(tokens, at, first, second)
        if cue is not None and cue.kind == "host" and is_class:
            continue
        if cue is not None and (source := _find_source(tokens, at, cue, first, second)) is not None:
            found.setdefault(cue.kind, set()).add(tokens[source])
    return {kind: sources.pop() for kind, sources in found.items() if len(sources) == 1}


def _find_source(tokens: Sequence[str], at: int, cue: Cue, first: int, second: int) -> int | None:
    """Return the position of the slot that is the source by this cue; None if the cue does not show it."""
    if cue.is_adverb:
        described = second if at > first else first
        return described if cue.is_source_subject else first + second - described
    if tokens[at] in ("effect", "effects") and first < at < second and not is_predicate_noun(tokens, at + 1):
        return None
    # "The effect of X" may be what X does, or X itself.
    is_open = tokens[at] in ("effect", "effects") and at < first
    # "Y prevention" prevents Y, and "X treatment" treats with X.
    is_open = is_open or (at > 0 and tokens[at - 1] in SLOTS and tokens[at] in _ACTION_NOUNS)
    subject = None if is_open else _find_subject(tokens, at, first, second)
    if subject is None:
        return None
    return subject if cue.is_source_subject else first + second - subject


def _find_possession(tokens: Sequence[str], at: int, first: int, second: int) -> Cue | None:
    """Return the cue in "X has Y" or "the features of X include Y"."""
    if tokens[at] not in _POSSESSION_VERBS or not first < at < second or second - at > 4 or at - first > 3:
        return None
    return _POSSESSION


def _find_subject(tokens: Sequence[str], at: int, first: int, second: int) -> int | None:
    """Return the position of the slot that is the subject of the cue in the active voice; None if unknown.

    Passives are turned into actives, and pronouns are replaced by the entity that they refer to.
    """
    is_passive = _is_agent_after(tokens, at, first, second)
    if is_passive is None or (at < first and _has_other_subject(tokens, at)):
        return None
    if at > second and tokens[at + 1 : at + 2] in (("a",), ("an",)):
        # The object is neither of the two: "X and Y may cause an interaction".
        return None
    if at > second and "its" in tokens[max(second, at - 4) : at]:
        return second
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
    return second if is_passive != (is_reference or bool(is_list)) else first


def _has_other_subject(tokens: Sequence[str], at: int) -> bool:
    """Return whether a verb before both entities has its own subject: "if a cell produces X"."""
    is_verb = tokens[at].endswith("s") and not find_noun_kinds(tokens[at])
    return is_verb and _RELATIVE.isdisjoint(tokens[max(0, at - 2) : at])


def _refers_back(tokens: Sequence[str], start: int, end: int) -> bool:
    """Return whether tokens[start:end] refer to an earlier entity: "it", "this condition", "that disease"."""
    for i in range(start, end):
        is_that = tokens[i] == "that" and i + 1 < len(tokens) and bool(find_noun_kinds(tokens[i + 1]))
        if tokens[i] in _PRONOUNS or is_that:
            return True
    return False


def _is_agent_after(tokens: Sequence[str], at: int, first: int, second: int) -> bool | None:
    """Return whether the agent follows the cue, as in "treated with"; None for a passive without an agent."""
    following = next((slot for slot in (first, second) if slot > at), None)
    if following is None:
        return False
    is_participle = tokens[at].endswith("ed")
    n_words = 8 if tokens[at] in _ACTION_NOUNS else 4 if is_participle else 1
    if _AGENT_PREPOSITIONS.intersection(tokens[at + 1 : following][:n_words]):
        return True
    if not is_participle or tokens[at] in _NEVER_PASSIVE:
        return False
    # Without an agent the participle is a passive, or an adjective as in "the affected gene".
    return None


def are_sources_swapped(statement: Mapping[str, str], text: Mapping[str, str]) -> bool:
    """Return whether a relation that both sentences state has another source in the text."""
    return any(text.get(kind, source) != source for kind, source in statement.items())
