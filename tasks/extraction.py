"""From a response to a prediction: true, false, or no answer (method, section 3)."""

import re

NEGATORS = r"(?:not|never|neither|isn't|isn’t|wasn't|wasn’t|n't|n’t|cannot be|hardly)"
TRUE_WORDS = ("true", "entailed", "correct", "yes")
FALSE_WORDS = ("false", "contradicted", "wrong", "no")
# A negation governs the word after it, with at most an adverb or an article between them.
FILLERS = r"(?:\s+(?:a|an|at\s+all|all|completely|entirely|exactly|factually|fully|medically|necessarily|really|strictly|quite|the|always|considered|to\s+be|be))*"
ANSWER = re.compile(
    rf"(?:\b(?P<negated>{NEGATORS})\b{FILLERS}\s+)?\b(?:(?P<true>{'|'.join(TRUE_WORDS)})"
    rf"|(?P<false>{'|'.join(FALSE_WORDS)})|(?P<incorrect>incorrect|untrue))\b",
    re.IGNORECASE,
)


def extract_answer(response: str | None) -> bool | None:
    """The first answer word said decides, unless it is negated; None where there is none."""
    if response is None:
        return None
    found = ANSWER.search(response)
    if found is None:
        return None
    return (found["true"] is not None) != (found["negated"] is not None)
