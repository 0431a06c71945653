"""The worker of a host: it runs as many runs at once as the host has cards for them."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commands.deploy import gpu_worker
from pretexeval.engines import cards
from tests.support.simulated_host import A100, list_cards, write_program

Start = Callable[..., tuple[list[str], str | None]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Yield a function that returns the command of Prefect on a host, and the cards that it sees."""
    started: list[tuple[list[str], str | None]] = []

    def replace_process(_: str, command: list[str], environment: dict[str, str]) -> None:
        started.append((command[1:], environment.get("CUDA_VISIBLE_DEVICES")))

    def begin(n_cards: int, *options: str) -> tuple[list[str], str | None]:
        if n_cards:
            write_program(tmp_path / "nvidia-smi", list_cards(*[A100] * n_cards))
        monkeypatch.setattr(sys, "argv", ["gpu_worker", *options])
        cards._find_cards.cache_clear()
        gpu_worker.main()
        return started[-1]

    monkeypatch.setattr(os, "execve", replace_process)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield begin
    cards._find_cards.cache_clear()


def test_the_command_of_prefect(start: Start) -> None:
    cases: list[tuple[int, list[str], str, int, str | None]] = [
        (0, [], "gpu", 1, None),
        (1, [], "gpu", 1, None),
        (8, [], "gpu", 8, None),
        (8, ["--except="], "gpu", 8, None),
        (8, ["--except=6,7", "--pool", "big"], "big", 6, "0,1,2,3,4,5"),
    ]
    for n_cards, options, pool, limit, visible in cases:
        command = f"-m prefect worker start --pool {pool} --type process --limit {limit} --with-healthcheck"
        assert start(n_cards, *options, "--with-healthcheck") == (command.split(), visible), options


def test_cards_that_the_host_does_not_have_are_refused(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    for n_cards, others, said in (
        (0, "6", "--except: 6: the numbers of the cards of this host are: none"),
        (2, "1,7", "--except: 7: the numbers of the cards of this host are: 0, 1"),
        (2, "GPU-1", "--except: GPU-1: the numbers"),
        (2, "0,1", "--except 0,1: no card of this host is left"),
    ):
        with pytest.raises(SystemExit):
            start(n_cards, "--except", others)
        assert said in capsys.readouterr().err
