"""Starting and ending vLLM in this process: what must be set before it, and freed after it."""

from __future__ import annotations

import gc
import logging
import os
import sys
import warnings
from functools import cache
from typing import TYPE_CHECKING

from pydantic import ValidationError

from config.engines import EngineConfig

if TYPE_CHECKING:
    from vllm import LLM

# In process the engine of a small model is up in 5 s instead of 45, and 1.8 times as fast on two
# cores. Whoever has set a variable has the last word.
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    # Threads that spin while they wait for one another: on two cores with other work, a reference
    # model took two to four times the processor time that it takes when they sleep.
    "OMP_WAIT_POLICY": "PASSIVE",
}
# Whole blocks are what prefix caching keeps. vLLM's own choice on the CPU, 128 tokens, is longer than
# most of our prompts' common parts; 32, the least that it takes there, saves a third of the work.
CPU_BLOCK_SIZE = 32
HUB_VARIABLE = "HF_HUB_OFFLINE"
# Engines that nobody will ask again.
_retired: list[LLM] = []
_hub_is_chosen_by_user = HUB_VARIABLE in os.environ


@cache
def import_vllm() -> None:
    """Import vLLM; raises whatever that raises.

    What it makes stays to the end, and the garbage collector would walk it again and again: kept
    from it, importing and loading take 9 s instead of 11.5.
    """
    gc.disable()
    try:
        from vllm import LLM  # noqa: F401 (vLLM imports most of itself only now)
    finally:
        gc.freeze()
        gc.enable()


def load_llm(config: EngineConfig, model: str) -> LLM:
    """The loaded `vllm.LLM`; raises whatever vLLM raises. Retired engines are taken down before."""
    if _retired:
        free_memory()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        import_vllm()
        from vllm import LLM
        from vllm.platforms import current_platform

        return LLM(
            model=model,
            revision=config.revision,
            tokenizer_revision=config.revision,
            dtype=config.dtype,
            quantization=config.quantization,
            max_model_len=config.max_model_len,
            tensor_parallel_size=config.tensor_parallel_size,
            gpu_memory_utilization=config.gpu_memory_utilization,
            enable_prefix_caching=True,
            block_size=CPU_BLOCK_SIZE if current_platform.is_cpu() else None,
            # A seeded request whose prompt is cut ends vLLM 0.32 on the CPU ("CPU Generator does not use
            # offset").
            enable_chunked_prefill=False if current_platform.is_cpu() else None,
            # Compiling costs 30 s a load on the CPU and saves a third of the time per prompt: for
            # the reference models that is earned back after some 15,000 prompts.
            enforce_eager=current_platform.is_cpu(),
            use_tqdm_on_load=False,
        )


def prepare_environment(is_local: bool) -> None:
    """Set what vLLM reads when it is imported or loads, where the user has not."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if "VLLM_LOGGING_CONFIG_PATH" not in os.environ:
        # Its own set-up of the log first empties all handlers of the process, and Prefect's takes 5 s.
        os.environ.setdefault("VLLM_CONFIGURE_LOGGING", "0")
    logging.getLogger("vllm").setLevel(os.environ["VLLM_LOGGING_LEVEL"].upper())
    if _hub_is_chosen_by_user:
        return
    os.environ[HUB_VARIABLE] = "1" if is_local else "0"
    # Read once at import: a hub model after a local one must be let out again.
    from huggingface_hub import constants

    constants.HF_HUB_OFFLINE = is_local


def name_cause(error: Exception) -> str:
    """Why loading failed, in one line; vLLM wraps many causes in a validation error."""
    text = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
    line = " ".join(text.removeprefix("Value error, ").split())
    return line[:300] or type(error).__name__


def retire_llm(llm: LLM) -> None:
    """Leave an engine until another is loaded: taking it down takes 2 to 4 s, the end of the process none."""
    _retired.append(llm)


def free_memory() -> None:
    """Take down what models leave in the process; the next one cannot be loaded otherwise."""
    while _retired:
        _retired.pop().llm_engine.engine_core.shutdown()
    gc.collect()
    # Not there where importing vLLM itself failed.
    if state := sys.modules.get("vllm.distributed.parallel_state"):
        state.cleanup_dist_env_and_memory()
