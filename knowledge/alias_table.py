"""The aliases of the names of a base: a table, which becomes a mapping only when a name is looked up."""

from collections.abc import Iterator, Mapping
from functools import cached_property

import polars as pl

from knowledge.name_keys import fold_names

PAIRS = {"name": pl.String, "alias": pl.String}


class AliasTable(Mapping[str, tuple[str, ...]]):
    """Name, as the base writes it -> its aliases, sorted. A name without aliases is missing.

    A terminology has millions of aliases, and most editions never look one up: a dict of them would take
    seconds and gigabytes. Prefect would also visit every item of a dict in the parameters of a task.
    """

    def __init__(self, pairs: pl.DataFrame | None = None) -> None:
        """Keep the aliases.

        Args:
            pairs: the columns name and alias; by default none.
        """
        rows = pl.DataFrame(schema=PAIRS) if pairs is None else pairs
        self.pairs = rows.select(list(PAIRS)).unique().sort("name", "alias")

    def __getitem__(self, name: str) -> tuple[str, ...]:
        """Return the aliases of a name that has one."""
        return self._listed[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names that have an alias, sorted."""
        return iter(self._listed)

    def __len__(self) -> int:
        """Return the number of names that have an alias."""
        return self.pairs["name"].n_unique()

    @cached_property
    def alias_keys(self) -> pl.DataFrame:
        """The name and the key of every alias. A name that is spelled like the alias has the same key."""
        return self.pairs.select("name", key="name:" + fold_names(self.pairs["alias"]))

    @cached_property
    def _listed(self) -> dict[str, tuple[str, ...]]:
        listed = self.pairs.group_by("name", maintain_order=True).agg("alias")
        return {name: tuple(aliases) for name, aliases in listed.iter_rows()}
