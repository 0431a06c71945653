"""Find and hide a key in text, in the forms in which a careless or hostile endpoint may repeat it.

The forms: the key or any piece of it of PIECE characters, in any case, backwards, in ROT13, in UTF-16,
in base64 (each alignment, both alphabets) or in hexadecimal. Any of its characters may be percent-encoded,
in full width, or escaped as in JSON, HTML or a programming language. Spaces, separators and characters that
nobody sees may stand between them.
"""

import base64
import codecs
import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

HIDDEN = "***"
# A shorter value is a placeholder. It could be part of any word of an answer or a path.
MIN_LENGTH = 8
PIECE = 12
Span = tuple[int, int]
# At most this many encodings on top of each other are removed: a URL within JSON within JSON.
MAX_DECODED = 3
_ENCODED = re.compile(
    r"%[2-7][0-9a-f]|\\+u00[2-7][0-9a-f]|\\+x[2-7][0-9a-f]|\\+u\{0*[2-7][0-9a-f]\}|\\+[01][0-7]{2}"
    r"|&\#x0*[2-7][0-9a-f];?|&\#0*[0-9]{2,3};?|&[a-z]{2,6};|\\+(?=[\"'/\\$`])",
    re.IGNORECASE,
)
# Signs of punctuation, and ranges of control characters, spaces and characters that nobody sees.
_SEPARATORS = (
    r"""\x00-\x20\x7f-\xa0.,:;\-_+/|\\'"=*`\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"""
    r"""\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"""
    r"""\U000e0000-\U000e0fff"""
)
_SEPARATED = re.compile(f"[{_SEPARATORS}]+")


@dataclass(frozen=True)
class _Form:
    """The key in one encoding, in lower case, and the length from which a piece of it is hidden."""

    text: str
    n_least: int

    def find(self, text: str) -> Iterator[Span]:
        """Yield the places of all pieces of ``n_least`` characters or more."""
        # A piece of n_least characters contains a whole step, wherever it begins: it has two steps' length.
        step = (self.n_least + 1) // 2
        for offset in range(0, len(self.text) - step + 1, step):
            probe, start = self.text[offset : offset + step], 0
            while (at := text.find(probe, start)) >= 0:
                first, last = self._extend(text, at, offset, step)
                if last - first >= self.n_least:
                    yield first, last
                start = max(last, at + 1)

    def _extend(self, text: str, at: int, offset: int, n: int) -> Span:
        if text.startswith(self.text, max(at - offset, 0)) and at >= offset:
            return at - offset, at - offset + len(self.text)
        first, last, end = at, at + n, offset + n
        while first > 0 and offset > 0 and text[first - 1] == self.text[offset - 1]:
            first, offset = first - 1, offset - 1
        while last < len(text) and end < len(self.text) and text[last] == self.text[end]:
            last, end = last + 1, end + 1
        return first, last


def hide_value(text: str, secret: str | None) -> str:
    """Return the text with ``***`` in place of the secret and of its pieces, in all forms of this module.

    A secret of fewer than MIN_LENGTH characters is hidden only as it is.
    """
    if not secret or len(secret) < MIN_LENGTH:
        return text.replace(secret, HIDDEN) if secret else text
    hidden, done = [], 0
    for first, last in find_key(text, secret):
        hidden += [text[done:first], HIDDEN]
        done = last
    return "".join([*hidden, text[done:]])


def find_key(text: str, key: str) -> list[Span]:
    """Return the places (start, end) of the key and of its pieces, in order and without overlaps.

    10 MB of text take three seconds. The key has at least MIN_LENGTH characters.
    """
    plain = _lower(text)
    spans = _find(_list_forms(key), plain)
    decoded, origins = plain, list[_Origins]()
    for _ in range(MAX_DECODED):
        shorter, moved = _decode(decoded)
        if shorter == decoded:
            break
        decoded = _lower(shorter)
        origins.append(moved)
        spans += _locate(_find(_list_forms(key), decoded), origins)
    squeezed = _SEPARATED.sub("", decoded)
    if len(squeezed) < len(decoded) and (found := _find(_list_forms(key, is_squeezed=True), squeezed)):
        origins.append(_remove(decoded, [match.span() for match in _SEPARATED.finditer(decoded)]))
        spans += _locate(found, origins)
    return _merge(spans)


def _lower(text: str) -> str:
    """Return the text in lower case and without compatibility forms, each character in its place."""
    if not text.isascii():
        text = text.translate(_list_compatible())
    lower = text.lower()
    return (
        lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    )


@lru_cache(maxsize=1)
def _list_compatible() -> dict[int, str]:
    """Return code point -> the ASCII character of which it is a compatibility form, such as full width."""
    forms = ((code, unicodedata.normalize("NFKC", chr(code))) for code in range(0xA1, 0x1FC00))
    return {code: form for code, form in forms if len(form) == 1 and "!" <= form <= "~"}


def _find(forms: Sequence[_Form], text: str) -> list[Span]:
    return [span for form in forms for span in form.find(text)]


@lru_cache(maxsize=64)
def _list_forms(key: str, *, is_squeezed: bool = False) -> tuple[_Form, ...]:
    """Return the forms of a key, each with the length of PIECE characters of the key in it."""
    n = min(PIECE, len(key))
    forms = [(key, n), (key[::-1], n), (codecs.encode(key, "rot13"), n)]
    # Windows encodes in UTF-16 before it encodes in base64.
    for content, n_bytes in ((key.encode("utf-8", "surrogatepass"), n), (_encode_utf_16(key), 2 * n)):
        forms.append((content.hex(), 2 * n_bytes))
        # Of n bytes, base64 shows this many characters that depend on nothing before or after them.
        n_shown = (8 * n_bytes - 10) // 6
        for n_before in range(3):
            encoded = base64.b64encode(b"\0" * n_before + content).decode().rstrip("=")
            first, last = -(-8 * n_before // 6), (8 * (n_before + len(content))) // 6
            shown = encoded[first:last]
            forms += [(shown.translate(str.maketrans("+/", two)), n_shown) for two in ("+/", "-_")]
    if is_squeezed:
        forms = [(_SEPARATED.sub("", form), least) for form, least in forms]
    lowered = dict.fromkeys((form.lower(), min(least, len(form))) for form, least in forms)
    return tuple(_Form(form, least) for form, least in lowered if least >= PIECE * 2 // 3)


def _encode_utf_16(key: str) -> bytes:
    return key.encode("utf-16-le", "surrogatepass")


@dataclass(frozen=True)
class _Origins:
    """Where the characters of a shortened text were: those from ``starts[i]`` on were from ``at[i]`` on."""

    starts: list[int]
    at: list[int]
    is_decoded: bool = False
    """Whether a character may stand for several, which end where the next part begins."""

    def locate(self, span: Span) -> Span:
        """Return the place in the text before it was shortened."""
        return self._locate(span[0]), self._locate(span[1] - 1, is_end=True)

    def _locate(self, position: int, *, is_end: bool = False) -> int:
        part = bisect_right(self.starts, position) - 1
        place = self.at[part] + position - self.starts[part]
        if not is_end:
            return place
        is_last_of_part = part + 1 < len(self.starts) and position + 1 == self.starts[part + 1]
        return self.at[part + 1] if is_last_of_part and self.is_decoded else place + 1


def _locate(spans: list[Span], origins: Sequence[_Origins]) -> list[Span]:
    """Return the places in the text before it was shortened several times."""
    for moved in reversed(origins):
        spans = [moved.locate(span) for span in spans]
    return spans


def _decode(text: str) -> tuple[str, _Origins]:
    """Return the text with its encoded ASCII characters decoded, and where they were."""
    parts: list[str] = []
    starts, at, length, done = [0], [0], 0, 0
    for match in _ENCODED.finditer(text):
        character = _decode_one(match[0])
        if character is None:
            continue
        parts += (text[done : match.start()], character)
        length += match.start() - done
        if character:
            starts.append(length)
            at.append(match.start())
        length, done = length + len(character), match.end()
        starts.append(length)
        at.append(done)
    return "".join([*parts, text[done:]]), _Origins(starts, at, is_decoded=True)


@lru_cache(maxsize=4096)
def _decode_one(encoded: str) -> str | None:
    """Return the encoded character, nothing for a mere escape, None for what is no ASCII character."""
    body = encoded.lstrip("\\")
    if encoded[0] == "%":
        character = unquote(encoded)
    elif encoded[0] == "&":
        character = html.unescape(encoded)
    elif not body:
        return ""
    else:
        character = chr(int(body.strip("ux{}") or "0", 8 if body.isdigit() else 16))
    return character if len(character) == 1 and " " <= character <= "~" else None


def _remove(text: str, removed: Sequence[Span]) -> _Origins:
    """Return where the characters were that remain without these places."""
    starts, at, gone = [0], [0], 0
    for first, last in removed:
        gone += last - first
        starts.append(last - gone)
        at.append(last)
    return _Origins(starts, at)


def _merge(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
