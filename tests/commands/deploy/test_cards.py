"""The cards of a host that a worker holds, and the deployments that an installation may replace."""

import argparse
import os
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from prefect.client.schemas.responses import DeploymentResponse

from commands.deploy import cards
from commands.deploy.cards import GpuWorker, describe_workers, read_gpu_worker, require_cards_of_host
from commands.deploy.owned import WORKING_DIRECTORY, Registration, require_own
from pretexeval.config.engines import ModelConfig
from pretexeval.config.installation_names import InstallationNames
from pretexeval.config.schedule import ScheduleConfig
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


def test_words_that_name_no_cards_are_refused() -> None:
    for text in ("", "0,0", "first", "0;1", "big="):
        with pytest.raises(argparse.ArgumentTypeError, match="give the numbers of its cards"):
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
    monkeypatch.setenv("PRETEXEVAL_INSTALLATION", "lab")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def start(asked: str) -> None:
        monkeypatch.setattr(sys, "argv", ["gpu_worker", asked, "--with-healthcheck"])
        runpy.run_module("commands.deploy.gpu_worker", run_name="__main__")

    for asked, pool, visible in (("4,5", "lab-gpu-2", "4,5"), ("none", "lab-gpu", None)):
        start(asked)
        options = f"--pool {pool} --type process --limit 1 --no-create-pool-if-not-found --with-healthcheck"
        assert started.pop() == (f"{sys.executable} -m prefect worker start {options}", visible)
    with pytest.raises(SystemExit, match=r"^commands\.deploy\.gpu_worker: .*give the numbers of its cards"):
        start("first")
    assert started == []


HOME = Path("/srv/lab")
FILE = Path("configs/mine.toml")
REGISTRATION = Registration(InstallationNames("lab"), FILE, HOME, Path("data"), ScheduleConfig())


OWN = DeploymentResponse(
    id=uuid4(),
    name="lab.mine",
    flow_id=uuid4(),
    tags=["pretexeval", "pretexeval:lab"],
    labels={},
    parameters={"config_file": str(FILE)},
    pull_steps=[{WORKING_DIRECTORY: {"directory": str(HOME)}}],
)


def test_only_its_own_may_be_replaced() -> None:
    for parameters in (
        {},
        {"config_file": "configs/mine.toml"},
        {"config_file": "./configs/../configs/mine.toml"},
    ):
        for registered in (FILE, HOME / FILE):
            registration = replace(REGISTRATION, config_file=registered)
            require_own(
                "regenerate/lab.mine", OWN.model_copy(update={"parameters": parameters}), registration
            )
    elsewhere = [{WORKING_DIRECTORY: {"directory": "/srv/other"}}]
    changes: list[tuple[dict[str, object], str]] = [
        ({"tags": ["pretexeval", "theirs"]}, "was not registered by an installation named 'lab'"),
        ({"tags": ["pretexeval", "pretexeval:lab-2"]}, "was not registered by an installation named 'lab'"),
        ({"pull_steps": elsewhere}, "runs in /srv/other, not in /srv/lab"),
        ({"pull_steps": None}, "not in /srv/lab"),
        ({"parameters": {"config_file": "old/mine.toml"}}, "runs old/mine.toml"),
    ]
    for change, words in changes:
        with pytest.raises(InputError, match=words):
            require_own("regenerate/lab.mine", OWN.model_copy(update=change), REGISTRATION)
