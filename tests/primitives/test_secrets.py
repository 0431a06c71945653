import codecs
import json
from base64 import b64decode, b64encode, encodebytes, urlsafe_b64encode
from urllib.parse import quote

import pytest

from primitives.repeated_keys import hide_value
from primitives.secrets import find_secret, has_secret, hide_secrets

KNOWN = [
    "sk-proj-a1b2c3d4e5f6g7h8",
    "gsk_a1b2c3d4e5f6g7h8i9j0",
    "hf_ABCDEFghijklmnopqrst",
    "ghp_a1b2c3d4e5f6g7h8i9j0",
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
BYTES = KEY.encode()
PERCENT = "".join(f"%{byte:02X}" for byte in BYTES)
FORMS = {
    "as it is": KEY,
    "another case": KEY.swapcase(),
    "its beginning": KEY[:12],
    "its end": KEY[-12:].upper(),
    "a piece": KEY[10:23],
    "base64": b64encode(BYTES).decode(),
    "base64 after one byte": b64encode(b"x" + BYTES).decode(),
    "base64 of the header": urlsafe_b64encode(b"Bearer " + BYTES + b";").decode(),
    "base64 of a piece": b64encode(BYTES[5:17]).decode(),
    "base64 in lines": encodebytes(b"Authorization: Bearer " + BYTES).decode(),
    "hexadecimal": BYTES.hex().upper(),
    "hexadecimal with colons": BYTES.hex(":"),
    "hexadecimal of a piece": BYTES[7:19].hex(),
    "percent": quote(KEY, safe=""),
    "every character percent": PERCENT,
    "percent twice": quote(PERCENT),
    "base64 and percent": quote(b64encode(b"ab" + BYTES).decode(), safe=""),
    "JSON": "".join(f"\\u{byte:04x}" for byte in BYTES),
    "JSON within JSON": json.dumps("".join(f"\\u{byte:04X}" for byte in BYTES)),
    "Python": "".join(f"\\x{byte:02x}" for byte in BYTES),
    "HTML": "".join(f"&#{byte};" for byte in BYTES),
    "spaced": " ".join(KEY),
    "one character a line": "\n".join(KEY),
    "invisible characters": "\u200d\u2064\U000e0041".join(KEY),
    "full width": "".join(chr(ord(character) + 0xFEE0) for character in KEY),
    "UTF-16": KEY.encode("utf-16-le").decode("latin-1"),
    "base64 of UTF-16": b64encode(KEY.encode("utf-16-le")).decode(),
    "hexadecimal of UTF-16": KEY.encode("utf-16-be").hex(),
    "quoted-printable": "".join(f"={byte:02X}" for byte in BYTES),
    "ROT13": codecs.encode(KEY, "rot13"),
    "backwards": KEY[::-1],
    "quoted pieces": '" + "'.join([KEY[:12], KEY[12:24], KEY[24:]]),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_hidden_in_every_form(form: str) -> None:
    hidden = hide_value(f"İ the key is {FORMS[form]} and no other 💊", KEY)
    assert hidden.startswith("İ the key is ")
    assert hidden.endswith(" and no other 💊")
    rest = hidden.removeprefix("İ the key is ").removesuffix(" and no other 💊")
    # Of base64, what comes before the key and the last bits of the key may remain.
    before, sign, after = rest.partition("***")
    assert sign
    assert len(after.replace("***", "").strip('=; \n"')) < 6
    assert BYTES[:4] not in b64decode(before + "=" * (-len(before) % 4), validate=False)


def test_text_that_holds_no_key_stays_as_it_is() -> None:
    text = "sk-or-v1-7f is too short, 25% of &amp; c:\\\\u0041 stays; " + KEY[:11] + "!" + KEY[11:22]
    assert hide_value(text, KEY) == text


def test_several_keys_in_one_text() -> None:
    secret = "a'b\"c\\d/e+f"
    said = f"{secret} {secret!r} a'b\\\"c\\\\d/e+f a%27b%22c%5Cd%2Fe%2Bf"
    assert hide_value(said, secret) == "*** '***' *** ***"
    assert hide_value(f"{KEY}{KEY}, {KEY}", KEY) == "******, ***"
    assert hide_value("nothing", None) == "nothing"
    assert hide_value("short and shorter", "short") == "*** and ***er"
