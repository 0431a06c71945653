"""The configuration file: one TOML file, read once and checked completely before anything is written."""

import os
from pathlib import Path
from typing import Self

from pydantic import field_validator, model_validator

from pretexeval.config.engines import ConfigTable, EngineConfig, ModelConfig, WriterConfig
from pretexeval.config.questions import UNSURE, ChainOfThoughtConfig, QuestionsConfig, Setting
from pretexeval.config.schedule import ANCHORS_LABEL, AnchorsConfig, ScheduleConfig
from pretexeval.config.tables import (
    EditionConfig,
    JudgeConfig,
    KnowledgeConfig,
    LlmevalConfig,
    RephraserConfig,
    ScoringConfig,
    StorageConfig,
)
from pretexeval.primitives.secrets import MIN_LENGTH, find_secret
from pretexeval.primitives.toml_files import check_table, parse_toml, replace_variables

# The values that are paths or may be paths. In them, `$NAME` is replaced from the environment, and `~` at the
# start by the home folder.
PATH_KEYS = (
    ("knowledge", "path"),
    ("knowledge", "query"),
    ("knowledge", "aliases"),
    ("knowledge", "hierarchy"),
    ("knowledge", "verdicts"),
    ("knowledge", "releases", "path"),
    ("edition", "pool"),
    ("questions", "wording"),
    ("questions", "synonyms"),
    ("models", "model"),
    ("writers", "model"),
    ("storage", "root"),
)


class Config(ConfigTable):
    """One run of the pipeline: a knowledge base, an edition made from it, and the models to evaluate."""

    knowledge: KnowledgeConfig = KnowledgeConfig()
    edition: EditionConfig = EditionConfig()
    anchors: AnchorsConfig | None = None
    questions: QuestionsConfig = QuestionsConfig()
    chain_of_thought: ChainOfThoughtConfig = ChainOfThoughtConfig()
    rephraser: RephraserConfig = RephraserConfig()
    llmeval: LlmevalConfig = LlmevalConfig()
    judge: JudgeConfig = JudgeConfig()
    writers: tuple[WriterConfig, ...] = ()
    models: tuple[ModelConfig, ...] = ()
    scoring: ScoringConfig = ScoringConfig()
    storage: StorageConfig = StorageConfig()
    schedule: ScheduleConfig = ScheduleConfig()

    @field_validator("models", "writers")
    @classmethod
    def _require_distinct_names(cls, models: tuple[EngineConfig, ...]) -> tuple[EngineConfig, ...]:
        names = [m.name for m in models]
        if repeated := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"two models are named {repeated[0]!r}; give each its own name")
        return models

    @model_validator(mode="after")
    def _require_writers(self) -> Self:
        names = [writer.name for writer in self.writers]
        for table in ("rephraser", "llmeval", "judge"):
            name = getattr(self, table).writer
            if name is not None and name not in names:
                defined = ", ".join(names) or "none"
                raise ValueError(
                    f"{table}.writer = {name!r}: no [[writers]] table has that name; defined names: {defined}"
                )
        if "llmeval" in self.edition.methods and self.llmeval.writer is None:
            raise ValueError("llmeval.writer is needed with the method 'llmeval'")
        if self.judge.writer is not None and self.rephraser.kind != "model":
            raise ValueError("judge.writer is not allowed without rephraser.kind = 'model'")
        if self.judge.writer is not None and self.rephraser.gate == "off":
            raise ValueError(
                "rephraser.gate = 'off' is not allowed with a judge, because the judge decides together with "
                "the gate: delete the table [judge], or delete gate"
            )
        return self

    @model_validator(mode="after")
    def _require_one_pool_of_writers(self) -> Self:
        if len({writer.work_pool for writer in self.list_used_writers()}) > 1:
            named = ", ".join(f"{writer.name}: {writer.work_pool}" for writer in self.list_used_writers())
            raise ValueError(f"the writers run together, so give them the same pool ({named})")
        return self

    @model_validator(mode="after")
    def _require_one_kind_of_kernels(self) -> Self:
        """Require one value of `deterministic`, because vLLM reads it once in a process."""
        models = [model for model in (*self.models, *self.writers) if model.engine == "vllm"]
        if len({model.deterministic for model in models}) > 1:
            named = ", ".join(model.name for model in models if not model.deterministic)
            raise ValueError(
                f"deterministic has to be the same for all models in vLLM; it is not set for {named}"
            )
        return self

    @model_validator(mode="after")
    def _require_questions(self) -> Self:
        is_medqa = self.knowledge.format == "medqa"
        if is_medqa and not self.questions.settings:
            raise ValueError(
                'questions.settings is needed with knowledge.format = "medqa", for example ["answer_only"]: '
                "MedQA has no triplets, so an edition of it has only questions"
            )
        if self.questions.synonyms is not None and not is_medqa:
            raise ValueError('questions.synonyms is allowed only with knowledge.format = "medqa"')
        if is_medqa and any(model.unsure for model in self.models):
            raise ValueError('unsure is not allowed with knowledge.format = "medqa", which has no samples')
        if is_medqa and self.anchors is not None:
            raise ValueError(
                'anchors are not allowed with knowledge.format = "medqa", which has no triplets: '
                "delete the table [anchors]"
            )
        return self

    @model_validator(mode="after")
    def _refuse_parts_of_enough(self) -> Self:
        """Refuse to divide or repeat the prompts of an evaluation whose answers decide what is asked next."""
        for model in self.models:
            if self.scoring.ask == "enough" and (model.repeats > 1 or (model.workers or 1) > 1):
                key = "repeats" if model.repeats > 1 else "workers"
                raise ValueError(
                    f'{model.name}: {key} is not allowed with ask = "enough" in [scoring]: the answers about '
                    f'a pair decide whether more is asked about it; delete {key}, or set ask = "all"'
                )
        return self

    @model_validator(mode="after")
    def _refuse_secrets(self) -> Self:
        """Refuse secrets, because Prefect stores the whole configuration as the parameters of every run."""
        names = {model.api_key_env for model in (*self.models, *self.writers) if model.api_key_env}
        keys = [key for name in names if len(key := os.environ.get(name, "").strip()) >= MIN_LENGTH]
        if (place := find_secret(self.model_dump(mode="json"), keys)) is not None:
            raise ValueError(
                f"{place} holds what looks like a key or a password; put secrets into environment variables "
                "(api_key_env)"
            )
        return self

    def list_evaluations(self) -> list[tuple[str, Setting | None]]:
        """Return the model's name and the setting of every evaluation, by model.

        The setting None stands for samples with two answers, which every edition of triplets has.
        """
        samples = () if self.knowledge.format == "medqa" else (None,)
        asked: list[tuple[str, Setting | None]] = []
        for model in self.models:
            unsure = (UNSURE,) if model.unsure else ()
            asked += [(model.name, setting) for setting in (*samples, *unsure, *self.questions.settings)]
        return asked

    @property
    def n_anchor_pairs(self) -> int | None:
        """The number of pairs of the edition of anchors; None if this is the configuration of another one."""
        if self.anchors is None or self.edition.label != ANCHORS_LABEL:
            return None
        return self.anchors.n_pairs

    def list_used_writers(self) -> list[WriterConfig]:
        """Return the writers that the edition asks."""
        llmeval = self.llmeval.writer if "llmeval" in self.edition.methods else None
        names = (self.rephraser.writer, llmeval, self.judge.writer)
        return [writer for writer in self.writers if writer.name in names]

    def list_pools(self) -> dict[str, list[EngineConfig]]:
        """Return work pool -> the evaluated models and the writers that are asked in it."""
        pools: dict[str, list[EngineConfig]] = {}
        for model in (*self.models, *self.list_used_writers()):
            pools.setdefault(model.work_pool, []).append(model)
        return pools

    def find_writer(self, name: str) -> WriterConfig:
        """Return the writer of that name. A valid configuration has one for every name that it uses."""
        return next(writer for writer in self.writers if writer.name == name)


def load_config(path: Path) -> Config:
    """Return the configuration of a TOML file. Relative paths in it start at the working directory.

    Raises:
        InputError: the file is not valid; the message names the file and each problem with its key, its
            value and what is allowed.
    """
    table = parse_toml(path)
    problems = replace_variables(table, PATH_KEYS)
    return check_table(Config, table, path, problems)
