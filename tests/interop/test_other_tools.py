"""inspect_ai and lm-eval run an exported edition, and agree with an evaluation of the same endpoint."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.interop.conftest import REPOSITORY, require_environment
from tests.support.command import run_command, write_config
from tests.support.vllm_server import start_vllm_server
from warehouse.query import run_query

pytestmark = pytest.mark.slow

MODEL = REPOSITORY / "models" / "reference-small"
# Relations of which the model knows some facts and not others.
KNOWLEDGE = {
    "name": "starter",
    "format": "starter",
    "relations": ["symptoms", "disease_has_abnormal_cell", "gene_product_has_associated_anatomy"],
}
N_PAIRS = 4
N_SAMPLES = 3 * N_PAIRS * 2 * 8
MAX_TOKENS = 4
STYLES = ("completion", "chat")
FEW_PAIRS = ("--pairs-per-relation", str(N_PAIRS))
# Nothing but loopback is reached: an attempt to reach anything else fails at once.
NO_NETWORK = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
}
Graded = dict[str, tuple[str, bool | None, bool]]
"""Sample -> response, prediction, and whether it is right."""


@dataclass(frozen=True)
class Site:
    """A data folder with the evaluations of both styles, and a served model."""

    folder: Path
    edition_id: str
    base_url: str

    @property
    def root(self) -> Path:
        return self.folder / "data"

    def query(self, query: str) -> list[tuple[Any, ...]]:
        _, rows = run_query(self.root, query)
        return rows

    def read_predictions(self, model: str) -> Graded:
        rows = self.query(
            "select sample_id, response, prediction, is_correct from prediction_details "
            f"where model = '{model}'"
        )
        return {sample_id: tuple(rest) for sample_id, *rest in rows}

    def read_scores(self, model: str) -> dict[str, float]:
        """Return the scores as the metrics of the tools are named."""
        ((accuracy, no_answer_rate),) = self.query(
            f"select average_accuracy, no_answer_rate from average_accuracy where model = '{model}'"
        )
        joint = dict(self.query(f"select unit, joint_accuracy from joint_accuracy where model = '{model}'"))
        return {
            "accuracy": accuracy,
            "joint_accuracy": joint["triplet"],
            "mastery": joint["pair"],
            "no_answer_rate": no_answer_rate,
        }

    def export(self, target: str, *options: str) -> Path:
        out = self.folder / target
        run_command(
            *("export", self.edition_id, "--to", target, str(out), "--root", str(self.root), *options),
            folder=self.folder,
        ).require()
        return out

    def read_imported(self, log: Path) -> dict[str, bool | None]:
        """Import a log as the responses of a model with a new name, and return sample -> prediction."""
        model = f"imported-{len(list((self.root / 'responses').iterdir()))}"
        run_command(
            *("import-responses", log, "--edition", self.edition_id, "--model", model, "--root", self.root),
            *("--pairs-per-relation", str(N_PAIRS), "--no-publish"),
            folder=self.folder,
        ).require()
        files = self.root / "predictions" / self.edition_id
        frame = pl.read_parquet(files / f"{model}-*" / "predictions" / "*.parquet")
        return dict(frame.select("sample_id", "prediction").iter_rows())


def run_tool(environment: str, *arguments: str | Path, cwd: Path, **variables: str) -> str:
    """Run a program of an environment without a network, and return what it prints."""
    program = require_environment(f".venv-{environment}").parent / str(arguments[0])
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" and "proxy" not in k.lower()}
    done = subprocess.run(
        [program, *map(str, arguments[1:])],
        cwd=cwd,
        env=inherited | NO_NETWORK | {"HF_HOME": str(cwd / "hub")} | variables,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("interop")
    # Rounding in float32 does not depend so much on the batch that another token becomes the most likely one.
    with start_vllm_server(MODEL, folder / "vllm.log", dtype="float32") as server:
        server.wait()
        asked = {"engine": "openai", "model": "tiny", "base_url": server.base_url, "max_tokens": MAX_TOKENS}
        models = [
            {"name": style, "prompt_style": style, "pairs_per_relation": N_PAIRS, **asked} for style in STYLES
        ]
        config = write_config(folder / "c.toml", folder / "data", knowledge=KNOWLEDGE, models=models)
        run_command("run", config, folder=folder).require()
        _, [(edition_id,)] = run_query(folder / "data", "select edition_id from editions")
        yield Site(folder, edition_id, server.base_url)


@pytest.fixture(scope="module")
def inspect_logs(site: Site) -> dict[str, Path]:
    """Style -> the log of a run of inspect_ai."""
    # inspect_ai takes paths that are relative to the working directory.
    task = (site.export("inspect", *FEW_PAIRS) / "task.py").relative_to(site.folder)
    logs = {}
    for style, provider in (("completion", "openai-api-completions"), ("chat", "openai-api")):
        run_tool(
            *("inspect", "inspect", "eval", str(task), "--model", f"{provider}/local/tiny"),
            *("-T", f"prompt_style={style}", "--max-tokens", str(MAX_TOKENS)),
            *("--log-dir", str(site.folder / style), "--display", "none"),
            cwd=site.folder,
            LOCAL_BASE_URL=site.base_url,
            LOCAL_API_KEY="none",
        )
        (logs[style],) = (site.folder / style).glob("*.eval")
    return logs


@pytest.fixture(scope="module")
def lm_eval_folders(site: Site) -> dict[str, Path]:
    """Style -> the folder with the results and the log of a run of lm-eval."""
    folder = site.export("lm-eval", *FEW_PAIRS)
    folders = {}
    for style, path, options in (
        ("completion", "completions", ["--model", "local-completions"]),
        ("chat", "chat/completions", ["--model", "local-chat-completions", "--apply_chat_template"]),
    ):
        out = site.folder / f"results-{style}"
        address = f"model=tiny,base_url={site.base_url}/{path},num_concurrent=8,tokenizer_backend=None"
        run_tool(
            *("lm-eval", "lm_eval", "--include_path", str(folder), "--model_args", address, *options),
            *(
                "--tasks",
                f"{site.edition_id}_pretexeval_{style}",
                "--gen_kwargs",
                f"max_gen_toks={MAX_TOKENS}",
            ),
            *("--log_samples", "--output_path", str(out)),
            cwd=site.folder,
        )
        (folders[style],) = out.iterdir()
    return folders


def read_inspect_metrics(log: Path) -> tuple[dict[str, float], list[Any]]:
    """Return the metrics and the samples as inspect_ai itself reads its log."""
    found = json.loads(run_tool("inspect", "inspect", "log", "dump", log, cwd=log.parent))
    (result,) = found["results"]["scores"]
    return {name: metric["value"] for name, metric in result["metrics"].items()}, found["samples"]


def read_lm_eval_metrics(folder: Path) -> dict[str, float]:
    (path,) = folder.glob("results_*.json")
    (found,) = json.loads(path.read_text(encoding="utf-8"))["results"].values()
    return {name.removesuffix(",none"): value for name, value in found.items()}


@pytest.mark.parametrize("style", STYLES)
def test_inspect_agrees(site: Site, inspect_logs: dict[str, Path], style: str) -> None:
    metrics, samples = read_inspect_metrics(inspect_logs[style])
    graded: Graded = {}
    for sample in samples:
        score = sample["scores"]["true_or_false"]
        prediction = {"True": True, "False": False, None: None}[score["answer"]]
        graded[sample["id"]] = sample["output"]["completion"], prediction, score["value"] == "C"
    ours = site.read_predictions(style)
    assert len(ours) == N_SAMPLES
    assert {is_right for *_, is_right in ours.values()} == {True, False}
    assert graded == ours
    scores = site.read_scores(style)
    assert {name: metrics[name] for name in scores} == pytest.approx(scores)
    relations = dict(
        site.query(f"select relation, average_accuracy from accuracy_by_relation where model = '{style}'")
    )
    assert {name: metrics[f"relation {name}"] for name in relations} == pytest.approx(relations)
    assert site.read_imported(inspect_logs[style]) == {name: row[1] for name, row in ours.items()}


@pytest.mark.parametrize("style", STYLES)
def test_lm_eval_agrees(site: Site, lm_eval_folders: dict[str, Path], style: str) -> None:
    (log,) = lm_eval_folders[style].glob("samples_*.jsonl")
    graded: Graded = {}
    for line in log.read_text(encoding="utf-8").split("\n")[:-1]:
        row = json.loads(line)
        is_right = row["accuracy"][-1]
        prediction = None if row["no_answer_rate"] else (row["target"] == "True") == is_right
        graded[row["doc"]["sample_id"]] = row["resps"][0][0], prediction, is_right
    ours = site.read_predictions(style)
    assert graded == ours
    metrics, scores = read_lm_eval_metrics(lm_eval_folders[style]), site.read_scores(style)
    assert {name: metrics[name] for name in scores} == pytest.approx(scores)
    assert site.read_imported(log) == {name: row[1] for name, row in ours.items()}


def test_both_tools_show_the_same_standard_errors(
    inspect_logs: dict[str, Path], lm_eval_folders: dict[str, Path]
) -> None:
    """inspect_ai computes that of the accuracy itself, and lm-eval shows ours as its own."""
    metrics, _ = read_inspect_metrics(inspect_logs["completion"])
    shown = read_lm_eval_metrics(lm_eval_folders["completion"])
    for name, other in (("stderr", "accuracy"), ("joint_accuracy_stderr",) * 2, ("mastery_stderr",) * 2):
        assert metrics[name] == pytest.approx(shown[f"{other.removesuffix('_stderr')}_stderr"])
        assert metrics[name] > 0


def test_croissant_describes_the_samples(site: Site) -> None:
    folder = site.export("croissant")
    code = (
        "import json, sys, mlcroissant\n"
        "data = mlcroissant.Dataset(jsonld=sys.argv[1])\n"
        "assert not data.metadata.ctx.issues.errors, data.metadata.ctx.issues.report()\n"
        "print(json.dumps([row['samples/sample_id'].decode() for row in data.records('samples')]))"
    )
    ids = json.loads(run_tool("lm-eval", "python", "-c", code, folder / "croissant.json", cwd=site.folder))
    assert sorted(ids) == sorted(row[0] for row in site.query("select sample_id from samples"))
