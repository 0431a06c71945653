"""The worker of a host: it runs as many runs at once as the host has cards for them."""

import os
import sys
from pathlib import Path

import pytest

from commands.deploy import gpu_worker
from pretexeval.engines import cards
from pretexeval.engines.cards import CARDS_IN_NAME
from tests.support.simulated_host import A100, list_cards, write_program

CASES: list[tuple[int, list[str], str, int, str | None]] = [
    (0, [], "gpu", 1, None),
    (1, [], "gpu", 1, None),
    (8, [], "gpu", 8, None),
    (8, ["--except="], "gpu", 8, None),
    (8, ["--except=6,7", "--pool", "big", "--name", "gpu-0"], "big", 6, "0,1,2,3,4,5"),
]


def test_the_command_of_prefect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host gives Prefect as many runs at once as it has cards, and refuses cards that it does not have."""
    started: list[tuple[list[str], str | None]] = []

    def replace_process(_: str, command: list[str], environment: dict[str, str]) -> None:
        started.append((command[1:], environment.get("CUDA_VISIBLE_DEVICES")))

    def start(n_cards: int, *options: str) -> None:
        if n_cards:
            write_program(tmp_path / "nvidia-smi", list_cards(*[A100] * n_cards))
        monkeypatch.setattr(sys, "argv", ["gpu_worker", *options])
        gpu_worker.main()

    monkeypatch.setattr(cards, "_find_cards", cards._find_cards.__wrapped__)
    monkeypatch.setattr(os, "execve", replace_process)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for n_cards, options, pool, limit, visible in CASES:
        start(n_cards, *options, "--with-healthcheck")
        command, seen = started[-1]
        name = command.pop(command.index("--name") + 1)
        found = CARDS_IN_NAME.search(name)
        assert name.startswith("gpu-0") == ("gpu-0" in options)
        assert (found[1] if found else None) == (str(limit) if n_cards else None), options
        expected = f"-m prefect worker start --pool {pool} --type process --name --limit {limit}"
        assert command == [*expected.split(), "--with-healthcheck"], options
        assert seen == visible, options
    (tmp_path / "nvidia-smi").unlink()
    for n_cards, others, said in (
        (0, "6", "--except: 6: the numbers of the cards of this host are: none"),
        (2, "1,7", "--except: 7: the numbers of the cards of this host are: 0, 1"),
        (2, "GPU-1", "--except: GPU-1: the numbers"),
        (2, "0,1", "--except 0,1: no card of this host is left"),
    ):
        with pytest.raises(SystemExit):
            start(n_cards, "--except", others)
        assert said in capsys.readouterr().err
