"""Export an edition for another tool, as a folder that appears whole or not at all, and replaces none."""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from commands.exports.every_eval_ever import write_results
from commands.exports.readme import render_readme
from commands.exports.rows import read_question_relations, read_relations
from commands.exports.tables import (
    QUESTION_TABLE,
    SAMPLE_TABLE,
    UNKNOWN_LICENCE,
    ExportedEdition,
    write_croissant,
    write_table,
)
from commands.exports.tool_tasks import (
    QUESTION_COLUMNS,
    SAMPLE_COLUMNS,
    build_batch_request,
    write_rows,
    write_tasks,
)
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.records import read_manifest, read_manifest_files, require_intact
from schemas.question_stages import QUESTIONS
from schemas.stages import SAMPLES

TARGETS = ("inspect", "lm-eval", "batch", "parquet", "croissant")
RESULTS = "every-eval-ever"
"""The target that gets the results of models; TARGETS get the edition itself."""


def export_edition(
    root: Path,
    edition_id: str,
    target: str,
    folder: Path,
    pairs_per_relation: int | None = None,
    licence: str | None = None,
    budget: int | None = None,
) -> None:
    """Write the edition into a new folder for one of TARGETS, or its results for RESULTS.

    The same edition and the same results give the same bytes.

    Args:
        pairs_per_relation: how many pairs or points are tested, as in a model's table; None: all of them.
        licence: of the knowledge base, as a name or an address; None: not known.
        budget: the number of prompts about samples that choose the pairs, as in a model's table.

    Raises:
        InputError: the edition is not complete or was damaged, the folder holds something else, or the budget
            is too small or the edition has questions, which a budget does not choose.
    """
    if pairs_per_relation is not None and pairs_per_relation < 1:
        raise InputError(f"{pairs_per_relation} pairs per relation cannot be exported; give 1 or more")
    require_intact(root, edition_id)
    manifest = {"edition_id": edition_id, **read_manifest(root, edition_id)}
    if target == RESULTS:
        if pairs_per_relation is not None or budget is not None or licence is not None:
            raise InputError(f"an export to {RESULTS} has all results; leave out the other options")
        with write_folder(folder) as temporary:
            write_results(temporary, root, manifest)
        return
    if budget is not None and read_manifest_files(root, edition_id, QUESTIONS.name):
        raise InputError(
            f"budget is only for samples, but {edition_id} has questions too; use --pairs-per-relation"
        )
    relations = read_relations(root, edition_id, pairs_per_relation, budget)
    questions = read_question_relations(root, edition_id, pairs_per_relation)
    option = _name_option(pairs_per_relation, budget)
    with write_folder(folder) as temporary:
        counts = Counter[str]()
        for stage, table, columns, rows in (
            (SAMPLES, SAMPLE_TABLE, SAMPLE_COLUMNS, relations),
            (QUESTIONS, QUESTION_TABLE, QUESTION_COLUMNS, questions),
        ):
            if target in ("inspect", "lm-eval"):
                counts += write_rows(temporary, columns, rows)
            elif target == "batch":
                counts += write_rows(temporary, columns, rows, build_batch_request)
            elif read_manifest_files(root, edition_id, stage.name):
                counts += write_table(temporary, table, rows)
        edition = ExportedEdition(manifest, counts, licence or UNKNOWN_LICENCE, option)
        if target in ("inspect", "lm-eval"):
            write_tasks(temporary, target, edition_id, edition.n_samples, edition.n_questions)
        if target == "croissant":
            write_croissant(temporary, edition)
        (temporary / "README.md").write_text(render_readme(edition, target), encoding="utf-8")


def _name_option(pairs_per_relation: int | None, budget: int | None) -> str:
    """Return the option of the command line that chose the pairs; empty if all are tested."""
    if budget is not None:
        return f" --budget {budget}"
    return "" if pairs_per_relation is None else f" --pairs-per-relation {pairs_per_relation}"


@contextlib.contextmanager
def write_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to ``target`` when the block ends without an error.

    If the target exists with the same files, it stays as it is.

    Raises:
        InputError: the target exists and holds anything else, or is no folder.
    """
    target = target.resolve()
    if not target.name or (target.exists() and not target.is_dir()):
        raise InputError(f"{target} cannot be written; name a folder that does not exist yet")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.next")
    _remove_leftovers(target)
    temporary.mkdir()
    # It is held until this process ends, also if that is killed.
    held = os.open(temporary, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield temporary
        if target.exists() and any(target.iterdir()):
            if _list_checksums(target) != _list_checksums(temporary):
                raise InputError(
                    f"{target} holds other files, and nothing was written; name a folder that does not exist "
                    "yet, or remove this one"
                )
        else:
            # The name of a folder that exists may only be taken by a folder if it is empty.
            temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(held)


def _remove_leftovers(target: Path) -> None:
    """Remove the temporary folders of exports to this folder that were killed: nobody holds their locks."""
    for folder in target.parent.iterdir():
        if folder.name.startswith(f".{target.name}.") and folder.suffix == ".next" and folder.is_dir():
            held = os.open(folder, os.O_RDONLY)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            os.close(held)


def _list_checksums(folder: Path) -> dict[str, str]:
    """Return path -> checksum of every file of the folder; what Python compiled from them does not count."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): checksum_file(path) for path in files}
