"""Prototype pools: the templates of every relation for each of the eight transformations.

A pool is either the bundled one (`revised`: all files `prototypes/*.revised.toml` together), or a file: the
authors' CSV or Parquet, or TOML with one table per relation:

    extends = "revised"    # optional: add to the bundled pool

    [may_treat]
    instance = ["TakesDrug", "IsTreatedFor"]
    none = ["The drug [X] may treat [Y].", "a further wording", ...]
    inv = [...]    # and ins, inv_ins, dn, inv_dn, ins_dn, inv_ins_dn

``instance`` names P and Q of the instantiated form P(X, x) ⇒ Q(x, Y), or P(X, x) ⇒ ◇Q(x, Y) if the relation
is a possibility. The first entry of a cell is the prototype. The others are its wordings, which only the
rephraser `reviewed` needs. Entry i of a dn cell denies entry i of its positive cell.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from pretexeval.config.tables import name_relation
from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.hashing import hash_json
from pretexeval.primitives.literal_paths import read_parquet
from pretexeval.primitives.toml_files import parse_toml
from prototypes.templates import (
    MIN_WORDINGS,
    SLOTS,
    RelationPrototypes,
    build_prototypes,
    check_alike,
    check_cells,
    check_slots,
)
from schemas.transformations import NAMES

BUNDLED = "revised"
SUFFIXES = (".toml", ".csv", ".parquet")
# Column of the CSV -> transformation.
CSV_COLUMNS = {
    "human_prompt": "none",
    "prompt2": "dn",
    "prompt3": "inv",
    "prompt4": "inv_dn",
    "prompt5": "ins",
    "prompt6": "ins_dn",
    "prompt7": "inv_ins",
    "prompt8": "inv_ins_dn",
}
ORIGIN = "default_prompt"
TABLE_COLUMNS = ("pretex_csv", "table_002")
# The authors' files do not name the predicates of the instantiated form.
INSTANCE = ("P", "Q")
N_SHOWN = 20
"""The problems of a file that a message lists."""


def read_authors_pool(path: Path) -> dict[str, RelationPrototypes]:
    """Return the relations of the authors' pool, by their names in MedLAMA (lower case, underscores).

    Raises:
        InputError: a column or a cell is missing, or a template does not contain each slot once.
    """
    cells: dict[str, dict[str, str]] = {}
    for written, transformation, template in _read_templates(path).iter_rows():
        relation = re.sub(r"\s+", "_", written.strip().lower())
        texts = cells.setdefault(relation, {})
        if transformation in texts:
            raise InputError(f"{path} holds {relation} {transformation} twice: keep one")
        texts[transformation] = re.sub(r"\s+\.$", ".", template.strip())
    if not cells:
        raise InputError(f"prototype pool {path} holds no relation")
    if problems := list(_find_problems(cells)):
        raise InputError(render_problems(f"prototype pool {path}", problems))
    return {
        relation: build_prototypes(relation, INSTANCE, {n: [texts[n]] for n in NAMES}, texts.get(ORIGIN))
        for relation, texts in cells.items()
    }


def _find_problems(cells: dict[str, dict[str, str]]) -> Iterator[str]:
    for relation, texts in cells.items():
        if missing := [name for name in NAMES if not texts.get(name)]:
            yield f"{relation} lacks {', '.join(missing)}"
        for name, text in texts.items():
            yield from (f"{relation} {name} {problem}" for problem in check_slots(text) if text)


def _read_templates(path: Path) -> pl.DataFrame:
    """Return the columns relation, transformation and template of the authors' CSV or Parquet file."""
    is_csv = path.suffix.lower() == ".csv"
    try:
        frame = pl.read_csv(path.read_bytes(), infer_schema=False) if is_csv else read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    return _select_csv(path, frame) if is_csv else _select_table(path, frame)


def _select_csv(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    if missing := [name for name in ("pid", *CSV_COLUMNS) if name not in frame.columns]:
        raise InputError(
            f"{path} has no column {', '.join(missing)}; the authors' pool has pid, {', '.join(CSV_COLUMNS)}"
        )
    columns = [*CSV_COLUMNS, *(name for name in (ORIGIN,) if name in frame.columns)]
    rows = frame.unpivot(columns, index="pid", variable_name="column", value_name="template")
    is_given = (pl.col("column") != ORIGIN) | (pl.col("template").str.strip_chars() != "")
    transformation = pl.col("column").replace(CSV_COLUMNS)
    return rows.filter(is_given).select("pid", transformation, pl.col("template").fill_null(""))


def _select_table(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    templates = [name for name in TABLE_COLUMNS if name in frame.columns]
    if not templates or not {"relation", "transformation"} <= set(frame.columns):
        raise InputError(
            f"{path} is not a table of prototypes: it needs relation, transformation and one of "
            f"{', '.join(TABLE_COLUMNS)}; it has {', '.join(frame.columns)}"
        )
    name = pl.col("transformation").str.to_lowercase().str.replace("+", "_", literal=True, n=-1)
    rows = frame.select("relation", name, pl.coalesce(templates).fill_null(""))
    if not (unknown := rows.filter(~pl.col("transformation").is_in(NAMES))).is_empty():
        relation, written, _ = unknown.row(0)
        raise InputError(f"{path}: unknown transformation {written!r} of {relation!r}")
    return rows


def read_toml_pool(path: Path) -> tuple[str | None, dict[str, RelationPrototypes]]:
    """Return the name of the pool that this file extends, or None, and the relations of the file.

    Raises:
        InputError: the file has problems; the message lists them by relation and cell.
    """
    content = parse_toml(path)
    extended = content.pop("extends", None)
    if not (extended is None or isinstance(extended, str)):
        raise InputError(f"{path}: extends is {extended!r}: give the name of a bundled pool")
    problems: list[str] = []
    relations = {}
    for written, table in content.items():
        relation = name_relation(written)
        if found := _check_table(table):
            problems += [f"[{relation}] {problem}" for problem in found]
        else:
            assert isinstance(table, dict)
            cells = {name: _as_texts(table[name]) for name in NAMES}
            instance = (table["instance"][0], table["instance"][1])
            relations[relation] = build_prototypes(relation, instance, cells, table.get("origin"))
    if not content:
        problems.append("holds no relation: add a table [relation]")
    if problems:
        raise InputError(render_problems(f"prototype pool {path}", problems))
    return extended, relations


def _check_table(table: object) -> list[str]:
    """Return the problems of the table of one relation."""
    if not isinstance(table, dict):
        return ["is not a table of cells: write [relation] on a line of its own"]
    problems = _check_instance(table.get("instance"))
    if missing := [name for name in NAMES if name not in table]:
        problems.append(f"lacks {', '.join(missing)}: a relation needs all eight cells")
    allowed = ("instance", "origin", *NAMES)
    if unknown := sorted(table.keys() - set(allowed)):
        problems.append(f"has unknown {', '.join(unknown)}; allowed: {', '.join(allowed)}")
    origin = table.get("origin")
    if origin is not None and not (
        isinstance(origin, str) and all(origin.count(slot) == 1 for slot in SLOTS)
    ):
        problems.append(f"origin is {origin!r}: give a sentence with [X] and [Y] once each")
    cells = {name: _as_texts(table[name]) for name in NAMES if name in table}
    problems += [
        f"{name} is not a list of texts: give the prototype, then its further wordings"
        for name, texts in cells.items()
        if not texts
    ]
    return problems + list(check_cells({name: texts for name, texts in cells.items() if texts}))


def _check_instance(value: object) -> list[str]:
    names = _as_texts(value)
    if len({*names}) == 2 and all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) for name in names):
        return []
    return [
        f"instance is {'missing' if value is None else repr(value)}: name the two predicates of "
        'the instantiated form, as in ["TakesDrug", "IsTreatedFor"]'
    ]


def _as_texts(value: object) -> list[str]:
    """Return the texts of a cell, or nothing if it is not a text or a list of texts that are not empty."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(t, str) and t for t in texts):
        return []
    return texts


def render_problems(file: str, problems: list[str]) -> str:
    """Return a message that names the file, counts its problems, and lists the first of them."""
    rest = len(problems) - N_SHOWN
    lines = [f"{file} has {count_noun(len(problems), 'problem')}:", *problems[:N_SHOWN]]
    return "\n  ".join([*lines, *([f"and {rest} more"] if rest > 0 else [])])


@dataclass(frozen=True)
class Pool:
    """A named set of prototypes, complete for each of its relations."""

    name: str
    relations: dict[str, RelationPrototypes]
    path: Path | None = None
    """The file of the pool; None if it is bundled."""

    def select_relation(self, relation: str) -> RelationPrototypes:
        """Return the prototypes of one relation, or raise InputError if the pool has none."""
        if problems := check_pool(self, [relation]):
            raise InputError(problems[0])
        return self.relations[relation]

    def list_texts(self, relations: Iterable[str]) -> list[str]:
        """Return every prototype and wording of these relations, relation by relation."""
        chosen = (self.relations[name] for name in sorted(relations))
        return [text for relation in chosen for cell in relation.cells.values() for text in cell.texts]

    def is_reviewed(self, relation: str) -> bool:
        """Return whether the relation is as it is in the bundled pool, whose wordings were reviewed."""
        return self.relations[relation] == _read_bundled().get(relation)

    def checksum_relation(self, relation: str) -> str:
        """Return the hash of the relation's predicates, prototypes and wordings (32 hex digits)."""
        prototypes = self.select_relation(relation)
        cells = {name: cell.texts for name, cell in prototypes.cells.items()}
        return hash_json([relation, prototypes.instance, cells], digits=32)


def load_pool(name_or_path: str) -> Pool:
    """Return the pool of that name or path. Every relation of it is complete and checked.

    Raises:
        InputError: there is no such pool, or its templates have problems, which the message lists.
    """
    if name_or_path == BUNDLED:
        return Pool(BUNDLED, _read_bundled())
    path = Path(name_or_path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"no prototype pool {name_or_path!r}: name a bundled one ({BUNDLED}) "
            f"or give the path of a file ({', '.join(SUFFIXES)})"
        )
    if not path.is_file():
        raise InputError(f"prototype pool {path} does not exist (relative paths start at {Path.cwd()})")
    return Pool(path.stem, _read_file(path), path)


@cache
def _read_bundled() -> dict[str, RelationPrototypes]:
    """Return the relations of the bundled files, or raise InputError if two of them have the same one."""
    relations: dict[str, RelationPrototypes] = {}
    for path in sorted(Path(__file__).parent.glob(f"*.{BUNDLED}.toml")):
        _, added = read_toml_pool(path)
        if repeated := sorted(relations.keys() & added.keys()):
            raise InputError(f"{path}: pool {BUNDLED} already holds {', '.join(repeated)}")
        relations |= added
    return relations


def _read_file(path: Path) -> dict[str, RelationPrototypes]:
    """Return the relations of one file, after those of the bundled pool if it extends that one."""
    if path.suffix.lower() != ".toml":
        return read_authors_pool(path)
    extended, own = read_toml_pool(path)
    if extended not in (None, BUNDLED):
        raise InputError(f"{path} extends {extended!r}; bundled pools: {BUNDLED}")
    return own if extended is None else {**_read_bundled(), **own}


def check_pool(pool: Pool, relations: Iterable[str]) -> list[str]:
    """Return a message that names the relations that the pool lacks; none if it lacks none."""
    known = [name for name in relations if name in pool.relations]
    missing = [name for name in relations if name not in pool.relations]
    if not missing:
        return []
    named, kept = ", ".join(map(repr, missing)), json.dumps(known) if known else "[…]"
    return [
        f"pool {pool.name!r} has no prototypes for {named}: write those of a relation with `pretexeval draft "
        f"CONFIG RELATION SENTENCE`, or name the relations to use in [knowledge]: relations = {kept}"
    ]


def check_pool_wordings(pool: Pool, relations: Iterable[str]) -> list[str]:
    """Return the problems that the rephraser `reviewed` would have with the wordings of these relations.

    One message names all cells with too few wordings.
    """
    cells_of = {name: pool.relations[name].cells for name in relations if name in pool.relations}
    short = {
        relation: [name for name, cell in cells.items() if len(cell.wordings) < MIN_WORDINGS]
        for relation, cells in cells_of.items()
    }
    lacking = ", ".join(
        f"[{relation}]" + (f" {' '.join(names)}" if len(names) < len(NAMES) else "")
        for relation, names in short.items()
        if names
    )
    few = [
        f"pool {pool.name!r} has fewer than {MIN_WORDINGS} further wordings beside the prototypes of "
        f'{lacking}: write them, or write kind = "none" in [rephraser] to test the prototypes themselves'
    ]
    alike = [
        f"pool {pool.name!r}, [{relation}] {name} {problem}"
        for relation, cells in cells_of.items()
        for name, cell in cells.items()
        for problem in check_alike(cell.texts)
    ]
    return few * bool(lacking) + alike
