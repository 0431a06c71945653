"""Find known kinds of secrets, and hide known and possible secrets in messages."""

import re
from collections.abc import Collection, Iterator

from primitives.repeated_keys import HIDDEN

# Keys of vendors, model hubs and clouds by their prefixes, web tokens, private keys, and addresses with a
# password or a key.
_KNOWN = re.compile(
    r"""
    (?<=://)[^/?\#\s]+(?=@)
    | (?<![A-Za-z0-9])(?:
        (?:sk|rk|pk)-[\w-]{12,}
        | (?:gsk|sk|hf|gh[opsu]|github_pat|glpat|r8|nvapi|xai|pplx|csk|fw|pn[ub]|xox[abp])[-_][A-Za-z0-9]{16,}
        | (?:AKIA|ASIA)[A-Z0-9]{16}
        | AIza[\w-]{30,}
        | eyJ[\w-]{8,}\.[\w-]{8,}
        | (?i:bearer|basic)\ +(?=\S*[0-9])[\w.~+/=-]{12,}
    )
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY
    | (?<=[?&])[\w-]*(?i:key|token|secret|password|signature)=[^&\s]+
    """,
    re.VERBOSE,
)
_LONG_PIECE = re.compile(r"[\w+=-]{12,}")
# Names and versions consist of shorter pieces: llama3-8b-instruct, 2026-W47.
_RANDOM_PIECE = re.compile(r"(?=[A-Za-z+=]*[0-9])[A-Za-z0-9+=]{12,}")


def has_secret(text: str) -> bool:
    """Return whether the text contains a vendor's key, a token, or an address with a password or a key."""
    return _KNOWN.search(text) is not None


def find_secret(value: object, keys: Collection[str]) -> str | None:
    """Return the place of the first secret or given key in a table, such as `models[0].name`, or None."""
    for place, text in _list_texts(value, ""):
        if has_secret(text) or any(key in text for key in keys):
            return place
    return None


def _list_texts(value: object, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _list_texts(part, f"{place}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _list_texts(part, f"{place}[{index}]")


def hide_secrets(text: str) -> str:
    """Return the text with ``***`` in place of known secrets and of pieces that look random."""
    return _LONG_PIECE.sub(_hide_random, _KNOWN.sub(HIDDEN, text))


def _hide_random(match: re.Match[str]) -> str:
    return HIDDEN if _RANDOM_PIECE.search(match[0]) else match[0]
