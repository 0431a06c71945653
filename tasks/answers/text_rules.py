"""The rules that find the chosen options by their texts, where a response names no letter."""

import re

from tasks.answers.letters import EDGES, SEPARATOR, AnswerOptions, Mention, fold_text
from tasks.answers.unwrapping import WORDS_OF, compile_phrases

Found = tuple[str, ...]
ARTICLE = re.compile(r"(?:the |a |an |to )?(?:option )?", re.IGNORECASE)
NUMBERING = re.compile(r"[\s*_#>\-•]{0,8}(?:\(?\d{1,2}[.)]\s)?")
SUPERLATIVE = re.compile(rf"\b(?:{WORDS_OF['superlatives']})\b")
LINK = compile_phrases("link")
CONSISTENT = compile_phrases("consistent")
PREDICATE = compile_phrases("predicate")
CONDITION = re.compile(r"\b(?:if|whether|unless)\b")
DENIES_NEXT = re.compile(
    r"\b(?:not|no|never|cannot|without|rather than|instead of|unlikely|rules? out)\b(?!.*\b(?:is|are|was)\b)"
)
CALLED_BEST = compile_phrases("called_best")
# The clause before a quotation: 60 characters hold the verb, 200 the "most likely diagnosis" before it.
N_DENIED, N_LINK, N_SENTENCE = 40, 60, 200
MAX_MENTIONS = 60
N_OPENING = 2000


def read_texts_at(text: str, start: int, options: AnswerOptions) -> tuple[Found, int]:
    """Return the letters of the options whose texts are listed at a place, and where the list ends."""
    listed: list[str] = []
    place = end = start
    for _ in options.texts:
        while place < len(text) and (text[place].isspace() or text[place] in EDGES):
            place += 1
        article = ARTICLE.match(text, place)
        starts = {place, article.end() if article else place}
        ends = {
            letters: after
            for begin in starts
            for letters in options.by_text.values()
            if (after := options.skip_text(text, begin, letters[0])) is not None
        }
        if not ends:
            break
        longest = max(ends, key=lambda letters: ends[letters])
        listed += longest
        end = ends[longest]
        separator = SEPARATOR.match(text, end)
        place = separator.end() if separator else end
        if place == end:
            break
    return tuple(dict.fromkeys(listed)), end


def read_text_alone(text: str, options: AnswerOptions) -> Found:
    """Read a first line, or several, that are nothing but the texts of options."""
    letters, end = read_texts_at(text, 0, options)
    return letters if not text[end:].partition("\n")[0].strip(EDGES) else ()


def read_concluded_text(text: str, options: AnswerOptions) -> Found:
    """Read the first option's text that is called the answer: "The most likely diagnosis is ..."."""
    folded = fold_text(text)
    mentions = options.find_mentions(folded)[:MAX_MENTIONS]
    return next((mention.letters for mention in mentions if _is_concluded(folded, mention)), ())


def read_only_text(text: str, options: AnswerOptions) -> Found:
    """Read the only option whose text the response quotes, unless it is always denied."""
    folded = fold_text(text)
    mentions = options.find_mentions(folded)
    named = {mention.letters for mention in mentions}
    is_denied = all(_is_denied(folded, mention) for mention in mentions[:MAX_MENTIONS])
    return next(iter(named)) if len(named) == 1 and not is_denied else ()


def read_opening_text(text: str, options: AnswerOptions) -> Found:
    """Read the option that a response begins with, unless its text is the first of an enumeration."""
    numbering = NUMBERING.match(text)
    folded = fold_text(text[numbering.end() if numbering else 0 :][:N_OPENING])
    article = ARTICLE.match(folded)
    starts = {0, article.end() if article else 0}
    mention = next(iter(options.find_mentions(folded)), None)
    is_enumerated = numbering is not None and any(mark.isdigit() for mark in numbering[0])
    return mention.letters if mention and mention.start in starts and not is_enumerated else ()


def _is_denied(folded: str, mention: Mention) -> bool:
    clause = re.split(r"[.,;:]\s", folded[max(0, mention.start - N_DENIED) : mention.start])[-1]
    return DENIES_NEXT.search(clause) is not None


def _is_concluded(folded: str, mention: Mention) -> bool:
    sentence = folded[max(0, mention.start - N_SENTENCE) : mention.start].rpartition(". ")[2]
    clause = sentence[-N_LINK:]
    if CONDITION.search(clause):
        return False
    if " not " not in clause:
        if CONSISTENT.search(clause) or PREDICATE.search(sentence):
            return True
        if LINK.search(clause) and SUPERLATIVE.search(sentence):
            return True
    return CALLED_BEST.match(folded, mention.end) is not None
