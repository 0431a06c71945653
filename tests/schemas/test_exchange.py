"""Stored responses are found by these keys, and stored error rows are recognised by this text."""

from schemas.exchange import PROMPT_TOO_LONG, Prompt, Sampling, hash_prompt


def test_keys_and_texts_of_stored_responses_stay_the_same() -> None:
    every = Sampling(max_tokens=128, temperature=0.7, seed=3, stop=("Statement",), logprobs=True)
    completion = Prompt("completion", 'Statement: "Fever"\nAnswer:')
    assert hash_prompt("m-1", completion, Sampling()) == "9b1394d53c86d865ef927d944722f388"
    assert hash_prompt("m-1", Prompt("chat", "[]"), every) == "29def869ad560ca2d7346b9dba62f02d"
    expected = '{"logprobs":false,"max_tokens":8,"seed":null,"stop":[],"temperature":0.0}'
    assert Sampling().render_json() == expected
    assert PROMPT_TOO_LONG == "prompt too long"
