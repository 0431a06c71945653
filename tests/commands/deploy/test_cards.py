"""Which worker of a host holds which cards."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from commands.deploy import cards
from commands.deploy.cards import GpuWorker, describe_workers, read_gpu_worker, require_cards_of_host
from pretexeval.config.engines import ModelConfig
from pretexeval.engines.gpus import Gpu
from pretexeval.primitives.errors import InputError
from tests.support.command import run_command, write_config

HOST = ("0,1,2,3", "4,5", "6", "7")
MODELS: list[dict[str, object]] = [
    {"name": "large", "model": "x", "tensor_parallel_size": 4},
    {"name": "medium", "model": "y", "tensor_parallel_size": 2},
    {"name": "small", "model": "z"},
    {"name": "one", "engine": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"},
    {"name": "other", "engine": "openai", "model": "n", "base_url": "http://127.0.0.1:1/v1"},
]


def pool(*models: ModelConfig) -> dict[str, list[ModelConfig]]:
    pools: dict[str, list[ModelConfig]] = {}
    for model in models:
        pools.setdefault(model.work_pool, []).append(model)
    return pools


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


def test_a_card_belongs_to_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = [read_gpu_worker(text) for text in ("0,1", "big=1")]
    assert workers == [GpuWorker("gpu-2", ("0", "1")), GpuWorker("big", ("1",))]
    with pytest.raises(InputError, match="two workers hold card 1"):
        list(describe_workers(workers, {}))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(cards, "find_gpus", lambda: (Gpu("H100", 1, 1),) * 2)
    require_cards_of_host([GpuWorker(cards=("0",)), GpuWorker(cards=("1",))])
    with pytest.raises(InputError, match="there is no card 2; this host has 0, 1"):
        require_cards_of_host([GpuWorker(cards=("2",))])
    assert cards.list_default_workers() == [GpuWorker(cards=("0",)), GpuWorker(cards=("1",))]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "6,7")
    assert cards.list_default_workers() == [GpuWorker(cards=("6",)), GpuWorker(cards=("7",))]
    with pytest.raises(InputError, match="there is no card 0; this host has 6, 7"):
        require_cards_of_host([GpuWorker(cards=("0",))])


@pytest.mark.parametrize("text", ["", "0,0", "first", "0;1", "big="])
def test_words_that_name_no_cards_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="give the numbers of its cards"):
        read_gpu_worker(text)


def test_a_worker_of_a_named_pool_holds_as_many_cards_as_its_models_take() -> None:
    big = ModelConfig(name="big", model="x", pool="big", tensor_parallel_size=2)
    assert list(describe_workers([GpuWorker("big", ("3", "4"))], pool(big))) == ["cards 3, 4: pool big: big"]
    with pytest.raises(InputError, match="the workers of the pool 'big' hold: 1;"):
        list(describe_workers([GpuWorker("big", ("3",))], pool(big)))


def test_a_worker_shows_its_runs_its_cards_alone(tmp_path: Path) -> None:
    """The command of Compose: Prefect's worker is started with the pool and the cards."""
    package = tmp_path / "prefect"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(
        "import os, sys\nprint(*sys.argv[1:], os.environ.get('CUDA_VISIBLE_DEVICES'))"
    )
    environment = os.environ | {
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path.cwd()}",
        "PRETEXEVAL_INSTALLATION": "lab",
    }
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    for asked, pool_name, visible in (("4,5", "lab-gpu-2", "4,5"), ("none", "lab-gpu", "None")):
        command = [sys.executable, "-m", "commands.deploy.gpu_worker", asked, "--with-healthcheck"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        options = (
            f"--pool {pool_name} --type process --limit 1 --no-create-pool-if-not-found --with-healthcheck"
        )
        assert done.stdout.split() == f"worker start {options} {visible}".split()
    refused = subprocess.run(
        [*command[:3], "first"], env=environment, capture_output=True, text=True, check=False
    )
    assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1)
    assert "give the numbers of its cards" in refused.stderr
