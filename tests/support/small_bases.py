"""Small knowledge bases, a pool for them, and editions of both."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

from pretexeval.config.file import Config
from pretexeval.config.tables import EVIDENCE, EvidenceKind, StorageConfig
from pretexeval.knowledge.base import COLUMNS, HIERARCHY, KnowledgeBase
from pretexeval.storage.files import FileRef, write_stage_file
from prototypes.pool import Pool
from prototypes.templates import RelationPrototypes, build_prototypes
from schemas.question_stages import QUESTIONS
from schemas.stages import ATTEMPTS, EDITION_STAGES
from schemas.transformations import NAMES
from tasks.drawing.relation_facts import RelationFacts
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition, list_left_out
from tasks.edition.recipes import RECIPES, find_recipe
from tasks.edition.stage_files import StageFiles, provide_files

Facts = Mapping[str, Iterable[str]]


def as_rows(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows of a knowledge base; defaults: relation "r", null ids, not also_true."""
    defaults = {"relation": "r", "head_id": None, "tail_id": None, "also_true": False}
    return pl.DataFrame([defaults | dict(row) for row in rows], schema=COLUMNS)


def as_facts(facts: Facts, relation: str = "r") -> pl.DataFrame:
    """Return the facts (head -> its true tails) as rows of one relation."""
    return as_rows(
        {"relation": relation, "head": head, "tail": tail} for head, tails in facts.items() for tail in tails
    )


def index_facts(
    rows: pl.DataFrame,
    also_false: pl.DataFrame | None = None,
    edges: Iterable[tuple[str, str]] = (),
    evidence: tuple[EvidenceKind, ...] = EVIDENCE,
) -> RelationFacts:
    """Return the facts of relation "r".

    Args:
        edges: pairs of a name and a more general one.
    """
    asserted = rows.clear() if also_false is None else also_false
    keys = [(f"name:{child}", f"name:{parent}") for child, parent in edges]
    hierarchy = pl.DataFrame(keys, schema=HIERARCHY, orient="row")
    return RelationFacts("r", rows, asserted.drop("also_true", strict=False), hierarchy, evidence)


def find_excluded(facts: RelationFacts) -> dict[str, set[str]]:
    """Return head -> the tails of the relation that are true of it, or the head itself."""
    heads = facts.heads.select("head")
    excluded = facts.exclude(facts.list_true(heads), facts.tails.to_frame("tail"))
    return {head: set(tails) for head, tails in excluded.group_by("head").agg("tail").iter_rows()}


# The stages of an edition for which no language model is asked.
STAGES = tuple(stage for stage in EDITION_STAGES if stage not in (ATTEMPTS, QUESTIONS))


def make_facts(n_heads: int, n_tails: int) -> dict[str, list[str]]:
    """Return heads with one or two tails each, in which every tail is true of some head."""
    return {
        f"head {i}": [f"tail {i % n_tails}"] + ([f"tail {(i * 3 + 1) % n_tails}"] if i % 4 else [])
        for i in range(n_heads)
    }


def make_base(**relations: Facts) -> KnowledgeBase:
    frames = [as_facts(facts, relation) for relation, facts in relations.items()]
    return KnowledgeBase("own", pl.concat(frames).unique().sort("relation", "head", "tail"))


def shuffle(base: KnowledgeBase, seed: int) -> KnowledgeBase:
    return KnowledgeBase(base.name, base.triplets.sample(fraction=1, shuffle=True, seed=seed))


def make_prototypes(relation: str, word: str = "and") -> RelationPrototypes:
    """Return eight cells with a prototype and two wordings each; inverted forms begin with the tail."""
    cells = {}
    for name in NAMES:
        first, second = ("[Y]", "[X]") if name.startswith("inv") else ("[X]", "[Y]")
        cells[name] = [f"{relation} {name} {i}: {first} {word} {second}." for i in range(3)]
    return build_prototypes(relation, ("P", "Q"), cells)


def make_pool(*relations: str) -> Pool:
    return Pool("own", {relation: make_prototypes(relation) for relation in relations})


def make_edition(
    root: Path,
    base: KnowledgeBase,
    pool: Pool | None = None,
    kind: str = "reviewed",
    tables: dict[str, Any] | None = None,
    **table: Any,  # noqa: ANN401
) -> Edition:
    """Return the plan of an edition of the base under ``root``.

    Args:
        tables: further tables of the configuration.
        table: keys of [edition].
    """
    config = Config.model_validate(
        {"edition": table, "rephraser": {"kind": kind}, "storage": StorageConfig(root=root)} | (tables or {})
    )
    return Edition(config, base, pool or make_pool(*base.relations))


def build_frames(edition: Edition, piece: str) -> dict[str, pl.DataFrame]:
    """Return stage -> its rows of one piece, each built from the stages before it."""
    frames: dict[str, pl.DataFrame] = {}
    for stage in edition.stages:
        frames[stage.name] = find_recipe(edition, stage.name).build(edition, piece, frames)
    return frames


def write_files(edition: Edition) -> dict[str, FileRef]:
    """Write the file of every stage and piece, and return path -> file."""
    return {
        path: write_stage_file(edition.root, path, frame, RECIPES[name].stage)
        for piece in edition.pieces
        for name, frame in build_frames(edition, piece).items()
        if (path := f"{edition.folder}/{name}/{piece}.parquet")
    }


def build_edition(edition: Edition) -> list[StageFiles]:
    """Build and complete an edition that asks no language model, and return its stages."""
    built: list[StageFiles] = []
    for stage in edition.stages:
        built.append(provide_files(edition, stage.name, *built))
    refs = [ref for stage in built for ref in stage.files.values()]
    complete_edition(edition, refs, list_left_out(edition, partial(built[0].read, edition.root)))
    return built


def read_rows_of(stage: StageFiles, root: Path) -> pl.DataFrame:
    """Return all rows of a stage, piece after piece."""
    return pl.concat(stage.read(root, piece) for piece in stage.files)


def list_keys(edition: Edition, known: dict[str, pl.DataFrame] | None = None) -> dict[tuple[str, str], str]:
    """Return (stage, relation) -> the key of its file; this writes the files.

    Args:
        known: key -> rows that were built under it. They are not built again, and others are added.
    """
    keys, known = {}, {} if known is None else known
    for relation in edition.base.relations:
        refs: dict[str, FileRef] = {}
        frames: dict[str, pl.DataFrame] = {}
        for name in (stage.name for stage in edition.stages):
            recipe = RECIPES[name]
            inputs = [refs[stage.name] for stage in recipe.inputs if stage.name in refs]
            key = keys[name, relation] = recipe.key_file(edition, relation, inputs)
            if key not in known:
                known[key] = find_recipe(edition, name).build(edition, relation, frames)
            frames[name] = known[key]
            path = f"{edition.folder}/{name}/{relation}.parquet"
            refs[name] = write_stage_file(edition.root, path, frames[name], recipe.stage)
    return keys


SPELLINGS = ("Fever", "fever", "FEVER.", "Cough", "cough", "Itch", "Rash", "Pain", "Chest-pain")
IDS = (None, "1", "2", "3")


def row_lists() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Generate rows of one relation, with names that fold together, shared ids, and also_true rows."""
    row = st.fixed_dictionaries(
        {
            "head": st.sampled_from(SPELLINGS),
            "tail": st.sampled_from(SPELLINGS),
            "head_id": st.sampled_from(IDS),
            "tail_id": st.sampled_from(IDS),
            "also_true": st.sampled_from((False, False, False, True)),
        }
    )
    heads = [{"head": f"head {i}", "tail": SPELLINGS[i % 9]} for i in range(12)]
    return st.lists(row, min_size=1, max_size=25).map(lambda rows: heads + rows)


def names() -> st.SearchStrategy[str]:
    """Generate names of entities that would break careless slot filling, quoting or escaping."""
    odd = st.sampled_from(("[X]", "[Y]", '"', "'", "\\", "\\1", "$1", "{}", "{0}", "%s", "é", "β"))
    anything = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])
    return st.lists(odd | anything, min_size=1, max_size=8).map("".join)
