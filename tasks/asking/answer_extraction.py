"""Extraction of predictions from responses: true, false, or no answer (method, section 3)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

# "correct" and "wrong" do not count in phrases such as "The correct answer is False", which says False.
ABOUT_ANSWER = r"(?!\s+(?:answer|response|choice|option)\b)"
JUDGING_WORDS = ("correct", "wrong")
NEGATORS = r"not|never|neither|cannot|hardly|[a-z]+n['’]t"
# A negation applies to the next answer word; only these adverbs, articles and verbs may stand between.
FILLERS = (
    r"a|an|at\s+all|all|completely|entirely|exactly|factually|fully|medically|necessarily|really"
    r"|strictly|quite|the|always|seem|appear|considered|to\s+be|be"
)
# Boundaries of whole words. Marks such as those in **true** and _True_ do not belong to the word.
START, END = r"(?<![^\W_])", r"(?![^\W_])"
GAP = r"[\s*_\"'`“”‘’]+"


@dataclass(frozen=True)
class AnswerWords:
    """The words that mean true and false; by default those of the papers."""

    true: tuple[str, ...] = ("true", "entailed", "correct", "yes")
    false: tuple[str, ...] = ("false", "contradicted", "wrong", "no")

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern that finds the first answer word, and whether it is negated."""
        # "incorrect" and "untrue" always mean false.
        opposites = "|".join(f"{prefix}{word}" for prefix, word in (("in", "correct"), ("un", "true")))
        return re.compile(
            rf"(?:{START}(?P<negated>{NEGATORS})(?:{GAP}(?:{FILLERS}))*{GAP})?"
            rf"{START}(?:(?P<true>{_list_words(self.true)})"
            rf"|(?P<false>{_list_words(self.false)}|{opposites})){END}",
            re.IGNORECASE,
        )


def _list_words(words: Iterable[str]) -> str:
    # Longer words come first, so that "not sure" is found before "not".
    ordered = sorted((word.strip().casefold() for word in words), key=len, reverse=True)
    return "|".join(
        r"\s+".join(map(re.escape, word.split())) + (ABOUT_ANSWER if word in JUDGING_WORDS else "")
        for word in ordered
    )


PAPERS_WORDS = AnswerWords()


def extract_answer(response: str | None) -> bool | None:
    """Return what the first answer word means, taking its negation into account; None if there is none."""
    if response is None:
        return None
    found = PAPERS_WORDS.pattern.search(response)
    if found is None:
        return None
    return (found["true"] is not None) != (found["negated"] is not None)


def cut_completion(response: str | None) -> str | None:
    """Return the first line with text: after its answer, a raw completion continues with something else."""
    return response if response is None else next(iter(response.strip().splitlines()), "")
