"""Any one file of a root is damaged: `run` and `publish` end with the right tables, or name the file."""

import random
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from schemas.stages import HUMAN_GRADES, STAGES
from tests.warehouse.damaged_root import SmallRoot, Tables
from warehouse import catalogue
from warehouse.catalogue import SUMS

pytestmark = pytest.mark.long

# Of some 900 combinations of a file, a damage and a command. Each takes a second or two of one core.
N_PLAYED = 24
# Nothing tells a record or a grade that was deleted from one that never was, or that a report which is about
# other rows replaced one.
FORGOTTEN = {"delete": ("failures/", "reviews/", "checks/"), "replace": ("checks/",)}
# What is computed from other tables, and the table to which a failing command adds a row.
UNCHECKED = {*SUMS, "failures"}
Damage = Callable[[Path, list[Path], random.Random], None]


def truncate(path: Path, _: list[Path], generator: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(generator.random() * len(content))])


def flip(path: Path, _: list[Path], generator: random.Random) -> None:
    """Change one bit."""
    content = bytearray(path.read_bytes())
    if content:
        content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
    path.write_bytes(bytes(content))


def replace(path: Path, others: list[Path], generator: random.Random) -> None:
    """Replace the file by another one of the same kind: of the same name elsewhere, or beside it."""
    same = [p for p in others if p != path and p.name.split("-")[0] == path.name.split("-")[0]]
    same = same or [p for p in others if p != path and p.suffix == path.suffix]
    path.write_bytes(generator.choice(same or others).read_bytes())


DAMAGES: dict[str, Damage] = {
    "delete": lambda path, _, __: path.unlink(),
    "empty": lambda path, _, __: path.open("wb").close(),
    "truncate": truncate,
    "flip": flip,
    "replace": replace,
}


def list_files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and ".damaged" not in path.name)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallRoot:
    """Return a filled root whose warehouse has no views, which are queries of its tables."""
    root = SmallRoot(tmp_path / "data", tmp_path)
    root.fill()
    stages = {part for path in list_files(root.root) for part in path.parts}
    assert set(STAGES) - {HUMAN_GRADES.name} <= stages
    for name in ("ESTIMATES", "VIEWS"):
        monkeypatch.setattr(catalogue, name, ())
    root.publish(2)
    return root


def play(root: SmallRoot, command: str, caplog: pytest.LogCaptureFixture) -> tuple[str, Tables, int, bool]:
    """Run or publish; return what was said, the tables, the number of prompts, and whether it succeeded."""
    caplog.clear()
    n_asked, error = 0, ""
    try:
        if command == "run":
            n_asked = root.run(2)
        else:
            root.publish(2)
    except InputError as caught:
        error = str(caught)
    return f"{caplog.text}\n{error}", root.read_tables(), n_asked, not error


def is_right_or_named(said: str, tables: Tables, expected: Tables, path: Path) -> bool:
    """Return whether the tables are right, or rows are missing and the message names the file."""
    if tables == expected:
        return True
    is_named = path.name in said or (path.suffix == ".parquet" and str(path.parent) in said)
    return is_named and all(tables[name] <= expected[name] for name in set(tables) - UNCHECKED)


def find_faults(
    root: SmallRoot, path: Path, command: str, expected: Tables, caplog: pytest.LogCaptureFixture
) -> str:
    """Play the command and then `run` on a damaged root; return what is wrong."""
    said, tables, n_asked, has_succeeded = play(root, command, caplog)
    said_then, tables_then, n_asked_then, has_succeeded_then = play(root, "run", caplog)
    wrong = []
    if not is_right_or_named(said, tables, expected, path):
        wrong.append("neither the right tables nor the name of the file")
    if tables_then != tables and not is_right_or_named(said_then, tables_then, expected, path):
        wrong.append("`run` after it neither gives the right tables nor names the file")
    if (tables == expected and tables_then != expected) or (has_succeeded and not has_succeeded_then):
        wrong.append("`run` after it makes the root worse")
    is_response = path.relative_to(root.root).parts[0] == "responses"
    if (n_asked + n_asked_then and not is_response) or (command == "run" and n_asked_then):
        wrong.append(f"{n_asked} and then {n_asked_then} prompts were asked again")
    return "; ".join(wrong) and f"{'; '.join(wrong)}\n{said}\n--- second:\n{said_then}"


def test_any_damaged_file(small: SmallRoot, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected = small.read_tables()
    names = [path.relative_to(small.root) for path in list_files(small.root)]
    combinations = list(product(names, DAMAGES, ("run", "publish")))
    faults = []
    for name, damage, command in random.Random(1).sample(combinations, N_PLAYED):
        if name.as_posix().startswith(FORGOTTEN.get(damage, ())):
            continue
        root = SmallRoot(tmp_path / "copy", small.recordings)
        shutil.rmtree(root.root, ignore_errors=True)
        shutil.copytree(small.root, root.root)
        DAMAGES[damage](root.root / name, list_files(root.root), random.Random(f"{name} {damage}"))
        if found := find_faults(root, root.root / name, command, expected, caplog):
            faults.append(f"{damage} {name}, then {command}: {found}")
    assert not faults, "\n".join(faults)
