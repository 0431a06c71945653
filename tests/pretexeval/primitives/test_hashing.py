"""Stored files and responses are found by these hashes, so their results must stay the same."""

from pathlib import Path

import polars as pl

from pretexeval.primitives.hashing import (
    checksum_file,
    draw_one,
    draw_order,
    hash_joined,
    hash_json,
    hash_text,
    render_canonical_json,
)
from pretexeval.primitives.mixing import combine, hash_column, hash_name, mix_bits, read_ids, write_ids

VALUE = {"b": [1, None, True], "a": "β"}


def test_hashes_of_texts_stay_the_same() -> None:
    hashes = {
        (): "e4a6a0577479b2b4",
        ("ab",): "0e52b5f187de1088",
        ("may_treat", "Aspirin", "β"): "dde19b2f1fa2f635",
    }
    assert {parts: hash_text(*parts) for parts in hashes} == hashes
    assert hash_text("a", "b", digits=32) == "065ab5741cdfad44687cf119c1eb4ec9"
    # Parts can be joined before they are hashed.
    assert hash_joined(["a\x1fb", "", "β"], digits=32) == hash_text("a", "b", "", "β", digits=32)
    assert hash_joined([]) == hash_text()


def test_hash_of_json_stays_the_same_in_any_order_of_keys() -> None:
    assert render_canonical_json(VALUE) == '{"a":"β","b":[1,null,true]}'
    assert hash_json(VALUE) == hash_json(dict(reversed(VALUE.items()))) == "e235a459c91d0658"
    assert hash_json(VALUE, digits=8) == "04ae0e06"


def test_draws_stay_the_same_in_any_order_of_items() -> None:
    assert draw_order("abcdef", "seed", "1") == draw_order("fedcba", "seed", "1") == list("fbcaed")
    assert draw_one("abcdef", "seed", "1") == draw_one("fedcba", "seed", "1") == "f"
    names = ("FEVER", "Fever", "fever")
    assert [draw_one(names, salt) for salt in "1234"] == [draw_order(names, salt)[0] for salt in "1234"]


def test_checksum_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert checksum_file(path) == expected


def test_mixed_numbers_stay_the_same() -> None:
    """The first outputs of SplitMix64 with seed 0 are published; the others are bytes of stored editions."""
    numbers = pl.Series([1, 2, 3], dtype=pl.UInt64).to_numpy()
    golden = 0x9E3779B97F4A7C15
    states = pl.Series([golden, 2 * golden % 2**64, 3 * golden % 2**64], dtype=pl.UInt64).to_numpy()
    mixed = [f"{n:016x}" for n in mix_bits(states)]
    assert mixed == ["e220a8397b1dcdaf", "6e789e6aa1b965f4", "06c45d188009454f"]
    named = write_ids(combine("triplet", numbers)).to_list()
    assert named == ["fd2a2ceacc43a021", "1c2a95553b284e8b", "1ccc5e49d4870a19"]
    numbered = write_ids(combine(numbers, "triplet")).to_list()
    assert numbered == ["0ad1c3ca1b39d111", "91a8df356b64108c", "ac7e5a5bce53d679"]
    assert f"{hash_name('Asthma β'):016x}" == "aa741b34e2238cf7"
    found = hash_column(pl.Series(["b", None, "a", "b"])).tolist()
    assert found == [hash_name(name) for name in ("b", "", "a", "b")]


def test_ids_are_read_as_they_were_written() -> None:
    numbers = [0, 1, 2**63, 2**64 - 1]
    ids = write_ids(pl.Series(numbers, dtype=pl.UInt64).to_numpy())
    assert ids.to_list() == [f"{number:016x}" for number in numbers]
    assert read_ids(ids).tolist() == numbers
