"""Whether an edition can be built, decided by what builds it, without writing a file or asking a model."""

import polars as pl

from gate import GATE_VERSION
from primitives.errors import InputError, join_problems
from prototypes.pool import check_pool_wordings
from schemas.columns import Stage
from schemas.expectations import may_break_rules
from schemas.question_stages import QUESTIONS
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.edition.edition import Edition
from tasks.edition.recipes import find_recipe
from tasks.quality.validation import require_valid, validate_stage


def require_wordings_of_pool(edition: Edition) -> None:
    """Check the wordings of the pool, if they become samples. An edition that is complete keeps its own.

    Raises:
        InputError: wordings are missing or have problems.
    """
    table = edition.config
    is_used = edition.has_triplets and table.rephraser.kind == "reviewed"
    if not is_used or "pretexeval" not in table.edition.methods or edition.is_complete():
        return
    if problems := check_pool_wordings(edition.pool, edition.base.relations):
        raise InputError(join_problems(problems))


def require_earlier_attempts(edition: Edition) -> None:
    """Check that an edition of an earlier version has its attempts, because its gate no longer exists.

    Raises:
        InputError: a file of attempts was lost or changed.
    """
    if not edition.is_earlier:
        return
    for path, ref in edition.read_files().items():
        if f"/{ATTEMPTS.name}/" in path and not ref.is_intact(edition.root):
            raise InputError(
                f"{path} was lost or changed, and an earlier version of the gate checked its rewordings: "
                f"restore the file, or delete {edition.folder}; the edition that is then built has another "
                f"name, and version {GATE_VERSION} of the gate checks the stored replies"
            )


def require_buildable(edition: Edition) -> None:
    """Check that the edition can be built, by building its rows in memory.

    Texts that a language model has yet to write are not checked.

    Raises:
        InputError: what the build would raise.
    """
    if edition.is_whole():
        return
    require_earlier_attempts(edition)
    require_wordings_of_pool(edition)
    frames: dict[str, dict[str, pl.DataFrame]] = {piece: {} for piece in edition.pieces}
    for stage in _list_stages(edition):
        recipe = find_recipe(edition, stage.name)
        for piece, built in frames.items():
            built[stage.name] = recipe.build(edition, piece, built)
        _require_valid_rows(edition, stage, pl.concat(built[stage.name] for built in frames.values()))


def _list_stages(edition: Edition) -> list[Stage]:
    """Return the stages in the order in which they are built, without those that a model writes."""
    has_written_samples = bool(edition.writers)
    stages = [TRIPLETS, VARIANTS, STATEMENTS, *([] if has_written_samples else [SAMPLES])]
    questions = [QUESTIONS] if edition.has_questions else []
    return [*(stages if edition.has_triplets else []), *questions]


def _require_valid_rows(edition: Edition, stage: Stage, rows: pl.DataFrame) -> None:
    """Check the rows. Importing Great Expectations takes 8 s, so it is used only if rows look wrong."""
    if rows.is_empty() or may_break_rules(stage, rows):
        require_valid(validate_stage(stage, rows, edition.edition_id))
