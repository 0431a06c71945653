"""Find the kinds of relation (time, cause, treatment, …) that a sentence states or hints at."""

import re
from collections.abc import Sequence
from functools import lru_cache

from gate.relation_cues import find_cue
from gate.words import CACHE_SIZE

# Further words that show the kind of relation, but not its direction.
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
# Cues that are too vague to state their kind of relation; they only hint at it.
_WEAK_CUES = re.compile(
    r"previous(?:ly)?|preceding|beforehand|subsequent(?:ly)?|contribut\w+|effects?|effect_on|produc\w+|attribut\w+|(?:affect|influenc)\w+|responsible|outcome|brought|generat\w+"
)


@lru_cache(CACHE_SIZE)
def find_signs(word: str) -> frozenset[str]:
    """Return the kinds of relation that the word hints at, besides the kind that it states as a cue."""
    return frozenset(kind for kind, pattern in _COMPILED.items() if pattern.fullmatch(word))


def find_stated(tokens: Sequence[str]) -> frozenset[str]:
    """Return the kinds of relation that the sentence states explicitly."""
    cues = [(token, find_cue(token)) for token in tokens]
    stated = {cue.kind for token, cue in cues if cue is not None and not _WEAK_CUES.fullmatch(token)}
    worse = {"worse"} if any("worse" in find_signs(token) for token in tokens) else set()
    return frozenset(stated | worse)


def find_hinted(tokens: Sequence[str]) -> frozenset[str]:
    """Return the kinds of relation that the sentence states or hints at."""
    cues = (find_cue(token) for token in tokens)
    return frozenset(cue.kind for cue in cues if cue is not None).union(
        *(find_signs(token) for token in tokens)
    )
