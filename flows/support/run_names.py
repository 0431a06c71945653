"""Names that tell runs apart: what is done, to which knowledge base, and of which week or seed."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from prefect import runtime

from config.file import Config
from flows.support.weeks import name_week


def name_edition_run(what: str) -> Callable[[], str]:
    """For a flow with the parameter `config`: `build-starter-2026-W47`, `build-starter-seed1`."""

    def name_run() -> str:
        config = Config.model_validate(runtime.flow_run.parameters["config"])
        label = config.edition.label or f"seed{config.edition.seed}"
        return f"{what}-{config.knowledge.name}-{label}"

    return name_run


def name_publish_run() -> str:
    """`publish-starter-2026-W47-1a2b3c4d`, or `publish-everything`."""
    return f"publish-{runtime.flow_run.parameters.get('edition_id') or 'everything'}"


def name_week_run() -> str:
    """`regenerate-medlama-2026-W47`, after the configuration file and the week."""
    file = Path(runtime.flow_run.parameters["config_file"])
    return f"regenerate-{file.stem}-{name_week(find_moment())}"


def find_moment() -> datetime:
    """When this run of `regenerate` was meant to begin: as it was told, or as it was scheduled.

    A run that begins again keeps it, however late.
    """
    told: datetime | None = runtime.flow_run.parameters.get("moment")
    return told or runtime.flow_run.scheduled_start_time or datetime.now(UTC)
