"""Remove what a model puts around its statement, such as quotes, if no content can get lost."""

import re

_LABEL = re.compile(
    r"^(?:the )?(?:rephrased|reworded|paraphrased|rewritten|revised|new)?[ -]?"
    r"(?:statement|sentence|version|text|paraphrase|rephrasing|output)\s*:\s*",
    re.IGNORECASE,
)
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("'", "'"), ("‘", "’"), ("`", "`"))
_DOUBLED_STOP = re.compile(r"(?<!\.)\s*\.\s*\.$")


def clean_reply(reply: str) -> str:
    """Return the reply without white space, quotes or a label around it, and without a doubled full stop."""
    text = reply.strip()
    while (bare := _unwrap(text)) != text:
        text = bare
    return _DOUBLED_STOP.sub(".", text)


def _unwrap(text: str) -> str:
    """Return the text without its outermost label or pair of quotes."""
    text = _LABEL.sub("", text, count=1)
    for opening, closing in _QUOTES:
        for end in (closing, f"{closing}."):
            inner = text[len(opening) : -len(end)]
            if _wraps(text, opening, end) and opening not in inner and closing not in inner:
                return inner.strip() + ("." if end.endswith(".") else "")
    return text


def _wraps(text: str, opening: str, end: str) -> bool:
    return len(text) > len(opening) + len(end) and text.startswith(opening) and text.endswith(end)
