"""Hashes and random draws of whole columns, as 64-bit numbers.

A name is hashed once, by BLAKE2b. Everything else is arithmetic on columns: the finaliser of SplitMix64
(Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014, section 5) after each
number that is combined. The results do not depend on versions of libraries, on the order of rows, or on the
number of threads. The ids and draws of editions are these numbers, so they must never change.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The increment of SplitMix64: the odd number next to 2**64 divided by the golden ratio."""


def mix_bits(values: Numbers) -> Numbers:
    """Return scrambled values: the finaliser of SplitMix64, which maps distinct values to distinct ones."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def hash_name(name: str) -> int:
    """Return the BLAKE2b hash of a name in UTF-8, as a number of 64 bits."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")


def hash_names(names: Iterable[str]) -> Numbers:
    """Return the hash of each name."""
    return np.fromiter(map(hash_name, names), np.uint64)


def combine(*columns: Numbers | str) -> Numbers:
    """Return one number per row that depends on all columns and on their order.

    Args:
        columns: numbers, one per row; or a text, which stands for the hash of it in every row.
    """
    state = np.zeros(1, np.uint64)
    for column in columns:
        numbers = hash_names([column]) if isinstance(column, str) else column
        state = mix_bits((state + GOLDEN) ^ numbers)
    return state


def write_ids(numbers: Numbers) -> pl.Series:
    """Return each number as an id of 16 hexadecimal digits."""
    content = numbers.astype(">u8").tobytes().hex()
    return pl.Series([content[i : i + 16] for i in range(0, len(content), 16)], dtype=pl.String)


def read_ids(ids: pl.Series) -> Numbers:
    """Return the numbers of ids that `write_ids` wrote."""
    return ids.str.to_integer(base=16, dtype=pl.UInt64).to_numpy()


def hash_column(values: pl.Series) -> Numbers:
    """Return the hash of each text, computed once for each distinct text; null counts as the empty text."""
    filled = values.fill_null("")
    names = filled.unique()
    table = pl.DataFrame({"name": names, "number": hash_names(names)})
    return (
        filled.to_frame("name").join(table, on="name", how="left", maintain_order="left")["number"].to_numpy()
    )
