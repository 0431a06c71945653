"""The files of a stage, one per piece, and the check of a stage as a whole.

A flow runs these steps as tasks, whose results Prefect caches. A complete edition keeps the bytes that its
manifest lists.
"""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_json
from pretexeval.primitives.process import map_in_threads
from pretexeval.storage.files import FileRef, link_file, read_stage_files, write_stage_file
from pretexeval.storage.layout import checks_record
from pretexeval.storage.records import RecordError, key_content, read_record, write_record
from schemas.columns import Stage
from tasks.edition.edition import Edition
from tasks.edition.recipes import Recipe, find_recipe
from tasks.quality.validation import (
    VALIDATION_VERSION,
    Report,
    ValidationReport,
    read_report,
    validate_parts,
    write_down,
)

logger = logging.getLogger(__name__)

MAX_ROWS = 150_000
"""Rows that are validated together, unless a single piece has more."""
HEADS_PER_GROUP = 50_000
"""Heads whose files are built by one task: one core builds their stages in about ten seconds."""


@dataclass(frozen=True)
class StageFiles:
    """The files of one stage of an edition."""

    stage: Stage
    files: dict[str, FileRef]
    """Name of a piece -> file. A piece is a relation, or a part of a long one."""
    is_reused: bool = field(default=False, compare=False)
    """True if all files were there already."""

    def read(self, root: Path, piece: str) -> pl.DataFrame:
        """Return the rows of one piece."""
        return read_stage_files(root, [self.files[piece]], self.stage)


def group_relations(edition: Edition) -> list[tuple[str, ...]]:
    """Return the relations of the edition in groups that are built together, in order.

    Every group but the last has at least HEADS_PER_GROUP heads: Prefect needs up to 50 ms for a task, and the
    files of a group are reused together.
    """
    groups: list[tuple[str, ...]] = []
    n_heads = HEADS_PER_GROUP
    for relation, pieces in edition.pieces_of.items():
        if n_heads >= HEADS_PER_GROUP:
            groups.append(())
            n_heads = 0
        groups[-1] += (relation,)
        n_heads += edition.n_heads[relation] if edition.has_triplets else len(pieces)
    return groups


def key_files(edition: Edition, name: str, relations: Collection[str], before: Collection[StageFiles]) -> str:
    """Return the key of the files of some relations (32 hex digits): all that their bytes depend on."""
    recipe = find_recipe(edition, name)
    inputs = _select_inputs(recipe, before)
    return hash_json(
        [
            recipe.key_file(edition, piece, [files.files[piece] for files in inputs.values()])
            for piece in _list_pieces(edition, relations)
        ],
        digits=32,
    )


def provide_files(
    edition: Edition,
    name: str,
    *before: StageFiles,
    relations: Collection[str] | None = None,
    rows: Mapping[str, pl.DataFrame] | None = None,
) -> StageFiles:
    """Build the files of a stage; keep those of a complete edition that are intact.

    Args:
        before: the stages that it is built from.
        relations: the relations whose files are built; all by default.
        rows: name of a piece -> the rows that its recipe would build, if they are known already.

    Raises:
        InputError: the rows of a relation cannot be built, or a lost file of a complete edition was built
            again with other bytes.
    """
    recipe = find_recipe(edition, name)
    inputs = _select_inputs(recipe, before)
    listed = edition.read_files()

    def build(piece: str) -> FileRef:
        path = edition.path_of(name, piece)
        if path in listed:
            if listed[path].is_intact(edition.root):
                return listed[path]
            exists = (edition.root / path).exists()
            state = "differs from its checksum in the manifest" if exists else "was lost"
            logger.warning("%s %s; it is built again", edition.root / path, state)
        if rows is None:
            frames = {stage: given.read(edition.root, piece) for stage, given in inputs.items()}
            built = recipe.build(edition, piece, frames)
        else:
            built = rows[piece]
        return write_stage_file(edition.root, path, built, recipe.stage)

    pieces = _list_pieces(edition, edition.base.relations if relations is None else relations)
    refs = dict(zip(pieces, map_in_threads(build, pieces), strict=True))
    edition.forget_facts()
    is_reused = all(ref is listed.get(ref.path) for ref in refs.values())
    return replace(place_files(edition, name, refs), is_reused=is_reused)


def place_files(edition: Edition, name: str, refs: Mapping[str, FileRef]) -> StageFiles:
    """Return the files of a stage under the names of this edition; link those of another edition.

    Args:
        refs: name of a piece -> intact file with the rows of this edition.

    Raises:
        InputError: a file that the manifest lists was lost, and the file in its place has other bytes.
    """
    listed = edition.read_files()
    files: dict[str, FileRef] = {}
    for piece, ref in refs.items():
        path = edition.path_of(name, piece)
        complete = listed.get(path)
        if complete is not None and complete.is_intact(edition.root):
            files[piece] = complete
            continue
        if complete is not None and complete.sha256 != ref.sha256:
            raise InputError(
                f"{ref.path} was lost or changed, and the file that was built in its place differs from the "
                "edition's manifest, because the code has changed: restore the file, or delete "
                f"{edition.folder} to build the edition again"
            )
        files[piece] = link_file(edition.root, ref, path)
    return StageFiles(find_recipe(edition, name).stage, files)


def key_check(stage: StageFiles) -> str:
    """Return the key of the check of a stage (32 hex digits): all that its report depends on."""
    checksums = [ref.sha256 for ref in stage.files.values()]
    return hash_json([stage.stage.name, checksums, VALIDATION_VERSION], digits=32)


def check_files(edition: Edition, stage: StageFiles) -> Report:
    """Validate a stage as a whole and return the report.

    Raises:
        StageInvalid: an expectation is not met; the error names it and the first rows that break it.
    """
    checked = validate_parts(stage.stage, _iterate_validated(edition, stage), edition.edition_id)
    # Demonstrations are repeated in several parts, but they are counted once.
    return write_down(replace(checked, n_rows=sum(ref.n_rows for ref in stage.files.values())))


def _iterate_validated(edition: Edition, stage: StageFiles) -> Iterator[pl.DataFrame]:
    """Yield all rows of a stage, in the order of the pieces.

    A part that begins with a further piece of a long relation has the demonstrations of the relation too,
    because expectations are about relations that have both splits.
    """
    waiting: list[pl.DataFrame] = []
    held: str | None = None
    for name, ref in stage.files.items():
        if waiting and sum(frame.height for frame in waiting) + ref.n_rows > MAX_ROWS:
            yield pl.concat(waiting)
            waiting, held = [], None
        relation = edition.pieces[name].relation
        if name != relation != held:
            waiting.append(stage.read(edition.root, relation).filter(split="demonstration"))
        waiting.append(stage.read(edition.root, name))
        held = relation
    yield pl.concat(waiting)


def record_check(edition: Edition, stage: StageFiles, report: Report) -> ValidationReport:
    """Write the report of a stage as a record of the edition, unless it is there, and return it.

    Args:
        report: that of `check_files`, of this edition or of another one with the same files.
    """
    path = edition.root / checks_record(edition.edition_id, stage.stage.name)
    content = key_content(stage.stage.name, [ref.sha256 for ref in stage.files.values()])
    record = {**report, "context": edition.edition_id, "content": content}
    try:
        is_written = read_record(path) == record
    except RecordError:
        is_written = False
    if not is_written:
        write_record(path, record)
    return read_report(record)


def _list_pieces(edition: Edition, relations: Collection[str]) -> list[str]:
    wanted = set(relations)
    return [name for name, piece in edition.pieces.items() if piece.relation in wanted]


def _select_inputs(recipe: Recipe, before: Collection[StageFiles]) -> dict[str, StageFiles]:
    given = {files.stage.name: files for files in before}
    return {stage.name: given[stage.name] for stage in recipe.inputs if stage.name in given}
