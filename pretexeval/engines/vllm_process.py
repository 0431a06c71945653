"""Start and end vLLM in this process: set its variables before the start, and free its memory at the end."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.identity import find_commit, find_folder, identify_model
from pretexeval.engines.thoughts import MARK, opens_thought, split_reply
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.process import pause_collector
from schemas.exchange import Completion, Sampling

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase
    from vllm import LLM, SamplingParams


# Variables that the user has set are left as they are.
ENVIRONMENT = {
    # vLLM computes in this process. On two cores, the engine of a small model starts in 5 s instead of 45,
    # and is 1.8 times as fast. An engine process would outlive a `kill -9` of this one and hold the memory of
    # the card, although the lock of the card is free (`pretexeval.engines.cards`).
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # The processes of a model on several cards. A forked one would inherit the locks of this process, which
    # threads of Prefect and polars may hold.
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    # FlashInfer compiles its sampler at the start, for which it needs nvcc (vllm-project/vllm#49497). vLLM's
    # own sampler needs no compiler, and greedy answers need neither.
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    # Waiting threads sleep instead of spinning: on two busy cores, spinning took two to four times the
    # processor time for a reference model.
    "OMP_WAIT_POLICY": "PASSIVE",
}
# Prefix caching keeps whole blocks. vLLM's default on the CPU, 128 tokens, is longer than the common part of
# most of our prompts. 32 is the smallest size that it accepts there, and saves a third of the work.
CPU_BLOCK_SIZE = 32
HUB_VARIABLE = "HF_HUB_OFFLINE"
DETERMINISM_VARIABLE = "VLLM_BATCH_INVARIANT"
# On H100, FlashAttention 3 is not batch-invariant beside long prompts (vllm-project/vllm#51902).
DETERMINISTIC_ATTENTION = "TRITON_ATTN"
MIN_DETERMINISTIC_CAPABILITY = 80


@dataclass(frozen=True)
class LoadedModel:
    """An engine of vLLM, and the model and the options with which it was loaded."""

    llm: LLM
    identity: dict[str, object]
    """The identity of the model (`identify_model`). That of a folder has the checksums of its files."""
    options: dict[str, Any]


# Closed engines that still hold memory. The second value is True for one that can be used again.
_retired: list[tuple[LoadedModel, bool]] = []
_hub_is_chosen_by_user = HUB_VARIABLE in os.environ


@cache
def import_vllm() -> None:
    """Import vLLM, and raise whatever the import raises."""
    with pause_collector():
        from vllm import LLM  # noqa: F401 (this line imports most of vLLM)


def load_llm(config: EngineConfig, model: str) -> LoadedModel:
    """Return the loaded model. Raise whatever vLLM raises.

    A retired engine of the same model is used again, because loading takes from seconds to minutes. Otherwise
    the memory of retired engines is freed first.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        import_vllm()
        from vllm import LLM
        from vllm.platforms import current_platform

        identity = identify_model(config).identity
        options: dict[str, Any] = {
            "model": model,
            "revision": config.revision,
            "tokenizer_revision": config.revision,
            "dtype": config.dtype,
            "quantization": config.quantization,
            "trust_remote_code": config.trust_remote_code,
            "max_model_len": config.max_model_len,
            "tensor_parallel_size": config.tensor_parallel_size,
            "pipeline_parallel_size": config.pipeline_parallel_size,
            "gpu_memory_utilization": config.gpu_memory_utilization,
            "enable_prefix_caching": True,
            "block_size": CPU_BLOCK_SIZE if current_platform.is_cpu() else None,
            # vLLM 0.32 crashes on the CPU at a seeded request whose prompt is processed in chunks ("CPU
            # Generator does not use offset").
            "enable_chunked_prefill": False if current_platform.is_cpu() else None,
            # On the CPU, compiling takes 30 s per load and saves a third of the time per prompt. With the
            # reference models this pays off only after some 15,000 prompts.
            "enforce_eager": current_platform.is_cpu(),
            "use_tqdm_on_load": False,
        }
        if config.deterministic:
            options["attention_backend"] = DETERMINISTIC_ATTENTION
            if not current_platform.has_device_capability(MIN_DETERMINISTIC_CAPABILITY):
                raise ValueError("deterministic needs NVIDIA cards of compute capability 8.0 or more")
        if retired := _take_again(identity, options):
            return retired
        if _retired:
            free_memory()
        return LoadedModel(LLM(**options), identity, options)


def _take_again(identity: dict[str, object], options: dict[str, Any]) -> LoadedModel | None:
    """Return the retired engine of this model with an empty prefix cache, or None."""
    for k, (loaded, is_idle) in enumerate(_retired):
        is_same = (loaded.identity, loaded.options) == (identity, options)
        if is_idle and is_same and loaded.llm.reset_prefix_cache():
            del _retired[k]
            return loaded
    return None


def describe_served(llm: LLM, config: EngineConfig) -> str:
    """Return a text that names vLLM's version, device and precision and, for a hub model, the commit."""
    from vllm import __version__
    from vllm.platforms import current_platform

    device = current_platform.get_device_name()
    parts = [f"vLLM {__version__}", f"{n} × {device}" if (n := config.n_cards) > 1 else device]
    parts.append(str(llm.model_config.dtype).removeprefix("torch."))
    if config.quantization is not None:
        parts.append(config.quantization)
    if config.deterministic:
        parts.append("batch-invariant")
    if find_folder(config) is None and (commit := find_commit(config)):
        parts.append(f"commit {commit}")
    return ", ".join(parts)


def prepare_environment(is_local: bool, *, is_deterministic: bool = False) -> None:
    """Set the variables that vLLM reads at its import and at a load, unless the user has set them."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # The identity of a model says whether it is deterministic, so a variable of the user does not count.
    os.environ[DETERMINISM_VARIABLE] = str(int(is_deterministic))
    if "VLLM_LOGGING_CONFIG_PATH" not in os.environ:
        # vLLM's logging set-up first removes all handlers of the process, and setting up Prefect's takes 5 s.
        os.environ.setdefault("VLLM_CONFIGURE_LOGGING", "0")
    logging.getLogger("vllm").setLevel(os.environ["VLLM_LOGGING_LEVEL"].upper())
    # torch warns at every import that Triton is missing, which the CPU does not need.
    logging.getLogger("torch._library.triton").setLevel(logging.ERROR)
    if _hub_is_chosen_by_user:
        return
    os.environ[HUB_VARIABLE] = "1" if is_local else "0"
    # huggingface_hub reads the variable once, at import, so a hub model after a local one needs this change.
    from huggingface_hub import constants

    constants.HF_HUB_OFFLINE = is_local


def describe_cause(error: Exception) -> str:
    """Return in one line why loading failed. vLLM wraps many causes in a validation error."""
    text = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
    line = " ".join(text.removeprefix("Value error, ").split())
    return line[:300] or type(error).__name__


def retire_llm(loaded: LoadedModel, *, is_idle: bool) -> None:
    """Keep the engine until another model is loaded: its shutdown takes 2 to 4 s, and a process ends without.

    Args:
        is_idle: the engine has finished all requests, so that it can be used again for the same model.
    """
    _retired.append((loaded, is_idle))


def free_memory() -> None:
    """Shut down retired engines and free their memory, without which no other model can be loaded."""
    while _retired:
        # An engine that crashed may not shut down; its memory may still be freed.
        with contextlib.suppress(Exception):
            _retired.pop()[0].llm.llm_engine.engine_core.shutdown()
    # The module is missing if importing vLLM itself failed.
    if state := sys.modules.get("vllm.distributed.parallel_state"):
        # This also shows the collector what an import while the engine was loaded has hidden from it
        # (`pause_collector`), and collects it.
        state.cleanup_dist_env_and_memory()
    # What is left would be scanned in each of the eight collections that vLLM starts while it loads a model.
    gc.freeze()


TEMPLATE_KWARGS = "chat_template_kwargs"


def read_template_kwargs(config: EngineConfig) -> dict[str, Any]:
    """Return the variables that the configuration adds to those of the chat template.

    Raises:
        InputError: it is not a table.
    """
    template_kwargs = config.extra_body.get(TEMPLATE_KWARGS, {})
    if not isinstance(template_kwargs, dict):
        raise InputError(f"model {config.name!r}: {TEMPLATE_KWARGS} in extra_body must be a table")
    return template_kwargs


def check_parameters(config: EngineConfig) -> None:
    """Check that vLLM takes the sampling parameters in extra_body, before a model is loaded.

    Raises:
        InputError: vLLM does not know a parameter, or refuses its value.
    """
    if not set(config.extra_body) - {TEMPLATE_KWARGS}:
        return
    import_vllm()
    from vllm import SamplingParams

    try:
        SamplingParams(**_select_parameters(config.extra_body))
    except Exception as error:  # an unknown name is a TypeError, a wrong value a ValueError of several kinds
        raise InputError(
            f"model {config.name!r}: vLLM does not take extra_body: {describe_cause(error)}; its keys are "
            f"{TEMPLATE_KWARGS} and the sampling parameters of vLLM"
        ) from error


def build_params(
    sampling: Sampling, answer_tokens: Sequence[int | None], *, skip_special_tokens: bool = True
) -> SamplingParams:
    """Return the parameters of one request.

    Args:
        answer_tokens: the tokens whose log-probabilities are returned.
        skip_special_tokens: False if the text must contain them, because they mark a thought.
    """
    from vllm import SamplingParams

    options: dict[str, Any] = {"skip_special_tokens": skip_special_tokens}
    if sampling.top_p is not None:
        options["top_p"] = sampling.top_p
    return SamplingParams(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        seed=sampling.seed_of_repeat,
        stop=list(sampling.stop) or None,
        logprob_token_ids=[token for token in answer_tokens if token is not None] or None,
        # vLLM changes the copy of each request only by what is the same for all requests of a model.
        skip_clone=True,
        **options | _select_parameters(sampling.read_extra_body()),
    )


def _select_parameters(extra_body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in extra_body.items() if name != TEMPLATE_KWARGS}


class ReasoningSplitter:
    """Separates the reasoning from the answer, by the marks of the configuration or else by known ones."""

    def __init__(self, config: EngineConfig, tokenizer: PreTrainedTokenizerBase) -> None:
        """Find out whether special tokens of the model mark its thoughts."""
        self._marks = config.reasoning_marks
        # Where marks of a thought are special tokens, they must stay in the text.
        special = (token.content for token in tokenizer.added_tokens_decoder.values() if token.special)
        self.skip_special_tokens = not any(map(MARK.search, special))

    def split(self, completion: Completion, prompt: str) -> Completion:
        """Return the completion of a chat prompt. A thought without a mark is moved to its reasoning.

        Only a thought that the template opened, and that does not end, has no mark. Other thoughts stay in
        the response, where scoring finds their marks.

        Args:
            prompt: the rendered prompt.
        """
        text = completion.response or ""
        if not opens_thought(prompt, self._marks) or split_reply(text, self._marks).thought is not None:
            return completion
        # The first token belongs to the thought, and is not that of an answer.
        return replace(completion, response="", reasoning=text, logprob_true=None, logprob_false=None)
