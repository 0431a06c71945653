"""Read the knowledge base of a configuration: read its rows, check and clean them, choose relations."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.aliases import build_aliases, list_alias_cells, read_alias_table
from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.knowledge.conflicts import describe_conflicts, read_verdicts, settle_rows
from pretexeval.knowledge.doubtful_names import leave_out_no_names, turn_inverted
from pretexeval.knowledge.hierarchy import read_hierarchy
from pretexeval.knowledge.medqa import QuestionBank, SynonymTable, read_medqa, read_synonyms
from pretexeval.knowledge.names import unify_spellings
from pretexeval.knowledge.query import is_ontology, read_ontology, read_query
from pretexeval.knowledge.releases import Release, add_ages, add_written_ages, keep_new_facts
from pretexeval.knowledge.rows import ALIASES, MARKS, Source, build_base, clean_rows, select_relations
from pretexeval.knowledge.tables import PLAIN, read_tables
from pretexeval.primitives.errors import InputError

STARTER = Path(__file__).parent / "starter"
OF_TRIPLETS = ("relations", "aliases", "hierarchy", "shape", "verdicts", "turn_inverted")
"""Settings that questions of MedQA do not have."""


def read_knowledge_base(config: KnowledgeConfig, synonyms: Path | None = None) -> KnowledgeBase:
    """Return the knowledge base that the configuration names, with the relations that it chooses.

    Args:
        synonyms: the table of synonyms for the questions of MedQA, if there is one.

    Raises:
        InputError: the source has a problem; the message names the file, the row and the remedy.
    """
    path = STARTER if config.path is None else config.path
    if not path.exists():
        raise InputError(
            f"knowledge base {path} does not exist: set path of [knowledge] to its file or folder (relative "
            f"paths start at {Path.cwd()})"
        )
    if config.format == "medqa":
        return _read_question_bank(config, path, synonyms)
    base, dated = _settle_base(config, _read_rows(config, path))
    # Reading HPO takes seconds, so the release with which the base is compared is read once.
    compared: dict[str, Release] = {}
    if config.compared is not None:
        compared[config.compared.name] = _read_release(config, config.compared.path, base)
    if config.hierarchy is not None:
        tables = [base.triplets, *(release.rows for release in compared.values())]
        base = _add_hierarchy(config, config.hierarchy, base, tables)
    for release in compared.values():
        base = keep_new_facts(base, release)
    if not config.releases:
        return add_written_ages(base, dated)
    paths = {release.name: release.path for release in config.releases}
    return add_ages(
        base, list(paths), lambda name: compared.get(name) or _read_release(config, paths[name], base)
    )


def _read_rows(config: KnowledgeConfig, path: Path) -> Source:
    """Return the clean rows of the relations that the configuration chooses.

    Raises:
        InputError: the source does not have one of them.
    """
    source = _read_source(config, path)
    names = source.rows["relation"].str.strip_chars().drop_nulls().unique()
    found = sorted(name for name in names if name)
    if unknown := sorted(set(config.relations) - set(found)):
        raise InputError(
            f"relations of [knowledge] names {', '.join(unknown)}, but "
            f"{config.path or 'the starter base'} has no such relation; it has {', '.join(found)}"
        )
    return _clean_rows(config, source, config.relations)


def _clean_rows(config: KnowledgeConfig, source: Source, relations: Sequence[str]) -> Source:
    """Return the clean rows of these relations, or of all if there are none."""
    # The problems of other relations do not matter.
    cleaned = clean_rows(select_relations(source, relations) if relations else source)
    return replace(cleaned, rows=turn_inverted(cleaned.rows)) if config.turn_inverted else cleaned


def _read_source(config: KnowledgeConfig, path: Path) -> Source:
    if config.query is not None:
        return read_query(config.query, path, config.relations)
    layout = config.layout or PLAIN
    if not is_ontology(path):
        return read_tables(path, layout)
    if layout.columns or layout.split:
        raise InputError(f"{path} is an ontology, which has no columns: delete layout of [knowledge]")
    return read_ontology(path, layout.encoding)


def _read_release(config: KnowledgeConfig, path: Path, base: KnowledgeBase) -> Release:
    """Return the facts of another release in the relations of the base.

    Raises:
        InputError: the release cannot be read, or has a problem.
    """
    if not path.exists():
        raise InputError(
            f"release {path} does not exist: correct releases of [knowledge] (relative paths start at "
            f"{Path.cwd()})"
        )
    # No variable keeps the rows as they were read: those of a large release take gigabytes.
    cleaned = _clean_rows(config, _read_source(config, path), base.relations)
    return Release(leave_out_no_names(cleaned.rows)[0], base.aliases)


def _settle_base(config: KnowledgeConfig, source: Source) -> tuple[KnowledgeBase, pl.DataFrame]:
    """Return the base of clean rows with its aliases, and the rows that have an age.

    Raises:
        InputError: the rows or the aliases contradict each other, and the configuration says that this stops
            the run; or no row of a relation can be tested.
    """
    aliases = list_alias_cells(source.rows)
    if config.aliases is not None:
        aliases = pl.concat([aliases, read_alias_table(config.aliases)])
    verdicts = None if config.verdicts is None else read_verdicts(config.verdicts)
    relations = sorted(source.rows["relation"].unique())
    # The rows of a large base take gigabytes: their aliases are freed before it is sorted, the rest after it.
    rows, unnamed = leave_out_no_names(source.rows.drop(ALIASES))
    left_out = source.left_out
    del source
    table, conflicts, others = build_aliases(rows, aliases)
    settled = settle_rows(rows, table, verdicts)
    conflicts += settled.conflicts
    dated = settled.rows.filter(pl.col("since") != "")
    unified = Source(unify_spellings(settled.rows), left_out)
    base = build_base(config.name, unified, pl.concat([unnamed, settled.outweighed]))
    del rows, settled, unified
    base = _settle_conflicts(config, base.add_left_out(others), conflicts)
    _require_tested_rows(base, relations)
    return replace(base, aliases=table), dated


def _add_hierarchy(
    config: KnowledgeConfig, file: Path, base: KnowledgeBase, tables: Sequence[pl.DataFrame]
) -> KnowledgeBase:
    """Return the base with the edges above the names of these tables: its own and those of older releases."""
    ends = [
        group.select(name=end, name_id=f"{end}_id").unique()
        for rows in tables
        for _, group in rows.group_by("relation", maintain_order=True)
        for end in ("head", "tail")
    ]
    edges, circles, unused = read_hierarchy(file, config.path, ends)
    return _settle_conflicts(config, replace(base, hierarchy=edges), circles).add_left_out(unused)


def _settle_conflicts(
    config: KnowledgeConfig, base: KnowledgeBase, conflicts: Sequence[LeftOut]
) -> KnowledgeBase:
    """Return the base with the conflicts listed as left out; raise InputError if they stop the run."""
    if conflicts and config.conflicts == "stop":
        raise InputError(describe_conflicts(conflicts))
    return base.add_left_out(conflicts)


def _require_tested_rows(base: KnowledgeBase, relations: list[str]) -> None:
    """Raise InputError if no row of a relation can be tested."""
    tested = base.triplets.filter(~pl.col("also_true"))["relation"].unique().to_list()
    if empty := sorted(set(relations) - set(tested)):
        starts = tuple(f"{relation}: " for relation in empty)
        lost = (item for item in base.left_out if item.what.startswith(starts))
        example = next((f". For example, {item.what}: {item.reason}" for item in lost), "")
        raise InputError(
            f"nothing to test in {', '.join(empty)}: every row is marked {', '.join(MARKS)}, contradicts "
            "another one, or has a head or a tail that is no name; add other rows, or leave the relation "
            f"out of relations in [knowledge]{example}"
        )


def _read_question_bank(config: KnowledgeConfig, path: Path, synonyms: Path | None) -> QuestionBank:
    if given := [key for key in OF_TRIPLETS if getattr(config, key)]:
        raise InputError(
            f'{given[0]} of [knowledge] is not allowed with format "medqa": MedQA has no relations'
        )
    source = read_medqa(path)
    table = SynonymTable() if synonyms is None else read_synonyms(synonyms)
    bank = QuestionBank(config.name, items=source.items, synonyms=table)
    return bank.add_left_out([*source.left_out, *table.left_out])
