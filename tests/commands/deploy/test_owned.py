"""The deployments that an installation may replace."""

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from prefect.client.schemas.responses import DeploymentResponse

from commands.deploy.owned import WORKING_DIRECTORY, Registration, require_own
from pretexeval.config.installation_names import InstallationNames
from pretexeval.config.schedule import ScheduleConfig
from pretexeval.primitives.errors import InputError

HOME = Path("/srv/lab")
FILE = Path("configs/mine.toml")
REGISTRATION = Registration(InstallationNames("lab"), FILE, HOME, Path("data"), ScheduleConfig())


def make_deployment(
    home: str | None = str(HOME), config_file: str | None = str(FILE), tag: str = "pretexeval:lab"
) -> DeploymentResponse:
    return DeploymentResponse(
        id=uuid4(),
        name="lab.mine",
        flow_id=uuid4(),
        tags=["pretexeval", tag],
        labels={},
        parameters={} if config_file is None else {"config_file": config_file},
        pull_steps=[{WORKING_DIRECTORY: {"directory": home}}] if home else None,
    )


def test_only_its_own_may_be_replaced() -> None:
    for config_file in (None, "configs/mine.toml", "./configs/../configs/mine.toml"):
        for registered in (FILE, HOME / FILE):
            registration = replace(REGISTRATION, config_file=registered)
            require_own("regenerate/lab.mine", make_deployment(config_file=config_file), registration)
    for deployment, words in (
        (make_deployment(tag="theirs"), "was not registered by an installation named 'lab'"),
        (make_deployment(tag="pretexeval:lab-2"), "was not registered by an installation named 'lab'"),
        (make_deployment(home="/srv/other"), "runs in /srv/other, not in /srv/lab"),
        (make_deployment(home=None), "not in /srv/lab"),
        (make_deployment(config_file="old/mine.toml"), "runs old/mine.toml"),
    ):
        with pytest.raises(InputError, match=words):
            require_own("regenerate/lab.mine", deployment, REGISTRATION)
