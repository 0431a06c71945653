"""The evaluation of one model on one edition: the model's identity, its prompts and its files."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config
from pretexeval.config.questions import Setting
from pretexeval.config.tables import ScoringConfig, StorageConfig
from pretexeval.engines.identity import ModelIdentity, identify_model
from pretexeval.engines.token_counter import TokenCounter
from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import FileRef
from pretexeval.storage.layout import anchors_folder, evaluation_folder, evaluation_lock
from pretexeval.storage.locks import hold_file_lock
from pretexeval.storage.records import read_manifest_files, require_intact
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.withdrawals import require_published
from tasks.asking.prompts import PromptForm
from tasks.drawing.pieces import split_piece
from tasks.evaluation.requests import RequestSettings
from tasks.evaluation.subject import Subject, select_subject


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of one model on one edition: on its samples or on its questions, in a setting."""

    storage: StorageConfig
    edition_id: str
    model: ModelConfig
    subject: Subject = field(default_factory=Subject)
    scoring: ScoringConfig = field(default_factory=ScoringConfig)
    period: str | None = None
    """The period of a schedule in which the anchors of the edition are asked; None for other editions."""

    @property
    def root(self) -> Path:
        """The data folder."""
        return self.storage.root

    @cached_property
    def identity(self) -> ModelIdentity:
        """The identity of the model."""
        return identify_model(self.model)

    @property
    def model_id(self) -> str:
        """The id under which the model's answers are stored."""
        return self.identity.model_id

    @property
    def folder(self) -> str:
        """The folder of the requests and predictions, relative to the root."""
        if self.period is not None:
            return anchors_folder(self.edition_id, self.model_id, self.period)
        return evaluation_folder(self.edition_id, self.model_id, self.subject.setting)

    @cached_property
    def store(self) -> ResponseStore:
        """All stored answers of the model."""
        return ResponseStore(self.root, self.model_id)

    @cached_property
    def request_settings(self) -> RequestSettings:
        """Return the settings with which the model is asked."""
        form = PromptForm(self.model.prompt_style, self.model.system_prompt)
        sampling = replace(self.subject.build_sampling(self.model), period=self.period)
        counter = TokenCounter(self.model)
        return RequestSettings(
            self.model_id,
            form,
            sampling,
            counter.limit,
            counter.count,
            n_demonstrations=self.model.n_demonstrations,
            n_repeats=self.subject.n_repeats,
            is_reasoned=self.subject.is_reasoned,
        )

    @property
    def asks_enough(self) -> bool:
        """Return whether pairs are asked until their first wrong answer, which only samples can be."""
        is_asked = self.subject.setting is None and self.subject.imported is None and self.period is None
        return self.scoring.ask == "enough" and is_asked

    def row_files(self) -> dict[str, FileRef]:
        """Return path -> file of what the model is asked about, after checking that the files are intact.

        Raises:
            InputError: the edition is not complete, or a file is missing or was changed.
        """
        require_intact(self.root, self.edition_id)
        return read_manifest_files(self.root, self.edition_id, self.subject.kind.stage.name)

    def relation_files(self) -> dict[str, list[FileRef]]:
        """Return the name of a relation's file, without the number of a piece -> all files of the relation.

        Raises:
            InputError: as `row_files`.
        """
        files: dict[str, list[FileRef]] = {}
        for path, ref in sorted(self.row_files().items(), key=lambda item: split_piece(item[0])):
            files.setdefault(Path(split_piece(path)[0]).name, []).append(ref)
        return files


def plan_evaluation(
    config: Config,
    edition_id: str,
    model_name: str,
    setting: Setting | None = None,
    period: str | None = None,
) -> Evaluation:
    """Return the evaluation that a configuration describes: of the samples, or of the questions in a setting.

    Raises:
        InputError: the configuration has no such model, or the file of its imported responses is missing.
    """
    model = find_model(config, model_name)
    subject = select_subject(config, model, setting)
    if model.engine == "imported":
        store = ResponseStore(config.storage.root, identify_model(model).model_id)
        subject = replace(subject, n_repeats=1, imported=store)
    return Evaluation(config.storage, edition_id, model, subject, config.scoring, period)


def label_evaluation(model_name: str, setting: Setting | None) -> str:
    """Return the name of the model, with the setting in brackets if its samples are not asked as usual."""
    return f"{model_name} ({setting})" if setting else model_name


def find_model(config: Config, name: str) -> ModelConfig:
    """Return the model of that name.

    Raises:
        InputError: the configuration has none.
    """
    for model in config.models:
        if model.name == name:
            return model
    names = ", ".join(m.name for m in config.models) or "none"
    raise InputError(f"no model {name!r} in the configuration; its models are: {names}")


def hold_evaluation(evaluation: Evaluation) -> AbstractContextManager[None]:
    """Hold the lock of the evaluation: one process of this host at a time writes the files of its folder.

    Raises:
        InputError: the edition was withdrawn.
    """
    require_published(evaluation.root, evaluation.edition_id)
    place = evaluation.subject.setting or evaluation.period
    names = (evaluation.edition_id, evaluation.model_id, place)
    path = evaluation.root / evaluation_lock(*names)
    return hold_file_lock(path, f"evaluating {evaluation.model_id} on {evaluation.edition_id}")
