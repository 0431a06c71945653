"""Words that relate two entities: for each the kind of relation, and whether its subject is the source.

The source of a relation is the entity that comes first in it: the cause, the treatment, the earlier
event, the tissue of origin, the gene that encodes, the entity that shows a feature.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from gate.words import CACHE_SIZE


@dataclass(frozen=True)
class Cue:
    """A word that relates its subject to its object."""

    kind: str
    is_source_subject: bool
    """Whether the subject of the word is the source of the relation."""
    is_adverb: bool = False
    """Whether the word describes a single event: "afterwards" makes that event the later one."""


_SUBJECT_IS_SOURCE = {
    "cause": r"""
        caus(?:e|es|ed|ing|ative)|trigger(?:s|ed|ing)?|induc(?:e|es|ed|ing)|provok(?:e|es|ed|ing)
        |elicit(?:s|ed|ing)?|produc(?:e|es|ed|ing)|generat(?:e|es|ed|ing)|bring_about|lead_to
        |precipitat(?:e|es|ed|ing)|evok(?:e|es|ed|ing)|engender\w*|contribut(?:e|es|ed|ing)|responsible
        |effect_on|affect(?:s|ing)|influenc(?:e|es|ing)|brought
    """,
    "treat": r"""
        treat(?:s|ed|ing|ment|ments)?|(?:un)?treatable|therap(?:y|ies)|remed\w+|cur(?:e|es|ed|ing)|heals?|healing
        |manag(?:e|es|ed|ing|ement)|reliev(?:e|es|ed|ing)|relief|alleviat\w+|medications?
    """,
    "prevent": r"""
        prevent\w*|avert(?:s|ed|ing)?|protect(?:s|ed|ing|ion)?|ward_off|forestall\w*|prophylaxis
        |avoid(?:s|ed|ing)?
    """,
    "encode": r"encod(?:e|es|ed|ing)|specif(?:y|ies|ied|ying)|transcribe[sd]?",
    "time": r"before|preced(?:e|es|ed)|precursors?|antecedents?|earlier|predates?|antedates?",
    "origin": r"origins?|source|give_rise_to",
    "host": r"""
        exhibit(?:s|ed|ing)?|display(?:s|ed|ing)?|harbor(?:s|ed|ing)?|featuring|possess(?:es|ing)?
        |manifests
    """,
}
_OBJECT_IS_SOURCE = {
    "cause": r"""
        result_from|due_to|attribut(?:ed|able|ion)|consequences?|sequela\w*|outcome|effects?|aftermath
    """,
    "time": r"after|follow(?:s|ed|ing)?|later|succeed(?:s|ed|ing)?|postdates?",
    "origin": r"""
        originat(?:e|es|ed|ing)|stem(?:s|med|ming)?|aris(?:e|es|en|ing)|arose|deriv(?:e|es|ed|ing)
        |traced_to|growing|grows?|emerg(?:e|es|ed|ing)
    """,
    "host": r"""
        characteriz(?:e|es|ed|ing)|characteristics?|accompan(?:y|ies|ied|ying)|accompaniments?|symptoms?
        |signs?|manifestations?|hallmarks?|propert(?:y|ies)|complications?|comorbidit(?:y|ies)|companion
    """,
}
_EARLIER_ADVERBS = {
    "time": r"beforehand|previous(?:ly)?|preceding",
}
_LATER_ADVERBS = {
    "time": r"afterwards?|subsequent(?:ly)?|thereafter|ensuing",
}
_CUES = [
    (re.compile(pattern, re.VERBOSE), Cue(kind, is_source, is_adverb))
    for table, is_source, is_adverb in (
        (_SUBJECT_IS_SOURCE, True, False),
        (_OBJECT_IS_SOURCE, False, False),
        (_EARLIER_ADVERBS, True, True),
        (_LATER_ADVERBS, False, True),
    )
    for kind, pattern in table.items()
]


@lru_cache(CACHE_SIZE)
def find_cue(word: str) -> Cue | None:
    """Return the cue for the word; None if the word is no cue."""
    return next((cue for pattern, cue in _CUES if pattern.fullmatch(word)), None)
