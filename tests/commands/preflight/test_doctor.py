"""The doctor: findings about everything that a run needs, and the one prompt that it sends to every model."""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from commands.preflight.doctor import collect_findings
from commands.preflight.findings import Finding
from pretexeval.config.file import Config, load_config
from tasks.evaluation.evaluation import plan_evaluation
from tests.commands.configurations import FAR, build, write_configuration
from tests.support.command import make_rows, write_base
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
from tests.support.web_server import Route, serve_routes

SECRET = "sk-very-secret"


def test_a_configuration_that_cannot_be_read_is_one_finding_of_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    (tmp_path / "c.toml").write_text('[knowledge]\nformat = "table"\npath = "$NOWHERE/own.tsv"')
    findings = {finding.name: finding for finding in collect_findings(tmp_path / "c.toml")}
    assert findings["configuration"].state == "failing"
    assert "the environment variable NOWHERE is not set" in findings["configuration"].found
    assert findings["machine"].state == "ok"
    assert {"vLLM", "storage", "Prefect"} <= set(findings)


def test_a_work_pool_without_a_worker_is_named_where_a_server_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_configuration(tmp_path, models=[FAR | {"pool": "gpu-4x80"}])
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert not [each for each in collect_findings(config) if each.name.startswith("pool ")]
    server: dict[str, Route] = {"/api/health": (200, True), "/api/admin/version": (200, version("prefect"))}
    found = []
    for workers in (None, [{"name": "a", "status": "OFFLINE"}], [{"name": "a", "status": "ONLINE"}]):
        path = "/api/work_pools/gpu-4x80/workers/filter"
        with serve_routes(server | ({path: (200, workers)} if workers is not None else {})) as web:
            monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api/")
            found.append([each for each in collect_findings(config) if each.name == "pool gpu-4x80"])
    assert [len(each) for each in found] == [1, 1, 0]
    assert found[0][0].state == "warning"
    assert "a deployed run of far would wait" in found[0][0].found
    assert "start its worker" in found[0][0].remedy


def test_only_writers_that_a_run_asks_are_checked() -> None:
    tables = {
        "writers": [{"name": name, "model": "org/x"} for name in ("a", "b", "c")],
        "rephraser": {"kind": "model", "writer": "b"},
        "judge": {"writer": "b"},
        "llmeval": {"writer": "c"},
    }
    for methods, names in ((["pretexeval"], ["b"]), (["pretexeval", "llmeval"], ["b", "c"])):
        config = Config.model_validate(tables | {"edition": {"methods": methods}})
        assert [model.name for model in config.list_used_writers()] == names


Answer = Callable[[Body], EndpointReply]


def write(folder: Path, endpoint: Endpoint, **settings: object) -> Path:
    return write_configuration(folder, models=[FAR | {"base_url": endpoint.base_url} | settings])


def find_answer(config: Path) -> Finding:
    (found,) = (
        each for each in collect_findings(config, asks_endpoints=True) if each.name == "answer of far"
    )
    return found


def test_the_prompt_is_one_of_the_run_and_nothing_is_stored(tmp_path: Path) -> None:
    settings = {"system_prompt": "Be brief.", "max_tokens": 33, "temperature": 0.4, "seed": 7}
    with serve_endpoint(lambda *_: reply_to_chat({"content": "It is **false**."})) as endpoint:
        config = write(tmp_path, endpoint, prompt_style="chat", **settings)
        found = find_answer(config)
        ((path, _, body),) = endpoint.requests
    assert found.state == "ok"
    assert "one prompt in chat style: 'It is **false**.', read as False (right: " in found.found
    assert path == "/v1/chat/completions"
    assert (body["max_tokens"], body["temperature"], body["seed"]) == (33, 0.4, 7)
    assert not (tmp_path / "data").exists()
    loaded = load_config(config)
    prompts = list_prompts(plan_evaluation(loaded, build(loaded), "far"))
    assert body["messages"] in [json.loads(prompt.text) for prompt in prompts]


THOUGHT_ONLY = {"content": "", "reasoning_content": "So it is true."}
CUT = EndpointReply(
    body={"choices": [{"message": {"content": "True"}}], "usage": {"prompt_tokens": 9, "total_tokens": 9}}
)


def say(text: str, **choice: str) -> Answer:
    return lambda _: reply_to_chat({"content": text}, **choice)


def test_the_answer_is_read_as_a_run_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAR_KEY", SECRET)
    cases: list[tuple[Answer, str, str, str]] = [
        (say("<think>false?</think> True"), "ok", "read as True", ""),
        (say("I cannot say."), "warning", "read as no answer", "reasoning_marks"),
        (say("<think>false", finish_reason="length"), "warning", "unfinished thought", "max_tokens"),
        (lambda _: reply_to_chat(THOUGHT_ONLY), "warning", "read as no answer", "reasoning parser"),
        (lambda _: CUT, "warning", "read as True", "counts 9 tokens in a prompt of"),
        (lambda _: build_error(401, f"wrong key {SECRET}"), "failing", "401", ""),
    ]
    with serve_endpoint(lambda body, _: cases[int(body["model"])][0](body)) as endpoint:
        table = FAR | {"base_url": endpoint.base_url, "prompt_style": "chat", "api_key_env": "FAR_KEY"}
        models = [table | {"name": f"m{n}", "model": str(n)} for n in range(len(cases))]
        config = write_configuration(tmp_path, models=models)
        found = {each.name: each for each in collect_findings(config, asks_endpoints=True)}
    for n, (_, state, words, remedy) in enumerate(cases):
        said = found[f"answer of m{n}"]
        assert (said.state, words in said.found, remedy in said.remedy) == (state, True, True), said
        assert SECRET not in said.found + said.remedy


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


def write_bank(path: Path) -> dict[str, str]:
    """Write a small MedQA; return the table `knowledge` of its configuration."""
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
    path.write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    return {"name": "medqa", "format": "medqa", "path": str(path)}


# A short answer ends with its line; a chain of thought is read to its end.
def test_an_edition_without_samples_is_tried_with_a_question(tmp_path: Path) -> None:
    for setting, max_tokens, letter in (("answer_only", 32, "B"), ("chain_of_thought", 512, "C")):
        knowledge, questions = write_bank(tmp_path / "medqa.jsonl"), {"settings": [setting]}
        with serve_endpoint(lambda *_: build_reply(" The answer is B.\nWait, the answer is C.")) as endpoint:
            models = [FAR | {"base_url": endpoint.base_url}]
            config = write_configuration(tmp_path, knowledge=knowledge, questions=questions, models=models)
            found = find_answer(config)
            ((_, _, body),) = endpoint.requests
        assert "Please answer" in body["prompt"], setting
        assert body["max_tokens"] == max_tokens, setting
        assert f"read as {letter} (right: " in found.found, setting
        assert found.state == "ok", setting


def read_content(body: Body) -> str:
    content: str = body["messages"][-1]["content"]
    return content


def reword(body: Body) -> EndpointReply:
    """Return the statement of a prompt for a rewording with one other word."""
    statement = read_content(body).rpartition("Statement: ")[2]
    return reply_to_chat({"content": statement.replace("The drug", "The medication")})


ROLES = ("rewording of poet", "verdict of judge", "statements of author")


def try_writers(folder: Path, *answers: Answer) -> tuple[list[Finding], dict[str, str]]:
    """Let a writer, a judge and a writer of llmeval answer; return their findings, and model -> prompt."""
    of_model = {role.split()[-1]: answer for role, answer in zip(ROLES, answers, strict=True)}
    with serve_endpoint(lambda body, _: of_model[body["model"]](body)) as endpoint:
        writer = {"engine": "openai", "base_url": endpoint.base_url}
        config = write_configuration(
            folder,
            edition={"methods": ["pretexeval", "llmeval"]},
            rephraser={"kind": "model", "writer": "poet", "instruction": "Reword.\nStatement: {statement}"},
            judge={"writer": "judge"},
            llmeval={"writer": "author"},
            writers=[writer | {"name": name, "model": name} for name in of_model],
        )
        found = {each.name: each for each in collect_findings(config, asks_endpoints=True)}
        asked = {body["model"]: read_content(body) for _, _, body in endpoint.requests}
        # Nobody is asked a second time, not even after HTTP 500.
        assert len(endpoint.requests) == 3
    assert not (folder / "data").exists()
    return [found[role] for role in ROLES], asked


def test_every_role_is_asked_once_as_a_run_asks_it(tmp_path: Path) -> None:
    lines = "\n".join(f"{n}. This is the statement number {n}." for n in range(1, 9))
    found, asked = try_writers(tmp_path, reword, say("Yes."), say(lines))
    assert [(each.state, each.remedy) for each in found] == [("ok", "")] * 3
    rewording, verdict, statements = (each.found for each in found)
    assert "accepted by the gate" in rewording
    assert "in chat style: 'Yes.', read as yes (right: yes)" in verdict
    assert "read as 8 of 8 statements" in statements
    statement = asked["poet"].removeprefix("Reword.\nStatement: ")
    assert asked["judge"].count(f'"{statement}"') == 2


def test_a_reply_that_a_run_cannot_use_is_explained(tmp_path: Path) -> None:
    cases: list[tuple[tuple[Answer, Answer, Answer], list[tuple[str, str, str]]]] = [
        (
            (say("Something else."), say("No"), say("One short statement.")),
            [
                ("warning", "rejected by the gate (", "max_att"),
                ("warning", "read as no", "every rewording"),
                ("warning", "1 of 8", "[llmeval]"),
            ],
        ),
        (
            (say("<think>hm"), say("Perhaps."), lambda _: build_error(500, "no memory")),
            [
                ("warning", "unfinished reasoning", "max_tokens"),
                ("warning", "no answer", "[judge]"),
                ("failing", "500", ""),
            ],
        ),
    ]
    for answers, explained in cases:
        found, _ = try_writers(tmp_path, *answers)
        for each, (state, words, remedy) in zip(found, explained, strict=True):
            assert (each.state, words in each.found, remedy in each.remedy) == (state, True, True), each
