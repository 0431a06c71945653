import polars as pl
import pytest

from pretexeval.primitives.mixing import combine, hash_column, hash_name, mix_bits, read_ids, write_ids


def test_fixed_results_never_change() -> None:
    """The first outputs of SplitMix64 with seed 0 are published; the others are bytes of stored editions."""
    numbers = pl.Series([1, 2, 3], dtype=pl.UInt64).to_numpy()
    golden = 0x9E3779B97F4A7C15
    states = pl.Series([golden, 2 * golden % 2**64, 3 * golden % 2**64], dtype=pl.UInt64).to_numpy()
    assert [f"{n:016x}" for n in mix_bits(states)] == [
        "e220a8397b1dcdaf",
        "6e789e6aa1b965f4",
        "06c45d188009454f",
    ]
    assert f"{hash_name('Asthma β'):016x}" == "aa741b34e2238cf7"
    assert write_ids(combine("triplet", numbers)).to_list() == [
        "fd2a2ceacc43a021",
        "1c2a95553b284e8b",
        "1ccc5e49d4870a19",
    ]
    assert write_ids(combine(numbers, "triplet")).to_list() == [
        "0ad1c3ca1b39d111",
        "91a8df356b64108c",
        "ac7e5a5bce53d679",
    ]


def test_a_column_is_hashed_name_by_name() -> None:
    found = hash_column(pl.Series(["b", None, "a", "b"])).tolist()
    assert found == [hash_name("b"), hash_name(""), hash_name("a"), hash_name("b")]


@pytest.mark.parametrize("number", [0, 1, 2**63, 2**64 - 1])
def test_ids_are_read_as_they_were_written(number: int) -> None:
    ids = write_ids(pl.Series([number], dtype=pl.UInt64).to_numpy())
    assert ids.to_list() == [f"{number:016x}"]
    assert read_ids(ids).tolist() == [number]
