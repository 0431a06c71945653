"""The one prompt that the doctor sends to every writer and judge, and how it reads the replies."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from config.file import load_config
from preflight.doctor import collect_findings
from preflight.findings import Finding
from storage.mirror import Mirror
from tasks.asking.writer_replies import ask_for_replies
from tasks.edition.planning import plan_edition
from tests.support.command import make_rows, write_base, write_config
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_error, reply_to_chat, serve_endpoint

Answer = Callable[[Body], EndpointReply]
LINES = "\n".join(f"{n}. This is the statement number {n}." for n in range(1, 9))


def say(text: str) -> Answer:
    return lambda _: reply_to_chat({"content": text})


def reword(body: Body) -> EndpointReply:
    """Return the statement of a prompt for a rewording with one other word."""
    statement = read_content(body).rpartition("Statement: ")[2]
    return reply_to_chat({"content": statement.replace("The drug", "The medication")})


def read_content(body: Body) -> str:
    content: str = body["messages"][-1]["content"]
    return content


def answer_as(answers: dict[str, Answer]) -> Callable[[Body, int], EndpointReply]:
    return lambda body, _: answers[body["model"]](body)


def write(folder: Path, endpoint: Endpoint) -> Path:
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
        config = write(tmp_path, endpoint)
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


CASES: dict[str, tuple[str, Answer, str, str, str]] = {
    "rejected": ("rewording of poet", say("Something else."), "warning", "rejected by the gate (", "max_att"),
    "thought": ("rewording of poet", say("<think>hm"), "warning", "unfinished reasoning", "max_tokens"),
    "no verdict": ("verdict of judge", say("Perhaps."), "warning", "no answer", "[judge]"),
    "denial": ("verdict of judge", say("No"), "warning", "read as no", "every rewording"),
    "few lines": ("statements of author", say("One short statement."), "warning", "1 of 8", "[llmeval]"),
    "refused": ("statements of author", lambda _: build_error(401, "wrong key"), "failing", "401", ""),
    "broken": ("rewording of poet", lambda _: build_error(500, "no memory"), "failing", "500", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_a_reply_that_a_run_cannot_use_is_explained(tmp_path: Path, name: str) -> None:
    finding, answer, state, words, remedy = CASES[name]
    answers = {"poet": reword, "judge": say("Yes."), "author": say(LINES)}
    with serve_endpoint(answer_as(answers | {finding.split()[-1]: answer})) as endpoint:
        found = find_replies(write(tmp_path, endpoint))
    assert {each.name for each in found.values() if each.state != "ok"} == {finding}
    assert found[finding].state == state
    assert words in found[finding].found
    assert remedy in found[finding].remedy


def test_a_stored_reply_is_shown_and_not_asked_again(tmp_path: Path) -> None:
    answers = {"poet": reword, "judge": say("Yes."), "author": say(LINES)}
    with serve_endpoint(answer_as(answers)) as endpoint:
        path = write(tmp_path, endpoint)
        config = load_config(path)
        llmeval = plan_edition(config).llmeval
        assert llmeval is not None
        find_replies(path)
        content = next(read_content(b) for _, _, b in endpoint.requests if b["model"] == "author")
        prompt = llmeval.writer.build_prompt(content, llmeval.max_tokens)
        ask_for_replies(Mirror(config.storage), llmeval.writer, [prompt], lambda _: None)
        n_before = len(endpoint.requests)
        found = find_replies(path)["statements of author"]
        later = [body["model"] for _, _, body in endpoint.requests[n_before:]]
    assert sorted(later) == ["judge", "poet"]
    assert found.found.startswith("stored reply: ")
