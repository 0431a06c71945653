"""Stored responses are found by these keys, and stored error rows are recognised by this text."""

import pytest

from schemas.exchange import PROMPT_TOO_LONG, Prompt, Sampling, hash_prompt

EVERY_PARAMETER = Sampling(max_tokens=128, temperature=0.7, seed=3, stop=("Statement",), logprobs=True)


@pytest.mark.parametrize(
    ("prompt", "sampling", "expected"),
    [
        (
            Prompt("completion", 'Statement: "Fever"\nAnswer:'),
            Sampling(),
            "9b1394d53c86d865ef927d944722f388",
        ),
        (Prompt("chat", "[]"), EVERY_PARAMETER, "29def869ad560ca2d7346b9dba62f02d"),
    ],
)
def test_key_of_a_response_stays_the_same(prompt: Prompt, sampling: Sampling, expected: str) -> None:
    assert hash_prompt("m-1", prompt, sampling) == expected


def test_sampling_parameters_as_json_stay_the_same() -> None:
    expected = '{"logprobs":false,"max_tokens":8,"seed":null,"stop":[],"temperature":0.0}'
    assert Sampling().render_json() == expected


def test_beginning_of_the_error_of_a_long_prompt_stays_the_same() -> None:
    assert PROMPT_TOO_LONG == "prompt too long"
