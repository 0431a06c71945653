"""API keys of endpoints: the names of their Secret blocks, missing keys, and keeping keys out of logs."""

from primitives.secrets import MIN_LENGTH, hide_value
from primitives.untrusted_text import rewrite_logs

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
