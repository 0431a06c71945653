"""The rules that find the options that a response chooses by their texts, in place of their letters."""

import re

from tasks.answers.letters import AFTER_TEXT, EDGES, SEPARATOR, AnswerOptions, Mention, fold_text
from tasks.answers.segments import TURNS, list_stems
from tasks.answers.unwrapping import WORDS_OF, compile_phrases

Found = tuple[str, ...]
ARTICLE = re.compile(r"(?:the |a |an |to |both )?(?:option )?", re.IGNORECASE)
LIST_SIGN = re.compile(r"(?:[-•]|\d{1,2}[.)])\s+")
LIST_NUMBER = re.compile(r"^\d{1,2}[.)]\s", re.MULTILINE)
ARE_RIGHT = re.compile(r"\s?are (?:both |all )?(?:correct|right|true)\b", re.IGNORECASE)
SUPERLATIVE = re.compile(rf"\b(?:{WORDS_OF['superlatives']})\b")
LINK = compile_phrases("link")
CONSISTENT = compile_phrases("consistent")
PREDICATE = compile_phrases("predicate")
CONDITION = re.compile(r"\b(?:if|whether|unless)\b")
DENIES_NEXT = re.compile(
    r"\b(?:not|no|never|cannot|without|rather than|instead of|unlikely|rule[sd]? out|avoid|except|all but"
    r"|anything but)\b"
    r"(?!.*\b(?:is|are|was)\b)"
)
ADVISED_AGAINST = compile_phrases("advised_against")
NOT_CHOSEN_TEXT = compile_phrases("not_chosen_text")
REVIEW = compile_phrases("review")
DENIED_LINK = re.compile(r"\b(?:not|cannot|never)\b|n't\b")
CALLED_BEST = compile_phrases("called_best")
# The clause before a quotation: 60 characters hold the verb, 200 the "most likely diagnosis" before it.
N_DENIED, N_LINK, N_SENTENCE = 40, 60, 200
MAX_MENTIONS = 60
ABBREVIATED = re.compile(r"\(([A-Z][A-Z0-9-]{2,7})\)")
CLOSED_SENTENCES = re.compile(r"(?<=[.!?:;]) ")
LISTS_TEXTS = re.compile(r"\b(?:are|include)(?: both| all)?:? ", re.IGNORECASE)
SENTENCE_BEFORE = re.compile(r"[.!?\n]\s?")
OF_OPTIONS = re.compile(r"\b(?:options?|choices?|possib\w+|differential|causes?)\b")
CONCLUDES = re.compile(
    r"\b(?:is|are|be) (?:\w+ )?(?:most (?:likely|appropriate|suitable|probable)|best|correct)\b"
    r"|\b(?:most (?:likely|appropriate|suitable|probable)|best|correct)\b[^,?:]{0,120}\b(?:is|are|be)\b"
)
# The least share of an option's own words that a conclusion has, and how much more than of any other option.
NEAR, APART = 0.6, 0.3


def read_texts_at(text: str, start: int, options: AnswerOptions) -> tuple[Found, int]:
    """Return the letters of the options whose texts are listed at a place, and where the list ends."""
    listed: list[str] = []
    place = end = start
    for _ in options.texts:
        while place < len(text) and (text[place].isspace() or text[place] in EDGES):
            place += 1
        if (sign := LIST_SIGN.match(text, place)) and "\n" in text[end:place]:
            place = sign.end()
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
        tail = AFTER_TEXT.match(text, ends[longest])
        end = tail.end() if tail else ends[longest]
        separator = SEPARATOR.match(text, end)
        place = separator.end() if separator else end
        if place == end:
            break
    return tuple(dict.fromkeys(listed)), end


def read_text_alone(text: str, options: AnswerOptions) -> Found:
    """Read a first line, or several, of nothing but texts of options; "are right" may follow several."""
    text = text.lstrip("-•* ")
    # A number before the first text, or several, are those of a list.
    if LIST_NUMBER.match(text) or len(LIST_NUMBER.findall(text)) > 1:
        text = LIST_NUMBER.sub("", text)
    letters, end = read_texts_at(text, 0, options)
    if len(letters) > 1 and (called := ARE_RIGHT.match(text, end)):
        end = called.end()
    if len(letters) == len(options.letters) > 1 and text[end:].strip(EDGES):
        # The list of all options is repeated, and what follows answers.
        return ()
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
    is_chosen = len(named) == 1 and not is_denied and not REVIEW.search(folded[: mentions[0].start])
    return next(iter(named)) if is_chosen else ()


def read_opening_text(text: str, options: AnswerOptions) -> Found:
    """Read the options with whose texts a response begins, unless it denies them."""
    letters, end = read_texts_at(text, 0, options)
    after = fold_text(text[end - 1 : end + N_SENTENCE])[1:]
    return () if NOT_CHOSEN_TEXT.match(after) or ADVISED_AGAINST.match(after) else letters


def _is_denied(folded: str, mention: Mention) -> bool:
    clause = re.split(r"[.,;:]\s", folded[max(0, mention.start - N_DENIED) : mention.start])[-1]
    after = (ADVISED_AGAINST, NOT_CHOSEN_TEXT)
    return bool(DENIES_NEXT.search(clause) or any(said.match(folded, mention.end) for said in after))


def _is_concluded(folded: str, mention: Mention) -> bool:
    sentence = folded[max(0, mention.start - N_SENTENCE) : mention.start].rpartition(". ")[2]
    clause = sentence[-N_LINK:]
    if CONDITION.search(clause):
        return False
    if not DENIED_LINK.search(clause):
        if CONSISTENT.search(clause) or PREDICATE.search(sentence):
            return True
        if LINK.search(clause) and SUPERLATIVE.search(sentence):
            return True
    return CALLED_BEST.match(folded, mention.end) is not None


def read_listed_texts(text: str, options: AnswerOptions) -> Found:
    """Read the texts of several options at the end of a sentence: "The beta blockers are ... and ...".

    A sentence about options, or with a word that denies, chooses none.
    """
    for match in LISTS_TEXTS.finditer(text):
        letters, end = read_texts_at(text, match.end(), options)
        *_, before = SENTENCE_BEFORE.split(
            text[max(0, match.start() - N_SENTENCE) : match.start()].casefold()
        )
        is_end = text[end - 1] in ".\n" or not text[end:].strip(EDGES) or text[end] in ".\n"
        if len(letters) > 1 and is_end and not (TURNS.search(before) or OF_OPTIONS.search(before)):
            return letters
    return ()


def read_nearest_text(text: str, options: AnswerOptions) -> Found:
    """Read the option whose words a conclusion has nearly all: "Candidal vaginitis is the most likely"."""
    words = {letter: list_stems(option) for option, letters in options.by_text.items() for letter in letters}
    common = set.intersection(*words.values()) if words else set()
    short = {letter: ABBREVIATED.findall(text) for letter, text in zip(words, options.texts, strict=False)}
    for sentence in reversed(CLOSED_SENTENCES.split(fold_text(text))):
        if not CONCLUDES.search(sentence) or TURNS.search(sentence):
            continue
        said = list_stems(sentence)
        shares = [
            (len(own & said - common) / max(len(own - common), 1), letter)
            if said.isdisjoint(map(str.casefold, short[letter]))
            else (1.0, letter)
            for letter, own in words.items()
        ]
        (best, letter), (second, _) = sorted([*shares, (0.0, ""), (0.0, "")], reverse=True)[:2]
        if best >= NEAR and best - second >= APART:
            return (letter,)
    return ()
