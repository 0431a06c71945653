"""Real endpoints that refuse prompts: what is asked, what the message says, and what the page shows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from pretexeval.config.file import Config
from report.page import write_pages
from tasks.evaluation.evaluation import Evaluation, plan_evaluation
from tasks.evaluation.scoring import score_finished
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_error, build_reply, serve_endpoint
from tests.support.evaluations import evaluate
from tests.support.fault_models import answer_by_checksum
from tests.support.parsed_page import Parsed, parse
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows

# 7 test pairs in one relation, and 2 in the other.
N_SAMPLES = 9 * 16
WORDS = "Unsupported parameter: 'max_tokens'"
Reply = Callable[[Body, int], EndpointReply]


@dataclass
class Bench:
    """An edition, and models behind one endpoint, which decides by the model's name what it replies."""

    root: Path
    edition_id: str
    reply: Reply = answer_by_checksum
    concurrency: int = 32
    endpoint: Endpoint = field(init=False)
    config: Config = field(default_factory=Config)

    def evaluate(self, name: str = "m", **scoring: object) -> str | None:
        """Evaluate the model as a run does; return why it failed, or None."""
        model = {"name": name, "engine": "openai", "model": name, "base_url": self.endpoint.base_url}
        tables = {"storage": {"root": self.root}, "scoring": scoring}
        models = [model | {"concurrency": self.concurrency}]
        self.config = Config.model_validate(tables | {"models": models})
        self.endpoint.requests.clear()
        return evaluate(self.config, self.edition_id, name)

    def plan(self) -> Evaluation:
        return plan_evaluation(self.config, self.edition_id, "m")

    def write_pages(self) -> Parsed:
        build_warehouse(self.root)
        (page,) = write_pages(self.root, [self.edition_id])
        return parse(page.read_text(encoding="utf-8"))

    def query(self, sql: str) -> list[dict[str, Any]]:
        build_warehouse(self.root)
        return read_rows(self.root, sql)


@pytest.fixture
def bench(tmp_path: Path, built: tuple[Path, str]) -> Iterator[Bench]:
    root, edition_id = built
    bench = Bench(copytree(root, tmp_path / "data"), edition_id)
    with serve_endpoint(lambda body, number: bench.reply(body, number)) as bench.endpoint:
        yield bench


def refuse(message: str = WORDS, status: int = 400, first: int = 0) -> Reply:
    """Return an endpoint that refuses all requests but this number of first ones."""
    return lambda body, n: answer_by_checksum(body, n) if n < first else build_error(status, message)


def answer_but(share: float, otherwise: Reply) -> Reply:
    """Return an endpoint that replies otherwise to this share of the prompts, always to the same ones."""
    refused: set[str] = set()

    def reply(body: Body, number: int) -> EndpointReply:
        prompt = str(body["prompt"])
        # Not the first prompts: an endpoint that answers nothing at all is another case.
        if number >= 40 and len(refused) < round(share * N_SAMPLES):
            refused.add(prompt)
        answer = otherwise if prompt in refused else answer_by_checksum
        return answer(body, number)

    return reply


def test_endpoint_that_begins_to_refuse_everything_is_noticed(bench: Bench) -> None:
    # With several requests at a time, an answer may arrive between refusals, which are then counted anew.
    bench.reply, bench.concurrency = refuse(first=40), 1
    assert WORDS in str(bench.evaluate())
    # 40 answered, 32 refused, and the throwaway prompt.
    assert len(bench.endpoint.requests) == 40 + 32 + 1
    assert len(bench.plan().store.read_settled_keys()) == 40
    assert len(list((bench.root / "failures").rglob("m.json"))) == 1


def test_too_many_failed_prompts_give_no_score_until_the_limit_is_raised(bench: Bench) -> None:
    bench.reply = answer_but(0.05, refuse())
    reason = str(bench.evaluate())
    assert reason.startswith("model 'm': 7 of 144 samples failed (4.9%), more than max_error_rate = 0.01")
    assert "HTTP 400: " in reason
    assert WORDS in reason
    score_finished(bench.plan())
    page = bench.write_pages()
    assert read_rows(bench.root, "from leaderboard") == []
    assert "m is not evaluated: 7 of 144 samples failed (4.9%), more than max_error_rate" in page.text
    assert page.find("section") == []
    assert "m masters" not in page.text
    # The limit itself is allowed.
    assert bench.evaluate(max_error_rate=7 / 144) is None
    assert len(bench.endpoint.requests) == 7
    assert bench.query("select n_errors, n_samples from leaderboard") == [{"n_errors": 7, "n_samples": 137}]


@pytest.mark.long
def test_refusals_for_content_are_the_same_outcome_with_every_status(bench: Bench) -> None:
    filtered = "Error: the prompt triggered the content management policy"
    refusals: dict[str, Reply] = {
        "m400": refuse(filtered),
        "m403": refuse("Input was flagged by moderation", 403),
        "m200": lambda _, __: build_reply("True, but", finish_reason="content_filter"),
    }
    replies = {name: answer_but(0.05, refusal) for name, refusal in refusals.items()}
    bench.reply = lambda body, number: replies[body["model"]](body, number)
    for name in refusals:
        assert bench.evaluate(name, policies=["strict", "excluded"]) is None
        rows = bench.query(
            f"select scoring_policy, n_samples, refused_rate, no_answer_rate, n_errors from leaderboard "
            f"where model = '{name}' order by scoring_policy"
        )
        rate = 7 / N_SAMPLES
        assert [tuple(row.values()) for row in rows] == [
            ("excluded", N_SAMPLES - 7, rate, rate, 0),
            ("strict", N_SAMPLES, rate, rate, 0),
        ]
        # A refusal is an answer, which is not asked for again.
        assert bench.evaluate(name) is None
        assert bench.endpoint.requests == []
    assert "4.9 % of the prompts were refused by the model" in bench.write_pages().text


def test_prompts_that_are_too_long_fail_with_their_own_words(bench: Bench) -> None:
    too_long = "This model's maximum context length is 512 tokens"
    bench.reply = refuse(too_long)
    reason = str(bench.evaluate())
    assert f"{N_SAMPLES} of {N_SAMPLES} samples failed (100.0%)" in reason
    assert too_long in reason
    assert str(bench.evaluate()) == reason
    assert bench.endpoint.requests == []
