"""Read judgements: is a statement true (TFQ), is the offered answer right (RQ)?

The answer words and their negations are read as those of statements (`tasks.asking.answer_extraction`). "Yes"
and "no" count only at the beginning of a response, because prose says "no fever" and "the right lung".
"""

import re
from dataclasses import dataclass

from tasks.asking.answer_extraction import AnswerWords

LEADING_WORDS = AnswerWords(
    true=("true", "correct", "yes", "right", "accurate", "entailed"),
    false=("false", "wrong", "no", "inaccurate", "contradicted", "not"),
)
JUDGING_WORDS = AnswerWords(
    true=("true", "correct", "accurate", "right", "agree"), false=("false", "wrong", "inaccurate", "disagree")
)
TRUTH_WORDS = AnswerWords(true=("true",), false=("false",))
# These words judge only after such a verb or pronoun: "is right" but not "the right lung".
NEEDS_BEFORE = {
    "right": re.compile(r"\b(?:is|are|was|am|be|seems?|not|all|absolutely|completely)\s$", re.IGNORECASE),
    "agree": re.compile(r"\b(?:I|we|would|also|must|fully)\s$", re.IGNORECASE),
    "disagree": re.compile(r"\b(?:I|we|would|must|respectfully)\s$", re.IGNORECASE),
}
JSON_VALUE = re.compile(
    r"[\"'](?:is[ _]?)?(?:\w{1,20}[ _])?"
    r"(?:correct|correctness|right|true|judge?ment|verdict|label|valid|answer)[\"']"
    r"\s?:\s?[\"']?(?=true|false|correct|incorrect|yes|no|right|wrong)",
    re.IGNORECASE,
)
NAMED = (
    r"(?:(?:final|the|my|correct)\s){0,2}"
    r"(?:answer|judge?ment|verdict|response|statement|claim|assertion|conclusion|correctness)"
)
LEAD = re.compile(
    r"[\s*_\"'`“”#>(\[{\-•:✗✓✘✔]{0,12}(?:\\boxed\{(?:\\text\{)?|<answer>)?"
    rf"(?:{NAMED}(?: above)?[\"'*_\s]{{0,4}}(?:is\b|[:=\-–—])[\s*_\"'`:\-]{{0,6}})?",
    re.IGNORECASE,
)
STATED = re.compile(
    rf"(?:\b{NAMED}\b[^.\n;?!]{{0,80}}?(?:\b(?:is|would be|as)\b|[:=])|\\boxed|<answer>)"
    r"[\s*_:\"'{]{0,8}(?:\\text\{)?"
    r"(?:(?:therefore|thus|indeed|actually|clearly|most likely|likely|probably|also|considered)\s){0,3}",
    re.IGNORECASE,
)
# "True or false?" and "True/False" repeat the question.
BOTH = re.compile(r"\s?(?:/|or)\s?(?:true|false|correct|incorrect|yes|no)\b", re.IGNORECASE)
SECOND = re.compile(r"\b(?:true|false|correct|yes)\s?(?:/|or)\s?$", re.IGNORECASE)
N_CONTEXT = 14
CONDITION = re.compile(r"\b(?:whether|if)\b", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.;!?\n]\s")
NAMED_OPTION = re.compile(
    r"(?i:\b(?:options?|choices?|answers?)\s)[\"'*(]{0,3}([A-J])\b|\(([A-J])\)|^[\s*_(]{0,4}([A-J])\b(?=\s(?:is|was))"
)
OTHER_OPTIONS = re.compile(r"\b(?:other|remaining|rest|options|choices)\b", re.IGNORECASE)
MAX_CLAUSE = 160


@dataclass(frozen=True)
class Judgement:
    """What a response calls right or wrong, and how that was found."""

    is_true: bool
    rule: str
    end: int
    """Where the judging word ends in the text."""


def read_truth(text: str) -> Judgement | None:
    """Return what a response says of a statement, or None if it says nothing."""
    return (
        _read_at(text, JSON_VALUE, "json")
        or _read_leading(text)
        or _read_at(text, STATED, "stated_word")
        or _read_first(text, TRUTH_WORDS, "first_word")
        or _read_first(text, JUDGING_WORDS, "judging_word")
    )


def read_judgement(text: str, offered: str) -> Judgement | None:
    """Return whether a response calls the offered answer right, or None if it does not judge.

    What it says about other options does not count, such as "Option C is incorrect" where A was offered.
    """
    found = _read_at(text, JSON_VALUE, "json") or _read_leading(text)
    if found:
        return found
    for match in JUDGING_WORDS.pattern.finditer(text):
        clause = SENTENCE_END.split(text[max(0, match.start() - MAX_CLAUSE) : match.start()])[-1]
        named = [next(filter(None, letters)) for letters in NAMED_OPTION.findall(clause)]
        is_other = named[-1] != offered if named else OTHER_OPTIONS.search(clause) is not None
        if not is_other and not CONDITION.search(clause) and _judges(text, match):
            return _build(match, "judging_word")
    return None


def _read_leading(text: str) -> Judgement | None:
    lead = LEAD.match(text)
    match = LEADING_WORDS.pattern.match(text, lead.end() if lead else 0)
    return _build(match, "leading_word") if match and not BOTH.match(text, match.end()) else None


def _read_at(text: str, lead: re.Pattern[str], rule: str) -> Judgement | None:
    """Read the last judgement that follows such a phrase."""
    found = None
    for place in lead.finditer(text):
        match = LEADING_WORDS.pattern.match(text, place.end())
        if match and not BOTH.match(text, match.end()):
            found = _build(match, rule)
    return found


def _read_first(text: str, words: AnswerWords, rule: str) -> Judgement | None:
    found = (match for match in words.pattern.finditer(text) if _judges(text, match))
    return next((_build(match, rule) for match in found), None)


def _judges(text: str, match: re.Match[str]) -> bool:
    word = (match["true"] or match["false"] or "").casefold()
    before = NEEDS_BEFORE.get(word)
    context = text[max(0, match.start() - N_CONTEXT) : match.start()]
    is_judging = before is None or match["negated"] is not None or before.search(context) is not None
    return is_judging and not BOTH.match(text, match.end()) and not SECOND.search(context)


def _build(match: re.Match[str], rule: str) -> Judgement:
    return Judgement((match["true"] is not None) != (match["negated"] is not None), rule, match.end())
