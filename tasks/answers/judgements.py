"""Read judgements: is a statement true (samples, TFQ), is the offered answer right (RQ)?

The answer words are those of the papers (method, section 3), and some more. A word counts only where it says
something of the statement or the answer: at the beginning, in a sentence of its own, or after "It is" and the
like, because prose says "no fever" and requests say "a correct answer".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.answers.unwrapping import (
    PROBABILITY_VALUE,
    VERDICTS,
    WORDS_OF,
    UnwrappedReply,
    compile_phrases,
    read_probabilities,
)

WORDS = compile_phrases("judging_word")
FOREIGN = compile_phrases("foreign")
LETTER = compile_phrases("letter")
LEAD = compile_phrases("lead")
CROSSED = compile_phrases("crossed")
CONCLUDED = compile_phrases("concluded")
IS_STATED = compile_phrases("stated_judgement")
CLAUSE_ENDS = compile_phrases("clause_ends")
SENTENCE_ENDS = re.compile(r"[\s*_\"'”)\]]{0,4}(?:$|[.!,;:\n—–]|-(?!\w))")
IS = compile_phrases("verb")
SUBJECT = compile_phrases("subject")
ALONE = compile_phrases("alone")
SAYS_YES = compile_phrases("says_yes")
AGREES = compile_phrases("agrees")
AGREED_WITH = compile_phrases("agreed_with")
DENIES = compile_phrases("denies")
CALLING = compile_phrases("calling")
DENIED_LATER = compile_phrases("denied_later")
IS_OPEN = compile_phrases("is_open")
BOTH = compile_phrases("both")
NOT_SIGNS = re.compile(r"[^\W\d_]+|\?")
NO_MARKS = re.compile(r"[^\W\d_\n]+(?: [^\W\d_\n]+)*\s*")
LISTED = compile_phrases("listed")
DIVIDED = compile_phrases("divided")
TRUTH_PROBABILITY = re.compile(rf"\b(true|false)\b[\s\"'):=*_|–—-]{{1,6}}{PROBABILITY_VALUE}", re.IGNORECASE)
N_CONTEXT, N_MARKS = 40, 4
QUOTED = compile_phrases("quoted")
YES_OR_NO = re.compile(r"\W*(?:yes|no)", re.IGNORECASE)
HEDGES = re.compile(rf"\b(?:{WORDS_OF['hedges']})\b", re.IGNORECASE)
WHETHER = compile_phrases("whether")
SENTENCE_END = compile_phrases("sentence_end")
NAMED_OPTION = compile_phrases("named_option")
OTHER_OPTIONS = compile_phrases("other_options")
MAX_CLAUSE = 160
ABOUT_OFFER = compile_phrases("about_offer")


@dataclass(frozen=True)
class Judgement:
    """The verdict of a response on a statement, and the rule that found it."""

    is_true: bool
    rule: str
    end: int
    """End of the judging word in the text."""

    @property
    def value(self) -> str:
        """The judgement as an answer: T or F."""
        return "T" if self.is_true else "F"


def read_truth(reply: UnwrappedReply) -> Judgement | None:
    """Return what a response says of a statement, or None if it says nothing or judges several."""
    text = QUOTED.sub('""', reply.text)
    given = read_probabilities(TRUTH_PROBABILITY.findall(text))
    if len(given) == 2:
        is_open = given["TRUE"] == given["FALSE"]
        return None if is_open else Judgement(given["TRUE"] > given["FALSE"], "ranking", len(text))
    verdicts = [VERDICTS.get(word) for word in NOT_SIGNS.findall(text.casefold())]
    # A model that only completes text may go on with such words after its answer, without any marks.
    is_apart = NO_MARKS.fullmatch(text) is None
    is_list = len(LISTED.findall(text)) > 1 or DIVIDED.search(text) is not None
    is_list |= is_apart and len(verdicts) > 2 and {*verdicts} == {True, False}
    judgement = _read_wrapped(reply) or (None if is_list else read_leading_judgement(text))
    if is_list or (judgement and not YES_OR_NO.fullmatch(text, 0, judgement.end)):
        return judgement
    said = [_build(match, told) for match in _find_words(text) if (told := _is_said(text, match))]
    stated = [word for word in said if word.rule == "stated_word"]
    if judgement:
        # "No, gout is no infection, so the statement is true."
        return stated[-1] if stated else judgement
    firm = [word for word in said if word.rule != "hedged_word"]
    sentence = SENTENCE_END.split(text.rstrip())[-1]
    last = read_leading_judgement(sentence)
    is_line = last and text.rstrip().endswith(f"\n{sentence}") and len(sentence) - last.end < N_MARKS
    firm = stated[::-1] or ([last] if last and is_line else firm or said)
    return _read_concluded(text) or next(iter(firm), None) or _read_cross(text) or last


def read_judgement(reply: UnwrappedReply, offered: str) -> Judgement | None:
    """Return whether a response calls the offered answer right, or None if it does not judge.

    What it says about other options does not count, such as "Option C is incorrect" where A was offered.
    """
    text = reply.text
    judgement = _read_wrapped(reply) or read_leading_judgement(text) or _read_concluded(text)
    if judgement and not YES_OR_NO.fullmatch(text, 0, judgement.end):
        return judgement
    about_offered = [match for match in _find_words(text) if _is_about(text, match, offered)]
    named = [match for match in about_offered if ABOUT_OFFER.search(_find_clause(text, match))]
    if named:
        # "Yes, he is ill. However, her answer is not correct."
        return _build(named[-1], "judged_answer")
    if judgement:
        return judgement
    return _build(about_offered[0], "judging_word") if about_offered else _read_cross(text)


def _read_cross(text: str) -> Judgement | None:
    cross = CROSSED.match(text)
    return Judgement(False, "cross", cross.end()) if cross else None


def _read_wrapped(reply: UnwrappedReply) -> Judgement | None:
    for rule, inside in reply.stated:
        if judgement := read_leading_judgement(inside):
            start = reply.text.find(inside)
            return Judgement(judgement.is_true, rule, start + judgement.end if start >= 0 else 0)
    return None


def _find_words(text: str) -> Iterator[re.Match[str]]:
    """Yield the answer words, without those of "True or false"."""
    covered = 0
    for match in WORDS.finditer(text):
        if (pair := _find_pair(text, match)) is None and match.start() >= covered:
            yield match
        covered = pair.end() if pair else covered


def _find_pair(text: str, match: re.Match[str]) -> re.Match[str] | None:
    """Return the opposite word that follows at once, as in "True or false"."""
    pair = BOTH.match(text, match.end())
    return pair if pair and (pair["true"] is None) == (match["true"] is not None) else None


def _is_said(text: str, match: re.Match[str]) -> str | None:
    """Return the name of the rule by which a word judges the statement, or None if it judges nothing."""
    clause, end = _find_clause(text, match), match.end()
    word = (match["true"] or match["false"]).casefold()
    if WHETHER.search(clause) or IS_OPEN.match(text, end):
        return None
    ends, is_capital = SENTENCE_ENDS.match(text, end), text[end - len(word)].isupper()
    is_last = is_capital and ends is not None and ends.end() == len(text)
    is_asked_for = is_capital and word in ("true", "false") and CLAUSE_ENDS.match(text, end) is not None
    if is_last or is_asked_for or (ends and ALONE.search(clause)):
        return "first_word"
    if word in ("agree", "disagree"):
        return "first_word" if AGREES.search(clause) and AGREED_WITH.match(text, end) else None
    is_verb = match["negated"] or (IS.search(clause) and CLAUSE_ENDS.match(text, end))
    if word in ("yes", "no") or not is_verb:
        is_plain = word in ("yes", "no", "true", "false")
        return "first_word" if is_plain and ends and SAYS_YES.search(clause) else None
    if IS_STATED.search(clause):
        return "stated_word"
    if word not in ("true", "false", "untrue") and not SUBJECT.search(clause):
        return None
    return "hedged_word" if HEDGES.search(clause.rpartition(", ")[2]) else "first_word"


def _is_about(text: str, match: re.Match[str], offered: str) -> bool:
    """Return whether the word judges the offered answer, as far as its clause says."""
    clause = _find_clause(text, match)
    named = [next(filter(None, letters)) for letters in NAMED_OPTION.findall(clause)]
    is_other = named[-1] != offered if named else OTHER_OPTIONS.search(clause) is not None
    word = (match["true"] or match["false"]).casefold()
    if is_other or WHETHER.search(clause) or IS_OPEN.match(text, match.end()):
        return False
    if word in ("yes", "no"):
        return not clause and SENTENCE_ENDS.match(text, match.end()) is not None
    if word in ("agree", "disagree"):
        return AGREES.search(clause) is not None
    is_verb = IS.search(clause) is not None or match["negated"] is not None
    return is_verb or (word != "right" and CLAUSE_ENDS.match(text, match.end()) is not None)


def _find_clause(text: str, match: re.Match[str]) -> str:
    return SENTENCE_END.split(text[max(0, match.start() - MAX_CLAUSE) : match.start()])[-1]


def _read_concluded(text: str) -> Judgement | None:
    """Read the last "The answer is: True"."""
    judgement = None
    for place in CONCLUDED.finditer(text):
        match = WORDS.match(text, place.end()) or LETTER.match(text, place.end())
        if match is None or WHETHER.search(text, max(0, place.start() - N_CONTEXT), place.start()):
            continue
        if CLAUSE_ENDS.match(text, match.end()) and not _find_pair(text, match):
            judgement = _build(match, "stated_word")
    return judgement


def read_leading_judgement(text: str) -> Judgement | None:
    """Return the judgement with which a text begins, such as "The answer is True", or None."""
    lead = LEAD.match(text)
    start = lead.end() if lead else 0
    match = WORDS.match(text, start)
    if match and (IS_OPEN.match(text, match.end()) or _find_pair(text, match)):
        return None
    # "True" and "False" are the answers that prompts ask for, whatever follows them.
    if match and (match[0].casefold() in ("true", "false") or CLAUSE_ENDS.match(text, match.end())):
        return _build(match, "leading_word")
    match = LETTER.match(text, start) or FOREIGN.match(text, start) or FOREIGN.match(text)
    return _build(match, "leading_word") if match and not match["unsure"] else None


def _build(match: re.Match[str], rule: str) -> Judgement:
    clause = _find_clause(match.string, match)
    later = CALLING.search(clause) and DENIED_LATER.match(match.string, match.end())
    turns = (match["false"], match["negated"], DENIES.search(clause), later)
    return Judgement(sum(turn is not None for turn in turns) % 2 == 0, rule, match.end())
