"""The configuration of a run: what its main process planned, or the file that a person named.

A deployment can be started from a form in the Prefect UI, which asks for the name or the file of a
configuration. A run that another run starts gets the configuration itself, as it was planned for the period,
so that a file that is edited meanwhile changes nothing.
"""

import re
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import runtime
from pydantic import ValidationError
from pydantic.json_schema import SkipJsonSchema

from flows.support.periods import is_newest_period, name_period, plan_period
from pretexeval.config.file import Config, load_config
from pretexeval.config.schedule import ScheduleConfig
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import parse_toml

PlannedConfig = SkipJsonSchema[Config | None]
"""The parameter by which a run passes its configuration to the runs that it starts; no form shows it."""
CONFIGS = Path("configs")
OF_COMMAND: ContextVar[Path | None] = ContextVar("OF_COMMAND", default=None)
"""The configuration file of the command that calls flows in this process; null in workers."""


def find_config(config: Config | None, config_file: Path | None, moment: datetime | None = None) -> Config:
    """Return the planned configuration; without one, that of the file.

    Args:
        moment: a time in the period of a scheduled edition; None for the edition that the file describes.

    Raises:
        InputError: neither is given, or the file is not valid.
    """
    if config is not None:
        return config
    if config_file is None:
        raise InputError(
            'config_file is missing; give a configuration, for example "configs/quickstart.toml"'
        )
    read = read_config(config_file)
    return read if moment is None else plan_period(read, moment)


def read_config(config_file: Path) -> Config:
    """Return the configuration of a file; a bare name such as `quickstart` is a file of configs/.

    Raises:
        InputError: the file is not valid.
    """
    return load_config(_find_file(config_file))


def _find_file(config_file: Path) -> Path:
    named = CONFIGS / f"{config_file}.toml"
    is_name = not config_file.suffix and not config_file.exists() and named.exists()
    return named if is_name else config_file


def name_period_in(config_file: Path, moment: datetime) -> str:
    """Return the period of a time by the table [schedule] of a file whose other tables may be wrong.

    If this table cannot be read either, it is the day in UTC.
    """
    try:
        table = parse_toml(_find_file(config_file)).get("schedule", {})
        return name_period(ScheduleConfig.model_validate(table), moment)
    except (InputError, ValidationError):
        return moment.astimezone(UTC).date().isoformat()


def inherit_config_file() -> dict[str, Any]:
    """Return the parameter `config_file` of the present run, for the runs that it starts; {} without one.

    The flows that a command calls have that of the command.
    """
    given = (runtime.flow_run.parameters or {}).get("config_file") or OF_COMMAND.get()
    return {} if given is None else {"config_file": str(given)}


def name_artifact(kind: str, config: Config, edition_id: str | None) -> str | None:
    """Return the key of an artifact, such as `leaderboard-quickstart`, one history per configuration.

    A run without a file, such as one that a script gave a `Config`, leaves the name out. An artifact of a
    period that is not the newest has no key: Prefect shows the last artifact of a key as the present one.

    Args:
        edition_id: the edition that the artifact is about; None: all.
    """
    if edition_id is not None and not is_newest_period(config, edition_id):
        return None
    file = inherit_config_file().get("config_file")
    name = re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-") if file else ""
    return f"{kind}-{name}" if name else kind
