"""Keys from Prefect's Secret blocks, for the process of a run and as long as it lasts."""

import logging
import os
from collections.abc import Iterable

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError

from config.engines import EngineConfig
from config.tables import StorageConfig
from engines.api_keys import keep_out_of_logs, name_secret_block
from primitives.errors import InputError
from primitives.secrets import hide_secrets
from storage.bucket import SECRETS
from storage.mirror import Mirror


def _hide_parameters(record: logging.LogRecord) -> bool:
    """Parameters that do not fit are logged as they were typed, before the flow begins."""
    said = record.getMessage()
    if "arameters" in said:
        record.msg, record.args = hide_secrets(said), None
    return True


logging.getLogger("prefect.flows").addFilter(_hide_parameters)


def provide_keys(models: Iterable[EngineConfig]) -> None:
    """Put the keys of the models' endpoints into this process's environment, where they are not.

    One that is nowhere is no error here: a run whose prompts are all answered asks nobody.

    Raises:
        InputError: the server does not give what it has.
    """
    provide_variables(model.api_key_env for model in models if model.api_key_env)


def provide_storage_keys(storage: StorageConfig) -> None:
    """The same for the storage that hosts share."""
    if storage.shared is not None:
        provide_variables(SECRETS[storage.shared.partition("://")[0]])


def open_mirror(storage: StorageConfig) -> Mirror:
    """The storage that hosts share, with its keys.

    Raises:
        InputError: the server does not give what it has, or the storage cannot be used.
    """
    provide_storage_keys(storage)
    return Mirror(storage)


def provide_variables(names: Iterable[str]) -> None:
    """Set these variables for this process, where they are not set, from the Secret blocks named after them.

    Neither those nor the ones set before are in anything that is logged from now on. Without such a block
    a variable stays unset.

    Raises:
        InputError: the server does not give what it has.
    """
    wanted = list(dict.fromkeys(names))
    if missing := [name for name in wanted if not os.environ.get(name, "").strip()]:
        with get_client(sync_client=True) as client:
            os.environ.update({name: key for name in missing if (key := _load(client, name)) is not None})
    for name in wanted:
        keep_out_of_logs(os.environ.get(name, "").strip())


def _load(client: SyncPrefectClient, variable: str) -> str | None:
    block = name_secret_block(variable)
    try:
        document = client.read_block_document_by_name(block, "secret", include_secrets=True)
    except ObjectNotFound:
        return None
    except (PrefectHTTPStatusError, httpx.HTTPError) as error:
        # The error itself may hold the address with a password.
        raise InputError(
            f"the Prefect Secret block {block!r} cannot be read ({type(error).__name__}); see the server's "
            f"log, or set the variable {variable}"
        ) from None
    value = document.data.get("value")
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"the Prefect Secret block {block!r} holds no text; make it anew")
    return value.strip()
