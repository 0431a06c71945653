"""The tables of the configuration that name a language model: how it is reached, and how it is asked."""

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from primitives.secrets import has_secret

# A key of capital letters and digits alone is told from a name by its length without a pause.
_VARIABLE = re.compile(r"(?!.*(?=[A-Z]*[0-9])[A-Z0-9]{20})[A-Z][A-Z0-9_]{0,63}")
_ADDRESS_WITH_MORE = re.compile(r"(?:^|//)[^/?#]*@|[?#]")


class ConfigTable(BaseModel):
    """A table of the configuration: nothing else stands in it, and it never changes."""

    # Prefect shows the error where a run's parameters do not fit: without their values.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class EngineConfig(ConfigTable):
    """A language model, and how to reach it."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
    engine: Literal["vllm", "openai", "recorded"] = "vllm"
    model: str
    """vllm: folder or hub name; openai: the name the endpoint knows; recorded: the Parquet file of
    responses."""
    revision: str | None = None
    """Hub revision, or the declared revision of what an endpoint serves."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    quantization: str | None = None
    max_model_len: Annotated[int, Field(ge=64)] | None = None
    tensor_parallel_size: Annotated[int, Field(ge=1)] = 1
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    base_url: str | None = None
    """openai: address of the endpoint, for example `http://127.0.0.1:8000/v1`."""
    api_key_env: str | None = None
    """openai: name of the environment variable, or of the Prefect block, that holds the key."""
    concurrency: Annotated[int, Field(ge=1)] = 32
    timeout_s: Annotated[float, Field(gt=0)] = 60.0
    max_attempts: Annotated[int, Field(ge=1)] = 5
    price_input: Annotated[float, Field(ge=0)] | None = None
    """What a million tokens of prompts cost; for `pretexeval plan` alone."""
    price_output: Annotated[float, Field(ge=0)] | None = None
    """What a million generated tokens cost."""
    price_currency: Annotated[str, Field(min_length=1)] = "USD"

    @field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, name: str | None) -> str | None:
        if name is not None and (not _VARIABLE.fullmatch(name) or has_secret(name)):
            raise ValueError(
                "the name of a variable is wanted (capital letters, digits and _, such as OPENROUTER_KEY), "
                "and never the key itself"
            )
        return name

    @field_validator("base_url")
    @classmethod
    def _holds_no_key(cls, address: str | None) -> str | None:
        if address is not None and _ADDRESS_WITH_MORE.search(address):
            raise ValueError(
                "no user, password or query may stand in an address: put the key into a variable, and name "
                "that in api_key_env"
            )
        return address

    @model_validator(mode="after")
    def _has_both_prices(self) -> Self:
        if (self.price_input is None) != (self.price_output is None):
            missing = "price_input" if self.price_input is None else "price_output"
            raise ValueError(f"{missing} is needed with the other price (0 if it costs nothing)")
        return self

    @model_validator(mode="after")
    def _needs_base_url(self) -> Self:
        if (self.base_url is not None) != (self.engine == "openai"):
            rule = "needed" if self.base_url is None else "not allowed"
            raise ValueError(f"base_url is {rule} with engine {self.engine!r}")
        return self


class ModelConfig(EngineConfig):
    """A model to evaluate, and how it is asked."""

    prompt_style: Literal["completion", "chat"] = "completion"
    system_prompt: str | None = None
    """Chat style only."""
    max_tokens: Annotated[int, Field(ge=1)] = 8
    pairs_per_relation: Annotated[int, Field(ge=1)] | None = None
    """Ask only about so many pairs of each relation, drawn once; all if not given."""
    logprobs: bool = False
    """Also read the log-probabilities of ` True` and ` False` from the same pass."""


class WriterConfig(EngineConfig):
    """A model that writes: rewordings, statements of llmeval, or verdicts on rewordings."""

    prompt_style: Literal["completion", "chat"] = "chat"
    system_prompt: str | None = "You are an experienced clinician."
    """Chat style only."""
