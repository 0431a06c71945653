"""Keys from Prefect's Secret blocks, as environment variables of this process."""

import logging
import os
from collections.abc import Iterable, Sequence

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError

from pretexeval.config.engines import EngineConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.identity import HUB_KEY, is_hub_model
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.http_client import bypass_proxies
from pretexeval.primitives.secrets import hide_secrets, keep_out_of_logs, name_secret_block
from pretexeval.primitives.untrusted_text import escape_logs
from pretexeval.storage.bucket import SECRET_VARIABLES
from pretexeval.storage.store import Store


def _hide_parameters(record: logging.LogRecord) -> bool:
    """Hide secrets in a log record: Prefect logs invalid parameters unchanged before the flow starts."""
    message = record.getMessage()
    if "arameters" in message:
        record.msg, record.args = hide_secrets(message), None
    return True


logging.getLogger("prefect.flows").addFilter(_hide_parameters)
# commands/main.py does the same for commands. Runs of deployments do not begin there.
escape_logs()
bypass_proxies()


def provide_keys(models: Sequence[EngineConfig]) -> None:
    """Set the variables of the keys of the models' endpoints and of the hub, unless they are set.

    A missing key is not an error here: a fully cached run sends no requests.

    Raises:
        InputError: the server cannot be reached, or refuses a Secret block.
    """
    named = [model.api_key_env for model in models if model.api_key_env]
    of_hub = [HUB_KEY] if any(map(is_hub_model, models)) else []
    provide_variables([*named, *of_hub])


def open_store(storage: StorageConfig) -> Store:
    """Set the keys of the storage that hosts share, and return the store of it.

    Raises:
        InputError: a Secret block cannot be read, or the storage cannot be used.
    """
    if storage.shared is not None:
        provide_variables(SECRET_VARIABLES[storage.shared.partition("://")[0]])
    return Store(storage)


def provide_variables(names: Iterable[str]) -> None:
    """Set those of these variables that are unset, from the Secret blocks that are named after them.

    From then on, log messages contain none of their values. A variable without a block stays unset.

    Raises:
        InputError: the server cannot be reached, or refuses a Secret block.
    """
    wanted = list(dict.fromkeys(names))
    if missing := [name for name in wanted if not os.environ.get(name, "").strip()]:
        with get_client(sync_client=True) as client:
            os.environ.update(
                {name: key for name in missing if (key := _read_block(client, name)) is not None}
            )
    for name in wanted:
        keep_out_of_logs(os.environ.get(name, "").strip())


def _read_block(client: SyncPrefectClient, variable: str) -> str | None:
    block = name_secret_block(variable)
    try:
        document = client.read_block_document_by_name(block, "secret", include_secrets=True)
    except ObjectNotFound:
        return None
    except (PrefectHTTPStatusError, httpx.HTTPError) as error:
        # The error itself may contain the address of the server with a password.
        raise InputError(
            f"the Prefect Secret block {block!r} cannot be read ({type(error).__name__}); see the server's "
            f"log, or set the variable {variable}"
        ) from None
    value = document.data.get("value")
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"the Prefect Secret block {block!r} holds no text; create it again")
    return value.strip()
