"""Cards that several processes of a simulated host take."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import build_environment
from tests.support.fault_models import wait_until
from tests.support.simulated_host import A100, list_cards, write_program

# Take cards, write which ones, and keep them until the process is ended.
TAKE = """
import os, sys, time
from pathlib import Path
from pretexeval.engines.cards import rest_cards, take_cards
for n in sys.argv[2:]:
    take_cards(int(n)) if n != "fail" else rest_cards()
Path(sys.argv[1]).write_text(os.environ.get("CUDA_VISIBLE_DEVICES", "all"))
time.sleep(600)
"""
N_CARDS = 4


class Host:
    """A host with four cards, and the processes that take them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        write_program(folder / "nvidia-smi", list_cards(*[A100] * N_CARDS))

    def begin(self, name: str, *n_cards: int | str, visible: str | None = None) -> None:
        variables = {"PATH": f"{self.folder}:{os.environ['PATH']}", "TMPDIR": str(self.folder)}
        variables |= {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
        command = [sys.executable, "-c", TAKE, str(self.folder / name), *map(str, n_cards)]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(command, env=build_environment(variables), stderr=log)

    def end(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def read(self, name: str) -> str:
        """Return the cards that the process sees, once it has them."""
        file = self.folder / name
        wait_until(lambda: file.exists() and file.read_text(), f"{name} has its cards")
        return file.read_text()

    def waits(self, name: str) -> bool:
        return "waiting for" in (self.folder / f"{name}.log").read_text()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    for name in list(host.processes):
        host.end(name)


def test_a_model_of_several_cards_gets_them_before_those_that_wait_behind_it(host: Host) -> None:
    host.begin("first", 1)
    assert host.read("first") == "0"
    host.begin("second", 1, 2)
    assert host.read("second") == "1,2"
    host.begin("large", 3)
    wait_until(lambda: host.waits("large"), "the large model waits")
    host.begin("late", 1)
    # A killed process gives its cards back.
    host.end("second")
    assert host.read("large") == "1,2,3"
    assert not (host.folder / "late").exists()
    host.end("first")
    assert host.read("late") == "0"


def test_jobs_that_a_scheduler_shows_one_card_each_do_not_wait_for_each_other(host: Host) -> None:
    """Slurm lists the card of each job as number 0."""
    for name, uuid in (("first", "GPU-a"), ("second", "GPU-b")):
        write_program(host.folder / "nvidia-smi", f"echo '{A100}, 0, {uuid}'")
        host.begin(name, 1)
        assert host.read(name) == "0"


def test_the_variable_limits_the_cards_and_a_model_that_takes_more_is_refused(host: Host) -> None:
    host.begin("limited", 1, visible="2,3")
    assert host.read("limited") == "2"
    host.begin("other", 3, visible="2,3")
    assert host.processes["other"].wait(120) == 1
    said = (host.folder / "other.log").read_text()
    assert (
        "the model takes 3 cards (tensor_parallel_size x pipeline_parallel_size), and this host has 2" in said
    )
    # Without cards, vLLM's CPU build takes none.
    host.begin("none", 4, visible="")
    wait_until((host.folder / "none").exists, "it waits for no card")


def test_a_card_that_could_not_be_used_is_taken_only_if_no_others_are_enough(host: Host) -> None:
    host.begin("broken", 1, "fail")
    assert host.read("broken") == "0"
    host.end("broken")
    for name, cards in (("first", "1"), ("second", "2"), ("third", "3")):
        host.begin(name, 1)
        assert host.read(name) == cards
    # Card 0 is free, and a run that took it would fail as well.
    host.begin("fourth", 1)
    wait_until(lambda: host.waits("fourth"), "the next one waits for another card")
    host.end("second")
    assert host.read("fourth") == "2"
    for name in ("first", "third", "fourth"):
        host.end(name)
    host.begin("large", 4)
    assert host.read("large") == "0,1,2,3"
