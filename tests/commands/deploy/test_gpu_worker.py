"""The cards of a host that a worker holds."""

import os
import sys
from pathlib import Path

import pytest

from commands.deploy import gpu_worker
from commands.deploy.gpu_worker import GpuWorker, describe_workers, read_gpu_worker
from commands.deploy.local import require_cards_of_host
from pretexeval.config.engines import ModelConfig
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.gpus import Gpu
from tests.support.command import run_command, write_config

HOST = ("0,1,2,3", "4,5", "6", "7")
MODELS: list[dict[str, object]] = [
    {"name": "large", "model": "x", "tensor_parallel_size": 4},
    {"name": "medium", "model": "y", "tensor_parallel_size": 2},
    {"name": "small", "model": "z"},
    {"name": "one", "engine": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"},
    {"name": "other", "engine": "openai", "model": "n", "base_url": "http://127.0.0.1:1/v1"},
]


def test_a_dry_run_says_who_holds_which_cards(tmp_path: Path) -> None:
    config = write_config(tmp_path / "c.toml", tmp_path / "data", models=MODELS)
    options = [word for cards in HOST for word in ("--gpus", cards)]
    found = run_command("deploy", config, *options, "--dry-run", folder=tmp_path).require()
    assert found.out.splitlines() == [
        "cards 0, 1, 2, 3: pool gpu-4: large",
        "cards 4, 5: pool gpu-2: medium",
        "card 6: pool gpu: small",
        "card 7: pool gpu: small",
        "no card: pool cpu: one, other",
    ]
    refused = run_command("deploy", config, "--gpus", "0", "--dry-run", folder=tmp_path).require(2)
    assert "large takes 4 cards" in refused.err
    assert "--gpus 0,1,2,3" in refused.err
    twice = run_command("deploy", config, *options, "--gpus", "3", "--dry-run", folder=tmp_path).require(2)
    assert "two workers hold card 3" in twice.err


def test_a_host_gives_out_each_of_its_cards_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="two workers hold card 1"):
        require_cards_of_host(["0,1", "big=1"])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(gpu_worker, "find_gpus", lambda: (Gpu("H100", 1, 1),) * 2)
    require_cards_of_host(["0", "1"])
    with pytest.raises(InputError, match="there is no card 2; this host has 0, 1"):
        require_cards_of_host(["2"])
    assert gpu_worker.list_default_workers() == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "6,7")
    assert gpu_worker.list_default_workers() == ["6", "7"]
    with pytest.raises(InputError, match="there is no card 0; this host has 6, 7"):
        require_cards_of_host(["0"])


def test_words_that_name_no_cards_are_refused() -> None:
    for text in ("", "0,0", "first", "0;1", "big="):
        with pytest.raises(InputError, match="give the numbers of its cards"):
            read_gpu_worker(text)


def test_a_worker_of_a_named_pool_holds_as_many_cards_as_its_models_take() -> None:
    pools = {"big": [ModelConfig(name="big", model="x", pool="big", tensor_parallel_size=2)]}
    assert list(describe_workers([GpuWorker("big", ("3", "4"))], pools)) == ["cards 3, 4: pool big: big"]
    with pytest.raises(InputError, match="the workers of the pool 'big' hold: 1;"):
        list(describe_workers([GpuWorker("big", ("3",))], pools))


def test_a_worker_shows_its_runs_its_cards_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command of Compose: Prefect's worker is started with the pool and the cards."""
    started: list[tuple[str, str | None]] = []

    def replace_process(_: str, command: list[str], environment: dict[str, str]) -> None:
        started.append((" ".join(command), environment.get("CUDA_VISIBLE_DEVICES")))

    monkeypatch.setattr(os, "execve", replace_process)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def start(asked: str) -> None:
        monkeypatch.setattr(sys, "argv", ["gpu_worker", asked, "--with-healthcheck"])
        gpu_worker.main()

    for asked, pool, visible in (("4,5", "gpu-2", "4,5"), ("big=3", "big", "3"), ("none", "gpu", None)):
        start(asked)
        options = f"--pool {pool} --type process --limit 1 --with-healthcheck"
        assert started.pop() == (f"{sys.executable} -m prefect worker start {options}", visible)
    with pytest.raises(SystemExit, match=r"^commands\.deploy\.gpu_worker: .*give the numbers of its cards"):
        start("first")
    assert started == []
