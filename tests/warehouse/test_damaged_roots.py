"""Any one file of a root is damaged: `run` and `publish` end with the right tables, or name the file.

Views are not created here, because they are queries of the tables.
"""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from primitives.errors import InputError
from tests.support.damaged_root import SmallRoot, Tables, fill_root
from warehouse import loading

Damage = Callable[[Path, list[Path]], None]


def delete(path: Path, _: list[Path]) -> None:
    path.unlink()


def empty(path: Path, _: list[Path]) -> None:
    path.write_bytes(b"")


def truncate(path: Path, _: list[Path]) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) // 2])


def flip(place: float) -> Damage:
    """Return the damage of one flipped bit at this part of the file."""

    def damage(path: Path, _: list[Path]) -> None:
        content = bytearray(path.read_bytes())
        if content:
            content[int(place * len(content))] ^= 1
        path.unlink()
        path.write_bytes(bytes(content))

    return damage


def replace(path: Path, others: list[Path]) -> None:
    """Replace the file by another one of the same kind: of the same name elsewhere, or beside it."""
    same = [p for p in others if p != path and p.name.split("-")[0] == path.name.split("-")[0]]
    same = same or [p for p in others if p != path and p.suffix == path.suffix]
    content = same[0].read_bytes()
    path.unlink()
    path.write_bytes(content)


DAMAGES: dict[str, Damage] = {
    "delete": delete,
    "empty": empty,
    "truncate": truncate,
    "flip early": flip(0.2),
    "flip": flip(0.55),
    "flip late": flip(0.8),
    "replace": replace,
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallRoot:
    return fill_root(tmp_path_factory.mktemp("small"))


@pytest.fixture(autouse=True)
def without_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "create_views", lambda _: None)


def list_files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and ".damaged" not in path.name)


def copy(small: SmallRoot, folder: Path) -> SmallRoot:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(small.root, folder)
    return SmallRoot(folder, small.recordings)


def attempt(action: Callable[[], Tables], caplog: pytest.LogCaptureFixture) -> tuple[Tables | None, str]:
    """Return the tables, or None if the action ended with an error, and everything that it said."""
    caplog.clear()
    try:
        tables = action()
    except InputError as error:
        return None, f"{caplog.text}\n{error}"
    return tables, caplog.text


def is_right_or_named(found: Tables | None, said: str, expected: Tables, path: Path) -> bool:
    return found == expected or path.name in said or (path.suffix == ".parquet" and f"{path.parent}" in said)


def run_root(root: SmallRoot, asked: list[int]) -> Tables:
    """Run the edition of seed 2, and append how many prompts were asked."""
    n_asked, tables = root.run(2, "a")
    asked.append(n_asked)
    return tables


@pytest.mark.parametrize("name", DAMAGES)
def test_any_damaged_file(
    small: SmallRoot, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    expected = small.publish(2, "a")
    # Every file is damaged in every way, but in one test each file is damaged in one way only.
    files = [path.relative_to(small.root) for path in list_files(small.root)]
    failures = []
    for number, relative in enumerate(files):
        if name == "delete" and relative.parts[0] == "failures":
            # Nothing tells a record that was deleted from a failure that never happened.
            continue
        for first in ("run", "publish"):
            if not EXHAUSTIVE and (number + list(DAMAGES).index(name) + (first == "run")) % 7:
                continue
            root = copy(small, tmp_path / "data")
            path = root.root / relative
            DAMAGES[name](path, list_files(root.root))
            n_asked: list[int] = []
            actions: dict[str, Callable[[], Tables]] = {
                "run": partial(run_root, root, n_asked),
                "publish": partial(root.publish, 2, "a"),
            }
            found, said = attempt(actions[first], caplog)
            again, said_again = attempt(actions["run"], caplog)
            if not is_right_or_named(found, said, expected, path):
                failures.append((first, name, relative, said))
            if sum(n_asked) > 0 and relative.parts[0] != "responses":
                failures.append((first, name, relative, f"{n_asked} prompts asked again"))
            is_worse = found is not None and again is None
            if is_worse or not (again == found or is_right_or_named(again, said_again, expected, path)):
                failures.append(("again after " + first, name, relative, said_again))
    assert failures == [], "\n\n".join(map(str, failures))


# Set by hand to try every damage of every file: seven minutes.
EXHAUSTIVE = False
