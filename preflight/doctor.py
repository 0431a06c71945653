"""`pretexeval doctor`: check this machine and the services of a configuration before a run."""

import os
import platform
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from config.engines import EngineConfig
from config.file import Config, load_config
from deploy.local.client_settings import load_client_settings
from preflight import trial_prompts, trial_writers
from preflight.endpoint_checks import check_endpoint
from preflight.findings import Finding
from preflight.key_checks import FoundKey, check_keys, find_keys, find_storage_keys
from preflight.machine import Machine, inspect_machine
from preflight.model_checks import check_entailment_model, check_local_model, check_recording, check_vllm
from preflight.server_checks import check_server
from preflight.storage_checks import check_room, check_shared
from primitives.errors import InputError
from storage.disk import MIN_FREE_BYTES
from tasks.edition.edition import Edition
from tasks.edition.preview import preview_pieces, preview_questions

DATA_VARIABLE = "PRETEXEVAL_REFERENCE_DATA"


def collect_findings(path: Path | None, *, asks_endpoints: bool = False) -> list[Finding]:
    """Check all that can be checked without loading a model.

    Args:
        path: the configuration; without one, only the machine and Prefect's server are checked.
        asks_endpoints: whether to ask every endpoint one prompt of the edition.
    """
    machine = inspect_machine()
    config, findings = _read_config(path)
    load_client_settings(config.storage.root if config else Path("data"))
    models = list_asked_models(config) if config else []
    keys = find_keys(models)
    shared = config.storage.shared if config else None
    storage_keys = find_storage_keys(shared) if shared else {}
    needs_vllm = any(model.engine == "vllm" for model in models)
    checked = _check_models(models, machine, keys)
    edition, of_edition = _check_edition(config)
    answers: list[Finding] = []
    if asks_endpoints and config is not None and edition is not None:
        _provide_keys(keys)
        answers = ask_endpoints_once(config, edition, _list_answering(models, checked))
    return [
        *findings,
        *_describe_machine(machine),
        check_vllm(machine, needs_vllm),
        *check_keys(keys | storage_keys),
        *checked,
        *of_edition,
        *answers,
        *([check_shared(shared, storage_keys)] if shared else []),
        *check_server(len(machine.gpus), config.list_pools() if config else ()),
    ]


def _read_config(path: Path | None) -> tuple[Config | None, list[Finding]]:
    """Return the configuration, if it can be read, and what was found about it."""
    if path is None:
        return None, [_check_data_variable()]
    try:
        return load_config(path), [Finding("configuration", "ok", str(path))]
    except InputError as error:
        return None, [Finding("configuration", "failing", str(error)), _check_data_variable()]


def _check_data_variable() -> Finding:
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        found = f"{DATA_VARIABLE} is not set: only MedLAMA and the papers' data need it"
        return Finding("data", "ok", found)
    if not Path(folder).is_dir():
        remedy = "set it to the folder of the data, or unset it"
        return Finding("data", "warning", f"{DATA_VARIABLE} = {folder}: there is no such folder", remedy)
    return Finding("data", "ok", f"{DATA_VARIABLE} = {folder}")


def list_asked_models(config: Config) -> list[EngineConfig]:
    """Return the models that a run asks: the writers that it uses, and the evaluated models."""
    names = [config.rephraser.writer, config.judge.writer]
    if "llmeval" in config.edition.methods:
        names.append(config.llmeval.writer)
    writers = [config.find_writer(name) for name in dict.fromkeys(names) if name]
    entailment = config.judge.to_writer()
    return [*writers, *([] if entailment is None else [entailment]), *config.models]


def _describe_machine(machine: Machine) -> list[Finding]:
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    found = f"{system}, {machine.n_cores} cores, {machine.free_bytes / 1e9:.1f} GB of memory free"
    gpus = [
        Finding(
            f"GPU {i}", "ok", f"{gpu.name}, {gpu.free_bytes / 1e9:.1f} of {gpu.total_bytes / 1e9:.1f} GB free"
        )
        for i, gpu in enumerate(machine.gpus)
    ]
    return [Finding("machine", "ok", found), *(gpus or [Finding("GPU", "ok", "none: models run on the CPU")])]


def _check_models(
    models: Sequence[EngineConfig], machine: Machine, keys: Mapping[str, FoundKey | None]
) -> list[Finding]:
    """Check every model, in parallel: each endpoint that is down takes a whole timeout."""

    def check(model: EngineConfig) -> Finding:
        if model.engine == "openai":
            return _check_endpoint(model, keys)
        if model.engine in ("recorded", "imported"):
            return check_recording(model)
        if model.engine == "entailment":
            return check_entailment_model(model)
        return check_local_model(model, machine)

    if not models:
        return []
    with ThreadPoolExecutor(len(models)) as pool:
        return list(pool.map(check, models))


def _check_endpoint(model: EngineConfig, keys: Mapping[str, FoundKey | None]) -> Finding:
    if model.api_key_env is None:
        return check_endpoint(model)
    key = keys[model.api_key_env]
    if key is None:
        return Finding(f"model {model.name}", "failing", "the endpoint was not checked: its key is missing")
    return check_endpoint(model, key.value)


def _list_answering(models: Sequence[EngineConfig], checked: Sequence[Finding]) -> list[EngineConfig]:
    """Return the models whose endpoint was not found to fail."""
    pairs = zip(models, checked, strict=True)
    return [model for model, found in pairs if model.engine == "openai" and found.state != "failing"]


def ask_endpoints_once(config: Config, edition: Edition, asked: Collection[EngineConfig]) -> list[Finding]:
    """Return a finding per prompt: one for each evaluated model, and for each writer of the edition."""
    if not asked:
        return []
    of_writers = []
    if edition.has_triplets:
        first = next(iter(preview_pieces(edition)))
        rows, of_writers = first.samples, trial_writers.list_trials(edition, first, asked)
    else:
        rows = next(iter(preview_questions(edition)))
    trials = trial_prompts.list_trials(config, edition, rows, asked)
    checks = [
        *(partial(trial_prompts.check_answer, trial) for trial in trials),
        *(partial(trial_writers.check_reply, edition, trial) for trial in of_writers),
    ]
    with ThreadPoolExecutor(len(checks) or 1) as pool:
        return list(pool.map(lambda check: check(), checks))


def _provide_keys(keys: Mapping[str, FoundKey | None]) -> None:
    """Set the variables of keys that are in Secret blocks, as a run does."""
    for variable, key in keys.items():
        if key is not None:
            os.environ.setdefault(variable, key.value)


def _check_edition(config: Config | None) -> tuple[Edition | None, list[Finding]]:
    """Return the edition if it can be built, and findings about it and about the room on the disk."""
    if config is None:
        return None, [check_room(Path("data"), MIN_FREE_BYTES, "a run")]
    from preflight.disk_estimates import count_rows, estimate_disk_bytes
    from tasks.edition.buildable import require_buildable
    from tasks.edition.planning import plan_edition

    try:
        edition = plan_edition(config)
        require_buildable(edition)
    except InputError as error:
        room = check_room(config.storage.root, MIN_FREE_BYTES, "a run")
        return None, [Finding("edition", "failing", str(error)), room]
    counts = count_rows(edition)
    found = f"{len(edition.base.relations)} relations, {counts.n_samples:,} samples at most"
    if counts.n_questions:
        found += f", {counts.n_questions:,} questions at most"
    n_bytes = max(estimate_disk_bytes(config, counts), MIN_FREE_BYTES)
    room = check_room(config.storage.root, n_bytes, "this edition")
    return edition, [Finding("edition", "ok", found), room]
