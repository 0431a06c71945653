"""Secrets are found and hidden; names, paths and words stay."""

from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest

from pretexeval.primitives.secrets import find_secret, has_secret, hide_secrets, hide_value

KNOWN = [
    "sk-proj-a1b2c3d4e5f6g7h8",
    "gsk_a1b2c3d4e5f6g7h8i9j0",
    "hf_ABCDEFghijklmnopqrst",
    "AKIAIOSFODNN7EXAMPLE",
    "Bearer a1b2c3d4e5f6",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc",
    "-----BEGIN RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", KNOWN)
def test_text_with_a_known_key_prefix_is_a_secret(secret: str) -> None:
    assert has_secret(secret)
    assert has_secret(f"a path/{secret}, and more")
    assert secret not in hide_secrets(f"= '{secret}': no")


@pytest.mark.parametrize(
    ("address", "hidden"),
    [
        ("https://me:word@host/v1", "https://***@host/v1"),
        ("s3://word@bucket/a", "s3://***@bucket/a"),
        ("https://host/v1?a=1&api_key=word&b=2", "https://host/v1?a=1&***&b=2"),
        ("https://host/?X-Amz-Signature=word", "https://host/?***"),
    ],
)
def test_secret_in_an_address_is_found_and_hidden(address: str, hidden: str) -> None:
    assert has_secret(address)
    assert hide_secrets(address) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "llama3-8b-instruct-q4",
        "meta-llama/Llama-3.1-8B-Instruct",
        "http://127.0.0.1:8000/v1",
        "s3://bucket/prefix",
        "publishers/google@001",
        "risk-assessment-of-diseases",
        "Keep its basic understanding of what is said.",
        "gpu_memory_utilization",
        "2026-W47",
        "configs/quickstart.toml",
    ],
)
def test_names_paths_and_words_are_not_secrets(text: str) -> None:
    assert not has_secret(text)
    assert hide_secrets(text) == text


@pytest.mark.parametrize("text", ["9f86d081884c7d659a2f", "550e8400-e29b-41d4-a716-446655440000", "1" * 12])
def test_random_looking_text_is_hidden_but_not_refused(text: str) -> None:
    assert hide_secrets(f"seed = '{text}': no") == "seed = '***': no"
    assert not has_secret(text)


def test_place_of_a_secret_is_found() -> None:
    table = {"a": [{"b": "fine"}, {"b": 3, "c": f"it is {KNOWN[0]}"}], "d": "fine", "e": None}
    assert find_secret(table, []) == "a[1].c"
    assert find_secret(table["d"], []) is None
    assert find_secret({"d": "refined"}, ["fine"]) == "d"


KEY = "sk-or-v1-7f3aQz9+bC/d8e4-Lm_2xY0wPq5TnHk"


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        KEY.swapcase(),
        quote(KEY, safe=""),
        quote(KEY).lower(),
        *(b64encode(b"x" * n + KEY.encode() + b";").decode() for n in range(3)),
        urlsafe_b64encode(b"Bearer " + KEY.encode()).decode(),
    ],
)
def test_a_key_is_hidden_as_it_is_in_an_address_and_in_base64(form: str) -> None:
    hidden = hide_value(f"İ the key is {form}, {form} and no other 💊", KEY)
    assert hidden.count("***") == 2
    # Of base64, what comes before the key and the last bits of the key may remain.
    assert len(hidden) < len("İ the key is ***, *** and no other 💊") + 2 * 16
    assert KEY[:8] not in hidden


def test_what_is_no_key_stays() -> None:
    text = "sk-or-v1-7f is too short, 25% of &amp; c:\\\\u0041 stays"
    assert hide_value(text, KEY) == text
    assert hide_value("nothing", None) == "nothing"
    assert hide_value("short and shorter", "short") == "*** and ***er"
