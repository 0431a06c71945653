"""`pretexeval doctor`: check this machine and the services of a configuration before a run."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from commands.preflight.findings import Finding, run_check
from commands.preflight.machine import Machine, check_local_model, check_machine, inspect_machine
from commands.preflight.services import (
    check_endpoint,
    check_keys,
    check_room,
    check_server,
    check_shared,
    check_workers,
)
from commands.preflight.trials import ask_once
from commands.preflight.validate import (
    check_edition,
    check_names,
    check_negatives,
    read_edition,
    run_checks,
)
from pretexeval.config.engines import EngineConfig
from pretexeval.config.file import Config, load_config
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.secrets import hide_value
from pretexeval.storage.bucket import SECRET_VARIABLES


def collect_findings(path: Path | None, *, asks_endpoints: bool = False) -> list[Finding]:
    """Check all that can be checked without loading a model. No finding shows a key.

    Args:
        path: the configuration; without one, only the machine and Prefect's server are checked.
        asks_endpoints: whether to ask every endpoint one prompt of the edition.
    """
    config, findings = Config(), list[Finding]()
    if path is not None:
        try:
            config = load_config(path)
            findings.append(Finding("configuration", "ok", str(path)))
        except InputError as error:
            findings.append(Finding("configuration", "failing", str(error)))
            path = None
    root, shared = config.storage.root, config.storage.shared
    machine, models = inspect_machine(), [*config.list_used_writers(), *config.models]
    needed = [model.api_key_env for model in models if model.engine == "openai" and model.api_key_env]
    # A machine with a cloud role needs no key of its storage.
    of_storage = SECRET_VARIABLES[shared.partition("://")[0]] if shared else ()
    findings += check_machine(machine, models)
    findings += run_check("storage", lambda: [check_room(root)])
    server = run_check("Prefect", lambda: [check_server()])
    has_server = bool(os.environ.get("PREFECT_API_URL")) and server[0].state != "failing"
    findings += server
    findings += run_check("keys", lambda: check_keys(needed, of_storage, has_server=has_server))
    checked = _check_models(models, machine)
    findings += checked
    if path is not None:
        asked = [
            model
            for model, found in zip(models, checked, strict=True)
            if asks_endpoints and model.engine == "openai" and found.state != "failing"
        ]

        def check_data() -> Iterator[Finding]:
            edition, balance = read_edition(config)
            yield from run_checks(edition, balance, check_edition, check_names, check_negatives)
            yield from ask_once(config, edition, asked) if asked else ()

        findings += run_check("edition", check_data)
        findings += check_workers(config) if has_server else ()
    if shared:
        findings += run_check("shared storage", lambda: [check_shared(shared)])
    for key in filter(None, (os.environ.get(name, "").strip() for name in (*needed, *of_storage))):
        # A reply may contain anything, even the key.
        findings = [replace(each, found=hide_value(each.found, key)) for each in findings]
    return findings


def _check_models(models: Sequence[EngineConfig], machine: Machine) -> list[Finding]:
    """Check every model, in parallel: each endpoint that is down takes a whole timeout."""

    def check(model: EngineConfig) -> Finding:
        is_endpoint = model.engine == "openai"
        (found,) = run_check(
            f"model {model.name}",
            lambda: [check_endpoint(model) if is_endpoint else check_local_model(model, machine)],
        )
        return found

    with ThreadPoolExecutor(len(models) or 1) as pool:
        return list(pool.map(check, models))
