"""Prototype pools: the templates of every relation for each of the eight transformations.

A pool is either bundled and known by its name (`revised`: all files `prototypes/*.revised.toml` together), or
a file: TOML (see ``prototypes.toml_pool``), or the authors' CSV or Parquet (see ``prototypes.authors_pool``).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from primitives.errors import InputError
from primitives.hashing import hash_json
from prototypes.authors_pool import read_authors_pool
from prototypes.checks import check_wordings
from prototypes.templates import Cell, RelationPrototypes
from prototypes.toml_pool import read_toml_pool
from schemas.transformations import NAMES

__all__ = [
    "Cell",
    "Pool",
    "RelationPrototypes",
    "check_drafts",
    "check_pool",
    "check_pool_wordings",
    "load_pool",
]

FOLDER = Path(__file__).parent
SUFFIXES = (".toml", ".csv", ".parquet")


@dataclass(frozen=True)
class Pool:
    """A named set of prototypes, complete for each of its relations."""

    name: str
    relations: dict[str, RelationPrototypes]
    path: Path | None = None
    """The file of the pool; null if it is bundled."""

    def select_relation(self, relation: str) -> RelationPrototypes:
        """Return the prototypes of one relation, or raise InputError if the pool has none."""
        if problems := check_pool(self, [relation]):
            raise InputError(problems[0])
        return self.relations[relation]

    def list_texts(self, relations: Iterable[str] | None = None) -> list[str]:
        """Return every prototype and wording of these relations, or of all, relation by relation."""
        names = self.relations if relations is None else relations
        chosen = (self.relations[name] for name in sorted(names))
        return [text for relation in chosen for cell in relation.cells.values() for text in cell.texts]

    def is_reviewed(self, relation: str) -> bool:
        """Return whether the relation is as it is in a bundled pool, whose wordings were reviewed."""
        return self.relations[relation] in [pool.relations.get(relation) for pool in _load_bundled()]

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
    if bundled := _find_bundled(name_or_path):
        return Pool(name_or_path, _merge_files(name_or_path, bundled))
    path = Path(name_or_path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"no prototype pool {name_or_path!r}: name a bundled one ({', '.join(list_bundled())}) "
            f"or give the path of a file ({', '.join(SUFFIXES)})"
        )
    if not path.is_file():
        raise InputError(f"prototype pool {path} does not exist (relative paths start at {Path.cwd()})")
    return Pool(path.stem, _read_file(path), path)


def list_bundled() -> list[str]:
    """Return the names of the bundled pools, sorted."""
    return sorted({path.stem.rpartition(".")[2] for path in FOLDER.glob("*.*.toml")})


@lru_cache(maxsize=1)
def _load_bundled() -> list[Pool]:
    return [load_pool(name) for name in list_bundled()]


def _find_bundled(name: str) -> list[Path]:
    is_name = re.fullmatch(r"[\w-]+", name) is not None
    return sorted(FOLDER.glob(f"*.{name}.toml")) if is_name else []


def _merge_files(name: str, paths: Iterable[Path]) -> dict[str, RelationPrototypes]:
    """Return the relations of several files, or raise InputError if two files have the same relation."""
    relations: dict[str, RelationPrototypes] = {}
    for path in paths:
        added = _read_file(path)
        if repeated := sorted(relations.keys() & added.keys()):
            raise InputError(f"{path}: pool {name} already holds {', '.join(repeated)}")
        relations |= added
    return relations


def _read_file(path: Path) -> dict[str, RelationPrototypes]:
    """Return the relations of one file, after those of the pool that it extends."""
    if path.suffix.lower() != ".toml":
        return read_authors_pool(path)
    extended, own = read_toml_pool(path)
    if extended is None:
        return own
    if not (bundled := _find_bundled(extended)):
        raise InputError(f"{path} extends {extended!r}; bundled pools: {', '.join(list_bundled())}")
    return {**_merge_files(extended, bundled), **own}


def check_pool(pool: Pool, relations: Iterable[str]) -> list[str]:
    """Return one message per relation that the pool lacks."""
    return [
        f"pool {pool.name!r} has no prototypes for relation {relation!r}: add a table [{relation}] "
        f"with instance, {', '.join(NAMES)}, or leave the relation out of [knowledge]"
        for relation in relations
        if relation not in pool.relations
    ]


def check_drafts(pool: Pool, relations: Iterable[str]) -> list[str]:
    """Return one message per relation whose prototypes are a draft."""
    return [
        f"pool {pool.name!r}: the prototypes of relation {relation!r} are a draft that nobody has reviewed: "
        f"review them and delete `status` in [{relation}], or write allow_drafts = true into [edition]"
        for relation in relations
        if relation in pool.relations and pool.relations[relation].is_draft
    ]


def check_pool_wordings(pool: Pool, relations: Iterable[str]) -> list[str]:
    """Return the problems that the rephraser `reviewed` would have with the wordings of these relations."""
    return [
        f"pool {pool.name!r}, [{relation}] {name} {problem}"
        for relation in relations
        if relation in pool.relations
        for name, cell in pool.relations[relation].cells.items()
        for problem in check_wordings(cell.texts)
    ]
