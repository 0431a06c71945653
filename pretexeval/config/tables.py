"""The tables of a configuration file, except those of the language models (`pretexeval.config.engines`).

The string below a field is the text of docs/configuration.md (`pretexeval.config.reference`).
"""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from pretexeval.config.engines import MAX_BASE_NAME, MAX_LABEL, MAX_MODEL_NAME, ConfigTable, WriterConfig
from schemas.exchange import MAX_ERROR_RATE

NEW = "new"
"""The age of a fact that none of the older releases holds."""

# These repeat METHODS of schemas.stages, because that module imports pyarrow, which takes 0.2 s.
Method = Literal["pretexeval", "prototype", "direct", "llmeval", "origin"]


class ReleaseConfig(ConfigTable):
    """A release of the base, in the same format as the base."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
    """Name of the release in tables and on pages."""
    path: Path
    """Its file or folder."""


class KnowledgeConfig(ConfigTable):
    """The knowledge base from which the true triplets come."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$", max_length=MAX_BASE_NAME)] = "starter"
    """Short name of the base. It is the first part of the edition's name."""
    format: Literal["starter", "medlama", "table", "sql", "disek", "medqa"] = "starter"
    """`starter`: the bundled base. `medlama`: `medlama.parquet`, or the folder of CSV files as its authors
    publish it. `table`: CSV, TSV, JSON lines or Parquet with the columns head, relation and tail, and
    optionally ids, marks and aliases (docs/knowledge-bases.md). `sql`: the result of a query of the files
    as somebody else publishes them (docs/knowledge-bases.md). `disek`: one row per disease and
    aspect (docs/disek.md). `medqa`: the questions of MedQA, which has no triplets, so that editions of it
    have only questions (docs/multifaceteval.md)."""
    path: Path | None = None
    """File or folder of the base. It is required with every format except `starter`, which does not allow
    it."""
    query: Path | None = None
    """Only `sql`, where it is required: file with one SELECT of DuckDB, in which `$path` stands for `path`.
    The query can read nothing else."""
    relations: tuple[str, ...] = ()
    """Relations to use. An empty list means all relations, and for MedLAMA the 17 of the papers."""
    aliases: Path | None = None
    """Table of other names of heads and tails: CSV, TSV or Parquet with the columns alias and name, or alias
    and id (docs/knowledge-bases.md). The gate accepts a rewording that uses one of them, and a triplet that
    is true under another name is never drawn as a negative."""
    since: Path | None = None
    """An older release of the base: a file or folder in the same format. Only facts that it does not hold are
    tested (docs/knowledge-bases.md)."""
    releases: tuple[ReleaseConfig, ...] = ()
    """Older releases of the base, the oldest first: `[{ name = "2023AA", path = "2023AA.csv" }]`. The age of
    a fact is the oldest of them that holds it, and the view `accuracy_by_age` divides the scores by it.
    Without releases, the column since of a query gives the ages (docs/knowledge-bases.md)."""

    @model_validator(mode="after")
    def _check_path(self) -> "KnowledgeConfig":
        if (self.path is None) != (self.format == "starter"):
            rule = "needed" if self.path is None else "not allowed"
            raise ValueError(f"path is {rule} with format {self.format!r}")
        if (self.query is None) != (self.format != "sql"):
            rule = "needed" if self.query is None else "not allowed"
            raise ValueError(f"query is {rule} with format {self.format!r}")
        for key in ("since", "releases"):
            if getattr(self, key) and self.format in ("starter", "medqa"):
                raise ValueError(f"{key} is not allowed with format {self.format!r}")
        names = [release.name for release in self.releases]
        if unfit := sorted({name for name in names if name == NEW or names.count(name) > 1}):
            raise ValueError(f"releases names {unfit[0]!r} twice, or as the facts that no release holds")
        return self


class EditionConfig(ConfigTable):
    """The settings that define an edition.

    Its name is `<knowledge.name>-<label>-<hash>`. The hash changes with everything that changes a text of the
    test set.
    """

    seed: Annotated[int, Field(ge=0)] = 1
    """Seed with which positives, negatives and wordings are drawn. Another seed gives another edition, but
    the demonstrations stay the same."""
    label: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$", max_length=MAX_LABEL)] | None = None
    """Middle part of the edition's name. The default is `seed<N>`."""
    negatives: Literal["balanced", "uniform"] = "balanced"
    """`balanced`: each tail is as often in a true triplet as in a false one, and resembles the head as much
    in false triplets as in true ones, as far as the base allows, so that neither statistics of the tail nor
    the letters of the names reveal the label; tails that generalise or specialise a true tail are not drawn,
    and heads for which this is impossible are left out and listed. `uniform`: negatives are drawn from the
    relation's tails with equal probability, as in the papers."""
    heads_per_relation: Annotated[int, Field(ge=6)] | None = None
    """Maximum number of heads per relation, including the five of the demonstrations. The papers use 1000;
    the default is no limit."""
    series: Annotated[int, Field(ge=0)] | None = None
    """Seed of a series of editions, in which facts, negatives and wordings take turns (docs/editions.md). The
    default is an edition by itself. A schedule makes a series of its periods, with `seed` as the seed of the
    series."""
    number: Annotated[int, Field(ge=0)] | None = None
    """Number of the edition in its series. Successive editions have successive numbers."""
    anchor_pairs: Annotated[int, Field(ge=1)] | None = None
    """Makes the edition one of anchors, with about so many pairs. A schedule sets it for the edition that
    `[anchors]` describes; do not set it yourself."""
    pool: str = "revised"
    """Prototype pool: `revised` (the bundled pool), or the path of a TOML file or of the CSV or Parquet file
    of the papers' authors."""
    allow_drafts: bool = False
    """Whether prototypes that `pretexeval draft` wrote, and that nobody has reviewed, may be used. The
    edition then has another name than with reviewed ones, and its page names the relations."""
    methods: tuple[Method, ...] = ("pretexeval",)
    """How samples are made. `pretexeval`: eight variants, reworded. `prototype`: eight variants, not
    reworded. `direct`: only the plain statement. `llmeval`: statements that a language model writes directly
    from the triplet. `origin`: only the template of the base itself, as in the first paper's "Origin": the
    column `default_prompt` of the authors' CSV, and otherwise what MedLAMA's own templates are, the name of
    the relation between the two names."""

    @model_validator(mode="after")
    def _check_series(self) -> Self:
        if (self.series is None) != (self.number is None):
            present, absent = ("number", "series") if self.series is None else ("series", "number")
            raise ValueError(f"{absent} is needed with {present}")
        return self


class RephraserConfig(ConfigTable):
    """How the samples of method `pretexeval` are worded (docs/rephrasing.md)."""

    kind: Literal["none", "reviewed", "model"] = "reviewed"
    """`none`: the statement stays as it is. `reviewed`: the edition's seed draws one of the pool's wordings.
    Those of the bundled pool were reviewed by hand; those of another pool are used as they are written, and
    `pretexeval validate` names those that the gate would reject. `model`: a language model rewords the
    statement, and the gate checks the result (docs/gate.md)."""
    writer: str | None = None
    """Name of one of the `[[writers]]`. It is required with kind `model` and not allowed with the others."""
    instruction: str = (
        "Paraphrase the following statement: say the same thing in other words. Keep its meaning and "
        "its basic sentence structure, and name both medical terms. Output the paraphrased statement "
        "only.\nStatement: {statement}"
    )
    """Prompt for the writer. `{statement}` is replaced by the statement."""
    temperature: Annotated[float, Field(ge=0)] = 0.7
    """Sampling temperature. The edition's seed and the number of the attempt seed the sampling. With 0, the
    first attempt is greedy."""
    max_tokens: Annotated[int, Field(ge=1)] = 128
    """Maximum number of tokens in a rewording."""
    max_attempts: Annotated[int, Field(ge=1, le=100)] = 3
    """Number of rewordings to try before the statement itself becomes the sample. Every attempt is stored,
    with the reasons for its rejection, in the table `attempts`."""
    gate: Literal["on", "off"] = "on"
    """Only with kind `model`. `off`: nothing checks the rewordings, as in the papers. The first reply of the
    writer becomes the sample as it is, or the statement if the reply is empty; `max_attempts` is 1. The table
    `attempts` and the page say that the gate was off (docs/gate.md)."""
    max_new_words: Annotated[int, Field(ge=0)] | None = None
    """The most words that a rewording may add, drop or exchange, apart from harmless changes (docs/gate.md).
    Many of the free rewordings of a weak writer are wrong in ways that no rule sees. With 0, only harmless
    changes are accepted: articles, plurals, a few synonyms, a class noun before a name. null: any number."""

    @model_validator(mode="after")
    def _check_writer(self) -> Self:
        _require_slot("instruction", self.instruction, "{statement}")
        if (self.writer is not None) != (self.kind == "model"):
            rule = "needed" if self.writer is None else "not allowed"
            raise ValueError(f"writer is {rule} with kind {self.kind!r}")
        if self.max_new_words is not None and self.kind != "model":
            raise ValueError(f"max_new_words is not allowed with kind {self.kind!r}: delete it")
        if self.gate == "off" and self.kind != "model":
            raise ValueError(f"gate = 'off' is not allowed with kind {self.kind!r}: delete it")
        if self.gate == "off" and self.max_new_words is not None:
            raise ValueError("max_new_words is not allowed with gate = 'off': the gate counts the words")
        return self


class LlmevalConfig(ConfigTable):
    """The writer of the statements of method `llmeval`.

    It gives one greedy reply per triplet, with one statement per line. At most eight lines are used.
    """

    writer: str | None = None
    """Name of one of the `[[writers]]`. It is required with the method `llmeval`."""
    instruction: str = (
        "Based on the following piece of knowledge, write 8 statements that express it in different "
        "ways. Output one statement per line, and no other text.\nKnowledge triplet: {triplet}"
    )
    """Prompt for the writer. `{triplet}` is replaced by (head, relation, tail)."""

    @model_validator(mode="after")
    def _check_instruction(self) -> Self:
        _require_slot("instruction", self.instruction, "{triplet}")
        return self


class JudgeConfig(ConfigTable):
    """A model that judges the rewordings that the gate accepted (docs/rephrasing.md).

    It says whether the rewording follows from the statement, and the statement from the rewording. It is one
    of the `[[writers]]`, which answers Yes or No, or an entailment model, which gives probabilities. Its
    verdicts and scores are stored beside those of the gate in the table `attempts`.
    """

    writer: str | None = None
    """Name of one of the `[[writers]]`. Without `writer` and `model` there is no judge. It is allowed only if
    `rephraser.kind` is `model`."""
    model: str | None = None
    """An entailment model in place of a writer: a folder, or a name on the hub, of any text-classification
    model of transformers that has one label for entailment. It runs in this process, on GPU or CPU."""
    revision: str | None = None
    """Only with `model`: revision on the hub."""
    mask_names: bool = False
    """Only with `model`: whether the judge sees X and Y in place of the two names, in texts that contain both
    of them."""
    logprobs: bool = False
    """Only with `writer`: whether to read the log-probabilities of Yes and No as the first token. The score
    of an answer is then p(Yes) / (p(Yes) + p(No)), and without them 1 or 0. The judge is asked again if this
    changes."""
    calibration: Path | None = None
    """File that `pretexeval gate FILE --judge CONFIG --calibrate` writes and editions read. It holds the
    score from which an answer is a yes (0.5 without a calibration), and the score from which the judge
    overrules the rules, if that helps."""
    instruction: str = (
        'Text 1: "{premise}"\nText 2: "{conclusion}"\nIf text 1 is true, must text 2 be true as well? '
        "Answer Yes or No.\nAnswer:"
    )
    """Only with `writer`: prompt for the judge, which is asked once in each direction. `{premise}` and
    `{conclusion}` are replaced by the two texts."""
    max_tokens: Annotated[int, Field(ge=1)] = 8
    """Only with `writer`: maximum number of tokens in a verdict, including what the judge thinks before
    it."""
    is_binding: bool = True
    """Whether a rewording is rejected unless the judge says yes in both directions."""

    @property
    def is_set(self) -> bool:
        """Whether there is a judge."""
        return self.writer is not None or self.model is not None

    @model_validator(mode="after")
    def _check_slots(self) -> Self:
        for slot in ("{premise}", "{conclusion}"):
            _require_slot("instruction", self.instruction, slot)
        return self

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if self.writer is not None and self.model is not None:
            raise ValueError("writer and model are both given; a judge is one of the two")
        for needed, key in (("model", "revision"), ("model", "mask_names"), ("writer", "logprobs")):
            if getattr(self, needed) is None and getattr(self, key) not in (None, False):
                raise ValueError(f"{key} is not allowed without {needed}")
        return self

    def to_writer(self) -> WriterConfig | None:
        """Return the entailment model as a table of a model; null if the judge is a writer, or none."""
        if self.model is None:
            return None
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.model.rstrip("/").rpartition("/")[2]) or "judge"
        return WriterConfig(
            name=name[:MAX_MODEL_NAME], engine="entailment", model=self.model, revision=self.revision
        )


def _require_slot(key: str, text: str, slot: str) -> None:
    if slot not in text:
        raise ValueError(f"{key} must contain {slot}")


class ScoringConfig(ConfigTable):
    """How predictions become scores."""

    policies: tuple[Literal["strict", "coin-flip", "excluded"], ...] = ("strict",)
    """How a sample without an answer counts. `strict`: as wrong. `coin-flip`: a seeded coin decides, as in
    the papers. `excluded`: it is not graded. Every score is shown with the rate of such samples.
    `pretexeval publish --score` adds a policy later without asking a model."""
    max_error_rate: Annotated[float, Field(ge=0, le=1)] = MAX_ERROR_RATE
    """Share of failed prompts (refused, too long, or without a response for another reason) above which a
    model counts as not evaluated: the run fails, and no score of the model is shown. Below it, failed prompts
    are left out of the scores and counted."""
    true_words: tuple[str, ...] = ("true", "entailed", "correct", "yes")
    """Words that mean true. They are matched as whole words in any case. The first word of either list in an
    answer decides, unless it is negated."""
    false_words: tuple[str, ...] = ("false", "contradicted", "wrong", "no")
    """Words that mean false."""

    @model_validator(mode="after")
    def _check_lists(self) -> Self:
        for key in ("policies", "true_words", "false_words"):
            if not getattr(self, key):
                raise ValueError(f"{key} is empty; give at least one")
        words = [word.strip().casefold() for word in (*self.true_words, *self.false_words)]
        if unfit := sorted({word for word in words if not word or words.count(word) > 1}):
            raise ValueError(f"the word {unfit[0]!r} is empty or appears twice")
        return self


class StorageConfig(ConfigTable):
    """Where the files are. Several hosts can share object storage (docs/object-storage.md)."""

    root: Path = Path("data")
    """Folder of editions, responses, predictions, the warehouse and the report pages."""
    shared: Annotated[str, Field(pattern=r"^(s3|gs|az)://[^@?#]+$")] | None = None
    """Object storage that several hosts share: `"s3://bucket/prefix"`, `"gs://bucket/prefix"` or
    `"az://container/prefix"`. `root` is then a local folder of each host, which may be deleted. Keys come
    from the environment."""
    keep_editions: Annotated[int, Field(ge=1)] | None = None
    """How many scheduled editions of this configuration are kept; scheduled runs and `pretexeval publish
    --prune` remove older ones with their predictions and pages, but no answer of a model
    (docs/operations.md). The default is all."""


class ReportConfig(ConfigTable):
    """The report pages."""

    title: str = "PretexEval"
    """Title of the pages."""
    min_new_texts: Annotated[float, Field(ge=0, le=1)] | None = None
    """The least share of an edition's texts that no earlier edition of its base may have used, for example
    `0.5` (docs/editions.md). If the share is smaller, a scheduled run ends as failed after it has published
    everything, and `run` says so. The default is no check."""
