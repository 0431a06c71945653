"""The tables of a configuration file, apart from the language models (`config.engines`)."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from config.engines import ConfigTable

# These repeat METHODS of schemas.stages, because that module imports pyarrow, which takes 0.2 s.
Method = Literal["pretexeval", "prototype", "direct", "llmeval"]


class KnowledgeConfig(ConfigTable):
    """Where the true triplets come from."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")] = "starter"
    """Short name of the base; the first part of the edition's name."""
    format: Literal["starter", "medlama", "table", "disek"] = "starter"
    """starter: bundled; medlama: `medlama.parquet` or the published folder of CSV files; table:
    head, relation, tail; disek: disease, aspect, attributes."""
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


class EditionConfig(ConfigTable):
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


class RephraserConfig(ConfigTable):
    """Who words the samples."""

    kind: Literal["none", "reviewed", "model"] = "reviewed"
    """none: the statement as it is; reviewed: a wording reviewed by hand, drawn by the
    edition's seed; model: reworded by the writer, and gated."""
    writer: str | None = None
    """model: the name of one of the writers."""
    instruction: str = (
        "Paraphrase the following statement: say the same thing in other words. Keep its meaning and "
        "its basic sentence structure, and name both medical terms. Output the paraphrased statement "
        "only.\nStatement: {statement}"
    )
    temperature: Annotated[float, Field(ge=0)] = 0.7
    """0: the first attempt is greedy."""
    max_tokens: Annotated[int, Field(ge=1)] = 128
    max_attempts: Annotated[int, Field(ge=1, le=100)] = 3

    @model_validator(mode="after")
    def _needs_writer(self) -> Self:
        _require_slot("instruction", self.instruction, "{statement}")
        if (self.writer is not None) != (self.kind == "model"):
            rule = "needed" if self.writer is None else "not allowed"
            raise ValueError(f"writer is {rule} with kind {self.kind!r}")
        return self


class LlmevalConfig(ConfigTable):
    """Who writes the statements of method llmeval, straight from the triplet."""

    writer: str | None = None
    """The name of one of the writers; needed with the method llmeval."""
    instruction: str = (
        "Based on the following piece of knowledge, write 8 statements that express it in different "
        "ways. Output one statement per line, and no other text.\nKnowledge triplet: {triplet}"
    )
    max_tokens: Annotated[int, Field(ge=1)] = 512

    @model_validator(mode="after")
    def _needs_slot(self) -> Self:
        _require_slot("instruction", self.instruction, "{triplet}")
        return self


class JudgeConfig(ConfigTable):
    """Who is asked whether a rewording says what its statement says, beside the gate."""

    writer: str | None = None
    """The name of one of the writers; no judge if not given."""
    instruction: str = (
        'Text 1: "{premise}"\nText 2: "{conclusion}"\nIf text 1 is true, must text 2 be true as well? '
        "Answer Yes or No.\nAnswer:"
    )
    is_binding: bool = False
    """Whether a rewording that the judge does not take for the same is turned away."""

    @model_validator(mode="after")
    def _needs_slots(self) -> Self:
        for slot in ("{premise}", "{conclusion}"):
            _require_slot("instruction", self.instruction, slot)
        return self


def _require_slot(key: str, text: str, slot: str) -> None:
    if slot not in text:
        raise ValueError(f"{key} has to hold {slot}")


class ScoringConfig(ConfigTable):
    """How predictions become scores."""

    policies: tuple[Literal["strict", "coin-flip", "excluded"], ...] = ("strict",)
    true_words: tuple[str, ...] = ("true", "entailed", "correct", "yes")
    false_words: tuple[str, ...] = ("false", "contradicted", "wrong", "no")

    @model_validator(mode="after")
    def _words_are_told_apart(self) -> Self:
        for key in ("policies", "true_words", "false_words"):
            if not getattr(self, key):
                raise ValueError(f"{key} is empty; give one at least")
        words = [word.strip().casefold() for word in (*self.true_words, *self.false_words)]
        if unfit := sorted({word for word in words if not word or words.count(word) > 1}):
            raise ValueError(f"the word {unfit[0]!r} is empty or stands there twice")
        return self


class StorageConfig(ConfigTable):
    """Where everything lies."""

    root: Path = Path("data")
    shared: Annotated[str, Field(pattern=r"^(s3|gs|az)://[^@?#]+$")] | None = None
    """Object storage that hosts share, for example `s3://bucket/prefix`; `root` is each host's own folder."""


class ReportConfig(ConfigTable):
    """The dashboard pages."""

    title: str = "PretexEval"
    base_url: str | None = None
    """Where the folder `report` is served, for the links in the Prefect UI."""
