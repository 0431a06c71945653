"""The worker of a host: it runs as many runs at once as the host has cards for them."""

import os
import sys
from pathlib import Path

import pytest

from commands.deploy import gpu_worker
from pretexeval.engines import cards
from tests.support.simulated_host import A100, list_cards, write_program


@pytest.mark.parametrize(
    ("n_cards", "options", "pool", "limit", "visible"),
    [
        (0, [], "gpu", 1, None),
        (1, [], "gpu", 1, None),
        (8, [], "gpu", 8, None),
        (8, ["--except="], "gpu", 8, None),
        (8, ["--except=6,7", "--pool", "big"], "big", 6, "0,1,2,3,4,5"),
    ],
)
def test_the_command_of_prefect(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_cards: int,
    options: list[str],
    pool: str,
    limit: int,
    visible: str | None,
) -> None:
    if n_cards:
        write_program(tmp_path / "nvidia-smi", list_cards(*[A100] * n_cards))
    started: list[tuple[list[str], str | None]] = []

    def replace_process(_: str, command: list[str], environment: dict[str, str]) -> None:
        started.append((command[1:], environment.get("CUDA_VISIBLE_DEVICES")))

    monkeypatch.setattr(os, "execve", replace_process)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(sys, "argv", ["gpu_worker", *options, "--with-healthcheck"])
    cards._find_cards.cache_clear()
    try:
        gpu_worker.main()
    finally:
        cards._find_cards.cache_clear()
    command = f"-m prefect worker start --pool {pool} --type process --limit {limit} --with-healthcheck"
    assert started == [(command.split(), visible)]
