"""The closing sentence of an exam question: the sentence that asks, with the case around it."""

import re
from dataclasses import dataclass

# A sentence ends at a mark, perhaps followed by a closing quotation mark or bracket, before a capital letter.
_BOUNDARY = re.compile(r"""(?:[.?!:]["”’)\]]?|["”)\]])\s+(?=["“(]?[A-Z0-9])|\n+|\s+(?=(?:Which|What)\b)""")
_ASKING = re.compile(r"\b(?:which|what|how|where|when|who|why|whose)\b", re.IGNORECASE)
_STRAY_QUOTE = re.compile(r"""^\s*"(?=\s)""")


@dataclass(frozen=True)
class AskedText:
    """The parts of a question: before + sentence + mark + after.

    ``before`` and ``after``, such as a table of values, keep the white space around the sentence, and
    ``sentence`` has single spaces and no mark.
    """

    before: str
    sentence: str
    mark: str
    after: str

    @property
    def case(self) -> str:
        """The text without the closing sentence: what comes before it, then what follows it."""
        return f"{self.before.rstrip()}{self.after}".strip()


def find_closing(question: str) -> AskedText | None:
    """Return the parts of a question around its last sentence that asks, or None if no sentence asks."""
    for mark in reversed(list(re.finditer(r"\?|:\s*$", question))):
        start = max((b.end() for b in _BOUNDARY.finditer(question, 0, mark.start())), default=0)
        sentence = " ".join(question[start : mark.start()].split())
        if _ASKING.search(sentence):
            after = _STRAY_QUOTE.sub("", question[mark.end() :]).rstrip()
            return AskedText(question[:start], sentence, mark.group()[0], after)
    return None
