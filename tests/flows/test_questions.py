"""`pretexeval run` with questions: killed in mid chain of thought, by an endpoint that answers nonsense."""

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from pretexeval.primitives.hashing import hash_text
from tests.support.command import (
    Outcome,
    build_command,
    build_environment,
    run_command,
    write_question_config,
)
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_reply, serve_endpoint
from warehouse.query import run_query

pytestmark = pytest.mark.long

N_REPEATS = 3
# What endpoints have answered: prose, nothing, marks of every kind, other alphabets, and very long texts.
REPLIES = (
    " I see. Therefore, the answer is: A",
    " True. The answer is B.",
    "",
    "\u202e\x07A\ufeff?",
    "<think>The answer is B",
    '{"answer": ["A", {"B": null}]}',
    "A " * 50_000,
    "(" * 5_000,
    "Ответ: А",
)
SLOW_S = 0.02


@dataclass
class Story:
    """A run that was killed, and the same command run again."""

    root: Path
    endpoint: Endpoint
    n_before: int
    """Requests until the run was killed."""
    again: Outcome


def answer(body: Body, number: int) -> EndpointReply:
    time.sleep(SLOW_S)
    place = int(hash_text(str(body["prompt"]), str(body.get("seed"))), 16) % len(REPLIES)
    return build_reply(REPLIES[place])


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("questions")
    with serve_endpoint(answer) as endpoint:
        model = {"name": "odd", "engine": "openai", "model": "x", "base_url": endpoint.base_url}
        models = [model | {"concurrency": 2}]
        config = write_question_config(folder, n_repeats=N_REPEATS, models=models)
        environment = build_environment(prefect_server)
        process = subprocess.Popen(
            build_command("run", config), cwd=folder, env=environment, start_new_session=True
        )
        try:
            wait_for_second_repeat(endpoint, process)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        n_before = len(endpoint.requests)
        again = run_command("run", config, folder=folder, environment=prefect_server)
        yield Story(folder / "data", endpoint, n_before, again)


def wait_for_second_repeat(endpoint: Endpoint, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the second repeat of questions with demonstrations is being asked."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        reasoned = [body for _, _, body in list(endpoint.requests) if is_reasoned(body)]
        if sum(body["seed"] == 1 for body in reasoned) > 40:
            return
        time.sleep(0.1)
    raise AssertionError("the run did not reach the second repeat")


def is_reasoned(body: Body) -> bool:
    return str(body["prompt"]).endswith("step by step.")


def test_run_ends_although_the_endpoint_answers_nonsense(story: Story) -> None:
    story.again.require()
    query = "select setting, min(n_answers), max(n_answers) from question_predictions group by setting"
    _, rows = run_query(story.root, query)
    found = {setting: (lowest, highest) for setting, lowest, highest in rows}
    assert set(found) == {"answer_only", "chain_of_thought"}
    lowest, highest = found["chain_of_thought"]
    assert 0 <= lowest < highest <= N_REPEATS


def test_no_stored_answer_is_asked_for_again(story: Story) -> None:
    """Only prompts in flight at the kill may be sent twice: their answers were not stored yet."""
    sent = Counter(json.dumps([body["prompt"], body.get("seed")]) for _, _, body in story.endpoint.requests)
    assert max(sent.values()) <= 2
    stored = pl.concat(pl.read_parquet(path) for path in story.root.glob("responses/*/part-*.parquet"))
    assert stored.select("prompt_key", "repeat").is_duplicated().sum() == 0
    assert len(sent) == stored.height
    n_twice = sum(n == 2 for n in sent.values())
    # A chunk has at most 1,024 prompts; all of one repeat are fewer here.
    n_questions = stored.filter(pl.col("repeat") == 1).height
    assert n_twice <= n_questions


def test_every_repeat_of_every_question_is_kept(story: Story) -> None:
    folder = next(story.root.glob("question_predictions/*/chain_of_thought/*"))
    readings = pl.concat(pl.read_parquet(path) for path in folder.glob("readings/*.parquet"))
    assert set(readings.group_by("item_id").len()["len"]) == {N_REPEATS}
    assert readings["error"].is_null().all()
