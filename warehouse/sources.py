"""Find what is loaded into the warehouse: the editions, models and evaluations that are complete and sound.

An edition, a model or an evaluation without its record (manifest.json, model.json, run.json) is not complete,
as after an interrupted run, and is only logged. What contradicts its record is left out with the reason.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_json
from pretexeval.primitives.untrusted_text import replace_surrogates
from pretexeval.storage.labels import require_derived_labels
from pretexeval.storage.layout import (
    ANCHOR_EVALUATIONS_FOLDER,
    CHECKS_FOLDER,
    EDITIONS_FOLDER,
    EVALUATIONS_FOLDER,
    FAILURES_FOLDER,
    MANIFEST,
    MODEL,
    QUESTION_EVALUATIONS_FOLDER,
    RESPONSES_FOLDER,
    REVIEWS_FOLDER,
    RUN,
    UNSURE_EVALUATIONS_FOLDER,
    WITHDRAWALS_FOLDER,
    diversity_file,
    guesses_file,
    responses_folder,
    review_folder,
)
from pretexeval.storage.records import is_file_recorded, read_files
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.withdrawals import find_withdrawal
from schemas.columns import Stage
from schemas.question_stages import QUESTIONS
from schemas.stages import (
    ATTEMPTS,
    DIVERSITY,
    GUESSES,
    HUMAN_VERDICTS,
    PREDICTIONS,
    READINGS,
    REQUESTS,
    RESPONSES,
    SAMPLES,
    STAGES,
    STATEMENTS,
    TRIPLETS,
    VARIANTS,
)
from warehouse.records import (
    REBUILD,
    RecordMissing,
    check_files,
    explain_unreadable,
    list_stage_files,
    require_record,
)

KINDS = {
    EVALUATIONS_FOLDER: "samples",
    QUESTION_EVALUATIONS_FOLDER: "questions",
    UNSURE_EVALUATIONS_FOLDER: "unsure",
    ANCHOR_EVALUATIONS_FOLDER: "anchors",
}
"""Folder -> the kind of the evaluations in it."""
EDITION_FILES = (TRIPLETS, SAMPLES, ATTEMPTS, QUESTIONS, VARIANTS, STATEMENTS)
RUN_FILES = (REQUESTS, READINGS, PREDICTIONS)
FOLDERS = (
    EDITIONS_FOLDER,
    RESPONSES_FOLDER,
    *KINDS,
    "diversity",
    "guesses",
    CHECKS_FOLDER,
    FAILURES_FOLDER,
    REVIEWS_FOLDER,
    WITHDRAWALS_FOLDER,
)
"""The folders under the root of which something is loaded."""
BUILD = (
    "so the edition and its evaluations are left out; `pretexeval build` with its configuration completes it"
)
MEASURE = "run `pretexeval publish` with the configuration of its edition to measure it again"
IMPORT = "run `pretexeval review import` with the reviewers' sheets"


@dataclass(frozen=True)
class Evaluation:
    """Answers of a model to the samples, questions or anchors of an edition."""

    root: Path
    folder: Path
    kind: str
    """`samples`, `unsure`, `questions` or `anchors`."""
    edition_id: str
    setting: str | None
    period: str | None
    model_id: str
    run: Mapping[str, Any]
    """Its record."""

    def list_files(self, stage: Stage) -> list[Path]:
        """Return its files of a stage."""
        return list_stage_files(self.folder, self.run, stage)


@dataclass
class Sources:
    """Everything sound under a root, and why the rest is left out."""

    root: Path
    unsound: Mapping[Path, str]
    """Files that are as their records say, but whose rows are unsound, and why."""
    editions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Edition -> its manifest."""
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Model -> its record."""
    evaluations: list[Evaluation] = field(default_factory=list)
    files: dict[str, dict[Path, str]] = field(default_factory=dict)
    """Stage -> its files, each with its edition; of responses, with their model."""
    problems: list[str] = field(default_factory=list)
    """Reasons why parts contradict their records and are left out."""
    incomplete: list[str] = field(default_factory=list)
    """Parts without a record."""

    def note_problem(self, load: Callable[[], None]) -> None:
        """Load a part, or note why it is left out."""
        try:
            load()
        except RecordMissing as error:
            self.incomplete.append(str(error))
        except InputError as error:
            self.problems.append(str(error))

    def add_files(self, stage: Stage, paths: list[Path], owner: str) -> None:
        """Add files of a stage, which belong to an edition or a model."""
        self.files.setdefault(stage.name, {}).update(dict.fromkeys(paths, owner))

    def add_edition(self, folder: Path) -> None:
        """Add an edition with its files; raise InputError if they contradict the manifest."""
        edition_id = folder.name
        manifest = require_record(folder / MANIFEST, BUILD, edition_id=edition_id)
        check_files(folder, manifest, MANIFEST, self.unsound)
        require_derived_labels(Path(), read_files(manifest, folder.as_posix()))
        find_withdrawal(self.root, edition_id)
        for stage in EDITION_FILES:
            self.add_files(stage, list_stage_files(folder, manifest, stage), edition_id)
        self.editions[edition_id] = manifest

    def add_measured(self, path: Path) -> None:
        """Add what was measured on an edition; raise InputError if it contradicts its record."""
        record = path.with_suffix(".json")
        names = [name.relative_to(self.root).as_posix() for name in (path, record)]
        if not is_file_recorded(self.root, *names):
            raise InputError(
                f"{path}: differs from the checksum in {record}, so one of the two was lost or changed; "
                f"{MEASURE}"
            )
        self._require_sound(path, MEASURE)
        self.add_files(DIVERSITY if path.parent.name == DIVERSITY.name else GUESSES, [path], path.stem)

    def add_review(self, path: Path) -> None:
        """Add the verdicts of one reviewer; raise InputError if they are damaged or of another edition."""
        if problem := explain_unreadable(path, HUMAN_VERDICTS):
            raise InputError(f"{path}: {problem}; {IMPORT}")
        edition_id = path.parent.name
        reviewed = pq.read_table(path, columns=["edition_id"], partitioning=None)["edition_id"].unique()
        if others := [name for name in reviewed.to_pylist() if name != edition_id]:
            raise InputError(f"{path}: it is about {others[0]}, but belongs to {edition_id}; {IMPORT}")
        self.add_files(HUMAN_VERDICTS, [path], edition_id)

    def add_model(self, folder: Path) -> None:
        """Add a model with the intact files of its responses."""
        paths = ResponseStore(self.root, folder.name).list_files()
        record = require_record(folder / MODEL, model_id=folder.name)
        for path in paths:
            self._require_sound(path, REBUILD)
            _require_model(path, folder.name)
        self.add_files(RESPONSES, paths, folder.name)
        self.models[folder.name] = record

    def add_evaluation(self, folder: Path) -> None:
        """Add an evaluation of a model that was added; raise InputError if files contradict its record."""
        kind_folder, edition_id, *middle, model_id = folder.relative_to(self.root).parts
        run = require_record(folder / RUN, edition_id=edition_id, model_id=model_id)
        if model_id not in self.models:
            path = self.root / responses_folder(model_id)
            raise RecordMissing(
                f"{path} is left out or missing, so evaluations of this model are left out, too"
            )
        check_files(folder, run, RUN, self.unsound)
        kind, (asked,) = KINDS[kind_folder], middle or (None,)
        setting, period = (None, asked) if kind == "anchors" else (asked, None)
        evaluation = Evaluation(self.root, folder, kind, edition_id, setting, period, model_id, run)
        self.evaluations.append(evaluation)

    def _require_sound(self, path: Path, remedy: str) -> None:
        if path in self.unsound:
            raise InputError(f"{path}: {self.unsound[path]}; {remedy}")


def collect_sources(root: Path, unsound: Mapping[Path, str]) -> Sources:
    """Return what is complete and sound under a root.

    Raises:
        InputError: the name of a folder is not UTF-8, so it cannot be in a table.
    """
    sources = Sources(root, unsound)
    for folder in _list_named(root, find_filled(root / EDITIONS_FOLDER)):
        sources.note_problem(partial(sources.add_edition, folder))
    for edition_id in sources.editions:
        for locate in (guesses_file, diversity_file):
            if (path := root / locate(edition_id)).is_file():
                sources.note_problem(partial(sources.add_measured, path))
        for path in list_reviews(root, edition_id):
            sources.note_problem(partial(sources.add_review, path))
    answered = sorted({path.parent for path in (root / RESPONSES_FOLDER).glob("*/*")})
    for folder in _list_named(root, answered):
        sources.note_problem(partial(sources.add_model, folder))
    for folder in _list_named(root, list(_list_evaluations(sources))):
        sources.note_problem(partial(sources.add_evaluation, folder))
    return sources


def find_unreadable(sources: Sources) -> dict[Path, str]:
    """Read every file in full, and return those that cannot be read as their stage, and why."""
    named = [
        (path, STAGES[name])
        for name in sources.files
        if name != RESPONSES.name
        for path in sources.files[name]
    ]
    named += [
        (path, s)
        for evaluation in sources.evaluations
        for s in RUN_FILES
        for path in evaluation.list_files(s)
    ]
    problems = {path: explain_unreadable(path, stage) for path, stage in named}
    return {path: problem for path, problem in problems.items() if problem}


def find_filled(folder: Path) -> list[Path]:
    """Return the subfolders that hold Parquet files of a stage, sorted by name, with or without a record.

    Files of an evaluation that is being asked are one level deeper, so it does not count.
    """
    return sorted({path.parent.parent for path in folder.glob("*/*/*.parquet")})


def list_reviews(root: Path, edition_id: str) -> list[Path]:
    """Return the files of the verdicts on an edition, one per reviewer."""
    return sorted((root / review_folder(edition_id)).glob("*.parquet"))


def stamp_root(root: Path) -> str:
    """Return a fingerprint of all records, by content, and of all Parquet files, by size and time of change.

    Reading these takes less than a second for thousands of files. A file whose bytes change while its size
    and its time of change stay, by a defect of the disk, is therefore noticed only by the next publication.
    """
    paths: list[Path] = []
    for name in FOLDERS:
        for folder, subfolders, files in os.walk(root / name, followlinks=True):
            # Requests that are being asked.
            subfolders[:] = [subfolder for subfolder in subfolders if subfolder != "next"]
            paths += [Path(folder, file) for file in files if file.endswith((".json", ".parquet"))]
    return hash_json([_stamp(path, root) for path in sorted(paths)], digits=32)


def _stamp(path: Path, root: Path) -> list[object]:
    name = replace_surrogates(path.relative_to(root).as_posix())
    if path.suffix == ".json":
        return [name, hashlib.sha256(path.read_bytes()).hexdigest()]
    stat = path.stat()
    return [name, stat.st_size, stat.st_mtime_ns]


def _list_evaluations(sources: Sources) -> Iterator[Path]:
    """Yield the folders of the evaluations of editions that were added and not withdrawn."""
    for edition_id in sources.editions:
        if find_withdrawal(sources.root, edition_id) is not None:
            continue
        for name, kind in KINDS.items():
            folder = sources.root / name / edition_id
            # The others are in a folder of their setting or period.
            for parent in [folder] if kind == "samples" else sorted(folder.glob("*")):
                yield from find_filled(parent)


def _list_named(root: Path, folders: list[Path]) -> list[Path]:
    """Return the folders; raise InputError if a name is not UTF-8."""
    for folder in folders:
        if replace_surrogates(str(folder)) != str(folder):
            name = folder.relative_to(root).as_posix()
            raise InputError(f"{root}: the name {name!a} is not UTF-8; rename or remove what it names")
    return folders


def _require_model(path: Path, model_id: str) -> None:
    """Raise InputError if a file holds answers of another model."""
    try:
        answered = pq.read_table(path, columns=["model_id"], partitioning=None)["model_id"].unique()
    except (pa.ArrowException, OSError, LookupError) as error:
        raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]}); {REBUILD}") from error
    if others := [name for name in answered.to_pylist() if name != model_id]:
        raise InputError(
            f"{path}: holds answers of {others[0]}, but is in the folder of {model_id}: folders were renamed "
            "or exchanged; give them their own names again"
        )
