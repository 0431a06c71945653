"""How commands and workers reach the server of an installation: a file in its data folder.

The file contains the address and the password of the server. Only its owner can read it. Commands load it by
themselves, and a shell loads it with `source`.
"""

import base64
import os
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.http_client import fetch
from pretexeval.storage.layout import CLIENT_SETTINGS

URL_VARIABLE = "PREFECT_API_URL"
PASSWORD_VARIABLE = "PREFECT_API_AUTH_STRING"
SERVER_PASSWORD_VARIABLE = "PREFECT_SERVER_API_AUTH_STRING"
HEAD = "# Written by deploy.local. It contains the password of Prefect's server. Load it with: source FILE\n"


def create_password() -> str:
    """Return a new password in Prefect's form, user and password."""
    return f"pretexeval:{secrets.token_hex(24)}"


def provide_password(root: Path) -> str:
    """Return the password of the server: that of the environment, or of the file, or else a new one.

    Raises:
        InputError: if the password of the environment has characters that Prefect's server cannot compare.
    """
    given = os.environ.get(SERVER_PASSWORD_VARIABLE, "").strip()
    if not (given.isascii() and given.isprintable()):
        raise InputError(f"{SERVER_PASSWORD_VARIABLE}: use only printable ASCII characters")
    return given or read_client_settings(root).get(PASSWORD_VARIABLE, "") or create_password()


def write_client_settings(root: Path, settings: Mapping[str, str]) -> Path:
    """Write the file, which only its owner can read, and return its path."""
    path = root / CLIENT_SETTINGS
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(f".{secrets.token_hex(4)}.next")
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in settings.items()]
    with os.fdopen(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(HEAD + "".join(lines))
    aside.replace(path)
    return path


def read_client_settings(root: Path) -> dict[str, str]:
    """Return the variables of the file; none if there is no file, or if it cannot be read."""
    try:
        lines = (root / CLIENT_SETTINGS).read_text(encoding="utf-8").splitlines()
        words = [shlex.split(line, comments=True) for line in lines]
    except (OSError, ValueError):
        return {}
    pairs = (each[1].partition("=") for each in words if len(each) == 2 and each[0] == "export")
    return {name: value for name, _, value in pairs}


def load_client_settings(root: Path) -> None:
    """Set the variables of the file that are unset, if the environment names the server of the file.

    The password is sent to no other server. Call this before Prefect is imported.
    """
    settings = read_client_settings(root)
    address = os.environ.get(URL_VARIABLE, "")
    if not address or _normalise(address) != _normalise(settings.get(URL_VARIABLE, "")):
        return
    if os.environ.get("PREFECT_API_KEY"):
        settings.pop(PASSWORD_VARIABLE, None)
    for name, value in settings.items():
        if not os.environ.get(name, "").strip():
            os.environ[name] = value


def _normalise(address: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", "", address
    server = parts.netloc.lower().replace("localhost", "127.0.0.1")
    return parts.scheme, server, parts.path.rstrip("/")


def list_workers(environment: Mapping[str, str], pool: str) -> list[str]:
    """Return the workers of a work pool that its server takes for online; none if there is no such pool."""
    address = f"{environment[URL_VARIABLE].rstrip('/')}/work_pools/{quote(pool)}/workers/filter"
    rows = fetch(address, authorize(environment), {}).read_json()
    return [row["name"] for row in rows if row["status"] == "ONLINE"] if isinstance(rows, list) else []


def authorize(environment: Mapping[str, str]) -> str | None:
    """Return the Authorization header that the environment sets for the server; None if it sets none."""
    if key := environment.get("PREFECT_API_KEY"):
        return f"Bearer {key}"
    if pair := environment.get(PASSWORD_VARIABLE):
        return f"Basic {base64.b64encode(pair.encode()).decode()}"
    return None
