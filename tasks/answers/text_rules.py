"""The rules that find the options that a response chooses by their texts, in place of their letters."""

import re

from tasks.answers.letters import AFTER_TEXT, EDGES, SEPARATOR, AnswerOptions, Mention, fold_text
from tasks.answers.segments import SENTENCE_START, SMALL, TURNS, list_stems
from tasks.answers.unwrapping import WORDS_OF, compile_phrases

Found = tuple[str, ...]
QUOTED_PART = re.compile(r'(?<!\S)"(\S.*?)(?<!\s)"')
DENIALS = {"not", "never", "n't"}
REASON = re.compile(r",? (?:because|since|as (?:it|the|this)|which)\b")
MAX_ADDED = 12
ARTICLE = re.compile(r"(?:the |a |an |to |both )?(?:option )?", re.IGNORECASE)
LIST_NUMBER = re.compile(r"^\d{1,2}[.)]\s", re.MULTILINE)
ARE_RIGHT = re.compile(r"\s?are (?:both |all )?(?:correct|right|true)\b", re.IGNORECASE)
SUPERLATIVE = re.compile(rf"\b(?:{WORDS_OF['superlatives']})\b")
LINK = compile_phrases("link")
CONSISTENT = compile_phrases("consistent")
PREDICATE = compile_phrases("predicate")
DENIES_NEXT = compile_phrases("denies_next")
NAMED_BEST = compile_phrases("named_best")
NAMED_PART = compile_phrases("named_part")
PRONOUN = compile_phrases("pronoun")
OTHER_FINDING = compile_phrases("other_finding")
OF_PATIENT = compile_phrases("of_patient")
CONCLUDES = compile_phrases("concludes")
BEST = compile_phrases("best")
CONDITION = re.compile(r"\b(?:if|whether|unless)\b")
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
# The least share of an option's own words that a conclusion has, and how much more than of any other option.
NEAR, APART = 0.6, 0.3


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


def denies_text(text: str, options: AnswerOptions, letter: str) -> bool:
    """Return whether the response denies an option by its text: "Warfarin is not an appropriate step"."""
    folded = fold_text(text)
    mentions = options.find_mentions(folded)[:MAX_MENTIONS]
    return any(letter in mention.letters and _is_denied(folded, mention) for mention in mentions)


def read_opening_text(text: str, options: AnswerOptions) -> Found:
    """Read the options with whose texts a response begins, unless it denies them."""
    letters, end = read_texts_at(text, 0, options)
    if not letters:
        folded = fold_text(text)
        first = next(iter(options.find_mentions(folded)), None)
        is_first = first is not None and ARTICLE.fullmatch(folded, 0, first.start)
        return first.letters if first and is_first and not _is_denied(folded, first) else ()
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
    if clause.endswith(": ") and not folded[mention.end :].strip(EDGES) and not TURNS.search(clause):
        return True
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


def _find_holder(part: str, options: AnswerOptions) -> Found:
    """Return the letters of the only option that has these words in a row."""
    words, texts = rf"(?<!\w){re.escape(part)}(?!\w)", options.by_text.items()
    holders = [letters for text, letters in texts if part in text and re.search(words, text)]
    return holders[0] if len(holders) == 1 else ()


def read_nearest_text(text: str, options: AnswerOptions) -> Found:
    """Read the only option that has the whole text within it, or whose words a conclusion has nearly all."""
    if " " in text and (held := _find_holder(fold_text(text).strip(EDGES), options)):
        return held
    for sentence in reversed(CLOSED_SENTENCES.split(fold_text(text))):
        if not CONCLUDES.search(sentence) or TURNS.search(sentence):
            continue
        if (named := NAMED_PART.search(sentence)) and (held := _find_holder(named[1] or named[2], options)):
            return held
        words = {letter: list_stems(text) for text, letters in options.by_text.items() for letter in letters}
        common = set.intersection(*words.values()) if words else set()
        short = {name: ABBREVIATED.findall(text) for name, text in zip(words, options.texts, strict=False)}
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


def read_repeated_statement(text: str, question: str) -> bool | None:
    """Return whether a text states the statement of the question itself, or its denial; None if neither.

    A model that explains may end with "The most likely diagnosis for him is gout." instead of a verdict. One
    of its clauses then has all words of the statement, few others, and the same words that deny or doubt, or
    one denial more or less. The last such clause counts. A text that only copies the question states nothing.
    """
    statement = (QUOTED_PART.findall(fold_text(question)) or [fold_text(question).rpartition("? ")[2]])[-1]
    folded = _fold_statement(statement).rstrip(". ")
    stated, turns = list_stems(folded), set(TURNS.findall(folded))
    said = [_fold_statement(part) for part in SENTENCE_START.split(text) if part.strip()]
    copied = _fold_statement(question)
    if len(stated) < 2 or all(part in copied for part in said):
        return None
    for clause in (clause for part in reversed(said) for clause in (part, *REASON.split(part))):
        stems = list_stems(clause)
        if stated <= stems and len(stems - stated) <= MAX_ADDED:
            others = turns ^ set(TURNS.findall(clause))
            if len(others) < 2 and others <= DENIALS:
                return not others
    called = NAMED_BEST.match(statement)
    return _read_named_best(fold_text(text), called, fold_text(question)) if called else None


def _read_named_best(folded: str, called: re.Match[str], question: str) -> bool | None:
    """Return whether a text affirms or denies "Gout is the most likely diagnosis": "consistent with gout".

    What the statement calls the best is read as the only option. The last mention that says something counts.
    """
    named = AnswerOptions((called["named"],))
    for first in named.find_mentions(folded)[:1]:
        folded = folded[: first.end] + PRONOUN.sub(called["named"], folded[first.end :])
    for sentence in reversed(re.split(r"(?<=[.!?]) ", folded)):
        is_other = any(
            word not in question and not SMALL.fullmatch(word) for word in OTHER_FINDING.findall(sentence)
        )
        for mention in [] if is_other or CONDITION.search(sentence) else named.find_mentions(sentence):
            is_concluded = _is_concluded(sentence, mention)
            if is_concluded or _is_denied(sentence, mention):
                return is_concluded != (called["denied"] is not None)
    return None


def _fold_statement(text: str) -> str:
    return OF_PATIENT.sub("patient", BEST.sub("best", fold_text(text)))
