"""The options of a question as texts that a response may quote."""

from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase

# One character for one, so that places in a text stay the same.
PLAIN = str.maketrans("‘’“”‐‑–\u00a0", "''\"\"--- ")
EDGES = " \t\r\n\"'.,;:*_`"
# A shorter option ("5", "MR") occurs in too many words and numbers to be searched for inside a sentence.
MIN_QUOTED = 3


def fold_text(text: str) -> str:
    """Return the text without case, emphasis, line ends and typographic quotation marks."""
    return " ".join(text.translate(PLAIN).replace("**", "").casefold().split())


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

    @cached_property
    def letters(self) -> str:
        """The letters of the options, such as "ABCDE"."""
        return ascii_uppercase[: len(self.texts)]

    @cached_property
    def by_text(self) -> dict[str, tuple[str, ...]]:
        """Folded text -> its letters; identical options have several."""
        found: dict[str, tuple[str, ...]] = {}
        for letter, text in zip(self.letters, self.texts, strict=False):
            folded = fold_text(text).strip(EDGES)
            if folded:
                found[folded] = (*found.get(folded, ()), letter)
        return found

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
            while place < len(text) and (text[place].isspace() or text[place] in "*_`\"'"):
                place += 1
            end = place + len(word)
            if text[place:end].translate(PLAIN).casefold() != word:
                return None
            place = end
        return place if place > start and not text[place : place + 1].isalnum() else None

    def starts_option(self, text: str, start: int) -> bool:
        """Whether the text quotes an option at `start`: "E. coli" and "A pacemaker" are no letters."""
        initial = text[start : start + 1].casefold()
        return any(
            words[0].startswith(initial)
            and (len(words) > 1 or len(words[0]) > 1)
            and self.skip_text(text, start, letter) is not None
            for letter, words in self.words.items()
        )

    def find_mentions(self, folded: str) -> list[Mention]:
        """Return the quotations of options in a folded text, from left to right.

        A quotation inside a longer one does not count, such as "cortisol" in "increased cortisol".
        """
        found = [
            Mention(start, start + len(text), letters)
            for text, letters in self.by_text.items()
            if len(text) >= MIN_QUOTED
            for start in _find_whole(folded, text)
        ]
        kept: list[Mention] = []
        for mention in sorted(found, key=lambda mention: (mention.start, -mention.end)):
            if not kept or mention.end > kept[-1].end:
                kept.append(mention)
        return kept


def _find_whole(text: str, part: str) -> list[int]:
    starts = []
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        if not text[max(0, start - 1) : start].isalnum() and not text[end : end + 1].isalnum():
            starts.append(start)
        start = text.find(part, end)
    return starts
