"""What a model wraps around its one statement, taken off where nothing can be lost."""

import re

_LABEL = re.compile(
    r"^(?:the )?(?:rephrased|reworded|paraphrased|rewritten|revised|new)?[ -]?"
    r"(?:statement|sentence|version|text|paraphrase|rephrasing|output)\s*:\s*",
    re.IGNORECASE,
)
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("'", "'"), ("‘", "’"), ("`", "`"))
_DOUBLED_STOP = re.compile(r"(?<!\.)\s*\.\s*\.$")


def clean_reply(reply: str) -> str:
    """The reply without white space, quotes or a label around it, and with one full stop at its end."""
    text = reply.strip()
    while (bare := _unwrap(text)) != text:
        text = bare
    return _DOUBLED_STOP.sub(".", text)


def _unwrap(text: str) -> str:
    """The text less its outermost label or pair of quotes."""
    text = _LABEL.sub("", text, count=1)
    for opening, closing in _QUOTES:
        for end in (closing, f"{closing}."):
            inner = text[len(opening) : -len(end)]
            if _wraps(text, opening, end) and opening not in inner and closing not in inner:
                return inner.strip() + ("." if end.endswith(".") else "")
    return text


def _wraps(text: str, opening: str, end: str) -> bool:
    return len(text) > len(opening) + len(end) and text.startswith(opening) and text.endswith(end)
