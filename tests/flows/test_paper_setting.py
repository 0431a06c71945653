"""The papers' setting in small: no gate, greedy rewordings, the method origin, and the papers' tables."""

import json
from pathlib import Path

import polars as pl
import pytest

from commands.preflight.fact_preview import preview_edition
from commands.preflight.validate import validate_config
from pretexeval.config.file import load_config
from report.paper_tables import render_all_tables
from tests.support.command import make_rows, run_command, write_base, write_config
from tests.support.data_folder import query_rows
from tests.support.endpoint import Body, EndpointReply, build_reply, serve_endpoint

pytestmark = pytest.mark.long

INSTRUCTION = "Please paraphrase the following statement. Statement: {statement}"


def answer(body: Body, _: int) -> EndpointReply:
    """Reword a statement in a way that the gate would reject, or not at all; answer questions by True."""
    if "paraphrase" not in body["prompt"]:
        return build_reply(" True")
    return build_reply("" if "cannot" in body["prompt"] else ' "No idea:\n nothing treats anything" ')


def test_a_run_without_the_gate_uses_the_first_reply_and_says_so(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    root = tmp_path / "data"
    base = write_base(tmp_path / "base.tsv", make_rows("may_treat"))
    with serve_endpoint(answer) as endpoint:
        served = {"engine": "openai", "base_url": endpoint.base_url, "prompt_style": "completion"}
        config = write_config(
            tmp_path / "paper.toml",
            root,
            knowledge={"name": "own", "format": "table", "path": str(base)},
            edition={"methods": ["pretexeval", "origin"], "negatives": "uniform"},
            rephraser={
                "kind": "model",
                "writer": "writer",
                "gate": "off",
                "temperature": 0,
                "instruction": INSTRUCTION,
            },
            writers=[{"name": "writer", "model": "writer", **served}],
            models=[{"name": "student", "model": "student", **served}],
            scoring={"policies": ["coin-flip", "strict"]},
        )

        preview = preview_edition(load_config(config), 1)
        assert "nothing will check its rewordings" in preview.unwritten["pretexeval"]
        (warning,) = validate_config(load_config(config)).warnings
        assert warning.startswith("The gate is off: nothing checks that the rewordings say")
        run_command("run", config, folder=tmp_path, environment=prefect_server).require()
        asked = [body for _, _, body in endpoint.requests if "paraphrase" in body["prompt"]]

    attempts, samples, statements = (
        pl.read_parquet(next(root.glob(f"editions/*/{stage}/may_treat.parquet")))
        for stage in ("attempts", "samples", "statements")
    )
    assert {body["temperature"] for body in asked} == {0}
    assert len(asked) == statements["statement"].n_unique() == len({body["prompt"] for body in asked})
    assert attempts.height == statements.height
    assert not attempts["is_accepted"].any()
    reworded = samples.filter(method="pretexeval").join(
        statements.select("variant_id", "statement"), on="variant_id"
    )
    is_empty = pl.col("statement").str.contains("cannot")
    fallen, kept = reworded.filter(is_empty), reworded.filter(~is_empty)
    assert fallen.height > 0
    assert fallen["text"].equals(fallen["statement"], check_names=False)
    assert fallen.select("status", "reasons").unique().rows() == [("fallback", ["no text"])]
    assert kept.select("text", "status", "reasons").unique().rows() == [
        ('"No idea:  nothing treats anything"', "as_is", ["gate off"])
    ]
    manifest = json.loads(next(root.glob("editions/*/manifest.json")).read_text())
    assert manifest["configuration"]["rephraser"]["gate"] == "off"
    (quality,) = query_rows(root, "from sample_quality where method = 'pretexeval'")
    assert (quality["accepted_rate"], quality["acceptance_rate"]) == (0.0, None)
    pages = [path.read_text() for path in root.glob("report/**/*.html")]
    sentence = "The gate was off: nobody checked that these texts say what their statements say."
    assert sum(sentence in page for page in pages) == 1
    assert not any("the gate accepted" in page for page in pages)
    head, methods, losses = render_all_tables(root, manifest["edition_id"]).split("\n\n")[:3]
    n = samples.filter(split="test").group_by("method").len().sort("method").rows()
    counted = ", ".join(f"{method} {count}" for method, count in n)
    assert head == f"Scoring policy coin-flip. Graded samples or questions of each model: {counted}"
    assert methods.splitlines()[1].split()[:3] == ["model", "origin", "pretexeval"]
    assert losses.splitlines()[1].split() == ["model", "origin"]
