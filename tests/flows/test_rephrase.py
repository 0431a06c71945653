"""Editions with texts of a language model: endpoints that reword badly or not at all."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from commands.preflight.validate import validate_config
from pretexeval.config.file import load_config
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
from tests.support.endpoint import (
    Body,
    Endpoint,
    EndpointReply,
    build_error,
    build_reply,
    reply_to_chat,
    serve_endpoint,
)
from warehouse.query import read_rows

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

    def read_stage(self, stage: str) -> pl.DataFrame:
        return pl.concat(pl.read_parquet(path) for path in sorted(self.root.glob(f"editions/*/{stage}/*")))

    def read_files(self) -> tuple[dict[str, str], dict[str, tuple[int, int]]]:
        """Return the checksums of the edition, and the time stamps of the stored answers."""
        return read_bytes(self.root / "editions"), read_stamps(self.root, "responses/**/*.parquet")


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
        "knowledge": write_base(folder / "own.tsv", make_rows("may_treat", n_heads=10)),
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
    attempts, samples, statements = map(rephrased.read_stage, ("attempts", "samples", "statements"))
    reworded = samples.filter(method="pretexeval")
    assert reworded.height == statements.height == attempts["variant_id"].n_unique()
    assert attempts.filter(~pl.col("is_accepted")).height > attempts.height * 0.9
    fallen = reworded.filter(status="fallback").join(
        statements.select("variant_id", "statement"), on="variant_id"
    )
    assert fallen["text"].to_list() == fallen["statement"].to_list()
    assert fallen["attempts"].unique().to_list() == [2]
    assert fallen.height + reworded.filter(status="accepted").height == reworded.height


def test_files_are_built_again_from_stored_replies_and_the_writer_is_limited(rephrased: Rephrased) -> None:
    before = rephrased.read_files()
    rephrased.endpoint.requests.clear()
    for stage in ("attempts", "samples"):
        (lost,) = rephrased.root.glob(f"editions/*/{stage}/may_treat.parquet")
        lost.unlink()
    for record in (rephrased.root / "cache").rglob("*.json"):
        record.unlink()
    said = rephrased.run("build").err
    assert rephrased.read_files() == before
    assert rephrased.endpoint.requests == []
    # It fails the panel.
    (path,) = rephrased.root.glob("editions/*/manifest.json")
    limits = json.loads(path.read_text())["wrong_texts"]
    panel = limits["panel"]
    assert panel["n_passed"] < panel["n_attempts"] / 10
    assert [row["statement"] for row in panel["rewordings"]] == read_panel()["statement"].to_list()
    assert f"{panel['n_passed']} of {panel['n_attempts']} rewordings of the panel" in said
    (row,) = read_rows(rephrased.root, "from sample_quality where method = 'pretexeval'")
    assert (row["max_new_words"], row["wrong_rate"]) == (0, limits["wrong_rate"])
    assert limits["max_new_words"] == 0


def test_writers_without_some_replies_are_both_asked_and_named_and_stop_the_run(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    knowledge = write_base(tmp_path / "own.tsv", make_rows("may_treat"))

    def reply(_: Body, number: int) -> EndpointReply:
        return reply_to_chat({"content": "Hm."}) if number % 2 else build_error(400, "this prompt fails")

    with serve_endpoint(reply) as endpoint:
        served = {"engine": "openai", "model": "x", "base_url": endpoint.base_url}
        config = write_config(
            tmp_path / "silent.toml",
            tmp_path / "silent",
            knowledge=knowledge,
            edition={"methods": ["pretexeval", "llmeval"]},
            rephraser={"kind": "model", "writer": "half", "max_attempts": 2},
            llmeval={"writer": "half"},
            writers=[{"name": "half", **served}],
        )
        done = run_command("build", config, folder=tmp_path, environment=prefect_server).require(2)
    assert done.err.count("gave no reply to") == 2
    assert "run the same command again" in done.err
    assert not list(tmp_path.glob("silent/editions/*/manifest.json"))
    assert list_half_written(tmp_path / "silent") == []


def paraphrase(body: Body, _: int) -> EndpointReply:
    """Reword a statement in a way that the gate would reject, or not at all; answer questions by True."""
    if "paraphrase" not in body["prompt"]:
        return build_reply(" True")
    return build_reply("" if "cannot" in body["prompt"] else ' "No idea:\n nothing treats anything" ')


@pytest.mark.long
def test_a_run_without_the_gate_uses_the_first_reply_and_says_so(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    root = tmp_path / "data"
    knowledge = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    with serve_endpoint(paraphrase) as endpoint:
        served = {"engine": "openai", "base_url": endpoint.base_url, "prompt_style": "completion"}
        config = write_config(
            tmp_path / "paper.toml",
            root,
            knowledge=knowledge,
            edition={"methods": ["pretexeval", "origin"], "negatives": "uniform"},
            rephraser={
                "kind": "model",
                "writer": "writer",
                "gate": "off",
                "temperature": 0,
                "instruction": "Please paraphrase the following statement. Statement: {statement}",
            },
            writers=[{"name": "writer", "model": "writer", **served}],
            models=[{"name": "student", "model": "student", **served}],
            scoring={"policies": ["coin-flip", "strict"]},
        )
        warnings = {each.name: each for each in validate_config(load_config(config)) if each.state != "ok"}
        assert set(warnings) == {"names", "gate"}
        assert warnings["gate"].found.startswith("The gate is off: nothing checks that the rewordings say")
        run_command("run", config, folder=tmp_path, environment=prefect_server).require()
        asked = [body for _, _, body in endpoint.requests if "paraphrase" in body["prompt"]]

    samples, statements = (
        pl.read_parquet(next(root.glob(f"editions/*/{stage}/may_treat.parquet")))
        for stage in ("samples", "statements")
    )
    assert {body["temperature"] for body in asked} == {0}
    assert len(asked) == statements["statement"].n_unique() == len({body["prompt"] for body in asked})
    assert set(samples.filter(method="pretexeval")["status"]) == {"as_is", "fallback"}
    manifest = json.loads(next(root.glob("editions/*/manifest.json")).read_text())
    assert manifest["configuration"]["rephraser"]["gate"] == "off"
    (quality,) = read_rows(root, "from sample_quality where method = 'pretexeval'")
    assert (quality["accepted_rate"], quality["acceptance_rate"]) == (0.0, None)
    pages = [path.read_text() for path in root.glob("report/**/*.html")]
    sentence = "The gate was off: nobody checked that these texts say what their statements say."
    assert sum(sentence in page for page in pages) == 1
    assert not any("the gate accepted" in page for page in pages)
