"""A preview of an edition in memory, before it is built: nothing is written, no model is asked.

All of MedLAMA (270,576 samples) takes 3.5 s. For texts that a language model has yet to write, the preview
shows the statement.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import polars as pl

from schemas.question_stages import QUESTIONS
from schemas.stages import SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from storage.files import read_stage_file
from tasks.edition.edition import Edition
from tasks.edition.recipes import RECIPES, find_recipe
from tasks.edition.samples import keep_statements

STAGES_WITHOUT_MODEL = (TRIPLETS, VARIANTS, STATEMENTS)


@dataclass(frozen=True)
class RelationPreview:
    """The rows of one relation of an edition."""

    relation: str
    triplets: pl.DataFrame
    statements: pl.DataFrame
    samples: pl.DataFrame
    unwritten_methods: frozenset[str]
    """Methods whose samples here are statements, because a language model has yet to write the texts."""


def preview_relations(edition: Edition) -> Iterator[RelationPreview]:
    """Yield the relations of an edition: read from its files if it is complete, else built in memory.

    Raises:
        InputError: the pool has no wordings of a relation that needs them.
    """
    files = edition.read_files()
    for relation in edition.base.relations:
        yield _read_relation(edition, relation, files) or _build_relation(edition, relation)


def preview_questions(edition: Edition) -> Iterator[pl.DataFrame]:
    """Yield the questions of each relation: read from the edition if it is complete, else built in memory."""
    files = edition.read_files()
    recipe = find_recipe(edition, QUESTIONS.name)
    for relation in edition.base.relations:
        path = edition.path_of(QUESTIONS.name, relation)
        if path in files and (edition.root / path).is_file():
            yield read_stage_file(edition.root / path, QUESTIONS)
        else:
            before = {stage.name: RECIPES[stage.name].build(edition, relation, {}) for stage in recipe.inputs}
            yield recipe.build(edition, relation, before)


def _read_relation(edition: Edition, relation: str, files: Collection[str]) -> RelationPreview | None:
    """Return the relation from the files of the edition; null if one is missing."""
    stages = (TRIPLETS, STATEMENTS, SAMPLES)
    paths = {stage: edition.path_of(stage.name, relation) for stage in stages}
    if any(path not in files or not (edition.root / path).is_file() for path in paths.values()):
        return None
    triplets, statements, samples = (read_stage_file(edition.root / paths[stage], stage) for stage in stages)
    return RelationPreview(relation, triplets, statements, samples, frozenset())


def build_statement_frames(edition: Edition, relation: str) -> dict[str, pl.DataFrame]:
    """Return stage -> rows of a relation, up to the statements: the same rows that the files hold."""
    frames: dict[str, pl.DataFrame] = {}
    for stage in STAGES_WITHOUT_MODEL:
        frames[stage.name] = RECIPES[stage.name].build(edition, relation, frames)
    return frames


def _build_relation(edition: Edition, relation: str) -> RelationPreview:
    frames = build_statement_frames(edition, relation)
    methods = edition.config.edition.methods
    unwritten = [
        m for m in methods if m == "llmeval" or (m == "pretexeval" and edition.rephraser is not None)
    ]
    parts = [_build_placeholders(frames[STATEMENTS.name], method) for method in unwritten]
    if written := tuple(m for m in methods if m not in unwritten):
        table = edition.config.edition.model_copy(update={"methods": written})
        config = edition.config.model_copy(update={"edition": table})
        parts.append(RECIPES[SAMPLES.name].build(replace(edition, config=config), relation, frames))
    return RelationPreview(
        relation, frames[TRIPLETS.name], frames[STATEMENTS.name], pl.concat(parts), frozenset(unwritten)
    )


def _build_placeholders(statements: pl.DataFrame, method: str) -> pl.DataFrame:
    """Return the statements as samples of a method; those of llmeval have no transformation."""
    samples = keep_statements(statements, method)
    if method != "llmeval":
        return samples
    return samples.with_columns(
        pl.lit(None, pl.String).alias("variant_id"), pl.lit(None, pl.String).alias("transformation")
    )
