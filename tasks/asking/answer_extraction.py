"""From a response to a prediction: true, false, or no answer (method, section 3)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

# "The correct answer is False" says False.
ABOUT_ANSWER = r"(?!\s+(?:answer|response|choice|option)\b)"
JUDGING_WORDS = ("correct", "wrong")
NEGATORS = r"not|never|neither|cannot|hardly|[a-z]+n['’]t"
# A negation governs the word after it, with at most adverbs, an article or a form of to be between.
FILLERS = (
    r"a|an|at\s+all|all|completely|entirely|exactly|factually|fully|medically|necessarily|really"
    r"|strictly|quite|the|always|seem|appear|considered|to\s+be|be"
)
# Whole words; the marks that set a word off (not **true**, _True_) are no part of it.
START, END = r"(?<![^\W_])", r"(?![^\W_])"
GAP = r"[\s*_\"'`“”‘’]+"


@dataclass(frozen=True)
class AnswerWords:
    """The words that say true and false; the papers' by default."""

    true: tuple[str, ...] = ("true", "entailed", "correct", "yes")
    false: tuple[str, ...] = ("false", "contradicted", "wrong", "no")

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds the first of them, and whether it is negated."""
        # A word that is the opposite of one of theirs by its prefix says the opposite.
        opposites = "|".join(f"{prefix}{word}" for prefix, word in (("in", "correct"), ("un", "true")))
        return re.compile(
            rf"(?:{START}(?P<negated>{NEGATORS})(?:{GAP}(?:{FILLERS}))*{GAP})?"
            rf"{START}(?:(?P<true>{_list_words(self.true)})"
            rf"|(?P<false>{_list_words(self.false)}|{opposites})){END}",
            re.IGNORECASE,
        )


def _list_words(words: Iterable[str]) -> str:
    # The longest first: "not sure" before "not".
    ordered = sorted((word.strip().casefold() for word in words), key=len, reverse=True)
    return "|".join(
        r"\s+".join(map(re.escape, word.split())) + (ABOUT_ANSWER if word in JUDGING_WORDS else "")
        for word in ordered
    )


PAPERS_WORDS = AnswerWords()


def extract_answer(response: str | None, words: AnswerWords = PAPERS_WORDS) -> bool | None:
    """The first answer word said decides, unless it is negated; None where there is none."""
    if response is None:
        return None
    found = words.pattern.search(response)
    if found is None:
        return None
    return (found["true"] is not None) != (found["negated"] is not None)


def cut_completion(response: str | None) -> str | None:
    """The first line with text in it: what a raw completion says before it goes on to something else."""
    return response if response is None else next(iter(response.strip().splitlines()), "")
