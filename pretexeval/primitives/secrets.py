"""Find secrets of known kinds; hide them, the keys of this process, and what looks like a key in messages."""

import re
from base64 import b64encode
from collections.abc import Collection, Iterator
from functools import lru_cache
from urllib.parse import quote

from pretexeval.primitives.untrusted_text import rewrite_logs

HIDDEN = "***"
# A shorter value is a placeholder. It could be part of any word of an answer or a path.
MIN_LENGTH = 8

# Keys of vendors, model hubs and clouds by their prefixes, web tokens, private keys, and addresses with a
# password or a key. A quotation mark, bracket or full stop behind an address is not part of its key.
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
    | (?<=[?&])[\w-]*(?i:key|token|secret|password|signature)=[^&\s]*[^&\s'"`)>\]},;.:]
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


def hide_value(text: str, secret: str | None) -> str:
    """Return the text with ``***`` in place of the secret: as it is, URL-encoded, and in base64.

    A secret of fewer than MIN_LENGTH characters is hidden only as it is.
    """
    if not secret or len(secret) < MIN_LENGTH:
        return text.replace(secret, HIDDEN) if secret else text
    return _compile_forms(secret).sub(HIDDEN, text)


@lru_cache(maxsize=64)
def _compile_forms(secret: str) -> re.Pattern[str]:
    content = secret.encode("utf-8", "surrogatepass")
    forms = {secret, quote(content), quote(content, safe="")}
    # In base64, the characters depend on how many bytes come before, such as "Bearer ". Those at both ends
    # depend on the neighbours, too.
    for n_before in range(3):
        encoded = b64encode(b"\0" * n_before + content).decode()
        shown = encoded[-(-8 * n_before // 6) : 8 * (n_before + len(content)) // 6]
        forms |= {shown, shown.translate(str.maketrans("+/", "-_"))}
    return re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))), re.IGNORECASE)


_hidden_keys: set[str] = set()


def name_secret_block(variable: str) -> str:
    """Return the name of the Prefect Secret block for a variable: `openrouter-key` for `OPENROUTER_KEY`."""
    return variable.lower().replace("_", "-")


def explain_missing_key(variable: str) -> str:
    """Return the error message for a variable that is not set, then "; " and how to provide the key."""
    return (
        f"the environment variable {variable} is not set, and no Prefect Secret block "
        f"{name_secret_block(variable)!r} was found; set the variable, or create the block "
        "on the page that `prefect block create secret` names"
    )


def is_sendable(key: str) -> bool:
    """Return whether an HTTP header can hold the key. If not, the client's error would contain the key."""
    return all("!" <= character <= "~" for character in key)


def keep_out_of_logs(key: str) -> None:
    """Hide the key in everything that this process logs from now on, including tracebacks.

    At the level DEBUG, the HTTP libraries log headers and answers, and Prefect sends logs to its server. A
    key of fewer than MIN_LENGTH characters is not hidden, because it could be part of any word.
    """
    if len(key) >= MIN_LENGTH:
        _hidden_keys.add(key)
        rewrite_logs(hide_known_keys)


def hide_known_keys(text: str) -> str:
    """Return the text without the keys that this process has used so far, in whatever form they are in it."""
    for key in _hidden_keys:
        text = hide_value(text, key)
    return text
