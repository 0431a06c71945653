"""The configuration: one TOML file, read once, checked as a whole before anything is written."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from schemas.toml_files import check_table, parse_toml, replace_variables

# The methods of schemas.stages that need no language model, written out: that module imports pyarrow,
# which costs 0.2 s.
Method = Literal["pretexeval", "prototype", "direct"]
# What holds a path or may be one: $NAME in it is replaced from the environment.
PATH_KEYS = (
    ("knowledge", "path"),
    ("edition", "pool"),
    ("models", "model"),
    ("storage", "root"),
)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KnowledgeConfig(_Table):
    """Where the true triplets come from."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")] = "starter"
    """Short name of the base; the first part of the edition's name."""
    format: Literal["starter", "medlama", "table"] = "starter"
    """starter: bundled; medlama: `medlama.parquet` or the published folder of CSV files; table:
    head, relation, tail."""
    path: Path | None = None
    """File or folder; `$NAME` is replaced from the environment. Not for the starter base."""
    relations: tuple[str, ...] = ()
    """Which relations to use; empty: all (of MedLAMA, the 17 of the papers)."""

    @model_validator(mode="after")
    def _needs_path(self) -> "KnowledgeConfig":
        if (self.path is None) != (self.format == "starter"):
            rule = "needed" if self.path is None else "not allowed"
            raise ValueError(f"path is {rule} with format {self.format!r}")
        return self


class EditionConfig(_Table):
    """What makes the edition this edition."""

    seed: Annotated[int, Field(ge=0)] = 1
    label: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")] | None = None
    """Middle part of the edition's name; `seed<N>` if not given."""
    negatives: Literal["matched", "uniform"] = "matched"
    heads_per_relation: Annotated[int, Field(ge=6)] | None = None
    """Cap on the heads of a relation, demonstrations included; the papers: 1000."""
    pool: str = "revised"
    """Prototype pool: `revised` (bundled) or the path of a TOML, CSV or Parquet pool."""
    methods: tuple[Method, ...] = ("pretexeval",)


class RephraserConfig(_Table):
    """Who words the samples."""

    kind: Literal["none", "reviewed"] = "reviewed"
    """none: the statement as it is; reviewed: a wording reviewed by hand, drawn by the
    edition's seed."""


class ModelConfig(_Table):
    """A model to evaluate, and how to reach it."""

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
    prompt_style: Literal["completion", "chat"] = "completion"
    system_prompt: str | None = None
    """Chat style only."""
    max_tokens: Annotated[int, Field(ge=1)] = 8
    pairs_per_relation: Annotated[int, Field(ge=1)] | None = None
    """Ask only about so many pairs of each relation, drawn once; all if not given."""
    logprobs: bool = False
    """Also read the log-probabilities of ` True` and ` False` from the same pass."""
    base_url: str | None = None
    """openai: address of the endpoint, for example `http://127.0.0.1:8000/v1`."""
    api_key_env: str | None = None
    """openai: name of the environment variable that holds the key."""
    concurrency: Annotated[int, Field(ge=1)] = 32
    timeout_s: Annotated[float, Field(gt=0)] = 60.0
    max_attempts: Annotated[int, Field(ge=1)] = 5

    @model_validator(mode="after")
    def _needs_base_url(self) -> "ModelConfig":
        if (self.base_url is not None) != (self.engine == "openai"):
            rule = "needed" if self.base_url is None else "not allowed"
            raise ValueError(f"base_url is {rule} with engine {self.engine!r}")
        return self


class ScoringConfig(_Table):
    """How predictions become scores."""

    policies: tuple[Literal["strict"], ...] = ("strict",)


class StorageConfig(_Table):
    """Where everything lies."""

    root: Path = Path("data")


class ReportConfig(_Table):
    """The dashboard pages."""

    title: str = "PretexEval"


class Config(_Table):
    """One run of the pipeline: a knowledge base, an edition of it, and the models to ask."""

    knowledge: KnowledgeConfig = KnowledgeConfig()
    edition: EditionConfig = EditionConfig()
    rephraser: RephraserConfig = RephraserConfig()
    models: tuple[ModelConfig, ...] = ()
    scoring: ScoringConfig = ScoringConfig()
    storage: StorageConfig = StorageConfig()
    report: ReportConfig = ReportConfig()

    @field_validator("models")
    @classmethod
    def _distinct_names(cls, models: tuple[ModelConfig, ...]) -> tuple[ModelConfig, ...]:
        names = [m.name for m in models]
        if repeated := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"two models are named {repeated[0]!r}; give each a name of its own")
        return models


def load_config(path: Path) -> Config:
    """The configuration of a TOML file; relative paths in it start at the working directory.

    Raises:
        InputError: names the file and everything that is wrong in it: key, value, what is allowed.
    """
    table = parse_toml(path)
    problems = replace_variables(table, PATH_KEYS)
    return check_table(Config, table, path, problems)
