"""Stored files and responses are found by these hashes, so their results must stay the same."""

from pathlib import Path

import pytest

from pretexeval.primitives.hashing import (
    checksum_file,
    draw_one,
    draw_order,
    hash_joined,
    hash_json,
    hash_text,
    render_canonical_json,
)

VALUE = {"b": [1, None, True], "a": "β"}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((), "e4a6a0577479b2b4"),
        (("ab",), "0e52b5f187de1088"),
        (("may_treat", "Aspirin", "β"), "dde19b2f1fa2f635"),
    ],
)
def test_hash_of_texts_stays_the_same(parts: tuple[str, ...], expected: str) -> None:
    assert hash_text(*parts) == expected


def test_parts_can_be_joined_before_they_are_hashed() -> None:
    assert hash_joined(["a\x1fb", "", "β"], digits=32) == hash_text("a", "b", "", "β", digits=32)
    assert hash_joined([]) == hash_text()


def test_digits_choose_the_length_of_a_hash() -> None:
    assert hash_text("a", "b", digits=32) == "065ab5741cdfad44687cf119c1eb4ec9"
    assert hash_json(VALUE, digits=8) == "04ae0e06"


def test_hash_of_json_stays_the_same_in_any_order_of_keys() -> None:
    assert render_canonical_json(VALUE) == '{"a":"β","b":[1,null,true]}'
    assert hash_json(VALUE) == hash_json(dict(reversed(VALUE.items()))) == "e235a459c91d0658"


def test_draws_stay_the_same_in_any_order_of_items() -> None:
    assert draw_order("abcdef", "seed", "1") == draw_order("fedcba", "seed", "1") == list("fbcaed")
    assert draw_one("abcdef", "seed", "1") == draw_one("fedcba", "seed", "1") == "f"


def test_checksum_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert checksum_file(path) == expected
