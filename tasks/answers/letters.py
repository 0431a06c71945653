"""Scan the letters of options at one place of a response: "B", "(B)", "**A, C** and D", "A: text\nC: text".

A capital letter is an option only if what follows shows it: the article "A", "B-cell", "C. difficile" and
"E coli" are words. A scan looks at a limited number of characters, so that many scans take linear time.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase

from tasks.answers.unwrapping import WORDS_OF, compile_phrases

# One character for one, so that places in a text stay the same.
PLAIN = str.maketrans("‘’“”‐‑–\u00a0ß", "''\"\"--- β")
ACTION = compile_phrases("action")
POSSESSIVE = re.compile(r"(?<=s)'(?= \w)")
EDGES = " \t\r\n\"'.,;:*_`[]"
# Between the words of an option, a quotation may have other commas and small words, and an abbreviation.
SMALL_WORDS = frozenset({"a", "an", "and", "the"})
BETWEEN_WORDS = r"(?: \([^()\n]{1,12}\))?[,;]?\s(?:(?:an?|and|the)\s){0,2}"
# A shorter option ("5", "MR") occurs in too many words and numbers to be searched for inside a sentence.
MIN_QUOTED = 3


def fold_text(text: str) -> str:
    """Return the text without case, emphasis and line ends, with plain marks, and "Graves'" as "Graves"."""
    return POSSESSIVE.sub("", " ".join(text.translate(PLAIN).replace("**", "").casefold().split()))


@dataclass(frozen=True)
class Mention:
    """A place in a folded text that quotes an option; identical options share their mentions."""

    start: int
    end: int
    letters: tuple[str, ...]


@dataclass(frozen=True)
class AnswerOptions:
    """The options of one question in their order: the first one is A."""

    texts: tuple[str, ...]
    asks_wrong: bool = False
    """True if the question asks which options are wrong."""

    @cached_property
    def letters(self) -> str:
        """The letters of the options, such as "ABCDE"."""
        return ascii_uppercase[: len(self.texts)]

    @cached_property
    def by_text(self) -> dict[str, tuple[str, ...]]:
        """Folded text -> its letters; identical options have several."""
        letters_of: dict[str, tuple[str, ...]] = {}
        for letter, text in zip(self.letters, self.texts, strict=False):
            folded = fold_text(text).strip(EDGES)
            if folded:
                letters_of[folded] = (*letters_of.get(folded, ()), letter)
        return letters_of

    @cached_property
    def quotations(self) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
        """Return the quotations of options in a folded text, and the letters of these options."""
        short = {ACTION.sub("", text): letters for text, letters in self.by_text.items()}
        named = [text for text in short if " " in text and sum(text in other for other in self.by_text) == 1]
        patterns = []
        for text, letters in (self.by_text | {text: short[text] for text in named}).items():
            words = [word.rstrip(",;") for word in text.split() if word not in SMALL_WORDS]
            quoted = BETWEEN_WORDS.join(map(re.escape, words if len(words) > 1 else [text]))
            if len(text) >= MIN_QUOTED:
                patterns.append((re.compile(rf"(?<![^\W_]){quoted}(?![^\W_])"), letters))
        return patterns

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """Letter -> the words of its option, folded."""
        return {letter: text.split() for text, letters in self.by_text.items() for letter in letters}

    def skip_text(self, text: str, start: int, letter: str) -> int | None:
        """Return the end of the quotation of an option that begins at `start`, or None if none does.

        Args:
            text: a response, not folded.
            letter: the letter of the option.
        """
        place = start
        for word in self.words.get(letter, ()):
            while place < len(text) and (text[place].isspace() or text[place] in "*_`\"'’"):
                place += 1
            end = place + len(word)
            if text[place:end].translate(PLAIN).casefold() != word:
                return None
            place = end
        return place if place > start and not text[place : place + 1].isalnum() else None

    def find_mentions(self, folded: str) -> list[Mention]:
        """Return the quotations of options in a folded text, from left to right.

        A quotation inside a longer one does not count, such as "cortisol" in "increased cortisol".
        """
        mentions = [
            Mention(match.start(), match.end(), letters)
            for quotation, letters in self.quotations
            for match in quotation.finditer(folded)
        ]
        kept: list[Mention] = []
        for mention in sorted(mentions, key=lambda mention: (mention.start, -mention.end)):
            if not kept or mention.end > kept[-1].end:
                kept.append(mention)
        return kept


MAX_ITEMS = 30
MAX_LABELLED = 600
OPENING = compile_phrases("opening")
CLOSING = re.compile(r"[*_\"'`“”‘’)\]}$>]{0,20}(?:\\[)\]])?")
SEPARATOR = compile_phrases("separator")
# What separates a letter from a text: "A: text", "A) text", "A. text", "A - text", "A (text)".
LABEL = re.compile(r"[ \t]?(?:[:.)\]\-–—]{1,3}[ \t*_]{0,6}|(?=\())?\(?")
# "A (a vaccine), C (another one) and D"
NOTE_IN_BRACKETS = re.compile(r"[ \t]?\([^()\n]{2,60}\)(?=[ \t]?(?:[,;\n]|and\b|$))")
AFTER_TEXT = re.compile(r"[ \t]?\([^()\n]{0,60}\)|[\"'.)*_]{0,6}")
FOLLOWERS = re.compile(rf"(?:{WORDS_OF['followers']})\b", re.IGNORECASE)
SENTENCES = re.compile(rf"(?:{WORDS_OF['sentences']})\b")
# "Option B: text" and, in the next line, "Options A and C are wrong": the other letters begin a sentence.
BEGINS_SENTENCE = re.compile(r"\s(?:is|are|was|were|would|does|do|has|can|may|could|should|because)\b")
RUN = re.compile(r"[A-Z]{2,10}(?![^\W_])")
LINE_END = re.compile(r"[ \t.,;!*_]{0,6}(?:\n|$)")
LOWER_END = re.compile(r"[.,]?\s?$|[.,]?\n|[:)]")


@dataclass(frozen=True)
class Letters:
    """The letters of options that were found at a place."""

    found: tuple[str, ...]
    """The letters in the order of the text, each once."""
    end: int
    n_texts: int = 0
    """Number of letters that were followed by a text."""


def scan_letters(text: str, start: int, options: AnswerOptions) -> Letters | None:
    """Return the letters of options that begin at `start`, or None if there is none."""
    letters = line = Letters((), start)
    place, has_commas = start, False
    for _ in range(MAX_ITEMS):
        item = _scan_item(text, place, options)
        is_new_line = "\n" in text[letters.end : place]
        # "B" and, below it, "A: text"; "B. Text. A is for ...": what follows is about another option.
        if item is None or (is_new_line and letters.found and bool(letters.n_texts) != bool(item.n_texts)):
            break
        if text[letters.end - 1 : letters.end] == "." and BEGINS_SENTENCE.match(text, item.end):
            break
        if is_new_line:
            line = letters
        named = tuple(dict.fromkeys((*letters.found, *item.found)))
        letters = Letters(named, item.end, letters.n_texts + item.n_texts)
        separator = SEPARATOR.match(text, letters.end)
        place = separator.end() if separator else letters.end
        between = text[letters.end : place]
        # "A, C and E; B is another drug": in a list with commas or "and", a semicolon begins a clause.
        if not between or (";" in between and has_commas):
            break
        has_commas |= between.strip(" ;") != ""
    if line.found and BEGINS_SENTENCE.match(text, letters.end):
        letters = line
    return letters if letters.found else None


def is_line_end(text: str, place: int) -> bool:
    """Return whether nothing but marks follows up to the end of the line."""
    return LINE_END.match(text, place) is not None


def _scan_item(text: str, start: int, options: AnswerOptions) -> Letters | None:
    opening = OPENING.match(text, start)
    place = opening.end() if opening else start
    run = RUN.match(text, place)
    if run and _is_run(run[0], text, run.end(), options):
        return Letters(tuple(run[0]), run.end())
    letter = text[place : place + 1].upper()
    if not letter or letter not in options.letters:
        return None
    closing = CLOSING.match(text, place + 1)
    end = closing.end() if closing else place + 1
    if not is_letter(text, place, end, options):
        return None
    return _skip_own_text(text, letter, end, options)


def _is_run(run: str, text: str, end: int, options: AnswerOptions) -> bool:
    # "ACD" at the end of a line are three letters; "ACE inhibitors", "BAD" and the option "AB" are words.
    is_ordered = list(run) == sorted(set(run))
    is_option = run.casefold() in options.by_text
    return is_ordered and run[-1] in options.letters and is_line_end(text, end) and not is_option


def is_letter(text: str, place: int, end: int, options: AnswerOptions) -> bool:
    """Return whether the character at `place` is the letter of an option, and no article or part of a name.

    Args:
        end: the end of the marks that close after the letter, such as those in **B** and (B).
    """
    rest = text[end : end + 40]
    if text[place].islower():
        return (end > place + 1 and not rest[:1].isalnum()) or LOWER_END.match(rest) is not None
    # Chinese and Japanese words follow without a space.
    if not rest or rest[0] in "\n,:;/&?!()–—…\\|<是项項选選因和與与及或のはがで입이예" or rest[:2] == "正确":
        return True
    if end > place + 1 and not (rest[0].isalnum() or rest[0] in "-'’"):
        return True
    letter, following = text[place], rest[1:].lstrip(" \t*_")
    if rest[0] == ".":
        if not (rest[1:2].isspace() and following[:1].islower()):
            return not rest[1:2].isalnum()
        return FOLLOWERS.match(following) is not None or options.skip_text(text, end + 1, letter) is not None
    if rest[0] == "+":
        return following != "" and following[0] in options.letters
    if not rest[0].isspace():
        return rest[0] == "-" and not rest[1:2].isalnum()
    if not following or not following[0].isascii() or following[0] in "\n-(,:;&+/=.|<":
        return True
    if FOLLOWERS.match(following):
        return True
    if options.skip_text(text, end, letter) is not None or (letter != "A" and SENTENCES.match(following)):
        return True
    # In "A C D", another letter that stands alone follows.
    is_alone = not following[1:2].isalnum() and following[1:2] not in ("'", "’", "-", ".")
    return following[0] in options.letters and is_alone


def _skip_own_text(text: str, letter: str, end: int, options: AnswerOptions) -> Letters:
    """Skip the text of the letter's option, or whatever a label such as "A:" is followed by in its line."""
    label = LABEL.match(text, end)
    place = label.end() if label else end
    after = options.skip_text(text, place, letter)
    if after is not None:
        tail = AFTER_TEXT.match(text, after)
        return Letters((letter,), tail.end() if tail else after, 1)
    if note := NOTE_IN_BRACKETS.match(text, end):
        return Letters((letter,), note.end())
    sign = label[0].strip() if label else ""
    is_closed = (
        text[end - 1 : end] == ")" and text[place : place + 1].isalnum() and not FOLLOWERS.match(text, place)
    )
    if (sign[:1] == ":" or (is_closed and place > end)) and not is_line_end(text, place):
        line_end = text.find("\n", place, place + MAX_LABELLED)
        return Letters((letter,), min(place + MAX_LABELLED, len(text)) if line_end < 0 else line_end, 1)
    return Letters((letter,), end)
