"""Read the knowledge base of a configuration: read its rows, check and clean them, choose relations."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.aliases import build_aliases, list_alias_cells, read_alias_table
from pretexeval.knowledge.base import KnowledgeBase, LeftOut, cap_left_out
from pretexeval.knowledge.changes import add_changes
from pretexeval.knowledge.conflicts import describe_conflicts, read_verdicts, settle_rows
from pretexeval.knowledge.disek import read_disek
from pretexeval.knowledge.doubtful_names import leave_out_no_names, turn_inverted
from pretexeval.knowledge.hierarchy import read_hierarchy
from pretexeval.knowledge.medlama import INVERSE_RELATIONS, read_medlama
from pretexeval.knowledge.medqa import QuestionBank, read_medqa
from pretexeval.knowledge.ontologies import is_ontology, read_ontology
from pretexeval.knowledge.query import read_query
from pretexeval.knowledge.releases import Release, add_ages, add_written_ages, keep_new_facts
from pretexeval.knowledge.rows import ALIASES, MARKS, Source, build_base, clean_rows, select_relations
from pretexeval.knowledge.same_triplets import add_true_triplets
from pretexeval.knowledge.synonyms import SynonymTable, read_synonyms
from pretexeval.knowledge.tables import Layout, read_tables
from pretexeval.primitives.errors import InputError

FOLDER = Path(__file__).parent / "starter"


# A file of a relation has a temporary name with about 40 more characters, of at most 255.
MAX_RELATION = 200

READERS = {"medlama": read_medlama, "disek": read_disek}


def read_knowledge_base(config: KnowledgeConfig, synonyms: Path | None = None) -> KnowledgeBase:
    """Return the knowledge base that the configuration names, with the relations that it chooses.

    Args:
        synonyms: the table of synonyms for the questions of MedQA, if there is one.

    Raises:
        InputError: the source has a problem; the message names the file, the row and the remedy.
    """
    if config.format == "medqa":
        return _read_question_bank(config, synonyms)
    base, dated = _settle_base(config, _read_chosen_rows(config))
    paths = {release.name: release.path for release in config.releases}
    compared = [*paths.values()][-1] if config.changes else config.since
    older = None if compared is None else _read_release(config, compared, base)
    if config.hierarchy is not None:
        base = _add_hierarchy(config, base, older)
    if older is not None:
        base = add_changes(base, older) if config.changes else keep_new_facts(base, older)
    if paths:
        # Reading HPO takes seconds, so the release with which the base was compared is not read again.
        known = {compared: older} if older is not None else {}
        return add_ages(
            base, list(paths), lambda name: known.get(paths[name]) or _read_release(config, paths[name], base)
        )
    return add_written_ages(base, dated)


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
    table, conflicts = build_aliases(rows, aliases)
    settled = settle_rows(rows, table, verdicts)
    conflicts += settled.conflicts
    dated = settled.rows.filter(pl.col("since") != "")
    base = build_base(config.name, Source(settled.rows, left_out), pl.concat([unnamed, settled.outweighed]))
    del rows, settled
    base = _settle_conflicts(config, base, conflicts)
    _require_tested_rows(base, relations)
    triplets = add_true_triplets(base.triplets, table) if table else base.triplets
    return replace(base, triplets=triplets, aliases=table), dated


def _add_hierarchy(config: KnowledgeConfig, base: KnowledgeBase, older: Release | None) -> KnowledgeBase:
    """Return the base with the edges above its names, and above those of an older release."""
    assert config.hierarchy is not None
    tables = [base.triplets, *([] if older is None else [older.rows])]
    ends = [rows.select(name=end, name_id=f"{end}_id") for rows in tables for end in ("head", "tail")]
    named = pl.concat(ends).unique()
    edges, circles = read_hierarchy(config.hierarchy, config.path, named)
    return _settle_conflicts(config, replace(base, hierarchy=edges), circles)


def _settle_conflicts(
    config: KnowledgeConfig, base: KnowledgeBase, conflicts: Sequence[LeftOut]
) -> KnowledgeBase:
    """Return the base with the conflicts listed as left out; raise InputError if they stop the run."""
    if conflicts and config.conflicts == "stop":
        raise InputError(describe_conflicts(conflicts))
    listed, not_listed = cap_left_out(conflicts)
    return replace(base, left_out=(*base.left_out, *listed), not_listed=base.not_listed | not_listed)


def _read_chosen_rows(config: KnowledgeConfig) -> Source:
    """Return the clean rows of the relations that the configuration chooses."""
    source = _read_source(config)
    if config.relations:
        # Before the rows are cleaned, because problems of other relations do not matter.
        source = select_relations(source, _require_known(config, source))
    cleaned = _clean_rows(config, source)
    relations = _choose_relations(config, cleaned)
    _require_file_names(relations)
    return Source(cleaned.rows.filter(pl.col("relation").is_in(relations)), cleaned.left_out)


def _clean_rows(config: KnowledgeConfig, source: Source) -> Source:
    cleaned = clean_rows(source)
    return replace(cleaned, rows=turn_inverted(cleaned.rows)) if config.turn_inverted else cleaned


def _read_release(config: KnowledgeConfig, path: Path, base: KnowledgeBase) -> Release:
    """Return what another release of the base holds in the relations of the base.

    Args:
        path: its file or folder, in the format of the base.

    Raises:
        InputError: the release cannot be read, or has a problem.
    """
    if not path.exists():
        raise InputError(
            f"release {path} does not exist: correct since or releases of [knowledge] (relative paths start "
            f"at {Path.cwd()})"
        )
    # No variable keeps the rows as they were read: those of a large release take gigabytes.
    cleaned = _clean_rows(config, select_relations(_read_path(config, path), base.relations))
    return Release(leave_out_no_names(cleaned.rows)[0], base.aliases)


def _read_question_bank(config: KnowledgeConfig, synonyms: Path | None) -> QuestionBank:
    if given := [
        key
        for key in ("relations", "aliases", "hierarchy", "shape", "verdicts", "turn_inverted")
        if getattr(config, key)
    ]:
        raise InputError(
            f'{given[0]} of [knowledge] is not allowed with format "medqa": MedQA has no relations'
        )
    source = read_medqa(_require_path(config))
    table = SynonymTable() if synonyms is None else read_synonyms(synonyms)
    return QuestionBank(
        config.name,
        left_out=(*source.left_out, *table.left_out),
        not_listed=dict(Counter(source.not_listed) + Counter(table.not_listed)),
        items=source.items,
        synonyms=table,
    )


def _read_source(config: KnowledgeConfig) -> Source:
    return read_tables(FOLDER) if config.path is None else _read_path(config, _require_path(config))


def _read_path(config: KnowledgeConfig, path: Path) -> Source:
    if config.query is not None:
        return read_query(config.query, path, config.relations)
    if config.format == "table":
        if not is_ontology(path):
            return read_tables(path, _build_layout(config))
        if config.columns or config.split:
            raise InputError(f"{path} is an ontology, which has no columns: delete columns and split")
        return read_ontology(path, config.encoding)
    return READERS[config.format](path)


def _build_layout(config: KnowledgeConfig) -> Layout:
    """Return the layout, in which each of several columns of one end has a name of its own."""
    given = (
        (column, (names,) if isinstance(names, str) else names) for column, names in config.columns.items()
    )
    columns = {
        f"{column} {n}" if n else column: name for column, names in given for n, name in enumerate(names)
    }
    split = dict.fromkeys(("head", "tail"), config.split) if isinstance(config.split, str) else config.split
    return Layout(config.encoding, columns, {end: text for end, text in split.items() if text})


def _require_path(config: KnowledgeConfig) -> Path:
    if config.path is None or not config.path.exists():
        raise InputError(
            f"knowledge base {config.path} does not exist: set path of [knowledge] to its file or "
            f"folder (relative paths start at {Path.cwd()})"
        )
    return config.path


def _require_known(config: KnowledgeConfig, source: Source) -> tuple[str, ...]:
    """Return the configured relations; raise InputError if the source does not have all of them."""
    names = source.rows["relation"].str.strip_chars().drop_nulls().unique()
    found = sorted(name for name in names if name)
    if unknown := sorted(set(config.relations) - set(found)):
        raise InputError(
            f"relations of [knowledge] names {', '.join(unknown)}, but "
            f"{config.path or 'the starter base'} has no such relation; it has {', '.join(found)}"
        )
    return config.relations


def _choose_relations(config: KnowledgeConfig, source: Source) -> list[str]:
    """Return the configured relations, by default all except the two inverse relations of MedLAMA."""
    if config.relations:
        return sorted(set(config.relations))
    found = sorted(source.rows["relation"].unique().to_list())
    is_inverse = INVERSE_RELATIONS if config.format == "medlama" else frozenset()
    if not (relations := [name for name in found if name not in is_inverse]):
        raise InputError(
            f"{config.path} has only {', '.join(found)}, which are used only if they are named: "
            "name them in relations of [knowledge]"
        )
    return relations


def _require_file_names(relations: list[str]) -> None:
    """Raise InputError if the name of a relation is too long for the names of its files."""
    for name in relations:
        if len(name) > MAX_RELATION:
            raise InputError(
                f"the name of relation {name[:40]!r}… is too long for a file: shorten it to {MAX_RELATION} "
                "characters"
            )


def _require_tested_rows(base: KnowledgeBase, relations: list[str]) -> None:
    """Raise InputError if no row of a relation can be tested."""
    tested = base.triplets.filter(~pl.col("also_true"))["relation"].unique().to_list()
    if empty := sorted(set(relations) - set(tested)):
        raise InputError(
            f"nothing to test in {', '.join(empty)}: every row is marked {', '.join(MARKS)}, contradicts "
            "another one, or has a head or a tail that is no name; add other rows, or leave the relation "
            "out of relations in [knowledge]"
        )
