import os
import re
import sys
import weakref
from dataclasses import fields
from types import ModuleType, SimpleNamespace

import pytest

from pretexeval.engines import vllm_process
from pretexeval.engines.vllm_process import (
    DETERMINISM_VARIABLE,
    DETERMINISTIC_ATTENTION,
    ENVIRONMENT,
    HUB_VARIABLE,
    free_memory,
    prepare_environment,
)
from pretexeval.primitives.process import pause_collector
from tests.support.command import REPOSITORY


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Unset all variables, and undo every change after the test."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, HUB_VARIABLE, False)
    monkeypatch.setattr(vllm_process, "_hub_is_chosen_by_user", False)
    for name in (*ENVIRONMENT, HUB_VARIABLE, DETERMINISM_VARIABLE):
        monkeypatch.setenv(name, "remembered, to be restored")
        monkeypatch.delenv(name)
    return monkeypatch


def test_variables_that_the_user_set_are_kept(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("VLLM_CPU_KVCACHE_SPACE", "40")
    prepare_environment(is_local=True)
    assert os.environ["VLLM_CPU_KVCACHE_SPACE"] == "40"
    assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
    assert os.environ["VLLM_NO_USAGE_STATS"] == "1"


@pytest.mark.slow
def test_on_a_card_vllm_samples_without_a_compiler(environment: pytest.MonkeyPatch) -> None:
    from vllm.v1.sample.ops import topk_topp_sampler

    prepare_environment(is_local=True)
    environment.setattr(topk_topp_sampler, "current_platform", SimpleNamespace(is_cuda=lambda: True))
    assert not topk_topp_sampler.flashinfer_sampler_supported()


@pytest.mark.slow
def test_deterministic_answers_are_those_of_the_configuration_and_not_of_a_variable(
    environment: pytest.MonkeyPatch,
) -> None:
    from vllm import envs
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    # The engines of earlier tests in this process make vLLM read the variables only once.
    envs.disable_envs_cache()
    environment.setenv(DETERMINISM_VARIABLE, "1")
    prepare_environment(is_local=True)
    assert not envs.VLLM_BATCH_INVARIANT
    prepare_environment(is_local=True, is_deterministic=True)
    assert envs.VLLM_BATCH_INVARIANT
    assert AttentionBackendEnum[DETERMINISTIC_ATTENTION].get_class().supports_batch_invariance()


@pytest.mark.slow
def test_variables_and_arguments_in_the_documentation_are_those_of_vllm() -> None:
    from vllm import envs
    from vllm.engine.arg_utils import EngineArgs

    text = (REPOSITORY / "docs" / "models.md").read_text(encoding="utf-8")
    section = text.split("## What vLLM is told")[1].split("\n## ")[0]
    documented = dict(re.findall(r"(?m)^\| `(VLLM_\w+)` \| (\w+) \|", section))
    assert documented == {name: value for name, value in ENVIRONMENT.items() if name.startswith("VLLM_")}
    assert documented.keys() <= envs.environment_variables.keys()
    arguments = set(re.findall(r"`([a-z_]+)`", section.rpartition("| |\n")[2]))
    assert len(arguments) > 10
    assert arguments <= {field.name for field in fields(EngineArgs)} | {"models"}


def test_hub_is_online_again_for_a_hub_model_after_a_local_one(
    environment: pytest.MonkeyPatch,
) -> None:
    from huggingface_hub import is_offline_mode

    prepare_environment(is_local=True)
    assert is_offline_mode()
    assert os.environ[HUB_VARIABLE] == "1"
    prepare_environment(is_local=False)
    assert not is_offline_mode()
    assert os.environ[HUB_VARIABLE] == "0"


class Engine:
    """An object that refers to itself, as engines do: only the garbage collector frees it."""

    def __init__(self) -> None:
        self.own = self


def test_memory_of_an_engine_is_freed_if_a_library_was_imported_while_it_was_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Engine()
    freed = weakref.ref(engine)
    with pause_collector():
        monkeypatch.setitem(sys.modules, "imported", ModuleType("imported"))
    del engine
    free_memory()
    assert freed() is None
