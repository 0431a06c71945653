"""Check that an edition can be built, by a dry run of what builds it: no file is written, no model asked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from primitives.errors import InputError, join_problems
from primitives.process import map_in_threads
from prototypes.pool import check_pool_wordings
from schemas.columns import Stage
from schemas.expectations import may_break_rules
from schemas.question_stages import QUESTIONS
from schemas.stages import SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.drawing.pieces import Piece
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


def require_buildable(edition: Edition) -> None:
    """Check that the edition can be built, by building its rows in memory, one piece after another.

    Texts that a language model has yet to write are not checked.

    Raises:
        InputError: what the build would raise.
    """
    if edition.is_whole():
        return
    require_wordings_of_pool(edition)
    stages = _list_stages(edition)
    n_rows: Counter[str] = Counter()
    for first, *others in edition.pieces_of.values():
        counted, held = _check_piece(edition, stages, {}, first)
        n_rows.update(counted)
        for counted, _ in map_in_threads(partial(_check_piece, edition, stages, held), others):
            n_rows.update(counted)
    edition.forget_facts()
    for stage in stages:
        if not n_rows[stage.name]:
            _require_valid_rows(edition, stage, pl.DataFrame(stage.schema.empty_table()))


def _check_piece(
    edition: Edition, stages: Sequence[Stage], held: Mapping[str, pl.DataFrame], piece: Piece
) -> tuple[dict[str, int], dict[str, pl.DataFrame]]:
    """Build the rows of the piece and check them; return the number of rows and the demonstrations by stage.

    Args:
        held: the demonstrations of the relation if its first piece has them, because expectations are about
            relations that have both splits.
    """
    built: dict[str, pl.DataFrame] = {}
    for stage in stages:
        rows = find_recipe(edition, stage.name).build(edition, piece.name, built)
        checked = pl.concat([held[stage.name], rows]) if held else rows
        # Importing Great Expectations takes 4 s, so it is used only if rows look wrong.
        if not rows.is_empty() and may_break_rules(stage, checked):
            _require_valid_rows(edition, stage, checked)
        built[stage.name] = rows
    counted = {stage: rows.height for stage, rows in built.items()}
    return counted, {stage: rows.filter(split="demonstration") for stage, rows in built.items()}


def _require_valid_rows(edition: Edition, stage: Stage, rows: pl.DataFrame) -> None:
    require_valid(validate_stage(stage, rows, edition.edition_id))


def _list_stages(edition: Edition) -> list[Stage]:
    """Return the stages in the order in which they are built, without those that a model writes."""
    has_written_samples = bool(edition.writers)
    stages = [TRIPLETS, VARIANTS, STATEMENTS, *([] if has_written_samples else [SAMPLES])]
    questions = [QUESTIONS] if edition.has_questions else []
    return [*(stages if edition.has_triplets else []), *questions]
