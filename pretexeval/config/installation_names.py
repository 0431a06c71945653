"""The name of an installation, and the names under which it registers with a Prefect server.

Other installations and other teams may use the same server. Everything that an installation registers carries
its name, so that it meets nothing of theirs.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from pretexeval.primitives.errors import InputError

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


INSTALLATION_VARIABLE = "PRETEXEVAL_INSTALLATION"
DEFAULT_NAME = "pretexeval"
CPU_POOL = "cpu"
"""The role of the work pool for flows that take no card."""
DEFAULT_POOL = "gpu"
"""The role of the work pool for models that take one card."""
VALID_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
# Prefect refuses these characters in names; the others would end a line or a word.
BANNED_IN_NAMES = re.compile(r"[/%&<>{}\s]")
COMMON_TAG = "pretexeval"
"""The tag of the deployments of all installations, for notifications."""


def name_gpu_pool(n_cards: int) -> str:
    """Return the role of the work pool for models that take so many cards."""
    return DEFAULT_POOL if n_cards == 1 else f"{DEFAULT_POOL}-{n_cards}"


@dataclass(frozen=True)
class InstallationNames:
    """The name of an installation on a server: at most 40 lower-case letters, digits and dashes.

    Raises:
        InputError: the name has other characters, or is longer than 40.
    """

    name: str = DEFAULT_NAME

    def __post_init__(self) -> None:
        """Check the name."""
        if not VALID_NAME.fullmatch(self.name):
            raise InputError(
                f"installation {self.name!r}: give a name of at most 40 lower-case letters, digits and dashes"
            )

    @property
    def tag(self) -> str:
        """The tag of its runs, by which its automations find them."""
        return f"{COMMON_TAG}:{self.name}"

    def name_pool(self, role: str) -> str:
        """Return the name of its work pool with this role: `cpu`, `gpu`, or a `pool` of a configuration."""
        return f"{self.name}-{role}"

    def name_subflow(self, pool: str = DEFAULT_POOL) -> str:
        """Return the name of the deployment of a flow that `regenerate` starts.

        Args:
            pool: the role of the work pool of the deployment, if the flow loads a model.
        """
        return self.name if pool == DEFAULT_POOL else f"{self.name}.{pool}"

    def name_schedule(self, config_file: Path) -> str:
        """Return the name of the deployment of `regenerate` for a configuration file.

        The name of an installation has no dot, so two installations never share such a name.

        Raises:
            InputError: Prefect would refuse the name.
        """
        if BANNED_IN_NAMES.search(config_file.stem):
            raise InputError(
                f"{config_file}: the deployment is named after the file; rename it to a name without spaces "
                "and without any of / % & < > { }"
            )
        return f"{self.name}.{config_file.stem}"


def find_installation(name: str | None = None) -> InstallationNames:
    """Return the names for this name, or else for the name in the environment, or for the default."""
    return InstallationNames(name or os.environ.get(INSTALLATION_VARIABLE, "").strip() or DEFAULT_NAME)
