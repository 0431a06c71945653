"""Read the answer to a question from the text of a response, also that the response does not know it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tasks.answers.judgements import CONCLUDED, FOREIGN, LEAD, Judgement, read_judgement, read_truth
from tasks.answers.letter_rules import find_letters
from tasks.answers.letters import BEGINS_SENTENCE, AnswerOptions, scan_letters
from tasks.answers.segments import (
    remove_copied_sentences,
    remove_refusals,
    split_other_options,
    split_other_statement,
    split_questions,
    tidy_text,
)
from tasks.answers.text_rules import denies_text, read_repeated_statement
from tasks.answers.unwrapping import UnwrappedReply, compile_phrases, join_clauses, unwrap_reply

OTHER_QUESTION = "other_question"
ONLY_TEXT = "only_text"
UNKNOWN = "?"
STATEMENTS = ("TFQ", "TFU")
# The rules that read which option a response calls the answer, not which one it mentions.
STATING_RULES = ("json", "boxed", "letters_alone", "all_options", "stated")
# The offer of the question, "Alice's answer: E.", which a response may copy.
OFFER = re.compile(r"\W*(?i:\w+['’]s|the (?:given|offered|proposed)) answer(?: is)?:? ([A-J])\b")
TAKEN_BACK = compile_phrases("taken_back")
ASKS_WRONG = compile_phrases("asks_wrong")
AFTER_JUDGEMENT = re.compile(r"[\s.,;:!*_→>\-–—=|\[\]]{0,12}")


@dataclass(frozen=True)
class Reading:
    """The answer in a response, and the rule that found it."""

    answer: str | None
    """MCQ: a letter. MAQ: sorted letters, "A,C". TFQ: "T" or "F". TFU: "T", "F" or "U". RQ: "T|B", the
    judgement and the letter of the right option. Null if the response holds no answer."""
    rule: str | None
    """The name of the rule that found the answer or the fragment; null if nothing was found."""
    fragment: str | None = None
    """A part of an answer: half of an RQ ("F|?" without a letter, "?|B" without a judgement), or
    the answer to another question that the model asked itself or numbered. Null where there is an answer."""


NOTHING = Reading(None, None)


def read_answer(
    question_type: str,
    response: str | None,
    options: Sequence[str] = (),
    offered: str | None = None,
    question: str = "",
) -> Reading:
    """Return the answer that a response gives to a question.

    The setting does not matter: a phrase that states the answer counts before letters at the beginning, so
    that a chain of thought is read at its end and a short answer at its beginning.

    Args:
        question_type: MCQ, RQ, MAQ or TFQ, or TFU with the third answer Unsure.
        response: the response without its reasoning; null if the model gave none.
        options: the texts of the options in order, the first is A; none for a TFQ or TFU.
        offered: the letter that an RQ offers.
        question: the text of the question. It tells a response that repeats the question from one that goes
            on with another question.

    Raises:
        ValueError: if the type is unknown, if an RQ has no offered letter, or if options are missing.
    """
    _check(question_type, options, offered)
    text = tidy_text(response or "")
    listed = _list_options(tuple(options or ()), ASKS_WRONG.search(question[-300:]) is not None)
    own, others = split_questions(text, question, listed)
    if question:
        if listed.texts:
            own, other = split_other_options(own, question, listed)
        else:
            own, other = split_other_statement(own, question)
        others += [other] if other else []
    if question_type == "RQ" and (copied := OFFER.match(own)) and copied[1] != offered:
        own, others = "", [own, *others]
    for place in reversed([match.end() for match in TAKEN_BACK.finditer(own)][-3:]):
        reading = _read_part(question_type, own[place:], listed, offered or "")
        rule = (reading.rule or "").rpartition("+")[2]
        if reading.answer and (question_type in STATEMENTS or rule in (*STATING_RULES, "leading")):
            return reading
    reading = _read_part(question_type, own, listed, offered or "")
    if (reading.rule or "").endswith(ONLY_TEXT):
        reading = _read_part(question_type, remove_copied_sentences(own, question), listed, offered or "")
    if reading == NOTHING and question_type in STATEMENTS:
        repeated = read_repeated_statement(own, question)
        reading = NOTHING if repeated is None else Reading("FT"[repeated], "repeated_statement")
    if reading != NOTHING:
        return reading
    readings = (_read_part(question_type, other, listed, offered or "") for other in others)
    elsewhere = next((reading for reading in readings if reading != NOTHING), NOTHING)
    if elsewhere == NOTHING:
        return NOTHING
    return Reading(None, OTHER_QUESTION, elsewhere.answer or elsewhere.fragment)


def read_statement(response: str | None) -> bool | None:
    """Return whether a response calls a statement true, None if neither (method, section 3)."""
    answer = read_answer("TFQ", response).answer
    return None if answer is None else answer == "T"


def _check(question_type: str, options: Sequence[str], offered: str | None) -> None:
    if question_type not in READERS:
        raise ValueError(
            f"The question type {question_type!r} is unknown; the types are {', '.join(READERS)}."
        )
    if question_type == "RQ" and not offered:
        raise ValueError("A revision question (RQ) needs the letter of the answer that it offers.")
    if question_type not in STATEMENTS and not options:
        raise ValueError(f"A question of type {question_type} needs its options.")


def _read_part(question_type: str, part: str, options: AnswerOptions, offered: str) -> Reading:
    reply = unwrap_reply(part)
    if question_type != "TFU":
        text = remove_refusals(reply.text)
        reply = replace(reply, text=text, refuses=not reply.text.startswith(text[:10]))
    return READERS[question_type](reply, options, offered)


def _read_choice(reply: UnwrappedReply, options: AnswerOptions, offered: str) -> Reading:
    letters, rule = find_letters(reply, options)
    if rule == "all_options" and len(letters) == len(options.letters) - 1:
        letters = tuple(letter for letter in options.letters if letter not in letters)
    return Reading(letters[0], rule) if len(letters) == 1 else NOTHING


def _read_choices(reply: UnwrappedReply, options: AnswerOptions, offered: str) -> Reading:
    letters, rule = find_letters(reply, options, are_several=True)
    return Reading(",".join(sorted(letters)), rule) if letters else NOTHING


def _read_truth(reply: UnwrappedReply, options: AnswerOptions, offered: str) -> Reading:
    judgement = read_truth(reply)
    return Reading(judgement.value, judgement.rule) if judgement else NOTHING


def _read_truth_or_doubt(reply: UnwrappedReply, options: AnswerOptions, offered: str) -> Reading:
    value_and_rule = read_truth_or_doubt(reply)
    return Reading(*value_and_rule) if value_and_rule else NOTHING


# "B is indeed the correct answer" judges the offered B.
CALLS_RIGHT = compile_phrases("calls_right")


def _read_revision(reply: UnwrappedReply, options: AnswerOptions, offered: str) -> Reading:
    judgement = read_judgement(reply, offered)
    letter, rule = _read_right_option(reply, options, offered, judgement)
    if judgement is None and letter and rule == "verdicts":
        # "A ❌ B ✅" judges the offered option as well.
        judgement = Judgement(letter == offered, rule, len(reply.text))
    if judgement is None and letter == offered and CALLS_RIGHT.search(reply.text):
        judgement = Judgement(True, "called_right", len(reply.text))
    if judgement is None and letter and letter != offered:
        # "The answer is B, not C", "B rather than C" and "Aspirin (C) is not right" reject the offered C.
        before, after = r"\b(?:not|rather than|instead of) \W?(?:option )?", r"\)? is (?:not|in|wrong)"
        rejected = re.search(rf"{before}{offered}\b|\b{offered}{after}", reply.text)
        judgement = Judgement(False, "rejected", rejected.end()) if rejected else None
    if judgement is None and letter is None and denies_text(reply.text, options, offered):
        judgement = Judgement(False, "rejected", 0)
    if judgement is None:
        return Reading(None, rule, f"{UNKNOWN}|{letter}") if letter else NOTHING
    if judgement.is_true and rule not in (*STATING_RULES, "leading"):
        # A response that calls the offered answer right has named the right option.
        letter, rule = offered, "offered"
    if letter is None:
        return Reading(None, judgement.rule, f"{judgement.value}|{UNKNOWN}")
    return Reading(f"{judgement.value}|{letter}", f"{judgement.rule}+{rule}")


def _read_right_option(
    reply: UnwrappedReply, options: AnswerOptions, offered: str, judgement: Judgement | None
) -> tuple[str | None, str | None]:
    if judgement and not judgement.is_true:
        # What is said of the offered option by its text explains why it is wrong.
        texts = zip(options.letters, options.texts, strict=True)
        options = _list_options(tuple("" if letter == offered else text for letter, text in texts))
    chosen, rule = find_letters(reply, options)
    if judgement and not judgement.is_true and rule not in STATING_RULES:
        # "Incorrect. B" and "No (B)": the letter follows the judgement.
        text = reply.text
        place = AFTER_JUDGEMENT.match(text, judgement.end)
        letters = scan_letters(text, place.end() if place else judgement.end, options)
        if letters and not BEGINS_SENTENCE.match(text, letters.end):
            chosen, rule = letters.found, "after_judgement"
    return (chosen[0], rule) if len(chosen) == 1 else (None, None)


@lru_cache(maxsize=4096)
def _list_options(texts: tuple[str, ...], asks_wrong: bool = False) -> AnswerOptions:
    return AnswerOptions(texts, asks_wrong)


READERS: dict[str, Callable[[UnwrappedReply, AnswerOptions, str], Reading]] = {
    "MCQ": _read_choice,
    "RQ": _read_revision,
    "MAQ": _read_choices,
    "TFQ": _read_truth,
    "TFU": _read_truth_or_doubt,
}


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
