"""From a response to a prediction: true, false, or no answer (method, section 3)."""

import re

# "The correct answer is False" says False.
ABOUT_ANSWER = r"(?!\s+(?:answer|response|choice|option)\b)"
TRUE_WORDS = ("true", "entailed", rf"correct{ABOUT_ANSWER}", "yes")
FALSE_WORDS = ("false", "contradicted", rf"wrong{ABOUT_ANSWER}", "no")
NEGATORS = r"not|never|neither|cannot|hardly|[a-z]+n['’]t"
# A negation governs the word after it, with at most adverbs, an article or a form of to be between.
FILLERS = (
    r"a|an|at\s+all|all|completely|entirely|exactly|factually|fully|medically|necessarily|really"
    r"|strictly|quite|the|always|seem|appear|considered|to\s+be|be"
)
# Whole words; the marks that set a word off (not **true**, _True_) are no part of it.
START, END = r"(?<![^\W_])", r"(?![^\W_])"
GAP = r"[\s*_\"'`“”‘’]+"
ANSWER = re.compile(
    rf"(?:{START}(?P<negated>{NEGATORS})(?:{GAP}(?:{FILLERS}))*{GAP})?"
    rf"{START}(?:(?P<true>{'|'.join(TRUE_WORDS)})"
    rf"|(?P<false>{'|'.join(FALSE_WORDS)})|(?P<incorrect>incorrect|untrue)){END}",
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


def cut_completion(response: str | None) -> str | None:
    """The first line with text in it: what a raw completion says before it goes on to something else."""
    return response if response is None else next(iter(response.strip().splitlines()), "")
