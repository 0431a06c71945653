"""Read judgements: is a statement true (samples, TFQ), is the offered answer right (RQ)?

The answer words are those of the papers (method, section 3), and some more. What states the answer counts
before the first answer word, and "no" counts where it ends a clause only, because prose says "no fever".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from tasks.answers.segments import FOREIGN_NOUN, find_json_answers

# "correct" and "wrong" do not count in phrases such as "The correct answer is False", which says False.
ABOUT_ANSWER = r"(?!\s+(?:answer|response|choice|option)\b)"
JUDGING_WORDS = ("correct", "wrong")
NEGATORS = (
    r"not|never|neither|cannot|hardly|[a-z]+n['’]t|(?:wrong|incorrect|inaccurate|false|mistake)\s+to(?=\s+"
    r"(?:call|say|claim|state|consider|conclude|think|believe|describe|assume)\b)"
)
# A negation applies to the next answer word; only these adverbs, articles, verbs and nouns may stand between.
FILLERS = (
    r"a|an|at\s+all|all|completely|entirely|exactly|factually|fully|medically|necessarily|really"
    r"|strictly|quite|the|always|seem|appear|considered|to\s+be|be|think|believe|call|say|claim|state|consider"
    r"|conclude|describe|assume|that|this|it|statement|is|as|actually|generally|usually"
)
# Boundaries of whole words. Marks such as those in **true** and _True_ do not belong to the word.
START, END = r"(?<![^\W_])", r"(?![^\W_])"
GAP = r"[\s*_\"'`“”‘’]+"


@dataclass(frozen=True)
class AnswerWords:
    """The words that mean true and false at some places of a response."""

    true: tuple[str, ...]
    false: tuple[str, ...]

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


LEADING_WORDS = AnswerWords(
    true=("true", "correct", "yes", "right", "accurate", "entailed"),
    false=("false", "wrong", "no", "inaccurate", "contradicted"),
)
JUDGEMENT_WORDS = AnswerWords(
    true=("true", "correct", "accurate", "right", "agree"), false=("false", "wrong", "inaccurate", "disagree")
)
TRUTH_WORDS = AnswerWords(true=("true", "entailed"), false=("false", "contradicted"))
YES_WORDS = AnswerWords(true=("yes",), false=("no",))
# These words judge only after such a verb or pronoun: "is right" but not "the right lung".
NEEDS_BEFORE = {
    "right": re.compile(r"\b(?:is|are|was|am|be|seems?|not|all|absolutely|completely)\s$", re.IGNORECASE),
    "agree": re.compile(r"\b(?:I|we|would|also|must|fully)\s$", re.IGNORECASE),
    "disagree": re.compile(r"\b(?:I|we|would|must|respectfully)\s$", re.IGNORECASE),
}
# The words for true, false and unsure in other languages, where a reply is nothing else.
FOREIGN = {
    "T": "正确, 对, 是, 真, 正しい, はい, 참, 예, wahr, richtig, ja, verdadero, cierto, correcto, sí, vrai"
    ", oui, vero, corretto, sì, verdadeiro, certo, sim, верно, правда, да, صحيح, نعم, सही, सत्य, हाँ, doğru"
    ", waar",
    "F": "错误, 不正确, 错, 不对, 否, 假, 誤り, 間違い, いいえ, 거짓, 아니요, falsch, nein, falso, incorrecto"
    ", faux, non, sbagliato, errado, não, неверно, ложь, нет, خطأ, لا, गलत, असत्य, नहीं, yanlış, onwaar",
    "U": "不确定, 不知道, わからない, 不明, 모름, unsicher, unbekannt, inseguro, incierto, no sé, incertain"
    ", incerto, не уверен, не знаю, غير متأكد, لا أعرف, अनिश्चित",
}
FOREIGN_WORDS = {word.strip(): answer for answer, words in FOREIGN.items() for word in words.split(",")}
FOREIGN_LEAD = re.compile(rf"[\s*_]{{0,4}}{FOREIGN_NOUN}[\s*_]{{0,4}}", re.IGNORECASE)
SEGMENT_END = re.compile(r"[.,;!?\n]")
# A letter answers where it is said to be the answer, or where nothing else is said.
LETTER = re.compile(r"[\s*_\"'({]{0,4}(?:(?P<true>T)|(?P<false>F))(?P<negated>(?!))?(?=[\"'*_)}.,;\]\s]|$)")
LETTER_ALONE = re.compile(r"\W{0,4}(?:(?P<true>T)|(?P<false>F))(?P<negated>(?!))?\W{0,4}")
# What repeats the question: "True/False? True" and "True, False, or Unsure?".
ECHO = re.compile(
    r"\b(?:true|false|yes|correct)\s?(?:/|,|or\b)\s?(?:or\s)?(?:false|true|no|incorrect)"
    r"(?:\s?(?:/|,|or\b)\s?(?:or\s)?unsure)?\s?[\"']?[?:]",
    re.IGNORECASE,
)
# A reply that declines or asks for something. What it calls correct or accurate is what it asks for.
DECLINES = re.compile(
    r"\b(?:I|we)(?:['’]m|\sam|['’]re|\sare)?\s(?:\w+\s)?(?:unable|not able|not capable|cannot|can\snot"
    r"|can['’]t|could\snot|couldn['’]t|won['’]t|do\snot have|don['’]t have)\s(?:\w+\s){0,2}?(?:provid|answer"
    r"|give|help|determin|assist|verif|confirm|evaluat|assess|judge|mak|offer|respond|find|enough|sufficient|access)"
    r"|\b(?:not|im)\s?possible\sto\s(?:\w+\s)?(?:give|provide|answer|determine|say|tell|judge|evaluate|assess)"
    r"|\bplease\s(?:\w+\s)?(?:provide|consult|give|clarify|share|specify|let me know|ask|rephrase|check|see)"
    r"|\b(?:could|can|would)\syou\s(?:\w+\s)?(?:provide|clarify|give|share|specify|rephrase)"
    r"|\bno\s(?:\w+\s)?(?:statement|question|claim)s?\s(?:is|are|was|were|to|provided|given|mentioned|above)\b"
    r"|\bconsult(?:ing)?\s(?:with\s)?(?:a|an|your|the)\b|\b(?:is|remains)\s(?:inconclusive|unclear)\b",
    re.IGNORECASE,
)
# "1. True" and, in the next line, "2. False" answer several statements.
LISTED = re.compile(
    r"^[\s*_(]{0,4}(?:\d{1,2}|[a-e])[.):][\s*_]{1,4}(?:true|false|correct|incorrect|yes|no)\b",
    re.IGNORECASE | re.MULTILINE,
)
BOTH_SAID = re.compile(r"\W*(?:both\s)?(?:true\sand\sfalse|false\sand\strue)\b", re.IGNORECASE)
# "It may look true. **False**": an answer that is emphasised, or in a tag, at the beginning of a sentence.
MARKED = re.compile(
    r"(?:^|[.!?:]\s|\n)[ \t]?(?:\*\*|__|<\w+>)(?=(?:not\s)?[A-Za-z]+[.!]?(?:\*\*|__|</))"
    r"|<(?:final_?)?(?:answer|ans)>",
    re.IGNORECASE,
)
NAMED_JUDGEMENT = (
    r"(?:(?:final|the|my|correct)\s){0,2}"
    r"(?:answer|judge?ment|verdict|response|statement|claim|assertion|conclusion|correctness)"
)
LEAD = re.compile(
    r"[\s*_\"'`“”#>(\[{\-•:✗✓✘✔]{0,12}(?:\\boxed\{(?:\\text\{)?|<answer>)?"
    rf"(?:{NAMED_JUDGEMENT}(?: above)?[\"'*_\s]{{0,4}}(?:is\b|[:=\-–—])[\s*_\"'`:\-]{{0,6}})?",
    re.IGNORECASE,
)
STATED_JUDGEMENT = re.compile(
    rf"(?:\b{NAMED_JUDGEMENT}\b[^.\n;?!]{{0,80}}?(?:\b(?:is|would be|as)\b|[:=])|\\boxed|<answer>)"
    r"[\s*_:\"'{]{0,8}(?:\\text\{)?"
    r"(?:(?:therefore|thus|indeed|actually|clearly|most likely|likely|probably|also|considered)\s){0,3}",
    re.IGNORECASE,
)
# "The answer is: True" states the judgement itself, wherever it stands.
CONCLUDED = re.compile(
    r"(?:\b(?:the|my|final|so)\s(?:final\s)?|^[\s*_#>\-•]{0,8}(?:final\s)?)(?:answer|judge?ment|verdict)\b"
    r"[\s*_\"']{0,4}(?:is\b|[:=])[\s*_:\"'`({]{0,8}"
    r"(?:(?:therefore|thus|indeed|actually|clearly|most likely|likely|probably|also)\s){0,3}",
    re.IGNORECASE | re.MULTILINE,
)
# An answer word judges if its clause ends after it or goes on with such a word. "No fever" and "False
# positive results" judge nothing.
CLAUSE_GOES_ON = (
    r"because|since|as|and|or|but|for|in|on|of|at|by|if|when|while|which|so|then|therefore|however|due|given"
    r"|based|according|with|without|that|to|from|is|are|was|would|about|regarding|the|this|these|it|its|i|he"
    r"|she|her|option|choice|statement|answer"
)
CLAUSE_ENDS = re.compile(
    rf"[\"'’*_`”)\]}}]{{1,8}}(?!\w)"
    rf"|[\"'’]? ?(?:$|\n|[^\w\s*_\"'`-]|-(?!\w)|(?:{CLAUSE_GOES_ON})\b|[A-J]\b(?!-))",
    re.IGNORECASE,
)
# In "the correct mechanism" and "an accurate estimate", the word belongs to a noun. After "is", it still
# judges: "D is the correct diagnosis".
COPULA = re.compile(
    r"(?:\b(?:is|are|was|were|be|am|as|seems?|appears?|remains?|not)|['’]s|[:=])[\s*_\"']{1,4}"
    r"(?:(?:the|a|an|also|indeed|most|more|partially|likely|only|both|all|absolutely|completely)\s){0,3}$",
    re.IGNORECASE,
)
TEST_RESULT = re.compile(r"[\s\-](?:positive|negative|alarm)", re.IGNORECASE)
# "True or false?" and "True/False" repeat the question.
BOTH = re.compile(r"\s?(?:/|or)\s?(?:true|false|correct|incorrect|yes|no)\b", re.IGNORECASE)
SECOND = re.compile(r"\b(?:true|false|correct|yes)\s?(?:/|or)\s?$", re.IGNORECASE)
N_CONTEXT = 40
# A statement that is quoted judges nothing: 'The statement "Gout is not likely" is true.'
QUOTED = re.compile(
    r'(?<=\w )["“](?!(?:true|false|yes|no|(?:in)?correct)\b)[^"”\n]{1,600}["”]', re.IGNORECASE
)
WHETHER = re.compile(r"\b(?:whether|if)\b", re.IGNORECASE)
# "I don't think that the statement is true" calls it false.
OPINION_DENIED = re.compile(
    r"\b(?:not|never|cannot|[a-z]+n['’]t)\s(?:\w+\s)?(?:think|believe|say|agree|consider|find|claim)\b[^.;!?\n]{0,20}$",
    re.IGNORECASE,
)
CLAUSE_BREAK = re.compile(r"[.,;:!?\n]")
SENTENCE_END = re.compile(r"[.;!?\n]\s")
NAMED_OPTION = re.compile(
    r"(?i:\b(?:options?|choices?|answers?)\s)[\"'*(]{0,3}([A-J])\b|\(([A-J])\)|^[\s*_(]{0,4}([A-J])\b(?=\s(?:is|was))"
)
OTHER_OPTIONS = re.compile(
    r"\b(?:other|remaining|rest)\b|\b(?:options|choices)\b(?! and answers?\b)", re.IGNORECASE
)
MAX_CLAUSE = 160
# A clause that judges the offered answer or agrees with it, and not a finding, a fact or an option.
ABOUT_OFFER = re.compile(
    r"(?<!\bthis )\b(?:answer|response|judge?ment)\b|\b(?:s?he|they)\s(?:is|are|was|were)\s(?:\w+\s)?$"
    r"|\b(?:I|we)\s(?:\w+\s)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Judgement:
    """What a response calls right or wrong, and how that was found."""

    is_true: bool
    rule: str
    end: int
    """Where the judging word ends in the text."""


def read_truth(text: str) -> Judgement | None:
    """Return what a response says of a statement, or None if it says nothing."""
    if foreign := read_foreign(text):
        return Judgement(foreign == "T", "foreign_word", 0) if foreign != "U" else None
    text = ECHO.sub("", text)
    found = _read_places(text, find_json_answers(text), "json")
    text = QUOTED.sub('""', text)
    if found or BOTH_SAID.match(text) or len(LISTED.findall(text)) > 1:
        return found
    found = (
        read_leading_judgement(text)
        or _read_concluded(text)
        or _read_at(text, STATED_JUDGEMENT, "stated_word")
        or _read_at(text, MARKED, "marked_word")
    )
    if found or DECLINES.search(text):
        return found
    return (
        _read_first(text, TRUTH_WORDS, "first_word")
        or _read_first(text, JUDGEMENT_WORDS, "judging_word")
        or _read_yes(text)
    )


def read_foreign(text: str) -> str | None:
    """Return T, F or U if the text begins with a word for it in another language, and nothing more."""
    lead = FOREIGN_LEAD.match(text)
    said = SEGMENT_END.split(text[lead.end() if lead else 0 :], maxsplit=1)[0]
    return FOREIGN_WORDS.get(said.strip(" *_\"'()").casefold())


def read_judgement(text: str, offered: str) -> Judgement | None:
    """Return whether a response calls the offered answer right, or None if it does not judge.

    What it says about other options does not count, such as "Option C is incorrect" where A was offered.
    """
    found = (
        _read_places(text, find_json_answers(text), "json")
        or read_leading_judgement(text)
        or _read_concluded(text)
    )
    if found:
        return found
    about_offered = [
        match for match in JUDGEMENT_WORDS.pattern.finditer(text) if _is_about(text, match, offered)
    ]
    named = [match for match in about_offered if ABOUT_OFFER.search(_find_clause(text, match))]
    if named:
        return _build(named[-1], "judged_answer")
    is_said = about_offered and not DECLINES.search(text)
    return _build(about_offered[0], "judging_word") if is_said else None


def _is_about(text: str, match: re.Match[str], offered: str) -> bool:
    """Return whether the word judges the offered answer, as far as its clause says."""
    clause = _find_clause(text, match)
    named = [next(filter(None, letters)) for letters in NAMED_OPTION.findall(clause)]
    is_other = named[-1] != offered if named else OTHER_OPTIONS.search(clause) is not None
    return not is_other and not WHETHER.search(clause) and _judges(text, match)


def _find_clause(text: str, match: re.Match[str]) -> str:
    return SENTENCE_END.split(text[max(0, match.start() - MAX_CLAUSE) : match.start()])[-1]


def _read_concluded(text: str) -> Judgement | None:
    """Read the last "The answer is: True"."""
    found = None
    for place in CONCLUDED.finditer(text):
        match = LEADING_WORDS.pattern.match(text, place.end())
        is_condition = WHETHER.search(text, max(0, place.start() - N_CONTEXT), place.start())
        if match and not is_condition and _ends_clause(text, match):
            found = _build(match, "stated_word")
    return found


def _ends_clause(text: str, match: re.Match[str]) -> bool:
    return CLAUSE_ENDS.match(text, match.end()) is not None and not BOTH.match(text, match.end())


def read_leading_judgement(text: str) -> Judgement | None:
    """Return the judgement with which a text begins, such as "The answer is True", or None."""
    lead = LEAD.match(text)
    match = LEADING_WORDS.pattern.match(text, lead.end() if lead else 0) or LETTER_ALONE.fullmatch(text)
    if match is None or TEST_RESULT.match(text, match.end()) or BOTH.match(text, match.end()):
        return None
    # "True" and "False" are the answers that prompts ask for, whatever follows them.
    is_asked_for = text[match.start() : match.end()].casefold() in ("true", "false")
    return _build(match, "leading_word") if is_asked_for or _ends_clause(text, match) else None


def _read_at(text: str, lead: re.Pattern[str], rule: str) -> Judgement | None:
    """Read the last judgement after such a phrase that the model neither denies nor leaves open."""
    found = None
    for match in lead.finditer(text):
        before = text[max(0, match.start() - N_CONTEXT) : match.start()]
        judgement = None if WHETHER.search(before) else _read_places(text, (match.end(),), rule)
        if judgement and OPINION_DENIED.search(before):
            judgement = replace(judgement, is_true=not judgement.is_true)
        found = judgement or found
    return found


def _read_places(text: str, places: Iterable[int], rule: str) -> Judgement | None:
    """Read the judgement at the last of these places that has one."""
    found = None
    for place in places:
        match = LEADING_WORDS.pattern.match(text, place + (text[place : place + 1] in ("'", '"')))
        match = match or LETTER.match(text, place)
        if match and not BOTH.match(text, match.end()):
            found = _build(match, rule)
    return found


def _read_yes(text: str) -> Judgement | None:
    """Read "I do not know much, but yes."."""
    found = (match for match in YES_WORDS.pattern.finditer(text) if _ends_clause(text, match))
    return next((_build(match, "yes_or_no") for match in found), None)


def _read_first(text: str, words: AnswerWords, rule: str) -> Judgement | None:
    found = (match for match in words.pattern.finditer(text) if _judges(text, match))
    return next((_build(match, rule) for match in found), None)


def _judges(text: str, match: re.Match[str]) -> bool:
    word = (match["true"] or match["false"] or "").casefold()
    before = NEEDS_BEFORE.get(word)
    context = text[max(0, match.start() - N_CONTEXT) : match.start()]
    is_judging = before is None or match["negated"] is not None or before.search(context) is not None
    is_adjective = (
        not CLAUSE_ENDS.match(text, match.end()) and not match["negated"] and not COPULA.search(context)
    )
    is_open = WHETHER.search(CLAUSE_BREAK.split(context)[-1]) is not None
    if is_adjective or is_open or TEST_RESULT.match(text, match.end()):
        return False
    return is_judging and not BOTH.match(text, match.end()) and not SECOND.search(context)


def _build(match: re.Match[str], rule: str) -> Judgement:
    return Judgement((match["true"] is not None) != (match["negated"] is not None), rule, match.end())
