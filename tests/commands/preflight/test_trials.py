"""The one prompt that the doctor sends to every model, writer and judge: not stored, read as in a run."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.preflight.doctor import collect_findings
from commands.preflight.machine import Finding
from pretexeval.config.file import load_config
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tests.support.command import make_rows, write_base, write_config
from tests.support.endpoint import (
    Body,
    Endpoint,
    EndpointReply,
    build_error,
    build_reply,
    reply_to_chat,
    serve_endpoint,
)
from tests.support.evaluations import list_prompts
from tests.support.small_bases import write_files

SECRET = "sk-very-secret"
Answer = Callable[[Body, int], EndpointReply]
WriterAnswer = Callable[[Body], EndpointReply]


def write(folder: Path, endpoint: Endpoint, **settings: object) -> Path:
    base = write_base(folder / "own.tsv", make_rows("may_treat"))
    table = {"name": "far", "engine": "openai", "model": "x", "base_url": endpoint.base_url}
    knowledge = {"name": "own", "format": "table", "path": str(base)}
    return write_config(folder / "c.toml", folder / "data", models=[table | settings], knowledge=knowledge)


def find_answer(config: Path) -> Finding:
    (found,) = (
        each for each in collect_findings(config, asks_endpoints=True) if each.name == "answer of far"
    )
    return found


def test_the_prompt_is_one_of_the_run_and_nothing_is_stored(tmp_path: Path) -> None:
    with serve_endpoint(lambda *_: reply_to_chat({"content": "It is **false**."})) as endpoint:
        config = write(
            tmp_path,
            endpoint,
            prompt_style="chat",
            system_prompt="Be brief.",
            max_tokens=33,
            temperature=0.4,
            seed=7,
        )
        found = find_answer(config)
        ((path, _, body),) = endpoint.requests
    assert found.state == "ok"
    assert "one prompt in chat style: 'It is **false**.', read as False (right: " in found.found
    assert path == "/v1/chat/completions"
    assert (body["max_tokens"], body["temperature"], body["seed"]) == (33, 0.4, 7)
    assert not (tmp_path / "data").exists()
    loaded = load_config(config)
    edition = plan_edition(loaded)
    complete_edition(edition, list(write_files(edition).values()), [])
    prompts = list_prompts(plan_evaluation(loaded, edition.edition_id, "far"))
    assert body["messages"] in [json.loads(prompt.text) for prompt in prompts]


CUT = {"finish_reason": "length"}
CASES: dict[str, tuple[Answer, str, str, str]] = {
    "marks": (lambda *_: reply_to_chat({"content": "<think>false?</think> True"}), "ok", "read as True", ""),
    "no answer": (
        lambda *_: reply_to_chat({"content": "I cannot say."}),
        "warning",
        "read as no answer",
        "reasoning_marks",
    ),
    "unfinished": (
        lambda *_: reply_to_chat({"content": "<think>false"}, **CUT),
        "warning",
        "unfinished thought",
        "max_tokens",
    ),
    "refused": (lambda *_: build_error(401, f"wrong key {SECRET}"), "failing", "401", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_read_as_a_run_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    answer, state, words, remedy = CASES[name]
    monkeypatch.setenv("FAR_KEY", SECRET)
    with serve_endpoint(answer) as endpoint:
        found = find_answer(write(tmp_path, endpoint, prompt_style="chat", api_key_env="FAR_KEY"))
    assert found.state == state
    assert words in found.found
    assert remedy in found.remedy
    assert SECRET not in found.found + found.remedy


def test_nothing_is_asked_unless_it_is_wanted_and_can_be_answered(tmp_path: Path) -> None:
    with serve_endpoint(lambda *_: build_reply(" True")) as endpoint:
        config = write(tmp_path, endpoint)
        collect_findings(config)
        write_base(tmp_path / "own.tsv", make_rows("may_treat", n_heads=5))
        collect_findings(config, asks_endpoints=True)
        assert endpoint.requests == []
    config = write(tmp_path, endpoint)
    names = [finding.name for finding in collect_findings(config, asks_endpoints=True)]
    assert "answer of far" not in names


def write_bank(folder: Path, endpoint: Endpoint, setting: str) -> Path:
    """Write a configuration that asks a model the questions of a small MedQA."""
    words = ("Gout", "Fever", "Mumps", "Asthma", "Scurvy")
    items = [
        {
            "question": f"A man of {age} sweats. Which of the following is the most likely diagnosis?",
            "options": dict(zip("ABCDE", words, strict=True)),
            "answer": words[age % 5],
            "answer_idx": "ABCDE"[age % 5],
        }
        for age in range(20, 32)
    ]
    bank = folder / "medqa.jsonl"
    bank.write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    table = {"name": "far", "engine": "openai", "model": "x", "base_url": endpoint.base_url}
    return write_config(
        folder / "c.toml",
        folder / "data",
        knowledge={"name": "medqa", "format": "medqa", "path": str(bank)},
        questions={"settings": [setting]},
        models=[table],
    )


@pytest.mark.parametrize("setting", ["answer_only", "chain_of_thought"])
def test_an_edition_without_samples_is_tried_with_a_question(tmp_path: Path, setting: str) -> None:
    with serve_endpoint(lambda *_: build_reply(" The answer is B.\nWait, the answer is C.")) as endpoint:
        found = find_answer(write_bank(tmp_path, endpoint, setting))
        ((_, _, body),) = endpoint.requests
    assert "Please answer" in body["prompt"]
    assert body["max_tokens"] == (32 if setting == "answer_only" else 512)
    # A short answer ends with its line; a chain of thought is read to its end.
    assert f"read as {'B' if setting == 'answer_only' else 'C'} (right: " in found.found
    assert found.state == "ok"


LINES = "\n".join(f"{n}. This is the statement number {n}." for n in range(1, 9))


def say(text: str) -> WriterAnswer:
    return lambda _: reply_to_chat({"content": text})


def reword(body: Body) -> EndpointReply:
    """Return the statement of a prompt for a rewording with one other word."""
    statement = read_content(body).rpartition("Statement: ")[2]
    return reply_to_chat({"content": statement.replace("The drug", "The medication")})


def read_content(body: Body) -> str:
    content: str = body["messages"][-1]["content"]
    return content


def answer_as(answers: dict[str, WriterAnswer]) -> Callable[[Body, int], EndpointReply]:
    return lambda body, _: answers[body["model"]](body)


def write_writers(folder: Path, endpoint: Endpoint) -> Path:
    """Write a configuration with a writer, a judge and a writer of llmeval, and no evaluated model."""
    base = write_base(folder / "own.tsv", make_rows("may_treat"))
    table = {"engine": "openai", "base_url": endpoint.base_url}
    return write_config(
        folder / "c.toml",
        folder / "data",
        knowledge={"name": "own", "format": "table", "path": str(base)},
        edition={"methods": ["pretexeval", "llmeval"]},
        rephraser={"kind": "model", "writer": "poet", "instruction": "Reword.\nStatement: {statement}"},
        judge={"writer": "judge"},
        llmeval={"writer": "author"},
        writers=[table | {"name": name, "model": name} for name in ("poet", "judge", "author")],
        models=[],
    )


def find_replies(config: Path) -> dict[str, Finding]:
    found = collect_findings(config, asks_endpoints=True)
    return {each.name: each for each in found if re.match("(rewording|verdict|statements) of ", each.name)}


def test_every_role_is_asked_once_as_a_run_asks_it(tmp_path: Path) -> None:
    answers = {"poet": reword, "judge": say("Yes."), "author": say(LINES)}
    with serve_endpoint(answer_as(answers)) as endpoint:
        config = write_writers(tmp_path, endpoint)
        found = find_replies(config)
        asked = {body["model"]: read_content(body) for _, _, body in endpoint.requests}
        assert len(endpoint.requests) == 3
    assert [(each.state, each.remedy) for each in found.values()] == [("ok", "")] * 3
    assert "accepted by the gate" in found["rewording of poet"].found
    assert "in chat style: 'Yes.', read as yes with the score 1" in found["verdict of judge"].found
    assert "read as 8 of 8 statements" in found["statements of author"].found
    statement = asked["poet"].removeprefix("Reword.\nStatement: ")
    assert asked["judge"].count(f'"{statement}"') == 2
    assert not (tmp_path / "data").exists()


REPLIES: tuple[dict[str, tuple[WriterAnswer, str, str, str]], ...] = (
    {
        "rewording of poet": (say("Something else."), "warning", "rejected by the gate (", "max_att"),
        "verdict of judge": (say("No"), "warning", "read as no", "every rewording"),
        "statements of author": (say("One short statement."), "warning", "1 of 8", "[llmeval]"),
    },
    {
        "rewording of poet": (say("<think>hm"), "warning", "unfinished reasoning", "max_tokens"),
        "verdict of judge": (say("Perhaps."), "warning", "no answer", "[judge]"),
        "statements of author": (lambda _: build_error(500, "no memory"), "failing", "500", ""),
    },
)


@pytest.mark.parametrize("replies", REPLIES)
def test_a_reply_that_a_run_cannot_use_is_explained(
    tmp_path: Path, replies: dict[str, tuple[WriterAnswer, str, str, str]]
) -> None:
    with serve_endpoint(answer_as({name.split()[-1]: each[0] for name, each in replies.items()})) as endpoint:
        found = find_replies(write_writers(tmp_path, endpoint))
        # Nobody is asked a second time, not even after HTTP 500.
        assert len(endpoint.requests) == 3
    for name, (_, state, words, remedy) in replies.items():
        assert found[name].state == state
        assert words in found[name].found
        assert remedy in found[name].remedy
