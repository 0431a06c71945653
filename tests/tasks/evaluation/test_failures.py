"""Real endpoints that refuse prompts: what is asked, what the message says, and what the page shows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pretexeval.config.file import Config
from pretexeval.engines.base import Engine
from pretexeval.primitives.errors import InputError
from pretexeval.storage.store import Store
from report.page import write_pages
from schemas.exchange import Completion
from tasks.asking import model_session
from tasks.asking.writers import ask_for_replies, identify_writer
from tasks.edition.manifest import complete_edition
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.scoring import score_again
from tests.support.data_folder import query_rows
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_error, serve_endpoint
from tests.support.evaluations import ask_model, evaluate, ignore
from tests.support.fault_models import answer_by_checksum
from tests.support.parsed_page import Parsed, parse
from tests.support.small_bases import make_base, make_edition, make_facts, write_files
from warehouse.publishing import build_warehouse

BASE = make_base(r=make_facts(12, 4), s=make_facts(12, 3))
# 7 test pairs in one relation, and 6 in the other, where one head finds no balanced pair.
N_SAMPLES = 13 * 16
WORDS = "Unsupported parameter: 'max_tokens'"


@dataclass
class Bench:
    """An edition, and models behind one endpoint, which decides by the model's name what it replies."""

    root: Path
    edition_id: str
    endpoint: Endpoint
    reply: Callable[[Body, int], EndpointReply]
    config: Config = field(default_factory=Config)

    def evaluate(self, *names: str, **scoring: object) -> dict[str, str | None]:
        """Evaluate the models as a run does; return model -> why it failed, or None."""
        models = [
            {"name": name, "engine": "openai", "model": name, "base_url": self.endpoint.base_url}
            for name in names
        ]
        table: dict[str, Any] = {"storage": {"root": self.root}, "models": models, "scoring": scoring}
        self.config = Config.model_validate(table)
        self.endpoint.requests.clear()
        return {name: evaluate(self.config, self.edition_id, name) for name in names}

    def publish(self) -> None:
        build_warehouse(self.root)

    def write_pages(self) -> Parsed:
        self.publish()
        (page,) = write_pages(self.root, [self.edition_id])
        return parse(page.read_text(encoding="utf-8"))

    def query(self, sql: str) -> list[dict[str, Any]]:
        return query_rows(self.root, sql)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    edition = make_edition(tmp_path, BASE)
    edition_id = complete_edition(edition, list(write_files(edition).values()), [])

    made: list[Bench] = []
    with serve_endpoint(lambda body, number: made[0].reply(body, number)) as endpoint:
        made.append(Bench(tmp_path, edition_id, endpoint, answer_by_checksum))
        yield made[0]


def fail_share(share: float, status: int = 400) -> Callable[[Body, int], EndpointReply]:
    """Return an endpoint that refuses this share of the prompts, always the same ones, for their content."""
    refused: set[str] = set()

    def reply(body: Body, number: int) -> EndpointReply:
        prompt = str(body["prompt"])
        # Not the first prompts: an endpoint that answers nothing at all is another case.
        if number >= 40 and len(refused) < round(share * N_SAMPLES):
            refused.add(prompt)
        return (
            build_error(status, "content_filter") if prompt in refused else answer_by_checksum(body, number)
        )

    return reply


@pytest.mark.parametrize("status", [422, 402, 403])
def test_endpoint_that_refuses_everything_gets_32_prompts_and_a_probe(bench: Bench, status: int) -> None:
    bench.reply = lambda body, _: build_error(status, WORDS)
    reason = bench.evaluate("bad")["bad"]
    assert reason is not None
    assert f"HTTP {status}: " in reason
    assert WORDS in reason
    prompts = [body["prompt"] for _, _, body in bench.endpoint.requests]
    assert (len(set(prompts)), prompts[-1]) == (33, "Hello")


def test_endpoint_that_refuses_everything_has_no_score(bench: Bench) -> None:
    bench.reply = lambda body, number: (
        answer_by_checksum(body, number) if body["model"] == "good" else build_error(400, WORDS)
    )
    outcomes = bench.evaluate("bad", "good")
    assert outcomes["good"] is None
    reason = outcomes["bad"]
    assert reason is not None
    assert reason.startswith("model 'bad': the endpoint refused every one of 32 prompts (HTTP 400: ")
    assert WORDS in reason
    assert sum(body["model"] == "bad" for _, _, body in bench.endpoint.requests) == 33
    page = bench.write_pages()
    assert [row[1] for row in page.table_with("#", "Model", "Mastery")[1:]] == ["good"]
    assert "bad is not evaluated: " + reason.removeprefix("model 'bad': ") in page.text
    assert "good masters" in page.text
    assert "bad masters" not in page.text
    index = parse((bench.root / "report" / "index.html").read_text(encoding="utf-8")).tables[0]
    assert index[1][index[0].index("Notevaluated")] == "1"


def test_a_repaired_endpoint_is_asked_only_what_failed_and_published(bench: Bench) -> None:
    bench.reply = lambda body, _: build_error(400, WORDS)
    assert WORDS in str(bench.evaluate("m")["m"])
    bench.reply = fail_share(0.05)
    assert "more than max_error_rate" in str(bench.evaluate("m")["m"])
    assert len(bench.endpoint.requests) == N_SAMPLES
    bench.reply = answer_by_checksum
    assert bench.evaluate("m") == {"m": None}
    assert len(bench.endpoint.requests) == 10
    assert list((bench.root / "failures").rglob("*.json")) == []
    bench.publish()
    assert bench.query("from not_evaluated") == []
    assert bench.query("select n_samples, n_errors from leaderboard") == [
        {"n_samples": N_SAMPLES, "n_errors": 0}
    ]


def test_endpoint_that_begins_to_refuse_everything_is_noticed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_session, "FIRST_CHUNK", 96)
    bench.reply = lambda body, number: (
        answer_by_checksum(body, number) if number < 40 else build_error(400, WORDS)
    )
    reason = bench.evaluate("m")["m"]
    # 32 answered, 96 of which 8 are answered, 32 to make sure, and the throwaway prompt.
    assert len(bench.endpoint.requests) == 32 + 96 + 32 + 1
    assert reason is not None
    assert WORDS in reason
    store = plan_evaluation(bench.config, bench.edition_id, "m").store
    assert len(store.read_settled_keys()) == 40
    assert len(list((bench.root / "failures").rglob("m.json"))) == 1


def test_few_failed_prompts_are_left_out_and_shown(bench: Bench) -> None:
    # Gateways refuse prompts for their content with either status.
    replies = {f"m{status}": fail_share(0.005, status) for status in (400, 403)}
    bench.reply = lambda body, number: replies[body["model"]](body, number)
    assert bench.evaluate(*replies) == dict.fromkeys(replies)
    page = bench.write_pages()
    rows = bench.query("from leaderboard")
    assert {row["model"] for row in rows} == set(replies)
    for row in rows:
        assert (row["n_errors"], row["n_samples"]) == (1, N_SAMPLES - 1)
        answered = bench.query(
            f"from prediction_details where model = '{row['model']}' and response is not null"
        )
        assert row["average_accuracy"] == sum(r["is_correct"] for r in answered) / len(answered)
        assert row["no_answer_rate"] == 0
    head, *lines = page.table_with("Model", "Joint accuracyby triplet")
    assert [line[head.index("Failed")] for line in lines] == ["0.5\u00a0%"] * 2
    # Each prompt is refused for its content. That it is refused again is no reason to fail.
    assert bench.evaluate(*replies) == dict.fromkeys(replies)
    assert [body["model"] for _, _, body in bench.endpoint.requests] == list(replies)


def test_too_many_failed_prompts_give_no_score_until_the_limit_is_raised(bench: Bench) -> None:
    bench.reply = fail_share(0.05)
    reason = bench.evaluate("m")["m"]
    assert reason is not None
    assert reason.startswith("model 'm': 10 of 208 samples failed (4.8%), more than max_error_rate = 0.01")
    assert "HTTP 400: " in reason
    assert "content_filter" in reason
    page = bench.write_pages()
    assert bench.query("from leaderboard") == []
    assert "m is not evaluated: 10 of 208 samples failed (4.8%), more than max_error_rate" in page.text
    assert page.find("section") == []
    assert "m masters" not in page.text
    evaluation = plan_evaluation(bench.config, bench.edition_id, "m")
    score_again(evaluation)
    bench.publish()
    assert bench.query("from leaderboard") == []
    assert bench.evaluate("m", max_error_rate=0.05) == {"m": None}
    assert len(bench.endpoint.requests) == 10
    bench.publish()
    assert bench.query("select n_errors, n_samples from leaderboard") == [{"n_errors": 10, "n_samples": 198}]


def test_prompts_that_are_too_long_fail_with_their_own_words(bench: Bench) -> None:
    too_long = "This model's maximum context length is 512 tokens"
    bench.reply = lambda body, _: build_error(400, too_long)
    reason = bench.evaluate("m")["m"]
    assert reason is not None
    assert f"{N_SAMPLES} of {N_SAMPLES} samples failed (100.0%)" in reason
    assert too_long in reason
    assert bench.evaluate("m")["m"] == reason
    assert bench.endpoint.requests == []


def test_key_that_is_refused_in_the_middle_keeps_the_answers(bench: Bench) -> None:
    bench.reply = lambda body, number: (
        answer_by_checksum(body, number) if number < 100 else build_error(401, "key expired")
    )
    reason = bench.evaluate("m")["m"]
    assert reason is not None
    assert "key expired" in reason
    store = plan_evaluation(bench.config, bench.edition_id, "m").store
    n_kept = store.read().height
    assert 32 <= n_kept <= 100
    bench.publish()
    assert bench.query("from leaderboard") == []
    assert bench.query("select reason from not_evaluated") == [{"reason": reason}]
    bench.reply = answer_by_checksum
    assert bench.evaluate("m") == {"m": None}
    assert len(bench.endpoint.requests) == N_SAMPLES - n_kept


def test_model_whose_folder_is_missing_is_listed(bench: Bench) -> None:
    gone = {"name": "gone", "model": str(bench.root / "nothing")}
    config = Config.model_validate({"storage": {"root": bench.root}, "models": [gone]})
    reason = evaluate(config, bench.edition_id, "gone")
    assert reason is not None
    bench.publish()
    assert bench.query("select model, model_id, reason from not_evaluated") == [
        {"model": "gone", "model_id": None, "reason": reason}
    ]


def test_writer_that_is_refused_gets_32_prompts_and_a_probe(bench: Bench) -> None:
    bench.reply = lambda body, _: build_error(400, WORDS)
    table = {"name": "w", "engine": "openai", "model": "w", "base_url": bench.endpoint.base_url}
    config = Config.model_validate({"storage": {"root": bench.root}, "writers": [table]})
    writer = identify_writer(config.writers[0])
    prompts = [writer.build_prompt(f"Paraphrase statement {n}.", 16) for n in range(100)]
    with pytest.raises(InputError, match="model 'w': the endpoint refused every one of 32 prompts") as caught:
        ask_for_replies(Store(config.storage), writer, prompts, ignore)
    assert WORDS in str(caught.value)
    assert len(bench.endpoint.requests) == 33


def test_crash_of_an_engine_is_explained(bench: Bench) -> None:
    class Crashing:
        def generate(self, prompts: object, sampling: object, on_progress: object = None) -> list[Completion]:
            raise RuntimeError("EngineCore died\nsee the log")

        def close(self) -> None:
            """Close nothing."""

    bench.evaluate()
    table = {"name": "m", "engine": "openai", "model": "m", "base_url": bench.endpoint.base_url}
    config = Config.model_validate({"storage": {"root": bench.root}, "models": [table]})

    def load(_: object) -> Engine:
        return Crashing()

    with pytest.raises(InputError, match="model 'm': its engine crashed") as caught:
        ask_model(plan_evaluation(config, bench.edition_id, "m"), load)
    assert "RuntimeError: EngineCore died see the log" in str(caught.value)
