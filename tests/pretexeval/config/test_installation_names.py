"""The names that an installation has on a Prefect server."""

from pathlib import Path

import pytest

from pretexeval.config.installation_names import INSTALLATION_VARIABLE, InstallationNames, find_installation
from pretexeval.primitives.errors import InputError


@pytest.mark.parametrize(
    "name", ["", "-lab", "lab-", "Lab", "lab.mine", "lab/mine", "a b", "ü", "a" * 41, "*"]
)
def test_a_name_that_a_server_or_another_installation_could_misread_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="lower-case letters, digits and dashes"):
        InstallationNames(name)


def test_two_installations_share_no_name() -> None:
    # Joined by a dash, these two would have the same schedule.
    lab, other = InstallationNames("lab"), InstallationNames("lab-x")
    names = {lab.name_schedule(Path("x-mine.toml")), other.name_schedule(Path("mine.toml"))}
    assert names == {"lab.x-mine", "lab-x.mine"}
    assert (lab.name_pool("gpu"), lab.tag) == ("lab-gpu", "pretexeval:lab")


@pytest.mark.parametrize("file", ["my file.toml", "a%b.toml", "{{ x }}.toml", "a&b.toml"])
def test_a_file_name_that_prefect_refuses_is_named(file: str) -> None:
    with pytest.raises(InputError, match="rename it"):
        InstallationNames().name_schedule(Path("configs") / file)


def test_the_name_comes_from_the_option_then_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSTALLATION_VARIABLE, " clinic ")
    assert find_installation("lab").name == "lab"
    assert find_installation().name == "clinic"
    monkeypatch.setenv(INSTALLATION_VARIABLE, "")
    assert find_installation().name == "pretexeval"
