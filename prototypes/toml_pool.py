"""Reader of TOML pools, both the bundled pools and those of users, with one table per relation.

    extends = "revised"    # optional: add to a bundled pool

    [may_treat]
    instance = ["TakesDrug", "IsTreatedFor"]
    none = ["The drug [X] may treat [Y].", "a further wording", ...]
    inv = [...]    # and ins, inv_ins, dn, inv_dn, ins_dn, inv_ins_dn

``instance`` names P and Q of the instantiated form P(X, x) ⇒ Q(x, Y), or P(X, x) ⇒ ◇Q(x, Y) if the relation
is a possibility. The first entry of a cell is the prototype. The others are its wordings, which only the
rephraser `reviewed` needs. Entry i of a dn cell denies entry i of its positive cell.
"""

import re
from pathlib import Path

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import parse_toml
from prototypes.templates import SLOTS, RelationPrototypes, build_prototypes, check_cells
from schemas.transformations import NAMES

N_SHOWN = 20


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
    for relation, table in content.items():
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
    lines = [f"{file} has {len(problems)} problems:", *problems[:N_SHOWN]]
    return "\n  ".join([*lines, *([f"and {rest} more"] if rest > 0 else [])])
