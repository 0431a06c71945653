"""The texts of an edition before it is made: drafted in memory, nothing written, nobody asked.

All of MedLAMA (270,576 samples) takes 3.5 s. Where a language model will word a sample, the statement
stands in for what it will say.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import polars as pl

from schemas.stages import SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.edition.edition import Edition
from tasks.edition.recipes import RECIPES
from tasks.edition.samples import keep_statements

MADE_BY_CODE = (TRIPLETS, VARIANTS, STATEMENTS)


@dataclass(frozen=True)
class Draft:
    """One relation of an edition."""

    relation: str
    triplets: pl.DataFrame
    statements: pl.DataFrame
    samples: pl.DataFrame
    stand_ins: frozenset[str]
    """Methods whose texts nobody has written yet."""


def draft_relations(edition: Edition) -> Iterator[Draft]:
    """The edition relation by relation: read where it is complete, drafted where it is not.

    Raises:
        InputError: if the pool has no wordings of a relation that needs them.
    """
    files = edition.read_files()
    for relation in edition.base.relations:
        yield _read_relation(edition, relation, files) or _draft_relation(edition, relation)


def _read_relation(edition: Edition, relation: str, files: Collection[str]) -> Draft | None:
    paths = [edition.path_of(stage.name, relation) for stage in (TRIPLETS, STATEMENTS, SAMPLES)]
    if any(path not in files or not (edition.root / path).is_file() for path in paths):
        return None
    triplets, statements, samples = (pl.read_parquet(edition.root / path) for path in paths)
    return Draft(relation, triplets, statements, samples, frozenset())


def draft_statements(edition: Edition, relation: str) -> dict[str, pl.DataFrame]:
    """Stage -> its rows of a relation, up to the statements: the very rows that its files hold."""
    frames: dict[str, pl.DataFrame] = {}
    for stage in MADE_BY_CODE:
        frames[stage.name] = RECIPES[stage.name].build(edition, relation, frames)
    return frames


def _draft_relation(edition: Edition, relation: str) -> Draft:
    frames = draft_statements(edition, relation)
    methods = edition.config.edition.methods
    stand_ins = [
        m for m in methods if m == "llmeval" or (m == "pretexeval" and edition.rephraser is not None)
    ]
    parts = [_stand_in(frames[STATEMENTS.name], method) for method in stand_ins]
    if worded := tuple(m for m in methods if m not in stand_ins):
        table = edition.config.edition.model_copy(update={"methods": worded})
        config = edition.config.model_copy(update={"edition": table})
        parts.append(RECIPES[SAMPLES.name].build(replace(edition, config=config), relation, frames))
    return Draft(
        relation, frames[TRIPLETS.name], frames[STATEMENTS.name], pl.concat(parts), frozenset(stand_ins)
    )


def _stand_in(statements: pl.DataFrame, method: str) -> pl.DataFrame:
    """The statements in place of what a language model will write; llmeval knows no transformations."""
    samples = keep_statements(statements, method)
    if method != "llmeval":
        return samples
    return samples.with_columns(
        pl.lit(None, pl.String).alias("variant_id"), pl.lit(None, pl.String).alias("transformation")
    )
