"""A preview of an edition in memory, before it is built: nothing is written, no model is asked.

It comes piece by piece, because all samples of a large edition may not fit into memory. For texts that a
language model has yet to write, the preview shows the statement.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby

import polars as pl

from pretexeval.primitives.errors import InputError, join_problems
from pretexeval.primitives.process import map_in_threads
from pretexeval.storage.files import read_stage_file
from prototypes.pool import check_pool_wordings
from schemas.columns import Stage
from schemas.expectations import breaks_rules
from schemas.question_stages import QUESTIONS
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.drawing.pieces import Piece
from tasks.edition.edition import Edition
from tasks.edition.recipes import RECIPES, find_recipe
from tasks.edition.risks import Balance, describe_relation, read_balance
from tasks.edition.samples import keep_statements
from tasks.quality.validation import check_stage


@dataclass(frozen=True)
class PiecePreview:
    """The rows of one piece of an edition. The demonstrations of a relation are in its first piece."""

    relation: str
    triplets: pl.DataFrame
    statements: pl.DataFrame
    samples: pl.DataFrame
    unwritten_methods: frozenset[str]
    """Methods whose samples here are statements, because a language model has yet to write the texts."""


def preview_pieces(edition: Edition) -> Iterator[PiecePreview]:
    """Yield the pieces of an edition in order: read from its files if it is complete, else built in memory.

    Raises:
        InputError: the pool has no wordings of a relation that needs them.
    """
    files = edition.read_files()

    def preview(name: str) -> PiecePreview:
        if found := _read_stages(edition, name, files, TRIPLETS, STATEMENTS, SAMPLES):
            triplets, statements, samples = found
            relation = edition.pieces[name].relation
            return PiecePreview(relation, triplets, statements, samples, frozenset())
        return _build_piece(edition, name)

    yield from map_in_threads(preview, edition.pieces)
    edition.forget_facts()


def preview_relations(edition: Edition) -> Iterator[PiecePreview]:
    """Yield the rows of each relation as one piece: limits and demonstrations are those of a relation.

    Raises:
        InputError: as `preview_pieces`.
    """
    for relation, group in groupby(preview_pieces(edition), lambda piece: piece.relation):
        pieces = list(group)
        triplets, statements, samples = (
            pl.concat(getattr(piece, name) for piece in pieces)
            for name in (TRIPLETS.name, STATEMENTS.name, SAMPLES.name)
        )
        yield PiecePreview(relation, triplets, statements, samples, pieces[0].unwritten_methods)


def preview_questions(edition: Edition) -> Iterator[pl.DataFrame]:
    """Yield the questions of each piece: read from the edition if it is complete, else built in memory."""
    files = edition.read_files()
    recipe = find_recipe(edition, QUESTIONS.name)
    for name in edition.pieces:
        if found := _read_stages(edition, name, files, QUESTIONS):
            yield found[0]
        else:
            # Questions are built from triplets alone, or from a question bank.
            built = {
                each.name: find_recipe(edition, each.name).build(edition, name, {}) for each in recipe.inputs
            }
            yield recipe.build(edition, name, built)


def _read_stages(
    edition: Edition, name: str, files: Collection[str], *stages: Stage
) -> list[pl.DataFrame] | None:
    """Return the rows of a piece in some stages, from the files of the edition; None if one is missing."""
    paths = [edition.path_of(stage.name, name) for stage in stages]
    if any(path not in files or not (edition.root / path).is_file() for path in paths):
        return None
    return [read_stage_file(edition.root / path, stage) for path, stage in zip(paths, stages, strict=True)]


def _build_piece(edition: Edition, name: str) -> PiecePreview:
    frames: dict[str, pl.DataFrame] = {}
    for stage in (TRIPLETS, VARIANTS, STATEMENTS):
        frames[stage.name] = RECIPES[stage.name].build(edition, name, frames)
    methods = edition.config.edition.methods
    unwritten = [
        m for m in methods if m == "llmeval" or (m == "pretexeval" and edition.rephraser is not None)
    ]
    parts = [_build_placeholders(frames[STATEMENTS.name], method) for method in unwritten]
    if written := tuple(m for m in methods if m not in unwritten):
        table = edition.config.edition.model_copy(update={"methods": written})
        config = edition.config.model_copy(update={"edition": table})
        parts.append(RECIPES[SAMPLES.name].build(replace(edition, config=config), name, frames))
    relation = edition.pieces[name].relation
    return PiecePreview(
        relation, frames[TRIPLETS.name], frames[STATEMENTS.name], pl.concat(parts), frozenset(unwritten)
    )


def _build_placeholders(statements: pl.DataFrame, method: str) -> pl.DataFrame:
    """Return the statements as samples of a method; those of llmeval have no transformation."""
    samples = keep_statements(statements, method)
    if method != "llmeval":
        return samples
    return samples.with_columns(
        pl.lit(None, pl.String).alias(name) for name in ("variant_id", "transformation")
    )


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


def require_buildable(edition: Edition) -> Balance:
    """Check that the edition can be built, by building its rows in memory, one piece after another.

    Texts that a language model has yet to write are not checked. Return the figures in the manifest of an
    edition that is built. Of another edition, return figures without wrong twins; of anchors, none.

    Raises:
        InputError: what the build would raise.
    """
    if edition.is_whole():
        return read_balance(edition.root, edition.edition_id)
    require_wordings_of_pool(edition)
    stages = _list_stages(edition)
    n_rows: Counter[str] = Counter()
    balance: Balance = {}
    for relation, pieces in edition.pieces_of.items():
        checked = _check_relation(edition, stages, pieces, n_rows)
        if edition.has_balance:
            balance[relation] = describe_relation(edition, relation, checked)
        else:
            deque(checked, maxlen=0)
    edition.forget_facts()
    for stage in stages:
        if not n_rows[stage.name]:
            check_stage(stage, stage.empty, edition.edition_id)
    return balance


def _check_relation(
    edition: Edition, stages: Sequence[Stage], pieces: Sequence[Piece], n_rows: Counter[str]
) -> Iterator[pl.DataFrame]:
    """Check each piece, count its rows by stage, and yield those of the first stage."""
    first, *others = pieces
    checked = _check_piece(edition, stages, {}, first)
    check = partial(_check_piece, edition, stages, checked.held_out)
    for each in chain([checked], map_in_threads(check, others)):
        n_rows.update(each.n_rows)
        yield each.first_rows


@dataclass(frozen=True)
class _CheckedPiece:
    """The parts of a piece that a preview needs, after its rows were built and checked."""

    n_rows: dict[str, int]
    """Stage -> number of rows."""
    held_out: dict[str, pl.DataFrame]
    """Stage -> the demonstrations."""
    first_rows: pl.DataFrame
    """The rows of the first stage."""


def _check_piece(
    edition: Edition, stages: Sequence[Stage], held: Mapping[str, pl.DataFrame], piece: Piece
) -> _CheckedPiece:
    """Build the rows of the piece and check them.

    Args:
        held: the demonstrations of the relation if its first piece has them, because expectations are about
            relations that have both splits.
    """
    built: dict[str, pl.DataFrame] = {}
    for stage in stages:
        rows = find_recipe(edition, stage.name).build(edition, piece.name, built)
        checked = pl.concat([held[stage.name], rows]) if held else rows
        # Importing Great Expectations takes two seconds, so it is used only if rows break a rule.
        if not rows.is_empty() and breaks_rules(stage, checked):
            check_stage(stage, checked, edition.edition_id)
        built[stage.name] = rows
    counted = {stage: rows.height for stage, rows in built.items()}
    held_out = {stage: rows.filter(split="demonstration") for stage, rows in built.items()}
    return _CheckedPiece(counted, held_out, built[stages[0].name])


def _list_stages(edition: Edition) -> list[Stage]:
    """Return the stages in the order in which they are built, without those that a model writes."""
    are_written = {ATTEMPTS, SAMPLES} if edition.writers else set[Stage]()
    return [stage for stage in edition.stages if stage not in are_written]
