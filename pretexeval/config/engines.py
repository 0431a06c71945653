"""The tables of the configuration that name a language model: how to reach it and how to ask it.

The string below a field is the text of docs/configuration.md (`pretexeval.config.reference`).
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from pretexeval.primitives.hashing import render_canonical_json
from pretexeval.primitives.secrets import has_secret
from schemas.exchange import Sampling

CPU_POOL = "cpu"
"""The work pool for flows that take no card."""
DEFAULT_POOL = "gpu"
"""The work pool for models in vLLM."""
# Heuristic: 20 or more capitals and digits without an underscore look like a key, not like a variable name.
_VARIABLE = re.compile(r"(?!.*(?=[A-Z]*[0-9])[A-Z0-9]{20})[A-Z][A-Z0-9_]{0,63}")
_ADDRESS_WITH_SECRET = re.compile(r"(?:^|//)[^/?#]*@|[?#]")
# The parameters of a request that an endpoint may refuse or know by another name.
Parameter = Literal["max_tokens", "temperature", "seed", "stop", "top_p"]
LeftOut = Literal[Parameter, "stream"]
STREAM = "stream"
# What a request contains already, so that extra_body must not contain it. It may contain top_p, which only
# the setting chain_of_thought sends.
_SENT = ({*get_args(Parameter)} - {"top_p"}) | {
    "logprobs",
    "top_logprobs",
    "model",
    "messages",
    "prompt",
    "n",
    STREAM,
}
# The name of the lock of an evaluation contains these three and about 60 more characters, and the name of a
# file has at most 255.
MAX_MODEL_NAME = 80
MAX_BASE_NAME = 56
MAX_LABEL = 56
_SECRET_NAME = re.compile(r"(?i)api[-_]?key|secret|password|authorization|(access|auth|bearer)[-_]?token")


class ConfigTable(BaseModel):
    """A table of the configuration. Unknown keys are an error, and instances are immutable."""

    # Prefect shows the validation error of a run's parameters, which must not repeat their values.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    def __hash__(self) -> int:
        """Return a hash, which caches need. Pydantic's own would fail, because a dict has no hash."""
        return hash(self.model_dump_json())

    @field_validator("*")
    @classmethod
    def _require_storable(cls, value: object) -> object:
        """Refuse what no table of the warehouse and no request can hold."""
        for part in _list_values(value):
            if isinstance(part, int) and not -(2**63) <= part < 2**63:
                raise ValueError("is a number beyond 64 bits; write one between -2^63 and 2^63 - 1")
            if isinstance(part, float) and not math.isfinite(part):
                raise ValueError("must be a finite number, not inf or nan")
            if isinstance(part, str | Path) and "\0" in str(part):
                raise ValueError("contains the character NUL (\\u0000); remove it")
        return value


def _list_values(value: object) -> Iterator[object]:
    """Yield the value, or the keys and values within a list or a dictionary; inner tables check their own."""
    if isinstance(value, Mapping):
        value = (*value.keys(), *value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _list_values(part)
    else:
        yield value


class EngineConfig(ConfigTable):
    """These keys say which language model it is and how to reach it."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=MAX_MODEL_NAME)]
    """Name of the model in this file and in all results."""
    engine: Literal["vllm", "openai", "imported"] = "vllm"
    """`vllm`: load the model into this process. `openai`: send requests to an endpoint. `imported`: the
    responses come from `pretexeval import-responses`."""
    model: str
    """With `vllm`, a folder or the model's name on the hub. With `openai`, the name by which the endpoint
    knows it. With `imported`, the file that was imported."""
    revision: str | None = None
    """Revision on the hub, or the declared revision behind an endpoint or of imported responses."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """Only `vllm`: type of the weights; `auto` takes that of the model's own configuration."""
    quantization: str | None = None
    """Only `vllm`: quantization method, by the name that vLLM gives it."""
    max_model_len: Annotated[int, Field(ge=64)] | None = None
    """Only `vllm`: maximum number of tokens of prompt and answer together. The default is the model's
    own."""
    trust_remote_code: bool = False
    """Only `vllm`: run the Python code that comes with the model, which some models need. It can do anything
    that you can do, so read it first, and name its commit as `revision`, which is required for a model of
    the hub."""
    deterministic: bool = False
    """Only `vllm`: use vLLM's batch-invariant kernels, which are meant to make an answer independent of the
    prompts beside it (docs/models.md#the-same-answers-twice). All models of a file that run in vLLM need the
    same value."""
    tensor_parallel_size: Annotated[int, Field(ge=1)] = 1
    """Only `vllm`: number of GPUs across which each layer of the model is split."""
    pipeline_parallel_size: Annotated[int, Field(ge=1)] = 1
    """Only `vllm`: number of groups of GPUs across which the layers are distributed. The model takes
    `tensor_parallel_size` times as many GPUs."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    """Only `vllm`: share of the GPU's memory that the model may use."""
    base_url: str | None = None
    """Only `openai`, required: address of the endpoint, for example `"http://127.0.0.1:8000/v1"`, without
    user, password and query."""
    api_key_env: str | None = None
    """Only `openai`: name of the environment variable that holds the key, or else of a Prefect Secret block
    (docs/operations.md#secrets)."""
    concurrency: Annotated[int, Field(ge=1)] = 32
    """Only `openai`: maximum number of concurrent requests."""
    timeout_s: Annotated[float, Field(gt=0)] = 60.0
    """Only `openai`: time until the answer to a request is complete, in seconds."""
    max_attempts: Annotated[int, Field(ge=1)] = 5
    """Only `openai`: number of times that a request is sent before it counts as failed (no connection, no
    answer in time, 408, 409, 5xx). A request whose answer has begun to arrive is not sent again."""
    extra_body: dict[str, JsonValue] = {}
    """Further parameters of every request. With `openai` they are added to its body, for example `{
    reasoning_effort = "low" }`. With `vllm`, `chat_template_kwargs` goes to the chat template, and every
    other key is a sampling parameter of vLLM, for example `{ top_p = 0.95, chat_template_kwargs = {
    enable_thinking = false } }`."""
    rename: dict[Parameter, str] = {}
    """Only `openai`: parameters that the endpoint knows by another name, for example `{ max_tokens =
    "max_completion_tokens" }`."""
    leave_out: tuple[LeftOut, ...] = ()
    """Only `openai`: parameters that are not sent, for example `["temperature"]`. With `"stream"` among them,
    `stream = false` is not sent, and nothing is asked again for this change."""
    reasoning_marks: tuple[str, ...] | None = None
    """The two texts between which the model writes what it thinks (docs/models.md#reasoning). Those of all
    common families are found by default. The first one is empty if the chat template opens every thought; an
    empty list means that nothing is a mark."""
    price_input: Annotated[float, Field(ge=0)] | None = None
    """Price of a million prompt tokens, for `pretexeval plan` and the view `cost`, in one currency for all
    models. Give both prices or neither."""
    price_output: Annotated[float, Field(ge=0)] | None = None
    """Price of a million generated tokens."""
    max_cost: Annotated[float, Field(gt=0)] | None = None
    """Only `openai`, with prices: what a run may spend on one evaluation by this model, or on what a writer
    writes about one relation (docs/models.md#where-a-model-runs)."""
    pool: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")] | None = None
    """Work pool in which a deployed run asks this model (docs/operations.md#cards). The default is `gpu` with
    the engine `vllm`, and else `cpu`."""

    @property
    def n_cards(self) -> int:
        """The number of cards that one loaded copy of the model takes; 0 for an engine other than vLLM."""
        return self.tensor_parallel_size * self.pipeline_parallel_size if self.engine == "vllm" else 0

    @property
    def work_pool(self) -> str:
        """The work pool in which a deployed run asks this model."""
        return self.pool or (DEFAULT_POOL if self.engine == "vllm" else CPU_POOL)

    @property
    def price(self) -> dict[str, Any] | None:
        """The prices of a million tokens, as records store them; None without prices."""
        if self.price_input is None:
            return None
        return {"input": self.price_input, "output": self.price_output}

    def compute_cost(self, n_prompt_tokens: float, n_completion_tokens: float) -> float | None:
        """Return what so many tokens cost at the prices; None without prices."""
        if self.price_input is None or self.price_output is None:
            return None
        return (n_prompt_tokens * self.price_input + n_completion_tokens * self.price_output) / 1_000_000

    def adapt(self, sampling: Sampling) -> Sampling:
        """Return the parameters with those that this table adds, renames or leaves out."""
        return replace(
            sampling,
            extra_body=render_canonical_json(self.extra_body) if self.extra_body else None,
            leave_out=tuple(sorted({*self.leave_out} - {STREAM})),
            rename=tuple(sorted(self.rename.items())),
        )

    @field_validator("api_key_env")
    @classmethod
    def _require_variable_name(cls, name: str | None) -> str | None:
        if name is not None and (not _VARIABLE.fullmatch(name) or has_secret(name)):
            raise ValueError(
                "give the name of an environment variable (capital letters, digits and _, such as "
                "OPENROUTER_KEY), not the key itself"
            )
        return name

    @field_validator("base_url")
    @classmethod
    def _refuse_secret_in_address(cls, address: str | None) -> str | None:
        if address is not None and _ADDRESS_WITH_SECRET.search(address):
            raise ValueError(
                "user, password and query are not allowed in the address; put the key into an environment "
                "variable and name the variable in api_key_env"
            )
        return address

    @field_validator("reasoning_marks")
    @classmethod
    def _require_two_marks(cls, marks: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if marks and (len(marks) != 2 or not marks[1] or marks[0] == marks[1]):
            raise ValueError(
                "give the opening and the closing mark, which differ, or an empty list for no marks; only "
                "the opening mark may be empty"
            )
        return marks

    @model_validator(mode="after")
    def _check_prices(self) -> Self:
        if (self.price_input is None) != (self.price_output is None):
            missing = "price_input" if self.price_input is None else "price_output"
            raise ValueError(f"{missing} is needed with the other price (0 if it costs nothing)")
        if self.max_cost is not None and (self.engine != "openai" or self.price is None):
            raise ValueError(
                "max_cost is allowed only with engine 'openai', price_input and price_output, from which the "
                "costs follow"
            )
        return self

    @model_validator(mode="after")
    def _check_engine(self) -> Self:
        if (self.base_url is not None) != (self.engine == "openai"):
            rule = "needed" if self.base_url is None else "not allowed"
            raise ValueError(f"base_url is {rule} with engine {self.engine!r}")
        allowed = {
            "extra_body": ("openai", "vllm"),
            "rename": ("openai",),
            "leave_out": ("openai",),
        }
        for key, engines in allowed.items():
            if getattr(self, key) and self.engine not in engines:
                raise ValueError(f"{key} is not allowed with engine {self.engine!r}")
        return self

    @field_validator("extra_body")
    @classmethod
    def _drop_what_is_sent_anyway(cls, body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return {name: value for name, value in body.items() if name != STREAM or value is not False}

    @field_validator("extra_body")
    @classmethod
    def _refuse_secret_names(cls, body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if names := [name for name in _list_names(body) if _SECRET_NAME.search(name)]:
            raise ValueError(
                f"{names[0]} is not allowed, because the configuration is stored with every run; put a key "
                "into an environment variable and name the variable in api_key_env"
            )
        return body

    @model_validator(mode="after")
    def _check_parameters(self) -> Self:
        for key in (*self.extra_body, *self.rename.values()):
            if key in _SENT:
                raise ValueError(
                    f"{key} must not be in extra_body or a new name in rename, because a request contains it "
                    "already; max_tokens and temperature are keys of their own, and leave_out removes a "
                    "parameter"
                )
        if twice := sorted(set(self.extra_body) & set(self.rename.values())):
            raise ValueError(f"{twice[0]} is in extra_body and a new name in rename; give it once")
        if twice := sorted(set(self.leave_out) & set(self.rename)):
            raise ValueError(f"{twice[0]} is both in leave_out and in rename; give it once")
        return self


def _list_names(value: JsonValue) -> list[str]:
    """Return every key of a table and of the tables in it."""
    if isinstance(value, dict):
        return [*value, *(name for part in value.values() for name in _list_names(part))]
    return [name for part in value for name in _list_names(part)] if isinstance(value, list) else []


class ModelConfig(EngineConfig):
    """A model to evaluate; one table per model.

    After a change of `prompt_style`, `system_prompt`, `n_demonstrations`, `max_tokens`, `early_stop`,
    `temperature`, `seed`, `logprobs`, `extra_body`, `rename` or `leave_out`, the model is asked
    again. After a change of `name`, or of what identifies the model (weights, tokenizer,
    `revision`, `dtype`, `quantization`, `trust_remote_code`, `deterministic`), it counts as another model. A
    change of how it is reached (`concurrency`, `timeout_s`, `pool`, `workers`, `base_url`), of a price or of
    `max_cost` asks nothing again.
    """

    prompt_style: Literal["completion", "chat"] = "completion"
    """`completion`: raw text that the model continues. `chat`: one user turn in the model's own chat
    template."""
    system_prompt: str | None = None
    """Only `chat`: text of the system turn."""
    max_tokens: Annotated[int, Field(ge=1)] = 8
    """Maximum number of tokens in an answer, including what the model thinks."""
    early_stop: bool = False
    """Only `vllm`: end the answer to a sample after its first `True` or `False`
    (docs/models.md#ending-answers-early)."""
    temperature: Annotated[float, Field(ge=0)] = 0.0
    """Sampling temperature. With 0, the most likely answer is taken."""
    seed: int | None = None
    """Seed of the sampling, for a temperature above 0."""
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    """How often each prompt about samples is asked (docs/models.md#asking-several-times). It needs a
    temperature above 0 (or `temperature` in `leave_out`), and a seed, which only endpoints may lack."""
    unsure: bool = False
    """Whether the model is also asked every sample with the third answer `Unsure`
    (docs/models.md#a-third-answer-unsure)."""
    pairs_per_relation: Annotated[int, Field(ge=1)] | None = None
    """Number of pairs of each relation that the model is asked about. The default is all pairs."""
    workers: Annotated[int, Field(ge=1)] | None = None
    """Number of runs among which the prompts of an evaluation are divided
    (docs/operations.md#one-model-over-several-workers). By default, large evaluations are divided among the
    cards."""
    n_demonstrations: Annotated[int, Field(ge=0, le=5)] = 5
    """Number of held-out samples, or questions, that each prompt shows with their answers."""
    logprobs: bool = False
    """Read the log-probabilities of ` True` and ` False` from the same forward pass."""
    training_cutoff: date | None = None
    """Date of the newest texts of its training. Scores of facts that were listed before it and after it are
    shown apart (docs/knowledge-bases.md#older-releases)."""

    @model_validator(mode="after")
    def _check_early_stop(self) -> Self:
        if self.early_stop and self.engine != "vllm":
            raise ValueError(
                f"early_stop is not allowed with engine {self.engine!r}: most endpoints leave out the text "
                "at which they stop, so the answer would be lost; lower max_tokens instead"
            )
        return self

    @model_validator(mode="after")
    def _check_unsure(self) -> Self:
        if self.unsure and self.engine == "imported":
            raise ValueError("unsure is not allowed with engine 'imported', whose samples have two answers")
        return self

    @model_validator(mode="after")
    def _require_sampling_of_repeats(self) -> Self:
        if self.repeats == 1:
            return self
        if self.engine == "imported":
            raise ValueError("repeats is not allowed with engine 'imported', whose samples are asked once")
        if self.temperature == 0 and "temperature" not in self.leave_out:
            raise ValueError("repeats needs a temperature above 0: with 0, every repeat has the same answer")
        if self.seed is None and self.engine != "openai":
            raise ValueError("repeats needs a seed, to which each repeat adds 1")
        return self


class WriterConfig(EngineConfig):
    """A model that writes rewordings, statements of `llmeval` or verdicts on rewordings; one table per
    model."""

    prompt_style: Literal["completion", "chat"] = "chat"
    """`chat`: one user turn in the model's own chat template. `completion`: raw text that the model continues
    until the first blank line."""
    system_prompt: str | None = "You are an experienced clinician."
    """Only `chat`: text of the system turn."""
