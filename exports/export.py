"""Export an edition for another tool, as a folder that appears whole or not at all."""

from pathlib import Path

from exports.croissant import write_croissant
from exports.folder import write_folder
from exports.question_rows import read_question_relations
from exports.readme import LICENCE, ExportedEdition, render_readme
from exports.rows import read_relations
from exports.tables import write_questions, write_samples
from exports.tool_tasks import MAX_TOKENS, write_inspect, write_lm_eval
from primitives.errors import InputError
from schemas.question_stages import QUESTIONS
from schemas.stages import SAMPLES
from storage.manifests import read_manifest, read_manifest_files, require_intact

TARGETS = ("inspect", "lm-eval", "parquet", "croissant")


def export_edition(
    root: Path, edition_id: str, target: str, folder: Path, pairs_per_relation: int | None = None
) -> None:
    """Write the edition into a new folder for one of TARGETS. The same edition gives the same bytes.

    Args:
        pairs_per_relation: how many pairs or points are tested, as in a model's table; None: all of them.

    Raises:
        InputError: the edition is not complete, was damaged, or has nothing for the target; or the folder
            holds something else.
    """
    if pairs_per_relation is not None and pairs_per_relation < 1:
        raise InputError(f"{pairs_per_relation} pairs per relation cannot be exported; give 1 or more")
    require_intact(root, edition_id)
    manifest = {"edition_id": edition_id, **read_manifest(root, edition_id)}
    relations = read_relations(root, edition_id, pairs_per_relation)
    has_samples, has_questions = (
        bool(read_manifest_files(root, edition_id, stage.name)) for stage in (SAMPLES, QUESTIONS)
    )
    is_table = target in ("parquet", "croissant")
    if not has_samples and not (has_questions and is_table):
        raise InputError(
            f"edition {edition_id} has no samples for {target}; questions are exported to parquet and "
            "croissant"
        )
    with write_folder(folder) as temporary:
        n_questions = 0
        if target == "inspect":
            counts = write_inspect(temporary, edition_id, relations)
        elif target == "lm-eval":
            counts = write_lm_eval(temporary, edition_id, relations)
        else:
            counts = write_samples(temporary, relations) if has_samples else {}
            if has_questions:
                questions = read_question_relations(root, edition_id, pairs_per_relation)
                n_questions = write_questions(temporary, questions)
        edition = ExportedEdition(manifest, counts, n_questions, MAX_TOKENS)
        if target == "croissant":
            write_croissant(temporary, edition_id, edition.tables, edition.describe(), LICENCE)
        (temporary / "README.md").write_text(render_readme(edition, target), encoding="utf-8")
