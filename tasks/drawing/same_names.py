"""Which names of a relation are the same: those with the same folded name or the same id, directly or not."""

from collections.abc import Iterable, Iterator

import polars as pl

from knowledge.spelling import list_name_keys


class SameNames:
    """Groups of names that are the same. A name that was never indexed is a group of its own."""

    def __init__(self, names: Iterable[tuple[str, str | None]]) -> None:
        """Group the names, each given with its id."""
        self._parent: dict[str, str] = {}
        found = set(names)
        for name, identifier in found:
            for key in list_name_keys(name, identifier):
                self._join(self._find("=" + name), self._find(key))
        self._members: dict[str, set[str]] = {}
        for name, _ in found:
            self._members.setdefault(self._find("=" + name), set()).add(name)
        self._group_of = {name: min(group) for group in self._members.values() for name in group}
        self._names_of = {min(group): frozenset(group) for group in self._members.values()}

    def _find(self, key: str) -> str:
        root = self._parent.setdefault(key, key)
        while root != self._parent[root]:
            root = self._parent[root]
        self._parent[key] = root
        return root

    def _join(self, one: str, other: str) -> None:
        self._parent[max(one, other)] = min(one, other)

    def find_group(self, name: str) -> str:
        """Return the first name of its group, which identifies the group."""
        return self._group_of.get(name, name)

    def find_groups(self, names: Iterable[str]) -> set[str]:
        """Return the groups of the names."""
        return {self.find_group(name) for name in names}

    def list_same(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names and all names that are the same as one of them."""
        return frozenset().union(
            *(self._names_of.get(self.find_group(name), frozenset((name,))) for name in names)
        )


def group_tails(*frames: pl.DataFrame) -> SameNames:
    """Return the groups of the tails of all rows.

    Args:
        frames: rows with the columns tail and tail_id.
    """
    return SameNames(_iterate_tails(frames))


def _iterate_tails(frames: Iterable[pl.DataFrame]) -> Iterator[tuple[str, str | None]]:
    for frame in frames:
        yield from frame.select("tail", "tail_id").unique().iter_rows()
