"""Read whether a response says that it does not know: the third answer of the setting true_false_unsure."""

import re

from tasks.answers.judgements import (
    BOTH,
    CONCLUDED,
    ECHO,
    LEAD,
    WHETHER,
    Judgement,
    read_foreign,
    read_leading_judgement,
    read_truth,
)

_ADVERB = r"(?:(?!not\b)\w{2,12}\s){0,2}"
# What a response says of its own knowledge. It counts anywhere, if nothing is called true or false.
OWN_DOUBT = (
    rf"(?:I(?:['’]m| am)|we(?:['’]re| are))\s{_ADVERB}(?:unsure|uncertain|undecided)"
    rf"|(?:I(?:['’]m| am)|we(?:['’]re| are))\s{_ADVERB}(?:not|unable to)\s{_ADVERB}"
    r"(?:sure|certain|say|tell|determine|judge|verify|confirm|answer)"
    rf"|(?:I|we)\s{_ADVERB}(?:do\snot|don['’]t|cannot|can\snot|can['’]t|could\snot)\s{_ADVERB}"
    r"(?:know|say|tell|determine|judge|verify|confirm|answer|have (?:enough|sufficient) \w+)"
    r"|(?:it|this|that|the (?:statement|claim|answer))\s(?:cannot|can\snot|can['’]t|could\snot)\sbe\s"
    rf"{_ADVERB}(?:determined|known|verified|confirmed|judged|answered)"
    r"|I have no (?:idea|knowledge)|(?<!or )unsure"
    r"|there (?:is|are) (?:not enough|insufficient) (?:information|evidence|data|context)"
)
# What says the same at the beginning of a clause. Elsewhere it may be about medicine: "The cause is unknown."
BEGINNING = (
    rf"{OWN_DOUBT}|uncertain|undetermined|unknown|not (?:sure|certain)|no idea|do(?: no|n['’])t know"
    r"|(?:cannot|can not|can['’]t) (?:be )?(?:determined?|say|tell)"
    r"|(?:not enough|insufficient) (?:information|evidence)"
    r"|(?:it is|it['’]s) (?:unknown|uncertain|unclear|impossible to (?:say|tell|determine|know))"
)
SAID = re.compile(rf"(?<![^\W_])(?:{OWN_DOUBT})(?![^\W_])", re.IGNORECASE)
BEGINS = re.compile(rf"(?:{BEGINNING})(?![^\W_])", re.IGNORECASE)
# A quotation is dropped unless it is an answer by itself.
QUOTATION = re.compile(r"[\"“]([^\"“”\n]{1,600})[\"”]")
ANSWER_ALONE = re.compile(rf"\W*(?:true|false|yes|no|(?:in)?correct|{BEGINNING})\W*", re.IGNORECASE)
CONNECTIVE = r"(?:but|however|so|still|yet|nevertheless|therefore|although)"
# A response that begins with a doubt goes on after such a mark or word with what it concludes.
CLAUSE_END = re.compile(
    rf"[.;!?:\n—–]+\s*|,?\s{CONNECTIVE}\b,?\s*"
    r"|,\s(?=(?:I|my|the answer|it|this)\b)",
    re.IGNORECASE,
)
GUESS = re.compile(
    rf"(?:{CONNECTIVE}\b,?\s)?(?:if I (?:had|have) to (?:guess|choose),?\s)?"
    r"(?:(?:I(?:['’](?:d|ll)| would| will)?|we)\s(?:\w+ly\s)?(?:say|think|believe|guess|answer|assume|suspect"
    r"|choose|pick|go with|lean towards?)|my (?:best |educated )?guess (?:is|would be))?"
    r"[\s:,]*(?:that\s)?(?:(?:it|this|that)(?:\sis|['’]s)\s)?(?:(?:most likely|likely|probably|rather)\s)?",
    re.IGNORECASE,
)
DOUBT_CONDITION = re.compile(
    r"\W{0,3}(?:only\s)?(?:if|when|unless|in (?:some|certain|most))\b", re.IGNORECASE
)
N_DOUBT_CONTEXT = 40
# These rules take a word of the response for its answer wherever it stands.
WEAK_RULES = ("first_word", "judging_word", "yes_or_no")


def read_truth_or_doubt(text: str) -> tuple[str, str] | None:
    """Return T, F or U and the rule that found it, or None if a response says neither.

    What is stated first counts, unless it is taken back: "I'm not sure, but the answer is True" is T. Words
    within a quoted statement do not count.
    """
    text = QUOTATION.sub(lambda match: match[0] if ANSWER_ALONE.fullmatch(match[1]) else '""', text)
    if read_foreign(text) == "U":
        return "U", "foreign_word"
    text = ECHO.sub("", text)
    if _begins_with_doubt(text):
        return _read_after_doubt(text)
    if _concludes_with_doubt(text):
        return "U", "stated_doubt"
    judgement = read_truth(text)
    doubt = SAID.search(text)
    if judgement is None or (doubt and _is_asked_only(text, judgement)):
        return ("U", "said_doubt") if doubt else None
    return _name(judgement), judgement.rule


def _begins_with_doubt(text: str) -> bool:
    lead = LEAD.match(text)
    return any(BEGINS.match(text, start) for start in (lead.end() if lead else 0, 0))


def _read_after_doubt(text: str) -> tuple[str, str]:
    """Return the last answer that a clause states: the doubt at the beginning, or what follows it."""
    answer, rule = "U", "leading_doubt"
    for clause in CLAUSE_END.split(text)[1:]:
        stated = clause[match.end() :] if (match := GUESS.match(clause)) else clause
        if _begins_with_doubt(stated):
            answer, rule = "U", "leading_doubt"
        elif (judgement := read_leading_judgement(stated)) and not DOUBT_CONDITION.match(
            stated, judgement.end
        ):
            answer, rule = _name(judgement), "after_doubt"
    return answer, rule


def _concludes_with_doubt(text: str) -> bool:
    """Return whether the last "The answer is: …" of the text is a doubt."""
    places = [match for match in CONCLUDED.finditer(text) if not BOTH.match(text, match.end())]
    return bool(places) and BEGINS.match(text, places[-1].end()) is not None


def _is_asked_only(text: str, judgement: Judgement) -> bool:
    """Return whether the judging word only repeats the question: "whether it is true"."""
    start = max(0, judgement.end - N_DOUBT_CONTEXT)
    return judgement.rule in WEAK_RULES and WHETHER.search(text, start, judgement.end) is not None


def _name(judgement: Judgement) -> str:
    return "T" if judgement.is_true else "F"
