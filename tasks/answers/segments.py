"""Find the part of a response that answers the question: without repeated options and invented questions."""

import re
from itertools import islice

from tasks.answers.letters import scan_letters
from tasks.answers.options import MIN_QUOTED, AnswerOptions, fold_text

NEW_QUESTION = re.compile(
    r"^[ \t#*_>]{0,8}(?:\d{1,2}[.)] ?)?(?:Question|Q)[ \t]?\d{0,4}[ \t]?[*_]{0,2}:", re.MULTILINE
)
FIRST_OPTION = re.compile(r"(?:^|(?<=[\s(*_]))A(?=[*_]{0,2}[.:)])", re.MULTILINE)
MAX_LISTS = 50
OPTIONS_HEADER = re.compile(r"\b(?:options?|choices|answer choices)\b[\s*_:]{0,8}$", re.IGNORECASE)
SPACES = re.compile(r"[ \t\r\f\v\u00a0\u2000-\u200b\u3000]+")
LINES = re.compile(r"\n(?: ?\n){2,}")
FULL_WIDTH = str.maketrans({0xFF01 + n: 0x21 + n for n in range(94)})
# A question is recognized by its beginning: models shorten the rest.
N_RECOGNIZED = 60


def tidy_text(response: str) -> str:
    """Return the response with single spaces, at most one empty line in a row, and no full-width signs."""
    return LINES.sub("\n\n", SPACES.sub(" ", response.translate(FULL_WIDTH))).strip()


def split_questions(text: str, question: str, options: AnswerOptions) -> tuple[str, list[str]]:
    """Return the part that answers the question, and the parts that begin with another question.

    A model in completion style goes on with questions of its own, and answers those. A part that repeats this
    question, or two of its options, before it answers is no other question.
    """
    own, *others = NEW_QUESTION.split(text)
    if not own.strip() and others and _is_repeated(others[0], question, options):
        own = others.pop(0)
    return own.strip(), [other for other in others if other.strip()]


def remove_repeated_options(text: str, options: AnswerOptions) -> str:
    """Return the text without its first list of all options, from the first to the last, each with a text."""
    for match in islice(FIRST_OPTION.finditer(text), MAX_LISTS):
        letters = scan_letters(text, match.start(), options)
        if (
            letters
            and "".join(letters.found) == options.letters
            and letters.n_texts >= len(options.letters) > 1
        ):
            before = OPTIONS_HEADER.sub("", text[: match.start()].rstrip("*_ \n("))
            return f"{before}\n{text[letters.end :]}".strip()
    return text


def _is_repeated(part: str, question: str, options: AnswerOptions) -> bool:
    folded = fold_text(part)
    beginning = fold_text(question)[:N_RECOGNIZED]
    quoted = [text for text in options.by_text if len(text) >= MIN_QUOTED and text in folded]
    return (beginning != "" and beginning in folded) or len(quoted) >= min(2, len(options.by_text) or 2)
