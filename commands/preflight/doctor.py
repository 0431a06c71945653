"""`pretexeval doctor`: check this machine and the services of a configuration before a run."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from commands.preflight.machine import Finding, Machine, check_local_model, check_machine, inspect_machine
from commands.preflight.reading import list_asked_models, read_edition
from commands.preflight.services import (
    check_endpoint,
    check_keys,
    check_room,
    check_server,
    check_shared,
    check_workers,
)
from commands.preflight.trials import ask_once
from pretexeval.config.engines import EngineConfig
from pretexeval.config.file import load_config
from pretexeval.knowledge.doubtful_names import summarize_name_troubles
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.secrets import hide_value
from pretexeval.storage.bucket import SECRET_VARIABLES
from tasks.edition.risks import list_risks


def collect_findings(path: Path | None, *, asks_endpoints: bool = False) -> list[Finding]:
    """Check all that can be checked without loading a model. No finding shows a key.

    Args:
        path: the configuration; without one, only the machine and Prefect's server are checked.
        asks_endpoints: whether to ask every endpoint one prompt of the edition.
    """
    config, findings = None, list[Finding]()
    try:
        if path is not None:
            config = load_config(path)
            findings.append(Finding("configuration", "ok", str(path)))
    except InputError as error:
        findings.append(Finding("configuration", "failing", str(error)))
    root = config.storage.root if config else Path("data")
    machine, models = inspect_machine(), list_asked_models(config) if config else []
    shared = config.storage.shared if config else None
    needed = [model.api_key_env for model in models if model.engine == "openai" and model.api_key_env]
    # A machine with a cloud role needs no key of its storage.
    of_storage = SECRET_VARIABLES[shared.partition("://")[0]] if shared else ()
    findings += check_machine(machine, models)
    findings += _check("storage", lambda: [check_room(root)])
    server = _check("Prefect", lambda: [check_server()])
    has_server = bool(os.environ.get("PREFECT_API_URL")) and server[0].state != "failing"
    findings += server
    findings += _check("keys", lambda: list(check_keys(needed, of_storage, has_server=has_server)))
    checked = _check_models(models, machine)
    findings += checked
    if config is not None:
        endpoints = [
            model
            for model, found in zip(models, checked, strict=True)
            if model.engine == "openai" and found.state != "failing"
        ]

        def check_edition() -> list[Finding]:
            edition, balance = read_edition(config)
            found = f"{edition.edition_id}: {len(edition.base.relations)} relations"
            answers = ask_once(config, edition, endpoints) if asks_endpoints and endpoints else []
            risks = [Finding("negatives", "warning", risk) for risk in list_risks(balance)]
            doubts = summarize_name_troubles(edition.base.triplets)
            names = [Finding("names", "warning", doubt) for doubt in doubts]
            return [Finding("edition", "ok", found), *names, *risks, *answers]

        findings += _check("edition", check_edition)
        findings += check_workers(config) if has_server else ()
    if shared:
        findings += _check("shared storage", lambda: [check_shared(shared)])
    for key in filter(None, (os.environ.get(name, "").strip() for name in (*needed, *of_storage))):
        # A reply may contain anything, even the key.
        findings = [replace(each, found=hide_value(each.found, key)) for each in findings]
    return findings


def _check(name: str, check: Callable[[], Sequence[Finding]]) -> Sequence[Finding]:
    try:
        return check()
    except InputError as error:
        return [Finding(name, "failing", str(error))]


def _check_models(models: Sequence[EngineConfig], machine: Machine) -> list[Finding]:
    """Check every model, in parallel: each endpoint that is down takes a whole timeout."""

    def check(model: EngineConfig) -> Finding:
        is_endpoint = model.engine == "openai"
        (found,) = _check(
            f"model {model.name}",
            lambda: [check_endpoint(model) if is_endpoint else check_local_model(model, machine)],
        )
        return found

    with ThreadPoolExecutor(len(models) or 1) as pool:
        return list(pool.map(check, models))


def render_findings(findings: Sequence[Finding]) -> str:
    """Return a line per finding with its remedy under it, and the number of findings in each state."""
    width = max(len(finding.name) for finding in findings)
    indent, lines = " " * (len("warning") + width + 4), list[str]()
    for finding in findings:
        first, *more = finding.found.splitlines()
        lines.append(f"{finding.state:<7}  {finding.name:<{width}}  {first}")
        lines += [indent + line.strip() for line in more]
        lines += [f"{indent}-> {finding.remedy}"] if finding.remedy else []
    states = [finding.state for finding in findings]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("ok", "warning", "failing"))
    return "\n".join([*lines, "", counts])
