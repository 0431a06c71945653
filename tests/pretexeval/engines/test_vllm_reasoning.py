"""Models that think, in vLLM: the bundled small model with a chat template that can open a thought."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from pretexeval.config.engines import ModelConfig
from pretexeval.engines.loading import load_engine
from pretexeval.engines.vllm_process import ENVIRONMENT, HUB_VARIABLE, ReasoningSplitter
from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt
from tasks.asking.sampling import build_sampling
from tests.support.command import REPOSITORY

CHAT = Prompt("chat", '[{"content":"Influenza may cause fever.","role":"user"}]')
THINKING = {"chat_template_kwargs": {"enable_thinking": True}, "thinking_token_budget": 3}


def configure(folder: Path, **settings: object) -> ModelConfig:
    given = {"name": "small", "model": str(folder), "dtype": "float32", "prompt_style": "chat"}
    return ModelConfig.model_validate(given | {"max_tokens": 4} | settings)


def split(text: str, prompt: str, **settings: object) -> tuple[str | None, str | None]:
    """Return response and reasoning of a completion, separated without a parser."""
    splitter = ReasoningSplitter(configure(Path("m"), **settings), tokenizer=None)
    completion = splitter.split(Completion(text, logprob_true=-1.0), prompt)
    assert (completion.logprob_true is None) == (completion.reasoning is not None)
    return completion.response, completion.reasoning


def test_thought_that_the_template_opened_and_that_does_not_end_is_reasoning() -> None:
    assert split("It is false", "Fever?<think>\n") == ("", "It is false")
    assert split("It is false", "Fever?") == ("It is false", None)
    assert split("It is false", "Fever?[THINK]", reasoning_marks=["[THINK]", "[/THINK]"]) == (
        "",
        "It is false",
    )
    # Scoring reads marks in stored responses, which stay as they came.
    assert split("False? </think> True", "Fever?<think>\n") == ("False? </think> True", None)


@pytest.mark.long
def test_settings_reach_the_chat_template_the_sampling_and_the_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (ENVIRONMENT | {HUB_VARIABLE: "1"}).items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "model"
    shutil.copytree(REPOSITORY / "models" / "reference-small", folder)
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text().rstrip("\n") + "{% if enable_thinking %}<think>{% endif %}")
    false = Tokenizer.from_file(str(folder / "tokenizer.json")).encode("True False").ids[-1]

    config = configure(folder, extra_body={"allowed_token_ids": [false]})
    with closing(load_engine(config)) as engine:
        (plain,) = engine.generate([CHAT], build_sampling(config, max_tokens=3))
    assert (plain.response, plain.reasoning) == (" False" * 3, None)
    assert str(plain.served).startswith("vLLM ")
    assert str(plain.served).endswith(", float32")

    # With a budget for the thought, vLLM closes it itself, which this small model has not learned.
    config = configure(folder, extra_body=THINKING, reasoning_parser="qwen3")
    with closing(load_engine(config)) as engine:
        cut, whole = (
            engine.generate([CHAT], build_sampling(config, max_tokens=n_tokens))[0] for n_tokens in (2, 20)
        )
    assert cut.n_prompt_tokens != plain.n_prompt_tokens
    assert (cut.response, cut.finish_reason) == ("", "length")
    assert cut.reasoning
    assert str(whole.reasoning).startswith(cut.reasoning)
    assert whole.response
    assert "think>" not in whole.response + str(whole.reasoning)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"extra_body": {"top": 1}}, "vLLM does not take extra_body: .*'top'"),
        ({"extra_body": {"top_p": 3}}, "vLLM does not take extra_body: top_p must be in"),
        ({"extra_body": {"chat_template_kwargs": 3}}, "chat_template_kwargs in extra_body must be a table"),
    ],
)
def test_parameter_that_vllm_does_not_take_is_refused_before_the_model_is_loaded(
    settings: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        load_engine(configure(REPOSITORY / "models" / "reference-small", **settings))
