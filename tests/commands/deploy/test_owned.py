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
REGISTRATION = Registration(
    InstallationNames("lab"), Path("configs/mine.toml"), HOME, Path("data"), ScheduleConfig()
)
NAME = "regenerate/lab.mine"


def make_deployment(
    home: str | None = str(HOME), config_file: str | None = "configs/mine.toml", tag: str = "pretexeval:lab"
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


@pytest.mark.parametrize("config_file", [None, "configs/mine.toml", "./configs/../configs/mine.toml"])
def test_its_own_may_be_replaced(config_file: str | None) -> None:
    require_own(NAME, make_deployment(config_file=config_file), REGISTRATION)
    absolute = replace(REGISTRATION, config_file=HOME / "configs" / "mine.toml")
    require_own(NAME, make_deployment(config_file=config_file), absolute)


@pytest.mark.parametrize(
    ("deployment", "words"),
    [
        (make_deployment(tag="theirs"), "was not registered by an installation named 'lab'"),
        (make_deployment(tag="pretexeval:lab-2"), "was not registered by an installation named 'lab'"),
        (make_deployment(home="/srv/other"), "runs in /srv/other, not in /srv/lab"),
        (make_deployment(home=None), "not in /srv/lab"),
        (make_deployment(config_file="old/mine.toml"), "runs old/mine.toml"),
    ],
)
def test_what_belongs_to_somebody_else_is_refused(deployment: DeploymentResponse, words: str) -> None:
    with pytest.raises(InputError, match=words):
        require_own(NAME, deployment, REGISTRATION)
