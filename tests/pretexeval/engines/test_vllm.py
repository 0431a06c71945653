"""Real vLLM, in this process and as a server, on random models of two layers; and what surrounds it."""

import json
import os
import re
import shutil
import sys
import weakref
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock

import pytest
from tokenizers import AddedToken, Tokenizer

from pretexeval.config.engines import ModelConfig
from pretexeval.engines import vllm_engine, vllm_process
from pretexeval.engines.loading import load_engine
from pretexeval.engines.vllm_engine import VllmEngine
from pretexeval.engines.vllm_process import (
    DETERMINISM_VARIABLE,
    DETERMINISTIC_ATTENTION,
    ENVIRONMENT,
    HUB_VARIABLE,
    ReasoningSplitter,
    free_memory,
    prepare_environment,
)
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.process import pause_collector
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt, Sampling
from tests.support.command import REPOSITORY
from tests.support.tiny_llama import MAX_POSITIONS, WORDS
from tests.support.vllm_server import start_vllm_server

DEMONSTRATION = 'Statement: "Fever may cause cough.", is the statement above true or false?\nAnswer:'
GREEDY = Sampling(max_tokens=4, logprobs=True)
SHORT = [
    Prompt("completion", f'{DEMONSTRATION} {said}\nStatement: "{word} may cause {other}.", is it?\nAnswer:')
    for word in WORDS
    for other, said in (("asthma", "True"), ("gene", "False"))
]
LONG = Prompt("completion", DEMONSTRATION * 30)
CHAT = Prompt("chat", '[{"content":"Fever?","role":"user"}]')
REFERENCE = REPOSITORY / "models" / "reference-small"
# bf16 rounding depends on the batch. Logits between 16 and 32 are rounded to multiples of 0.125, and a
# log-probability is the difference of two roundings. Such a change is visible in the log-probability of an
# unlikely token, and hardly in the probability of any token.
MAX_CHANGE_OF_LOGPROB = 0.5
MAX_CHANGE_OF_PROBABILITY = 0.05


@dataclass(frozen=True)
class Session:
    """The completions of one engine in this process."""

    batch: list[Completion]
    alone: list[Completion]
    mixed: list[Completion]
    stopped: list[Completion]
    reopened: list[Completion]
    queued: list[Completion]
    kept: dict[int, Completion]
    engine: weakref.ref[object]


def configure(folder: Path, **settings: object) -> ModelConfig:
    given = {"name": "tiny", "model": str(folder), "dtype": "bfloat16", "max_tokens": 4}
    return ModelConfig.model_validate(given | settings)


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
            engine.answer(prompts, GREEDY, kept.__setitem__, lambda: None)
    return kept


@pytest.fixture(scope="module")
def _variables() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in (ENVIRONMENT | {HUB_VARIABLE: "1", DETERMINISM_VARIABLE: "0"}).items():
            environment.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def session(tiny_llama: Path, _variables: None) -> Session:
    with closing(load_engine(configure(tiny_llama))) as engine:
        assert isinstance(engine, VllmEngine)
        batch = engine.generate(SHORT, GREEDY)
        n_most, engine._n_most = engine._n_most, 3
        queued = engine.generate(SHORT, GREEDY)
        engine._n_most = n_most
        alone = [engine.generate([prompt], GREEDY)[0] for prompt in SHORT[:10]]
        mixed = engine.generate([SHORT[0], LONG, CHAT, SHORT[1]], GREEDY)
        stop = (str(batch[0].response)[-1:],)
        plain = Sampling(max_tokens=4, stop=stop)
        with_stop = replace(plain, extra_body='{"include_stop_str_in_output":true}')
        stopped = [engine.generate(SHORT[:1], sampling)[0] for sampling in (plain, with_stop)]
        used = weakref.ref(engine._llm)
    with closing(load_engine(configure(tiny_llama))) as engine:
        assert isinstance(engine, VllmEngine)
        assert engine._llm is used()
        reopened = engine.generate(SHORT, GREEDY)
        kept = crash(engine, SHORT * 20)
    return Session(batch, alone, mixed, stopped, reopened, queued, kept, used)


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


@pytest.mark.slow
def test_every_prompt_has_an_answer_with_the_log_probabilities_of_its_first_token(session: Session) -> None:
    assert len(session.batch) == len(SHORT)
    for completion in session.batch:
        assert completion.status == "ok"
        assert completion.response
        assert completion.finish_reason in ("length", "stop")
        assert 1 <= (completion.n_completion_tokens or 0) <= GREEDY.max_tokens
        true, false = completion.logprob_true, completion.logprob_false
        assert true is not None
        assert false is not None
        assert max(true, false) < 0
        if completion.response.startswith((" True", " False")):
            assert (true > false) == completion.response.startswith(" True")
    assert any(str(c.response).startswith((" True", " False")) for c in session.batch)


@pytest.mark.slow
def test_prompt_that_does_not_fit_is_an_error_row_among_answers(session: Session) -> None:
    first, long, chat, second = session.mixed
    assert (long.status, long.response) == ("error", None)
    assert str(long.error).startswith(PROMPT_TOO_LONG)
    assert str(MAX_POSITIONS) in str(long.error)
    assert_same_but_for_ties([first, second], session.batch[:2])
    assert chat.status == "ok"


@pytest.mark.slow
def test_parameters_of_the_configuration_reach_vllm(session: Session) -> None:
    without, with_stop = (str(completion.response) for completion in session.stopped)
    assert {completion.finish_reason for completion in session.stopped} == {"stop"}
    assert with_stop[:-1] == without
    assert str(session.batch[0].response).startswith(with_stop)


@pytest.mark.slow
def test_answers_are_the_same_alone_and_before_a_crash(session: Session) -> None:
    assert_same_but_for_ties(session.batch[:10], session.alone)
    assert 0 < len(session.kept) < 20 * len(SHORT)
    expected = [session.batch[position % len(SHORT)] for position in session.kept]
    assert_same_but_for_ties(list(session.kept.values()), expected)


@pytest.mark.slow
def test_a_closed_engine_is_used_again_unless_it_crashed_or_other_settings_are_asked_for(
    session: Session, tiny_llama: Path
) -> None:
    assert session.reopened == session.queued == session.batch
    used = session.engine
    for settings in ({}, {"max_model_len": 128}):
        with closing(load_engine(configure(tiny_llama, **settings))) as engine:
            assert isinstance(engine, VllmEngine)
            assert engine._llm is not used()
            used = weakref.ref(engine._llm)


@pytest.mark.long
@pytest.mark.usefixtures("_variables")
def test_a_model_that_is_divided_among_two_processes_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = sorted(os.sched_getaffinity(0))
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", f"{cores[0]}|{cores[-1]}")
    answers = []
    for n_cards in (1, 2):
        config = configure(REFERENCE, tensor_parallel_size=n_cards, dtype="float32")
        with closing(load_engine(config)) as engine:
            answers.append(engine.generate(SHORT, GREEDY))
    assert_same_but_for_ties(*answers)


def copy_broken(model: Path, folder: Path, name: str, content: bytes) -> Path:
    shutil.copytree(model, folder)
    (folder / name).write_bytes(content)
    return folder


def read_refusal(folder: Path, **settings: object) -> str:
    with pytest.raises(InputError) as caught:
        load_engine(configure(folder, **settings))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("_variables")
def test_cards_rest_if_they_may_be_why_a_model_is_not_loaded(
    tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    for name in ("rest_cards", "free_memory"):
        monkeypatch.setattr(vllm_engine, name, lambda name=name: called.append(name))
    for cause, n_rests in (
        ("CUDA error: uncorrectable ECC error encountered", 1),
        ("WorkerProc initialization failed due to an exception in a background process", 1),
        ("model type `none`", 0),
    ):
        called.clear()
        monkeypatch.setattr(vllm_engine, "load_llm", Mock(side_effect=RuntimeError(cause)))
        assert cause in read_refusal(tiny_llama)
        assert (called.count("rest_cards"), called.count("free_memory")) == (n_rests, 1), cause


@pytest.mark.long
@pytest.mark.usefixtures("_variables")
def test_model_that_cannot_be_loaded_is_one_line(
    tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off = copy_broken(tiny_llama, tmp_path / "cut", "model.safetensors", b"cut off")
    assert "model.safetensors cannot be read" in read_refusal(cut_off)
    unknown = copy_broken(tiny_llama, tmp_path / "config", "config.json", b'{"model_type": "none"}')
    assert re.search("vLLM cannot load .*model type `none`", read_refusal(unknown))
    monkeypatch.setenv(DETERMINISM_VARIABLE, "restored after the test")
    said = "vLLM cannot load .*deterministic needs NVIDIA cards of compute capability 8.0 or more"
    assert re.search(said, read_refusal(tiny_llama, deterministic=True))


@pytest.mark.long
def test_server_says_what_the_engine_in_process_says(
    session: Session, tiny_llama: Path, tmp_path: Path
) -> None:
    # With the ids of both words, vLLM gives both probabilities of every answer.
    tokenizer = Tokenizer.from_file(str(tiny_llama / "tokenizer.json"))
    ids = [tokenizer.encode(f" {word}", add_special_tokens=False).ids[-1] for word in ("True", "False")]
    with_ids = replace(GREEDY, extra_body=json.dumps({"logprob_token_ids": ids}))
    with start_vllm_server(tiny_llama, tmp_path / "log") as server:
        server.wait()
        config = {"name": "tiny", "engine": "openai", "model": "tiny", "base_url": server.base_url}
        with closing(load_engine(ModelConfig.model_validate(config))) as engine:
            answers, exact = engine.generate(SHORT, GREEDY), engine.generate(SHORT, with_ids)
            (chat,) = engine.generate([CHAT], GREEDY)
        other = ModelConfig.model_validate(config | {"model": "other"})
        with (
            closing(load_engine(other)) as engine,
            pytest.raises(InputError, match="does not know the model"),
        ):
            engine.generate(SHORT, GREEDY)
    assert_same_but_for_ties(answers, session.batch)
    said = [c for c in answers if str(c.response).startswith(" True")]
    assert said
    assert all(c.logprob_true is not None for c in said)
    in_process = session.mixed[2]
    assert (chat.n_prompt_tokens, chat.response) == (in_process.n_prompt_tokens, in_process.response)
    assert all(None not in (answer.logprob_true, answer.logprob_false) for answer in exact)
    assert_same_but_for_ties(exact, session.batch)


def test_a_thought_that_the_template_opened_and_that_does_not_end_is_reasoning() -> None:
    cases: list[tuple[str, str, dict[str, object], tuple[str | None, str | None]]] = [
        ("It is false", "Fever?<think>\n", {}, ("", "It is false")),
        ("It is false", "Fever?", {}, ("It is false", None)),
        ("No", "Fever?[THINK]", {}, ("", "No")),
        ("No", "Fever?⟦", {"reasoning_marks": ["⟦", "⟧"]}, ("", "No")),
        # Scoring reads marks in stored responses, which stay as they came.
        ("False? </think> True", "Fever?<think>\n", {}, ("False? </think> True", None)),
    ]
    for text, prompt, settings, expected in cases:
        special = {0: AddedToken("<s>", special=True), 1: AddedToken("<think>")}
        splitter = ReasoningSplitter(
            configure(Path("m"), **settings), SimpleNamespace(added_tokens_decoder=special)
        )
        assert splitter.skip_special_tokens, prompt
        completion = splitter.split(Completion(text, logprob_true=-1.0), prompt)
        assert (completion.response, completion.reasoning) == expected, prompt
        assert (completion.logprob_true is None) == (completion.reasoning is not None), prompt


def test_marks_of_a_thought_that_are_special_tokens_stay_in_the_text() -> None:
    for mark in ("[THINK]", "<|START_THINKING|>", "<channel|>"):
        tokenizer = SimpleNamespace(added_tokens_decoder={0: AddedToken(mark, special=True)})
        assert not ReasoningSplitter(configure(Path("m")), tokenizer).skip_special_tokens


@pytest.mark.long
@pytest.mark.usefixtures("_variables")
def test_settings_reach_the_chat_template_and_the_sampling(tmp_path: Path) -> None:
    folder = shutil.copytree(REFERENCE, tmp_path / "model")
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text().rstrip("\n") + "{% if enable_thinking %}<think>{% endif %}")
    false = Tokenizer.from_file(str(folder / "tokenizer.json")).encode("True False").ids[-1]
    chat = Prompt("chat", '[{"content":"Influenza may cause fever.","role":"user"}]')
    config = configure(folder, dtype="float32", extra_body={"allowed_token_ids": [false]})
    with closing(load_engine(config)) as engine:
        (plain,) = engine.generate([chat], config.adapt(Sampling(max_tokens=3)))
    assert (plain.response, plain.reasoning) == (" False" * 3, None)
    assert str(plain.served).startswith("vLLM ")
    assert str(plain.served).endswith(", float32")

    # The template opens a thought, which this small model does not end.
    thinking = {"chat_template_kwargs": {"enable_thinking": True}}
    config = configure(folder, dtype="float32", extra_body=thinking)
    with closing(load_engine(config)) as engine:
        (cut,) = engine.generate([chat], config.adapt(Sampling(max_tokens=2)))
    assert cut.n_prompt_tokens != plain.n_prompt_tokens
    assert (cut.response, cut.finish_reason) == ("", "length")
    assert cut.reasoning


@pytest.mark.slow
def test_parameter_that_vllm_does_not_take_is_refused_before_the_model_is_loaded() -> None:
    refused: list[tuple[dict[str, object], str]] = [
        ({"top": 1}, "vLLM does not take extra_body: .*'top'"),
        ({"top_p": 3}, "vLLM does not take extra_body: top_p must be in"),
        ({"chat_template_kwargs": 3}, "chat_template_kwargs in extra_body must be a table"),
    ]
    for extra_body, said in refused:
        assert re.search(said, read_refusal(REFERENCE, extra_body=extra_body))


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Unset all variables, and undo every change after the test."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, HUB_VARIABLE, False)
    monkeypatch.setattr(vllm_process, "_hub_is_chosen_by_user", False)
    for name in (*ENVIRONMENT, HUB_VARIABLE, DETERMINISM_VARIABLE):
        monkeypatch.setenv(name, "remembered, to be restored")
        monkeypatch.delenv(name)
    return monkeypatch


def test_variables_that_the_user_set_are_kept_and_the_hub_is_online_for_its_own_models(
    environment: pytest.MonkeyPatch,
) -> None:
    from huggingface_hub import is_offline_mode

    environment.setenv("VLLM_CPU_KVCACHE_SPACE", "40")
    for is_local in (True, False):
        prepare_environment(is_local=is_local)
        assert is_offline_mode() == is_local
        assert os.environ[HUB_VARIABLE] == str(int(is_local))
    assert os.environ["VLLM_CPU_KVCACHE_SPACE"] == "40"
    assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
    assert os.environ["VLLM_NO_USAGE_STATS"] == "1"


@pytest.mark.slow
def test_on_a_card_vllm_needs_no_compiler_and_is_deterministic_only_if_the_configuration_says_so(
    environment: pytest.MonkeyPatch,
) -> None:
    from vllm import envs
    from vllm.v1.attention.backends.registry import AttentionBackendEnum
    from vllm.v1.sample.ops import topk_topp_sampler

    # The engines of earlier tests in this process make vLLM read the variables only once.
    envs.disable_envs_cache()
    environment.setenv(DETERMINISM_VARIABLE, "1")
    prepare_environment(is_local=True)
    assert not envs.VLLM_BATCH_INVARIANT
    environment.setattr(topk_topp_sampler, "current_platform", SimpleNamespace(is_cuda=lambda: True))
    assert not topk_topp_sampler.flashinfer_sampler_supported()
    prepare_environment(is_local=True, is_deterministic=True)
    assert envs.VLLM_BATCH_INVARIANT
    assert AttentionBackendEnum[DETERMINISTIC_ATTENTION].get_class().supports_batch_invariance()


@pytest.mark.usefixtures("session")
def test_memory_of_an_engine_is_freed_if_a_library_was_imported_while_it_was_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = ModuleType("engine")
    # Only the garbage collector frees what refers to itself, as engines do.
    engine.__dict__["own"] = engine
    freed = weakref.ref(engine)
    with pause_collector():
        monkeypatch.setitem(sys.modules, "imported", ModuleType("imported"))
    del engine
    free_memory()
    assert freed() is None
