"""Read whether a response says that it does not know: the third answer of the setting true_false_unsure."""

import re
from dataclasses import replace

from tasks.answers.judgements import CONCLUDED, FOREIGN, LEAD, read_truth
from tasks.answers.segments import remove_refusals
from tasks.answers.unwrapping import UnwrappedReply, compile_phrases, join_clauses

BEGINNING = join_clauses("doubts", "begins")
SAID = re.compile(rf"\b(?:{join_clauses('doubts')}|(?<!or )(?<![/,])unsure(?!\?))\b", re.IGNORECASE)
BEGINS = re.compile(rf"(?:{BEGINNING})\b(?!\s?(?:/|,|or\b)\s?(?:true|false))", re.IGNORECASE)
# A quotation is dropped unless it is an answer by itself.
QUOTATION = re.compile(r"[\"“]([^\"“”\n]{1,600})[\"”]")
ANSWER_ALONE = re.compile(rf"\W*(?:true|false|yes|no|(?:in)?correct|{BEGINNING})\W*", re.IGNORECASE)
CLAUSE_END = compile_phrases("doubted_clause_end")


def read_truth_or_doubt(reply: UnwrappedReply) -> tuple[str, str] | None:
    """Return T, F or U and the rule that found it, or None if a response says neither.

    What is stated first counts, unless it is taken back: "I'm not sure, but the answer is True" is T. Words
    within a quoted statement do not count.
    """
    for rule, inside in reply.stated:
        if _begins_with_doubt(inside):
            return "U", rule
    text = QUOTATION.sub(lambda match: match[0] if ANSWER_ALONE.fullmatch(match[1]) else '""', reply.text)
    if _begins_with_doubt(text):
        return _read_after_doubt(text)
    concluded = list(CONCLUDED.finditer(text))
    if concluded and BEGINS.match(text, concluded[-1].end()):
        return "U", "stated_doubt"
    judgement = read_truth(replace(reply, text=remove_refusals(text)))
    if judgement:
        return judgement.value, judgement.rule
    return ("U", "said_doubt") if SAID.search(text) else None


def _begins_with_doubt(text: str) -> bool:
    lead = LEAD.match(text)
    places = (lead.end() if lead else 0, 0)
    foreign = FOREIGN.match(text, places[0])
    return any(BEGINS.match(text, place) for place in places) or bool(foreign and foreign["unsure"])


def _read_after_doubt(text: str) -> tuple[str, str]:
    """Return the last answer that a clause states: the doubt at the beginning, or what follows it."""
    answer, rule = "U", "leading_doubt"
    for clause in CLAUSE_END.split(text)[1:]:
        if SAID.search(clause) or _begins_with_doubt(clause):
            answer, rule = "U", "leading_doubt"
        elif judgement := read_truth(UnwrappedReply(clause)):
            answer, rule = judgement.value, "after_doubt"
    return answer, rule
