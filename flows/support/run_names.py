"""Names of flow runs: the action, the knowledge base, and the period or the seed."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import runtime, tags

from flows.support.configurations import find_config, read_config
from flows.support.periods import name_period
from pretexeval.config.file import Config
from pretexeval.config.installation_names import find_installation
from pretexeval.primitives.errors import InputError
from tasks.evaluation.missing_answers import Shard


def tag_runs() -> AbstractContextManager[set[str]]:
    """Give the runs that begin in the block the tag by which the installation's automations find them."""
    return tags(find_installation().tag)


def name_edition_run(action: str) -> Callable[[], str]:
    """Return a function that names a run, such as `build-starter-2026-W47` or `build-starter-seed1`.

    The flow itself reports a configuration that is not valid, so its run is named after the action only.
    """

    def name_run() -> str:
        try:
            config = _find_config(runtime.flow_run.parameters)
        except InputError:
            return action
        label = config.edition.label or f"seed{config.edition.seed}"
        return f"{action}-{config.knowledge.name}-{label}"

    return name_run


def _find_config(given: Mapping[str, Any]) -> Config:
    if given.get("config") is not None:
        return Config.model_validate(given["config"])
    file = given.get("config_file")
    return find_config(None, Path(file) if file else None, given.get("moment"))


def name_evaluation_run() -> str:
    """Return a name such as `evaluate-small-starter-seed1-1a2b3c4d`.

    The setting of questions comes last, or the period of anchors, and the shard.
    """
    given = runtime.flow_run.parameters
    shard = given.get("shard") and Shard.model_validate(given["shard"]).name
    parts = (given["model_name"], given["edition_id"], given.get("setting") or given.get("period"), shard)
    return "-".join(["evaluate", *filter(None, parts)])


def name_publish_run() -> str:
    """Return a name such as `publish-starter-2026-W47-1a2b3c4d`, or `publish-everything`."""
    return f"publish-{runtime.flow_run.parameters.get('edition_id') or 'everything'}"


def name_period_run() -> str:
    """Return a name such as `regenerate-medlama-2026-W47`, from the configuration file and the period.

    The flow itself reports a file that is not valid, so its run is named without the period.
    """
    file = Path(runtime.flow_run.parameters["config_file"])
    try:
        return f"regenerate-{file.stem}-{name_period(read_config(file).schedule, find_moment())}"
    except InputError:
        return f"regenerate-{file.stem}"


def find_moment() -> datetime:
    """Return the time that determines the period: the parameter `moment`, or else the scheduled start.

    A run that is started again later has the same time.
    """
    given: datetime | None = runtime.flow_run.parameters.get("moment")
    return given or runtime.flow_run.scheduled_start_time or datetime.now(UTC)
