"""Tests with real vLLM, in this process and as a server, on random models of two layers (two minutes)."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from math import exp
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from pretexeval.config.engines import ModelConfig
from pretexeval.engines.base import Engine
from pretexeval.engines.loading import load_engine
from pretexeval.engines.vllm_engine import VllmEngine
from pretexeval.engines.vllm_process import ENVIRONMENT, HUB_VARIABLE
from pretexeval.primitives.errors import InputError
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt, Sampling
from tests.support.tiny_llama import MAX_POSITIONS, WORDS
from tests.support.vllm_server import VllmServer, start_vllm_server

pytestmark = pytest.mark.slow

DEMONSTRATION = 'Statement: "Fever may cause cough.", is the statement above true or false?\nAnswer:'
GREEDY = Sampling(max_tokens=4, logprobs=True)
SHORT = [
    Prompt(
        "completion",
        f'{DEMONSTRATION} {said}\nStatement: "{word} may cause {other}.", is it?\nAnswer:',
    )
    for word in WORDS
    for other, said in (("asthma", "True"), ("gene", "False"))
]
LONG = Prompt("completion", DEMONSTRATION * 30)
CHAT = Prompt("chat", '[{"content":"Fever?","role":"user"}]')
# bf16 rounding depends on the batch. Logits between 16 and 32 are rounded to multiples of 0.125, and a
# log-probability is the difference of two roundings. Such a change is visible in the log-probability of an
# unlikely token, and hardly in the probability of any token.
MAX_CHANGE_OF_LOGPROB = 0.5
MAX_CHANGE_OF_PROBABILITY = 0.05


@dataclass
class Session:
    """The completions of one vLLM process with several models, one after the other."""

    batch: list[Completion]
    alone: list[Completion]
    mixed: list[Completion]
    stopped: Completion
    ended: Completion
    other: list[Completion]
    again: list[Completion]
    refusals: list[str]
    kept: dict[int, Completion]
    progress: list[int] = field(default_factory=list)


def configure(folder: Path, **settings: object) -> ModelConfig:
    given = {"name": "tiny", "model": str(folder), "dtype": "bfloat16"}
    return ModelConfig.model_validate(given | settings)


def ask_once(folder: Path, prompts: list[Prompt]) -> list[Completion]:
    with closing(load_engine(configure(folder))) as engine:
        assert isinstance(engine, VllmEngine)
        return engine.generate(prompts, GREEDY)


def crash(engine: VllmEngine, prompts: list[Prompt]) -> dict[int, Completion]:
    """Let vLLM crash when some of the prompts are finished; return what the engine has handed over."""
    from vllm.v1.engine.llm_engine import LLMEngine

    kept: dict[int, Completion] = {}
    step = LLMEngine.step

    def step_or_crash(self: LLMEngine) -> object:
        if kept:
            raise RuntimeError("EngineCore died")
        return step(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LLMEngine, "step", step_or_crash)
        with pytest.raises(RuntimeError, match="EngineCore died"):
            engine.generate_into(kept, prompts, GREEDY, lambda _: None)
    return kept


def read_refusal(folder: Path, **settings: object) -> str:
    with pytest.raises(InputError) as caught:
        load_engine(configure(folder, **settings))
    return str(caught.value)


def copy_broken(model: Path, folder: Path, name: str, content: bytes) -> Path:
    folder.mkdir()
    for path in model.iterdir():
        (folder / path.name).write_bytes(content if path.name == name else path.read_bytes())
    return folder


@pytest.fixture(scope="module")
def session(
    tiny_llama: Path,
    other_tiny_llama: Path,
    tmp_path_factory: pytest.TempPathFactory,
    server: VllmServer,  # it starts in the meantime
) -> Session:
    """Send all prompts to vLLM in this process: three models are loaded, and four cannot be."""
    folder = tmp_path_factory.mktemp("broken")
    cut_off = copy_broken(tiny_llama, folder / "cut", "model.safetensors", b"cut off")
    empty = copy_broken(tiny_llama, folder / "weights", "model.safetensors", b"\x02" + bytes(7) + b"{}")
    unknown = copy_broken(tiny_llama, folder / "config", "config.json", b'{"model_type": "none"}')
    progress: list[int] = []
    with pytest.MonkeyPatch.context() as environment:
        for name, value in (ENVIRONMENT | {HUB_VARIABLE: "1"}).items():
            environment.setenv(name, value)
        with closing(load_engine(configure(tiny_llama))) as engine:
            assert isinstance(engine, VllmEngine)
            batch = engine.generate(SHORT, GREEDY)
            alone = [engine.generate([prompt], GREEDY)[0] for prompt in SHORT]
            mixed = engine.generate([SHORT[0], LONG, CHAT, SHORT[1]], GREEDY, progress.append)
            stop = (str(batch[0].response)[-1:],)
            stopped = engine.generate(SHORT[:1], Sampling(max_tokens=4, stop=stop))[0]
            early = Sampling(max_tokens=4, stop=stop, extra_body='{"include_stop_str_in_output":true}')
            ended = engine.generate(SHORT[:1], early)[0]
            kept = crash(engine, SHORT * 20)
        other = ask_once(other_tiny_llama, SHORT)
        refusals = [read_refusal(folder) for folder in (cut_off, empty, unknown)]
        refusals.append(read_refusal(tiny_llama, deterministic=True))
        again = ask_once(tiny_llama, SHORT[::-1])
    return Session(batch, alone, mixed, stopped, ended, other, again, refusals, kept, progress)


def assert_same_but_for_ties(one: list[Completion], two: list[Completion]) -> None:
    """Check that answers are equal, except for the effects of bf16 rounding."""
    for a, b in zip(one, two, strict=True):
        assert (a.status, b.status) == ("ok", "ok")
        assert a.n_prompt_tokens == b.n_prompt_tokens
        for left, right in ((a.logprob_true, b.logprob_true), (a.logprob_false, b.logprob_false)):
            if left is not None and right is not None:
                assert left == pytest.approx(right, abs=MAX_CHANGE_OF_LOGPROB)
                assert exp(left) == pytest.approx(exp(right), abs=MAX_CHANGE_OF_PROBABILITY)
    n_same = sum(a.response == b.response for a, b in zip(one, two, strict=True))
    assert n_same >= 0.8 * len(one)


def test_crash_keeps_what_was_answered(session: Session) -> None:
    assert 0 < len(session.kept) < 20 * len(SHORT)
    expected = [session.batch[position % len(SHORT)] for position in session.kept]
    assert_same_but_for_ties(list(session.kept.values()), expected)


def test_every_prompt_has_an_answer(session: Session) -> None:
    assert len(session.batch) == len(SHORT)
    for completion in session.batch:
        assert completion.status == "ok"
        assert completion.response
        assert completion.finish_reason in ("length", "stop")
        assert 1 <= (completion.n_completion_tokens or 0) <= GREEDY.max_tokens


def test_log_probabilities_are_those_of_the_first_token(session: Session) -> None:
    for completion in session.batch:
        true, false = completion.logprob_true, completion.logprob_false
        assert true is not None
        assert false is not None
        assert true < 0
        assert false < 0
        if str(completion.response).startswith(" True"):
            assert true > false
        if str(completion.response).startswith(" False"):
            assert false > true
    assert any(str(c.response).startswith((" True", " False")) for c in session.batch)


def test_alone_and_in_a_batch_the_answers_are_the_same(session: Session) -> None:
    assert_same_but_for_ties(session.batch, session.alone)


def test_prompt_that_does_not_fit_is_an_error_row_among_answers(session: Session) -> None:
    first, long, chat, second = session.mixed
    assert long.status == "error"
    assert long.response is None
    assert str(long.error).startswith(PROMPT_TOO_LONG)
    assert str(MAX_POSITIONS) in str(long.error)
    assert_same_but_for_ties([first, second], session.batch[:2])
    assert chat.status == "ok"
    assert sum(session.progress) == len(session.mixed)


def test_one_model_after_the_other_in_one_process(session: Session) -> None:
    assert [c.response for c in session.other] != [c.response for c in session.batch]
    assert {c.status for c in session.other} == {"ok"}


def test_model_that_cannot_be_loaded_is_one_line(session: Session) -> None:
    cut_off, weights, config, deterministic = session.refusals
    assert "model.safetensors cannot be read" in cut_off
    for refusal in (weights, config, deterministic):
        assert "vLLM cannot load" in refusal
        assert "\n" not in refusal
    assert "model type `none`" in config
    assert weights != config
    assert "deterministic needs NVIDIA cards of compute capability 8.0 or more" in deterministic


@pytest.fixture(scope="module")
def server(tiny_llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    with start_vllm_server(tiny_llama, tmp_path_factory.mktemp("server") / "log") as server:
        yield server


@pytest.fixture(scope="module")
def endpoint(server: VllmServer, session: Session) -> Iterator[Engine]:
    server.wait()
    config = {"name": "tiny", "engine": "openai", "model": "tiny", "base_url": server.base_url}
    with closing(load_engine(ModelConfig.model_validate(config))) as engine:
        yield engine


@pytest.mark.long
def test_server_says_what_the_engine_in_process_says(endpoint: Engine, session: Session) -> None:
    answers = endpoint.generate(SHORT, GREEDY)
    assert_same_but_for_ties(answers, session.batch)
    said = [c for c in answers if str(c.response).startswith(" True")]
    assert said
    assert all(c.logprob_true is not None for c in said)


@pytest.mark.long
def test_a_server_of_vllm_gives_both_probabilities_of_every_answer(
    endpoint: Engine, session: Session, tiny_llama: Path
) -> None:
    tokenizer = Tokenizer.from_file(str(tiny_llama / "tokenizer.json"))
    ids = [tokenizer.encode(f" {word}", add_special_tokens=False).ids[-1] for word in ("True", "False")]
    exact = replace(GREEDY, extra_body=json.dumps({"logprob_token_ids": ids}))
    answers = endpoint.generate(SHORT, exact)
    assert all(None not in (answer.logprob_true, answer.logprob_false) for answer in answers)
    assert_same_but_for_ties(answers, session.batch)


@pytest.mark.long
def test_server_answers_chat_as_the_engine_in_process_does(endpoint: Engine, session: Session) -> None:
    answer = endpoint.generate([CHAT], GREEDY)[0]
    assert answer.n_prompt_tokens == session.mixed[2].n_prompt_tokens
    assert answer.response == session.mixed[2].response


@pytest.mark.long
def test_unknown_model_on_a_server_stops_the_run(server: VllmServer) -> None:
    server.wait()
    config = {"name": "m", "engine": "openai", "model": "other", "base_url": server.base_url}
    with (
        closing(load_engine(ModelConfig.model_validate(config))) as engine,
        pytest.raises(InputError, match="does not know the model"),
    ):
        engine.generate(SHORT, GREEDY)
