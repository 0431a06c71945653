"""The classes of disagreement with what the authors of MultifacetEval extracted from recorded answers."""

import re
from dataclasses import dataclass

from tasks.answers.letter_rules import STATED, find_letters
from tasks.answers.letters import scan_letters
from tasks.answers.options import AnswerOptions, fold_text
from tasks.answers.reading import OTHER_QUESTION, STATING_RULES, Reading
from tasks.answers.segments import remove_repeated_options, split_questions, tidy_text
from tasks.answers.text_rules import find_concluded

# In these classes the authors' extraction is wrong: docs/multifaceteval.md says why.
AUTHORS_WRONG = (
    "answer to another question",
    "list of all options",
    "one of several letters",
    "one of identical options",
    "letter inside a word",
    "article A",
    "another option than the stated one",
    "another option than the one called right",
    "judgement of something else",
    "judgement in 'correct answer'",
    "'consistent' in prose",
    "words of the prompt",
)
PROMPT = re.compile(r"true\s?(?:or|/)\s?false", re.IGNORECASE)
# "hepatitis A" and "Vitamin C" name no option.
NAME = re.compile(
    r"\b(?:hepatitis|vitamins?|types?|group|figure|image|factor|protein|grade|class|stage)[ -]$",
    re.IGNORECASE,
)
N_NAME = 12
PROSE = re.compile(r"consistent|correct", re.IGNORECASE)


@dataclass(frozen=True)
class Comparison:
    """What the authors extracted from a response, and what we read."""

    setting: str
    model: str
    question_type: str
    response: str
    options: tuple[str, ...]
    offered: str
    question: str
    theirs: str | None
    ours: Reading


def classify(comparison: Comparison) -> str | None:
    """Return the class of a disagreement, or None where both found the same."""
    ours, theirs = comparison.ours.answer or comparison.ours.fragment, comparison.theirs
    if theirs is None or ours == theirs:
        return None
    options = AnswerOptions(comparison.options)
    own, others = split_questions(tidy_text(comparison.response), comparison.question, options)
    if comparison.ours.rule == OTHER_QUESTION or (others and ours is None):
        return "answer to another question"
    if comparison.question_type == "TFQ":
        if ours is not None:
            return "judgement of something else"
        if PROMPT.search(own):
            return "words of the prompt"
        return "'consistent' in prose" if PROSE.search(own) else "other"
    return _classify_letters(comparison, ours, theirs, own, others, options)


def _classify_letters(
    comparison: Comparison, ours: str | None, theirs: str, own: str, others: list[str], options: AnswerOptions
) -> str:
    our_letters, their_letters = _list_letters(ours), _list_letters(theirs)
    if comparison.question_type == "RQ" and (not their_letters or our_letters == their_letters):
        return (
            "judgement in 'correct answer'" if (ours or "").startswith("?") else "judgement of something else"
        )
    if their_letters < our_letters:
        texts = {fold_text(options.texts[options.letters.index(letter)]) for letter in our_letters}
        return "one of identical options" if len(texts) == 1 else "one of several letters"
    if theirs == f"T|{comparison.offered}" and not _stands_alone(own, comparison.offered, options):
        # The authors read only a judgement, which names the offered option.
        if (ours or "").startswith("T|"):
            return "several statements"
        return "'consistent' in prose" if PROSE.search(own) else "other"
    found, _ = find_letters(own, options)
    if comparison.question_type != "MAQ" and len(found) > 1 and their_letters < set(found):
        return "one of several letters"
    if remove_repeated_options(own, options) != own and len(their_letters) == 1:
        return "list of all options"
    if len(their_letters) == 1 and not _stands_alone(own, next(iter(their_letters)), options):
        if any(_stands_alone(other, next(iter(their_letters)), options) for other in others):
            return "answer to another question"
        return (
            "article A"
            if re.search(r"(?<!\w)A(?= [a-z])", own) and their_letters == {"A"}
            else "letter inside a word"
        )
    if len(_find_statements(own, options)) > 1 or _begins_with(own, their_letters, options):
        return "several statements"
    rule = (comparison.ours.rule or "").rpartition("+")[2]
    if rule in STATING_RULES and not our_letters & their_letters:
        return "another option than the stated one"
    if rule == "concluded_text" and len(set(find_concluded(own, options))) == 1:
        return "another option than the one called right"
    return "text of an option" if ours is None or "text" in (comparison.ours.rule or "") else "other"


def _list_letters(answer: str | None) -> set[str]:
    return set(re.findall(r"[A-J]", (answer or "").replace("T|", "").replace("F|", "")))


def _begins_with(text: str, letters: set[str], options: AnswerOptions) -> bool:
    """Whether the response begins with these letters, alone or with the text of an option."""
    scan = scan_letters(text, 0, options)
    if scan is None or set(scan.found) != letters:
        return False
    return scan.n_texts == 0 or bool(options.find_mentions(fold_text(text[: scan.end])))


def _stands_alone(text: str, letter: str, options: AnswerOptions) -> bool:
    """Whether the response names the letter, or quotes the text of its option."""
    places = (
        match.start()
        for match in re.finditer(rf"(?<![\w]){letter}(?![\w])", text)
        if not NAME.search(text[: match.start()][-N_NAME:])
    )
    is_named = any((scan := scan_letters(text, place, options)) and letter in scan.found for place in places)
    return is_named or any(letter in mention.letters for mention in options.find_mentions(fold_text(text)))


def _find_statements(text: str, options: AnswerOptions) -> set[tuple[str, ...]]:
    scans = (scan_letters(text, match.end(), options) for match in STATED.finditer(text))
    return {scan.found for scan in scans if scan}
