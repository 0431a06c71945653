"""`pretexeval run` with models that fail, and with one whose responses are imported, beside others."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tasks.asking.prompts import render_answer
from tests.support.command import (
    Outcome,
    make_rows,
    run_command,
    write_base,
    write_config,
    write_question_config,
)
from tests.support.data_folder import query_rows
from tests.support.endpoint import Body, EndpointReply, build_error, serve_endpoint
from tests.support.fault_models import answer_by_checksum
from tests.support.prefect_server import open_client

pytestmark = pytest.mark.long

NAMES = ("refused", "good", "unprocessable", "flaky", "fragile", "expired")
# Some end before there are scores, others after too many failed prompts.
FAILED = ("refused", "unprocessable", "fragile", "expired")
RELATIONS = ("may_prevent", "may_treat")
# 9 test pairs of 14 heads in each relation.
N_SAMPLES = len(RELATIONS) * 9 * 16
N_REFUSED = {"flaky": 1, "fragile": round(0.05 * N_SAMPLES)}
WORDS = "Unsupported parameter: 'max_tokens'"


def list_broken(folder: Path) -> list[dict[str, Any]]:
    """Return models whose files are missing or damaged."""
    truncated, torn = folder / "truncated", folder / "torn.parquet"
    truncated.mkdir()
    (truncated / "config.json").write_text('{"architectures": [')
    (truncated / "model.safetensors").write_bytes(b"")
    torn.write_bytes(b"PAR1 and no more")
    return [
        {"name": "lost", "model": str(folder / "nowhere")},
        {"name": "truncated", "model": str(truncated)},
        {"name": "torn", "engine": "recorded", "model": str(torn)},
    ]


def test_failing_models_do_not_stop_others_and_are_asked_only_what_failed(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    root, broken, is_repaired = tmp_path / "data", list_broken(tmp_path), False
    counts, refused = Counter[str](), {name: set[str]() for name in NAMES}
    base = write_base(tmp_path / "own.tsv", make_rows(*RELATIONS))

    def reply(body: Body, number: int) -> EndpointReply:
        """Reply as the model does; flaky refuses one prompt for its content, and fragile 5 %."""
        name, prompt = body["model"], str(body["prompt"])
        counts[name] += 1
        if counts[name] > 40 and len(refused[name]) < N_REFUSED.get(name, 0):
            refused[name].add(prompt)
        if not is_repaired:
            if name in ("refused", "unprocessable"):
                return build_error(400 if name == "refused" else 422, WORDS)
            if name == "expired" and counts[name] > 100:
                return build_error(401, "the key has expired")
            if prompt in refused[name]:
                return build_error(400, "content_filter")
        return answer_by_checksum(body, number)

    with serve_endpoint(reply) as endpoint:
        served = {"engine": "openai", "base_url": endpoint.base_url}
        models = [{"name": name, "model": name, **served} for name in NAMES]

        def run(*tables: dict[str, Any]) -> Outcome:
            counts.clear()
            knowledge = {"name": "failing", "format": "table", "path": str(base)}
            config = write_config(tmp_path / "c.toml", root, knowledge=knowledge, models=tables)
            return run_command("run", config, folder=tmp_path, environment=prefect_server)

        said = run(*broken, *models).require(1).err
        assert {row["model"] for row in query_rows(root, "from leaderboard")} == {"good", "flaky"}
        reasons = {row["model"]: row["reason"] for row in query_rows(root, "from not_evaluated")}
        assert all(f"pretexeval: {name}: {reason}" in said for name, reason in reasons.items())
        expected = {
            "lost": ("there is no folder",),
            "truncated": ("config.json cannot be read",),
            "torn": ("torn.parquet",),
            "refused": (WORDS,),
            "unprocessable": (WORDS,),
            "fragile": ("more than max_error_rate", "content_filter"),
            "expired": ("the key has expired",),
        }
        assert reasons.keys() == expected.keys()
        assert [name for name, words in expected.items() for word in words if word not in reasons[name]] == []
        assert max(counts["refused"], counts["unprocessable"]) <= 33
        named = {
            "flow_runs": {"name": {"like_": "-failing-"}},
            "flows": {"name": {"any_": ["evaluate-model"]}},
        }
        runs = open_client(prefect_server).post("/flow_runs/filter", json=named).raise_for_status().json()
        states = {run["parameters"]["model_name"]: run["state_type"] for run in runs}
        failed = {name: "FAILED" if name in FAILED else "COMPLETED" for name in NAMES}
        assert {name: states[name] for name in NAMES} == failed

        sql = "from responses where model_id like 'expired-%' and status = 'ok'"
        n_answered, is_repaired = len(query_rows(root, sql)), True
        repaired = run(*models).require().out
        rows = query_rows(root, "from leaderboard")
        assert {row["model"]: row["n_samples"] for row in rows} == dict.fromkeys(NAMES, N_SAMPLES)
        again = {"refused": N_SAMPLES, "unprocessable": N_SAMPLES, "expired": N_SAMPLES - n_answered}
        assert counts == Counter(again | N_REFUSED)
        # These are not in the configuration any more.
        left = {row["model"] for row in query_rows(root, "from not_evaluated")}
        assert left == {table["name"] for table in broken}
        assert not any(f"not evaluated: {name}" in repaired for name in NAMES)


def write_responses(edition: Path, folder: Path) -> tuple[Path, Path]:
    """Write the right answers to the samples and the questions of an edition; return the two files."""
    samples, questions = (
        pl.concat(pl.read_parquet(path) for path in (edition / stage).glob("*.parquet")).filter(split="test")
        for stage in ("samples", "questions")
    )
    rows = {
        "samples": [
            {"sample_id": i, "response": str(b)} for i, b in samples["sample_id", "label"].iter_rows()
        ],
        "questions": [
            {"question_id": i, "response": render_answer(kind, answer)}
            for i, kind, answer in questions["question_id", "type", "answer"].iter_rows()
        ],
    }
    for name, found in rows.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, found)), encoding="utf-8")
    return folder / "samples.jsonl", folder / "questions.jsonl"


def test_a_setting_without_imported_responses_is_not_evaluated(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    """The run scores what was imported and evaluates the other model; its status is 1."""
    root = tmp_path / "data"

    def call(*arguments: str | Path) -> Outcome:
        return run_command(*arguments, folder=tmp_path, environment=prefect_server)

    with serve_endpoint(answer_by_checksum) as endpoint:
        imported = {"name": "elsewhere", "engine": "imported", "model": "responses", "revision": "1"}
        here = {"name": "here", "engine": "openai", "model": "x", "base_url": endpoint.base_url}
        models = [imported | {"prompt_style": "chat"}, here]
        config = write_question_config(tmp_path, n_repeats=1, models=models)
        call("build", config).require()
        (edition,) = (root / "editions").iterdir()
        options = ["--edition", edition.name, "--model", "elsewhere", "--revision", "1", "--root", str(root)]
        for file in write_responses(edition, tmp_path):
            said = call("import-responses", file, *options, "--no-publish").require().out
            assert "0 rows with an error" in said
        run, again = call("run", config).require(1), call("publish", config, "--score").require()
    reason = (
        f"no responses of model 'elsewhere' to the questions in the setting chain_of_thought of "
        f"{edition.name} were imported; import them with `pretexeval import-responses`"
    )
    (row,) = query_rows(root, "from not_evaluated")
    assert (row["model"], row["setting"], row["reason"]) == ("elsewhere", "chain_of_thought", reason)
    scores = query_rows(
        root,
        "select model, 'samples' as setting from leaderboard union all "
        "select distinct model, setting from facet_accuracy order by all",
    )
    assert [(row["model"], row["setting"]) for row in scores] == [
        ("elsewhere", "answer_only"),
        ("elsewhere", "samples"),
        ("here", "answer_only"),
        ("here", "chain_of_thought"),
        ("here", "samples"),
    ]
    line = f"elsewhere (chain_of_thought): {reason}"
    assert run.err.splitlines()[-1] == f"pretexeval: {line}"
    for outcome in (run, again):
        said = [part for part in outcome.out.splitlines() if "not evaluated" in part]
        assert said == [f"not evaluated: {line}"]
