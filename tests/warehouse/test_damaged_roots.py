"""Any one file of a root is damaged: `run` and `publish` end with the right tables, or name the file.

The tests play the first combinations of a file, a damage and a command, in a fixed random order. The
variable PRETEXEVAL_DAMAGES names the combinations to play instead; the message of a failure says which.
`today` plays other ones each day, so that all are played within two months, and `all` plays every
combination, without views, in about 20 minutes.
"""

import datetime
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage import layout
from schemas.stages import HUMAN_GRADES, STAGES
from tests.support.damaged_root import SmallRoot, Tables, fill_root
from warehouse import catalogue
from warehouse.catalogue import ESTIMATES, SUMS, VIEWS

pytestmark = pytest.mark.long

VARIABLE = "PRETEXEVAL_DAMAGES"
# A combination with all views takes 4 s of one core, one with the tables alone 1 s.
N_WITH_VIEWS = 3
N_WITHOUT_VIEWS = 15
COMMANDS = ("run", "publish")
# Nothing tells a record or a grade that was deleted from one that never was.
FORGOTTEN = ("failures/", "reviews/", "checks/")
# What is computed from other tables, and the table to which a failing command adds a row.
UNCHECKED = {*SUMS, *ESTIMATES, *VIEWS, "failures"}
Damage = Callable[[Path, list[Path], random.Random], None]


def delete(path: Path, _: list[Path], __: random.Random) -> None:
    path.unlink()


def empty(path: Path, _: list[Path], __: random.Random) -> None:
    path.write_bytes(b"")


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
    "delete": delete,
    "empty": empty,
    "truncate": truncate,
    "flip": flip,
    "replace": replace,
}


@dataclass(frozen=True)
class Combination:
    """A file by its number among all of the root, a damage, and the command that meets it first."""

    file: int
    damage: str
    command: str

    def __str__(self) -> str:
        return f"{self.file}:{self.damage}:{self.command}"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallRoot:
    return fill_root(tmp_path_factory.mktemp("small"))


def list_files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and ".damaged" not in path.name)


def choose_combinations(root: Path, n: int, first: int) -> list[Combination]:
    """Return the first combinations, or those that the variable names.

    Args:
        first: how many combinations are played by others.
    """
    n_files, named = len(list_files(root)), os.environ.get(VARIABLE, "")
    if named not in ("", "all", "today"):
        parts = (each.split(":") for each in named.split(","))
        return [Combination(int(file), damage, command) for file, damage, command in parts]
    every = [Combination(*each) for each in product(range(n_files), DAMAGES, COMMANDS)]
    random.Random(1).shuffle(every)
    if named == "all":
        return every
    day = datetime.datetime.now(datetime.UTC).date().toordinal() if named else 0
    start = day * (N_WITH_VIEWS + N_WITHOUT_VIEWS) + first
    return [every[number % len(every)] for number in range(start, start + n)]


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    said: str
    tables: Tables
    n_asked: int
    has_succeeded: bool

    def is_right_or_named(self, expected: Tables, path: Path) -> bool:
        """Return whether the tables are right, or rows are missing and the message names the file."""
        if self.tables == expected:
            return True
        is_named = path.name in self.said or (path.suffix == ".parquet" and str(path.parent) in self.said)
        return is_named and all(self.tables[name] <= expected[name] for name in set(self.tables) - UNCHECKED)


def play(
    root: SmallRoot, command: str, caplog: pytest.LogCaptureFixture, *, has_views: bool = False
) -> Outcome:
    """Run or publish the edition of seed 2; read the views only if told, because that takes 2 s."""
    caplog.clear()
    n_asked, error = 0, ""
    try:
        if command == "run":
            n_asked = root.run(2)
        else:
            root.publish(2)
    except InputError as caught:
        error = str(caught)
    return Outcome(f"{caplog.text}\n{error}", root.read_tables(has_views=has_views), n_asked, not error)


def check(
    small: SmallRoot, folder: Path, which: Combination, expected: Tables, caplog: pytest.LogCaptureFixture
) -> str | None:
    """Damage a copy of the root, play the command and then `run`; return what is wrong, or null."""
    root = SmallRoot(folder / "data", small.recordings)
    shutil.rmtree(root.root, ignore_errors=True)
    shutil.copytree(small.root, root.root)
    path = list_files(root.root)[which.file]
    relative = path.relative_to(root.root)
    if which.damage == "delete" and relative.as_posix().startswith(FORGOTTEN):
        return None
    content = path.read_bytes()
    DAMAGES[which.damage](path, list_files(root.root), random.Random(f"{relative} {which}"))
    if path.exists() and path.read_bytes() == content:
        return None
    first = play(root, which.command, caplog)
    second = play(root, "run", caplog, has_views=len(expected) > len(first.tables))
    final, expected = expected, {name: expected[name] for name in first.tables}
    wrong = []
    if not first.is_right_or_named(expected, path):
        wrong.append(f"`{which.command}` neither gives the right tables nor names the file")
    is_same = {name: second.tables[name] for name in first.tables} == first.tables
    is_right_or_named = second.is_right_or_named(final, path)
    if not is_right_or_named and not is_same:
        wrong.append("`run` after it neither gives the right tables nor names the file")
    # Of the first command no view was read, so a view may lack rows of the file if the second one names it.
    is_worse = first.tables == expected and not (is_same and is_right_or_named)
    if is_worse or (first.has_succeeded and not second.has_succeeded):
        wrong.append("`run` after it makes the root worse")
    n_asked = first.n_asked + second.n_asked
    if n_asked and (relative.parts[0] != "responses" or (which.command == "run" and second.n_asked)):
        wrong.append(f"{first.n_asked} and then {second.n_asked} prompts were asked again")
    said = f"{first.said}\n--- second:\n{second.said}"
    return f"{VARIABLE}={which} ({relative}): {'; '.join(wrong)}\n{said}" if wrong else None


def test_any_damaged_file_with_all_views(
    small: SmallRoot, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = small.read_tables(has_views=True)
    chosen = choose_combinations(small.root, N_WITH_VIEWS, 0)
    if os.environ.get(VARIABLE) == "all":
        pytest.skip("every combination is played in the tables alone")
    failures = [check(small, tmp_path, which, expected, caplog) for which in chosen]
    assert list(filter(None, failures)) == []


def test_any_damaged_file(
    small: SmallRoot, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Views are queries of the tables: without them, four times as many combinations take the same time.
    for name in ("ESTIMATES", "VIEWS"):
        monkeypatch.setattr(catalogue, name, ())
    bare = SmallRoot(tmp_path / "bare", small.recordings)
    shutil.copytree(small.root, bare.root)
    bare.publish(2)
    expected = bare.read_tables()
    chosen = choose_combinations(bare.root, N_WITHOUT_VIEWS, N_WITH_VIEWS)
    failures = [check(bare, tmp_path, which, expected, caplog) for which in chosen]
    assert list(filter(None, failures)) == []


def test_the_root_has_every_kind_of_file(small: SmallRoot) -> None:
    folders = {value for name, value in vars(layout).items() if name.endswith("_FOLDER")}
    # Only an installation writes the first two, and only Prefect reads the third.
    folders -= {layout.POSTGRES_FOLDER, layout.LOGS_FOLDER, layout.TASKS_FOLDER}
    # An edition is in this folder only while it is removed.
    folders -= {layout.REMOVED_FOLDER}
    stages = set(STAGES) - {HUMAN_GRADES.name}
    files = list_files(small.root)
    paths = [path.relative_to(small.root) for path in files]
    # A folder may be within another one.
    parts = {part for path in paths for part in path.parts}
    parts |= {folder.as_posix() for path in paths for folder in path.parents}
    assert folders | stages | {layout.MANIFEST, layout.RUN, layout.MODEL, layout.REVIEW_KEY} <= parts
    assert {layout.WAREHOUSE, layout.PUBLISH_LOCK, "client.env"} <= parts
