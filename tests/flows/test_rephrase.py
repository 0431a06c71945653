"""Editions with texts of a language model: an endpoint that rewords badly, and recorded replies."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.config.file import load_config
from schemas.stages import STATEMENTS, TRIPLETS
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.edition.statements import join_entities
from tasks.judging.writer_errors import read_panel
from tests.support.command import (
    Outcome,
    Table,
    list_half_written,
    make_rows,
    read_bytes,
    read_stamps,
    run_command,
    write_base,
    write_config,
)
from tests.support.data_folder import query_rows
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_reply, serve_endpoint

pytestmark = pytest.mark.slow

METHODS = ["pretexeval", "prototype", "direct", "llmeval"]


@dataclass(frozen=True)
class Rephrased:
    """An edition of all four methods, whose writer can neither reword nor write, and an evaluated model."""

    folder: Path
    server: dict[str, str]
    endpoint: Endpoint

    @property
    def root(self) -> Path:
        return self.folder / "data"

    def run(self, command: str, *options: str) -> Outcome:
        """Run a command with the configuration."""
        config = self.folder / "config.toml"
        return run_command(command, config, *options, folder=self.folder, environment=self.server).require()


def read_stage(root: Path, stage: str) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted(root.glob(f"editions/*/{stage}/*.parquet"))])


def answer_anything(body: Body, _: int) -> EndpointReply:
    """Answer a question by the checksum of the prompt; as a rewording or a statement, the text is useless."""
    is_even = hashlib.sha256(body["prompt"].encode()).digest()[0] % 2 == 0
    return build_reply(" True, without any doubt." if is_even else " False, without any doubt.")


@pytest.fixture(scope="module")
def rephrased(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]
) -> Iterator[Rephrased]:
    """Run all four methods, and yield the folder and the endpoint."""
    folder = tmp_path_factory.mktemp("rephrased")
    tables: dict[str, Table] = {
        "knowledge": {"relations": ["may_treat"]},
        "edition": {"methods": METHODS, "seed": 3},
        "rephraser": {"kind": "model", "writer": "poor", "max_attempts": 2, "max_tokens": 16},
        "llmeval": {"writer": "poor"},
        "judge": {"writer": "poor"},
    }
    with serve_endpoint(answer_anything) as endpoint:
        served = {"engine": "openai", "base_url": endpoint.base_url, "prompt_style": "completion"}
        poor, student = ({"name": name, "model": name, **served} for name in ("poor", "student"))
        write_config(folder / "config.toml", folder / "data", models=[student], writers=[poor], **tables)
        rephrased = Rephrased(folder, prefect_server, endpoint)
        rephrased.run("run")
        yield rephrased


def test_edition_is_complete_although_the_gate_rejects_most_rewordings(rephrased: Rephrased) -> None:
    attempts, samples = (read_stage(rephrased.root, stage) for stage in ("attempts", "samples"))
    reworded = samples.filter(method="pretexeval")
    assert reworded.height == read_stage(rephrased.root, "statements").height
    assert attempts["variant_id"].n_unique() == reworded.height
    n_rejected = attempts.filter(~pl.col("is_accepted")).height
    assert n_rejected > attempts.height * 0.9
    statements = read_stage(rephrased.root, "statements").select("variant_id", "statement")
    fallen = reworded.filter(status="fallback").join(statements, on="variant_id")
    assert fallen["text"].to_list() == fallen["statement"].to_list()
    assert fallen["attempts"].unique().to_list() == [2]
    assert fallen.height + reworded.filter(status="accepted").height == reworded.height


def test_writer_that_fails_the_panel_is_limited_and_named(rephrased: Rephrased) -> None:
    (path,) = rephrased.root.glob("editions/*/manifest.json")
    found = json.loads(path.read_text())["wrong_texts"]
    assert found["max_new_words"] == 0
    panel = found["panel"]
    assert panel["n_passed"] < panel["n_attempts"] / 10
    assert [row["statement"] for row in panel["rewordings"]] == read_panel()["statement"].to_list()
    assert (
        f"{panel['n_passed']} of {panel['n_attempts']} rewordings of the panel" in rephrased.run("build").err
    )
    (row,) = query_rows(rephrased.root, "from sample_quality where method = 'pretexeval'")
    assert (row["max_new_words"], row["wrong_rate"]) == (0, found["wrong_rate"])


def test_lost_files_are_built_again_from_stored_replies(rephrased: Rephrased) -> None:
    editions = read_bytes(rephrased.root / "editions")
    before = read_stamps(rephrased.root, "responses/**/*.parquet")
    rephrased.endpoint.requests.clear()
    for stage in ("attempts", "samples"):
        (lost,) = rephrased.root.glob(f"editions/*/{stage}/may_treat.parquet")
        lost.unlink()
    for record in (rephrased.root / "cache").rglob("*.json"):
        record.unlink()
    rephrased.run("build")
    assert read_bytes(rephrased.root / "editions") == editions
    assert read_stamps(rephrased.root, "responses/**/*.parquet") == before
    assert rephrased.endpoint.requests == []


def test_answers_are_scored_again_without_asking(rephrased: Rephrased) -> None:
    """Another run asks nothing either, and keeps the scores under all policies."""
    before = read_stamps(rephrased.root, "responses/**/*.parquet")
    editions = read_bytes(rephrased.root / "editions")
    rephrased.endpoint.requests.clear()
    done = rephrased.run("publish", "--score", "coin-flip", "excluded")
    assert {"strict", "coin-flip", "excluded"} <= set(done.out.split())
    rows = query_rows(rephrased.root, "select distinct scoring_policy as p from leaderboard")
    assert {row["p"] for row in rows} == {"strict", "coin-flip", "excluded"}
    rephrased.run("run")
    assert rephrased.endpoint.requests == []
    assert read_stamps(rephrased.root, "responses/**/*.parquet") == before
    assert read_bytes(rephrased.root / "editions") == editions
    assert len(query_rows(rephrased.root, "from leaderboard")) == len(METHODS) * 3


def write_recorded(folder: Path, name: str, **tables: Any) -> Path:  # noqa: ANN401
    """Write a configuration whose writer has a recorded rewording of every statement, and return its path.

    Args:
        tables: further tables of the configuration.
    """
    base = write_base(folder / "base.tsv", make_rows("may_treat"))
    recording = folder / f"{name}.parquet"
    pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
    config = write_config(
        folder / f"{name}.toml",
        folder / name,
        knowledge={"name": "own", "format": "table", "path": str(base)},
        rephraser={"kind": "model", "writer": "player", "max_attempts": 2},
        writers=[{"name": "player", "engine": "recorded", "model": str(recording)}],
        **tables,
    )
    edition = plan_edition(load_config(config))
    rows = [
        (prompt, f"It is true that {text[0].lower()}{text[1:]}") for text, prompt in list_prompts(edition)
    ]
    pl.DataFrame(rows, schema=["prompt", "response"], orient="row").write_parquet(recording)
    return config


def list_prompts(edition: Edition) -> list[tuple[str, str]]:
    """Return (statement, prompt) of the panel and every first attempt. Others differ only in their seed."""
    from tasks.edition.recipes import RECIPES

    frames: dict[str, pl.DataFrame] = {}
    for stage in edition.stages[:3]:
        frames[stage.name] = RECIPES[stage.name].build(edition, "may_treat", frames)
    rows = join_entities(frames[STATEMENTS.name], frames[TRIPLETS.name])
    rephraser = edition.rephraser
    assert rephraser is not None
    asked = [*rows.select("statement", "split").iter_rows()]
    asked += [(text, "demonstration") for text in read_panel()["statement"]]
    return [(text, rephraser.build_prompt(text, 1, split).prompt.text) for text, split in asked]


def test_writers_without_replies_are_both_asked_and_named_and_stop_the_run(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    tables: dict[str, Table] = {
        "edition": {"methods": ["pretexeval", "llmeval"]},
        "llmeval": {"writer": "player"},
    }
    config = write_recorded(tmp_path, "silent", **tables)
    recording = tmp_path / "silent.parquet"
    pl.read_parquet(recording)[:5].write_parquet(recording)
    done = run_command("build", config, folder=tmp_path, environment=prefect_server).require(2)
    assert done.err.count("gave no reply to") == 2
    assert "run the same command again" in done.err
    assert not list(tmp_path.glob("silent/editions/*/manifest.json"))
    assert list_half_written(tmp_path / "silent") == []
