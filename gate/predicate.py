"""Whether the text states a relation of the same kind: what follows in time is not what causes."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gate.cues import find_cue
from gate.words import CACHE

if TYPE_CHECKING:
    from gate.reading import Reading

# What else tells the kind of relation, though not its direction.
_SIGNS = {
    "cause": r"""
        (?:affect|influenc|impact)\w*|effects?|causal|causation|factor|change|contribution|production
        |making|made|come
    """,
    "treat": r"""
        therapeutic|effective|indicat(?:ed|ions?)|remedies|respond\w*|used?|given|agents?|against
        |benefi\w+|choice|taking|takes?|need|administration|measure|turn|perform\w*|prescri\w+|help\w*
        |useful|improv\w+|ameliorat\w+|control\w*|address\w*|combat\w*|fight\w*|resolv\w+|recover\w*
    """,
    "prevent": r"""
        preventive|protective|preventable|immun\w+|occurrence|inhibit\w*|onset|risk|keep\w*|shield\w*
        |guard\w*|block\w*|stop\w*|reduc\w+|counter\w*|hinder\w*
    """,
    "time": r"""
        preceding|previous(?:ly)?|prior|history|subsequent(?:ly)?|development|later|initially|then
        |temporal\w*|sequence|predecessor
    """,
    "encode": r"""
        coding|codes?|coded|transcri\w+|template|instructions|information|express\w+|made|making
        |produc(?:e|es|ed|ing|tion)|synthesi\w+|translat\w+
    """,
    "origin": r"""
        starting|starts?|arose|beginning|began|lineage|roots?|rooted|develop\w*|source|behind|tissue
        |cells?
    """,
    "link": r"associat\w+|link(?:s|ed)?|correlat\w+|connect(?:s|ed|ion)|related|relationship|relation|tied?",
    "worse": r"worsen\w*|aggravat\w+|exacerbat\w+|kills?|killed",
    "hazard": r"risk|complications?|candidate|predispos\w+",
}
_COMPILED = {kind: re.compile(pattern, re.VERBOSE) for kind, pattern in _SIGNS.items()}
# Kinds that a sentence states by name, and that no other wording implies.
_STATED = frozenset(("cause", "treat", "prevent", "time", "encode", "origin"))
_NEVER_ADDED = frozenset(("treat", "prevent", "time", "worse", "cause"))
_REMEDIES = frozenset(("treat", "prevent"))
_MILD = re.compile(
    r"previous(?:ly)?|preceding|beforehand|subsequent(?:ly)?|contribut\w+|effects?|effect_on|produc\w+|attribut\w+|(?:affect|influenc)\w+|responsible|outcome|brought|generat\w+"
)


@lru_cache(CACHE)
def find_signs(word: str) -> frozenset[str]:
    """The kinds of relation that the word may be a sign of, besides what it states."""
    return frozenset(kind for kind, pattern in _COMPILED.items() if pattern.fullmatch(word))


def find_stated(tokens: Sequence[str]) -> frozenset[str]:
    """The kinds of relation that the sentence states by name."""
    cues = [(token, find_cue(token)) for token in tokens]
    stated = {cue.family for token, cue in cues if cue is not None and not _MILD.fullmatch(token)}
    worse = {"worse"} if any("worse" in find_signs(token) for token in tokens) else set()
    return frozenset(stated | worse)


def find_hinted(tokens: Sequence[str]) -> frozenset[str]:
    """The kinds of relation that the sentence states or may be meant to."""
    cues = (find_cue(token) for token in tokens)
    return frozenset(cue.family for cue in cues if cue is not None).union(
        *(find_signs(token) for token in tokens)
    )


def is_other_predicate(statement: "Reading", text: "Reading") -> bool:
    """Whether the text states another kind of relation than the statement, or not its kind any more."""
    added = (text.stated & _NEVER_ADDED) - statement.hinted
    # In "if X, then Y" what is given leads to the rest in a manner of speaking.
    is_consequence = added == {"cause"} and statement.given is not None and "lead_to" in text.tokens
    if added and not is_consequence:
        return True
    if "time" in statement.stated and "hazard" in text.hinted - statement.hinted:
        return True
    if _adds_direction(statement.vocabulary, text.vocabulary, statement.stated):
        return True
    own = statement.stated & _STATED
    return bool(own) and not own & text.hinted


def _adds_direction(statement: frozenset[str], text: frozenset[str], stated: frozenset[str]) -> bool:
    """Whether the text adds that something rises, falls or is abnormal."""
    if "normal" in statement and "abnormal" in text - statement:
        return True
    if statement & {"up", "down"}:
        return False
    if "up" in text and ("risk" not in text or stated & _REMEDIES):
        return True
    return "down" in text and not stated & _REMEDIES
