"""The tables of a configuration file, except those of the language models (`pretexeval.config.engines`).

The string below a field is the text of docs/configuration.md (`pretexeval.config.reference`).
"""

import re
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from pretexeval.config.engines import MAX_BASE_NAME, MAX_LABEL, ConfigTable
from schemas.choices import Method, Negatives, ScoringPolicy

NEW = "new"
"""The age of a fact that none of the older releases holds."""

EvidenceKind = Literal["hierarchy", "names", "generality", "likeness"]
EVIDENCE: tuple[EvidenceKind, ...] = get_args(EvidenceKind)
Shape = Literal["symmetric", "transitive", "equivalence", "functional", "directed"]


def name_relation(written: str) -> str:
    """Return the name of a relation as it is stored: "Has indication" becomes `Has_indication`."""
    return re.sub(r"\s+", "_", written.strip())


class LayoutConfig(ConfigTable):
    """The layout of a table of facts: its own names of columns, its lists, and its encoding."""

    head: str | tuple[str, ...] | None = None
    """Name of the column in the file, or several names: each of them has a head."""
    relation: str | None = None
    """Name of the column. If the file has no such column, it is the relation of all rows."""
    tail: str | tuple[str, ...] | None = None
    head_id: str | tuple[str, ...] | None = None
    tail_id: str | tuple[str, ...] | None = None
    also_true: str | None = None
    also_false: str | None = None
    undecided: str | None = None
    head_aliases: str | None = None
    tail_aliases: str | None = None
    split: str | dict[Literal["head", "tail"], str] = ""
    """Separator of the names in the cells of heads and tails that are lists, or in those of one of them."""
    encoding: str = "utf-8"
    """The encoding of the text, such as `cp1252` or `gb18030`."""

    @field_validator("encoding")
    @classmethod
    def _require_encoding(cls, value: str) -> str:
        try:
            bytes(4).decode(value)
        except LookupError:
            raise ValueError(f"{value!r} is no encoding; write for example cp1252 or gb18030") from None
        return value

    @property
    def columns(self) -> dict[str, str]:
        """Return column -> its name in the file. The second column of tails of a file is `tail 2`."""
        given = self.model_dump(exclude={"split", "encoding"}, exclude_none=True)
        listed = {name: (found,) if isinstance(found, str) else found for name, found in given.items()}
        return {
            f"{name} {n}" if n > 1 else name: column
            for name, columns in listed.items()
            for n, column in enumerate(columns, start=1)
        }

    @property
    def separators(self) -> dict[str, str]:
        """Return head or tail -> the separator of the names in its cells, if they are lists."""
        split = dict.fromkeys(("head", "tail"), self.split) if isinstance(self.split, str) else self.split
        return {str(end): text for end, text in split.items() if text}


class ReleaseConfig(ConfigTable):
    """An older release of the base, in the same format as the base."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
    """Name of the release in tables and on pages."""
    path: Path
    """Its file or folder."""
    test: Literal["all", "new"] = "all"
    """`new`: only facts that it does not hold are tested."""


class KnowledgeConfig(ConfigTable):
    """The knowledge base from which the true triplets come."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$", max_length=MAX_BASE_NAME)] = "starter"
    """First part of the edition's name."""
    format: Literal["starter", "table", "sql", "medqa"] = "starter"
    """`starter`: the bundled base. `table`: a file with the columns head, relation and tail, or an ontology
    (docs/knowledge-bases.md#a-base-of-your-own). `sql`: the result of a query of published files
    (docs/knowledge-bases.md#a-published-base). `medqa`: the questions of MedQA, for editions that have only
    questions (docs/multifaceteval.md#multimedqa)."""
    path: Path | None = None
    """File or folder of the base; required with every format except `starter`, which does not allow it."""
    query: Path | None = None
    """Only `sql`, required: file with one SELECT of DuckDB, in which `$path` stands for `path`."""
    layout: LayoutConfig | None = None
    """Only `table`: how the file names its columns, `{ head = "Disease", tail = "Symptom" }`, what separates
    names in a cell (`split`), and its `encoding` (docs/knowledge-bases.md#a-base-of-your-own)."""
    turn_inverted: bool = False
    """Whether "Vomiting, Anticipatory" becomes "Anticipatory Vomiting"
    (docs/knowledge-bases.md#which-names-are-the-same)."""
    relations: tuple[str, ...] = ()
    """Relations to use; an empty list means all."""
    aliases: Path | None = None
    """Table of other names of heads and tails (docs/knowledge-bases.md#aliases)."""
    hierarchy: Path | None = None
    """Which concept is a kind of which other one: a table, an ontology, or a file with a query on `path`
    (docs/knowledge-bases.md#hierarchy)."""
    shape: Shape | dict[str, Shape] | None = None
    """The shape of all relations, or of each: `{ is_a = "transitive", interacts_with = "symmetric" }`. By
    default it is guessed (docs/negatives.md#the-shape-of-a-relation)."""
    verdicts: Path | None = None
    """Table of a person's verdicts on triplets, which outweigh the base
    (docs/knowledge-bases.md#verdicts)."""
    conflicts: Literal["stop", "leave_out"] = "stop"
    """What happens to facts and aliases that contradict each other, and to circles of the hierarchy
    (docs/knowledge-bases.md#conflicts). `stop`: they are an error. `leave_out`: they are left out and
    listed."""
    releases: tuple[ReleaseConfig, ...] = ()
    """Older releases of the base, the oldest first, which give the ages of facts: `[{ name = "2023AA", path =
    "2023AA.csv" }]`. `test = "new"` in one of them tests only facts that it does not hold
    (docs/knowledge-bases.md#older-releases)."""

    @field_validator("relations", "shape")
    @classmethod
    def _name_relations(cls, value: object) -> object:
        if isinstance(value, dict):
            return {name_relation(relation): shape for relation, shape in value.items()}
        return tuple(map(name_relation, value)) if isinstance(value, tuple) else value

    @property
    def compared(self) -> ReleaseConfig | None:
        """Return the release that decides which facts are tested; None without one."""
        return next((release for release in self.releases if release.test != "all"), None)

    @model_validator(mode="after")
    def _check_path(self) -> "KnowledgeConfig":
        if (self.path is None) != (self.format == "starter"):
            rule = "needed" if self.path is None else "not allowed"
            raise ValueError(f"path is {rule} with format {self.format!r}")
        if (self.query is None) != (self.format != "sql"):
            rule = "needed" if self.query is None else "not allowed"
            raise ValueError(f"query is {rule} with format {self.format!r}")
        if self.layout is not None and self.format != "table":
            raise ValueError(f"layout is not allowed with format {self.format!r}")
        return self

    @model_validator(mode="after")
    def _check_releases(self) -> "KnowledgeConfig":
        if self.releases and self.format in ("starter", "medqa"):
            raise ValueError(f"releases is not allowed with format {self.format!r}")
        names = [release.name for release in self.releases]
        if unfit := sorted({name for name in names if name == NEW or names.count(name) > 1}):
            raise ValueError(f"releases names {unfit[0]!r} twice, or as the facts of no release are named")
        if sum(release.test != "all" for release in self.releases) > 1:
            raise ValueError("test is set in several releases: keep one, with which the base is compared")
        return self


class EditionConfig(ConfigTable):
    """The settings that define an edition. Its name is `<knowledge.name>-<label>-<hash>`
    (docs/editions.md)."""

    seed: Annotated[int, Field(ge=0)] = 1
    """Seed with which positives, negatives and wordings are drawn. The demonstrations do not depend on
    it."""
    label: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$", max_length=MAX_LABEL)] | None = None
    """Middle part of the edition's name; `seed<N>` by default. With a table `[anchors]`, the label `anchors`
    stands for the edition of anchors (docs/editions.md#anchors)."""
    negatives: Negatives = "balanced"
    """Way in which the false triplet of each head is drawn (docs/negatives.md). `balanced`: each tail is as
    often false as true. `uniform`: with equal probability, as in the papers."""
    evidence: tuple[EvidenceKind, ...] = EVIDENCE
    """What speaks against a negative besides what the base lists (docs/negatives.md#what-may-be-true). An
    empty list draws as the papers do."""
    heads_per_relation: Annotated[int, Field(ge=6)] | None = None
    """Maximum number of heads per relation, including the five of the demonstrations. The papers use
    1000."""
    series: Annotated[int, Field(ge=0)] | None = None
    """Seed of a series of editions, in which facts, negatives and wordings take turns
    (docs/editions.md#editions-of-a-series). A schedule sets it from `seed`."""
    number: Annotated[int, Field(ge=0)] | None = None
    """Number of the edition in its series."""
    pool: str = "revised"
    """Prototype pool: `revised` (the bundled pool), or the path of a TOML file or of the authors' CSV or
    Parquet file."""
    methods: Annotated[tuple[Method, ...], Field(min_length=1)] = ("pretexeval",)
    """How samples are made (docs/method.md#27-methods). For `origin`, the template is the column
    `default_prompt` of the authors' CSV or the key `origin` of a pool in TOML, or else the name of the
    relation between the two names."""

    @model_validator(mode="after")
    def _check_series(self) -> Self:
        if (self.series is None) != (self.number is None):
            present, absent = ("number", "series") if self.series is None else ("series", "number")
            raise ValueError(f"{absent} is needed with {present}")
        return self

    @property
    def name(self) -> str:
        """The middle part of the edition's name."""
        return self.label or f"seed{self.seed}"


class RephraserConfig(ConfigTable):
    """The wording of the samples of method `pretexeval` (docs/rephrasing.md)."""

    kind: Literal["none", "reviewed", "model"] = "reviewed"
    """`none`: the statement stays as it is. `reviewed`: the edition's seed draws one of the pool's wordings.
    `model`: a language model rewords the statement, and the gate checks the result."""
    writer: str | None = None
    """Name of one of the `[[writers]]`; required with kind `model` and not allowed with the others."""
    instruction: str = (
        "Paraphrase the following statement: say the same thing in other words. Keep its meaning and "
        "its basic sentence structure, and name both medical terms. Output the paraphrased statement "
        "only.\nStatement: {statement}"
    )
    """Prompt for the writer. `{statement}` is replaced by the statement."""
    temperature: Annotated[float, Field(ge=0)] = 0.7
    """Sampling temperature. With 0, the first attempt is greedy."""
    max_tokens: Annotated[int, Field(ge=1)] = 128
    """Maximum number of tokens in a rewording."""
    max_attempts: Annotated[int, Field(ge=1, le=100)] = 3
    """Number of rewordings to try before the statement itself becomes the sample."""
    gate: Literal["on", "off"] = "on"
    """Only with kind `model`. `off`: nothing checks the rewordings, as in the papers."""
    max_new_words: Annotated[int, Field(ge=0)] | Literal["auto", "free"] = "auto"
    """The most words that a rewording may add, drop or exchange, apart from harmless changes
    (docs/rephrasing.md#the-writer). `auto`: the limit follows from how the writer rewords a panel of
    statements. `free`: any number."""

    @model_validator(mode="after")
    def _check_writer(self) -> Self:
        _require_slot(self.instruction, "{statement}")
        if (self.writer is not None) != (self.kind == "model"):
            rule = "needed" if self.writer is None else "not allowed"
            raise ValueError(f"writer is {rule} with kind {self.kind!r}")
        if self.max_new_words != "auto" and self.kind != "model":
            raise ValueError(f"max_new_words is not allowed with kind {self.kind!r}: delete it")
        if self.gate == "off" and self.kind != "model":
            raise ValueError(f"gate = 'off' is not allowed with kind {self.kind!r}: delete it")
        if self.gate == "off" and self.max_new_words != "auto":
            raise ValueError("max_new_words is not allowed with gate = 'off': the gate counts the words")
        return self

    @property
    def has_panel(self) -> bool:
        """True if the writer's rewordings of the panel decide on the limit on new words."""
        return self.kind == "model" and self.gate == "on" and self.max_new_words == "auto"


class LlmevalConfig(ConfigTable):
    """The writer of the statements of method `llmeval`, one greedy reply per triplet with one statement per
    line."""

    writer: str | None = None
    """Name of one of the `[[writers]]`; required with the method `llmeval`."""
    instruction: str = (
        "Based on the following piece of knowledge, write 8 statements that express it in different "
        "ways. Output one statement per line, and no other text.\nKnowledge triplet: {triplet}"
    )
    """Prompt for the writer. `{triplet}` is replaced by (head, relation, tail)."""

    @model_validator(mode="after")
    def _check_instruction(self) -> Self:
        _require_slot(self.instruction, "{triplet}")
        return self


class JudgeConfig(ConfigTable):
    """A language model that judges the rewordings that the gate accepted (docs/rephrasing.md)."""

    writer: str | None = None
    """Name of one of the `[[writers]]`, which answers Yes or No. Allowed only if `rephraser.kind` is
    `model`."""
    max_tokens: Annotated[int, Field(ge=1)] = 8
    """Maximum number of tokens in a verdict, including what the judge thinks."""


def _require_slot(instruction: str, slot: str) -> None:
    if slot not in instruction:
        raise ValueError(f"instruction must contain {slot}")


class ScoringConfig(ConfigTable):
    """The rules by which predictions become scores."""

    policies: Annotated[tuple[ScoringPolicy, ...], Field(min_length=1)] = ("strict",)
    """How a sample without an answer counts. `strict`: as wrong. `coin-flip`: a seeded coin decides, as in
    the papers. `excluded`: it is not graded."""
    max_error_rate: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Share of failed prompts above which a model counts as not evaluated
    (docs/statistics.md#what-counts)."""
    ask: Literal["all", "enough"] = "all"
    """Samples that a model is asked. `all`: every one, as in the papers. `enough`: one form of each triplet,
    and then each pair until its first wrong answer, which gives the same mastery for about half to two thirds
    of the prompts (docs/statistics.md#asking-enough)."""
    precision: Annotated[float, Field(gt=0, lt=0.5)] | None = None
    """Only with `ask = "enough"`: half the width of the 95 % interval of mastery at which an evaluation ends.
    By default, all pairs are asked."""

    @model_validator(mode="after")
    def _check_enough(self) -> Self:
        if self.ask == "enough" and self.policies != ("strict",):
            raise ValueError(
                'ask = "enough" is allowed only with policies = ["strict"]: a reply without an answer has to '
                "count as wrong, because nothing more is asked about its pair"
            )
        if self.precision is not None and self.ask != "enough":
            raise ValueError(
                'precision is allowed only with ask = "enough", which asks pairs one after the other'
            )
        return self


class StorageConfig(ConfigTable):
    """The places of the files. Several hosts can share object storage (docs/operations.md)."""

    root: Path = Path("data")
    """Folder of editions, responses, predictions, the warehouse and the report pages."""
    shared: Annotated[str, Field(pattern=r"^(s3|gs|az)://[^@?#]+$")] | None = None
    """Object storage that several hosts share: `"s3://bucket/prefix"`, `"gs://bucket/prefix"` or
    `"az://container/prefix"`."""
    keep_editions: Annotated[int, Field(ge=1)] | None = None
    """Of how many periods the scheduled editions of this configuration are kept
    (docs/operations.md#keep-only-the-newest-editions). The default is all."""
