"""The address at which the web server of an installation serves a data folder.

`docker-compose.yml` and `deploy.local` set both variables for everything that they start, and
deploy/pools.toml for runs in containers.
"""

import os
from pathlib import Path

BASE_URL_VARIABLE = "PRETEXEVAL_BASE_URL"
"""Address of the web server, such as `http://127.0.0.1:8080`."""
SERVED_ROOT_VARIABLE = "PRETEXEVAL_SERVED_ROOT"
"""The data folder that it serves. A configuration with another `[storage] root` gets no links to it."""


def find_base_url(root: Path) -> str | None:
    """Return the address at which this data folder is served, without a slash at its end; null if none."""
    base_url, served = (os.environ.get(name, "") for name in (BASE_URL_VARIABLE, SERVED_ROOT_VARIABLE))
    if not base_url or (served and Path(served).resolve() != root.resolve()):
        return None
    return base_url.rstrip("/")
