"""Other tools run or read an exported edition, and agree with an evaluation of the same endpoint."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchmarks.other_tools import OFFLINE
from pretexeval.engines.vllm_process import ENVIRONMENT
from tests.interop.conftest import require_environment
from tests.support.command import REPOSITORY, run_command, write_config
from tests.support.processes import run_process
from tests.support.vllm_server import start_vllm_server
from warehouse.query import run_query

pytestmark = pytest.mark.slow

# It answers statements and questions, and knows some facts of these relations and not others.
MODEL = REPOSITORY / "models" / "reference-facets-small"
KNOWLEDGE = {
    "name": "starter",
    "format": "starter",
    "relations": ["symptoms", "affected_sites", "therapeutic_drugs"],
}
N_PAIRS = 4
N_SAMPLES = 3 * N_PAIRS * 2 * 8
MAX_TOKENS = 4
STYLES = ("completion", "chat")
FEW_PAIRS = ("--pairs-per-relation", str(N_PAIRS))


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

    def export(self, target: str, *options: str) -> Path:
        out = self.folder / target
        run_command(
            *("export", self.edition_id, "--to", target, str(out), "--root", str(self.root), *options),
            folder=self.folder,
        ).require()
        return out

    def read_imported(self, folder: str, log: Path) -> dict[str, str | None]:
        """Import a log as the responses of a model with a new name, and return id -> prediction.

        Args:
            folder: predictions, of samples, or question_predictions.
        """
        model = f"imported-{len(list((self.root / 'responses').iterdir()))}"
        run_command(
            *("import-responses", log, "--edition", self.edition_id, "--model", model),
            *(*FEW_PAIRS, "--no-publish", "--root", self.root),
            folder=self.folder,
        ).require()
        files = self.root / folder / self.edition_id / f"**/{model}-*" / "predictions" / "*.parquet"
        return dict(pl.read_parquet(files).select("item_id", "prediction").iter_rows())

    def run_inspect(self, style: str, name: str) -> Path:
        """Run a task of inspect_ai, and return its log as JSON."""
        provider = {"completion": "openai-api-completions", "chat": "openai-api"}[style]
        logs = self.folder / f"{name}-{style}"
        # inspect_ai takes paths that are relative to the working directory.
        task = (self.folder / "inspect" / f"task.py@{name}").relative_to(self.folder)
        tokens = () if name == "multifaceteval" else ("--max-tokens", str(MAX_TOKENS))
        run_tool(
            *("inspect", "inspect", "eval", str(task), "--model", f"{provider}/local/tiny"),
            *("-T", f"prompt_style={style}", *tokens),
            *("--log-dir", str(logs), "--display", "none"),
            cwd=self.folder,
            LOCAL_BASE_URL=self.base_url,
            LOCAL_API_KEY="none",
        )
        (log,) = logs.glob("*.eval")
        dumped = log.with_suffix(".json")
        dumped.write_text(run_tool("inspect", "inspect", "log", "dump", log, cwd=logs), encoding="utf-8")
        return dumped

    def run_batch(self, asked: str) -> Path:
        """Run a batch of the exported samples or questions with vLLM, and return the file of the replies."""
        out = self.folder / f"{asked}-answers.jsonl"
        module = [sys.executable, "-m", "vllm.entrypoints.openai.run_batch"]
        files = ["-i", str(self.folder / "batch" / f"{asked}.jsonl"), "-o", str(out)]
        served = ["--model", str(MODEL), "--served-model-name", "model"]
        options = [*served, "--dtype", "float32", "--enforce-eager"]
        run_process(
            [*module, *files, *options],
            folder=self.folder,
            environment=os.environ | ENVIRONMENT | OFFLINE,
            timeout_s=400,
        ).check_returncode()
        return out

    def run_lm_eval(self, style: str, asked: str) -> Path:
        """Run a task of lm-eval, and return the folder with its results and its log.

        Args:
            asked: the method of the samples, or `questions`.
        """
        path, options = {
            "completion": ("completions", ["--model", "local-completions"]),
            "chat": ("chat/completions", ["--model", "local-chat-completions", "--apply_chat_template"]),
        }[style]
        out = self.folder / f"lm-eval-{asked}-{style}"
        address = f"model=tiny,base_url={self.base_url}/{path},num_concurrent=8,tokenizer_backend=None"
        tokens = () if asked == "questions" else ("--gen_kwargs", f"max_gen_toks={MAX_TOKENS}")
        run_tool(
            *("lm-eval", "lm_eval", "--include_path", str(self.folder / "lm-eval"), "--model_args", address),
            *(*options, "--tasks", f"{self.edition_id}_{asked}_{style}", *tokens),
            *("--log_samples", "--output_path", str(out)),
            cwd=self.folder,
        )
        (results,) = out.iterdir()
        return results


def run_tool(environment: str, *arguments: str | Path, cwd: Path, **variables: str) -> str:
    """Run a program of an environment without a network, and return what it prints."""
    program = require_environment(f".venv-{environment}").parent / str(arguments[0])
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" and "proxy" not in k.lower()}
    done = subprocess.run(
        [program, *map(str, arguments[1:])],
        cwd=cwd,
        env=inherited | OFFLINE | {"HF_HOME": str(cwd / "hub")} | variables,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


# Its exit status is 2 if there are only warnings.
VALIDATE = "import sys; from every_eval_ever.validator.validate import main; sys.exit(main(sys.argv[1:]) % 2)"
TRUTHS = {True: "T", False: "F"}


@dataclass(frozen=True)
class Asked:
    """The samples or the questions of the edition, in the tools and in the warehouse."""

    task: str
    """In inspect_ai."""
    score: str
    """In inspect_ai."""
    name: str
    """In lm-eval and in a batch."""
    view: str
    key: str
    folder: str
    n_items: int

    def read_predictions(self, site: Site, model: str) -> dict[str, tuple[str, str | None, bool]]:
        """Return item -> response, prediction, and whether it is right."""
        columns = f"{self.key}, response, prediction, is_correct"
        rows = site.query(f"select {columns} from {self.view} where model = '{model}'")
        found = {item: (text, TRUTHS.get(said, said), is_right) for item, text, said, is_right in rows}
        assert len(found) == self.n_items
        assert {is_right for *_, is_right in found.values()} == {True, False}
        return found

    def read_answers(self, site: Site, model: str) -> dict[str, str | None]:
        return {item: said for item, (_, said, _) in self.read_predictions(site, model).items()}


ASKED = {
    "samples": Asked(
        "pretexeval",
        "true_or_false",
        "pretexeval",
        "prediction_details",
        "sample_id",
        "predictions",
        N_SAMPLES,
    ),
    # Twelve points have up to ten questions each; the base has too few facts for some of them.
    "questions": Asked(
        "multifaceteval",
        "right_answer",
        "questions",
        "facet_details",
        "question_id",
        "question_predictions",
        111,
    ),
}
CASES = tuple(product(ASKED, STYLES))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Iterator[Site]:
    """Serve the model, evaluate it in both styles, and export the edition for all tools."""
    folder = tmp_path_factory.mktemp("interop")
    # Rounding in float32 does not depend so much on the batch that another token becomes the most likely one.
    with start_vllm_server(MODEL, folder / "vllm.log", dtype="float32") as server:
        server.wait()
        asked = {"engine": "openai", "model": "tiny", "base_url": server.base_url, "max_tokens": MAX_TOKENS}
        models = [
            {"name": style, "prompt_style": style, "pairs_per_relation": N_PAIRS, **asked} for style in STYLES
        ]
        config = write_config(
            folder / "c.toml",
            folder / "data",
            knowledge=KNOWLEDGE,
            questions={"settings": ["answer_only"]},
            models=models,
        )
        run_command("run", config, folder=folder, environment=prefect_server).require()
        _, [(edition_id,)] = run_query(folder / "data", "select edition_id from editions")
        served = Site(folder, edition_id, server.base_url)
        for tool in ("inspect", "lm-eval", "batch"):
            served.export(tool, *FEW_PAIRS)
        yield served


def read_scores(site: Site, kind: str, style: str) -> dict[str, float]:
    """Return the scores as the metrics of inspect_ai are named."""
    of_model = f"where model = '{style}'"
    queries = {
        "samples": (
            "unpivot (select average_accuracy as accuracy, joint_accuracy, mastery, no_answer_rate "
            f"from leaderboard {of_model}) on columns(*)",
            f"select 'relation ' || relation, average_accuracy from accuracy_by_relation {of_model}",
        ),
        "questions": (
            f"select 'type ' || type, share_right from facet_accuracy {of_model} and is_negated is null "
            "and facet is not null",
            f"select 'mastered_points', mastered_rate from mastered_points {of_model} and step = 4 "
            "and is_negated_included and taught_with is null",
        ),
    }
    return {name: score for query in queries[kind] for name, score in site.query(query)}


@pytest.mark.parametrize(("kind", "style"), CASES)
def test_inspect_agrees(site: Site, kind: str, style: str) -> None:
    asked = ASKED[kind]
    log = site.run_inspect(style, asked.task)
    found = json.loads(log.read_text(encoding="utf-8"))
    (result,) = found["results"]["scores"]
    metrics = {name: metric["value"] for name, metric in result["metrics"].items()}
    graded: dict[str, tuple[str, str | None, bool]] = {}
    for sample in found["samples"]:
        score = sample["scores"][asked.score]
        answer = score.get("answer")
        said = answer[:1] if kind == "samples" and answer else answer
        graded[sample["id"]] = sample["output"]["completion"], said, score["value"] == "C"
    assert graded == asked.read_predictions(site, style)
    scores = read_scores(site, kind, style)
    assert {name: metrics[name] for name in scores} == pytest.approx(scores)
    assert site.read_imported(asked.folder, log) == asked.read_answers(site, style)


@pytest.mark.parametrize(("kind", "style"), CASES)
def test_lm_eval_agrees(site: Site, kind: str, style: str) -> None:
    asked = ASKED[kind]
    folder = site.run_lm_eval(style, asked.name)
    (log,) = folder.glob("samples_*.jsonl")
    graded: dict[str, tuple[str, bool, bool]] = {}
    for line in log.read_text(encoding="utf-8").split("\n")[:-1]:
        row = json.loads(line)
        graded[row["doc"][asked.key]] = row["resps"][0][0], not row["no_answer_rate"], row["accuracy"][-1]
    ours = asked.read_predictions(site, style)
    assert graded == {item: (text, said is not None, right) for item, (text, said, right) in ours.items()}
    (path,) = folder.glob("results_*.json")
    (metrics,) = json.loads(path.read_text(encoding="utf-8"))["results"].values()
    scores = {
        f"{name.replace('type ', 'accuracy_')},none": value
        for name, value in read_scores(site, kind, style).items()
        if not name.startswith("relation ")
    }
    assert {name: metrics[name] for name in scores} == pytest.approx(scores)
    assert site.read_imported(asked.folder, log) == asked.read_answers(site, style)


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_batch_of_vllm_agrees(site: Site, asked: Asked) -> None:
    replies = site.run_batch(asked.name)
    assert site.read_imported(asked.folder, replies) == asked.read_answers(site, "chat")


def test_the_validator_of_every_eval_ever_accepts_the_scores_of_the_leaderboard(site: Site) -> None:
    out = site.export("every-eval-ever")
    files = str(out / "data/*/*/*/*.json*")
    said = run_tool("eee", "python", "-c", VALIDATE, "--format", "json", files, cwd=site.folder)
    reports = json.loads(said)
    assert len(reports) == 2 * len(STYLES)
    for report in reports:
        assert report["valid"], report["errors"]
        # The warehouse does not know who developed a model.
        for warning in report["warnings"]:
            assert "model_info.developer must be known" in warning["msg"]
    n_lines = [report["line_count"] for report in reports if report["file_type"] == "instance"]
    assert n_lines == [N_SAMPLES] * len(STYLES)
    exported = {}
    for path in out.glob("data/*/*/*/*.json"):
        log = json.loads(path.read_text(encoding="utf-8"))
        for result in log["evaluation_results"]:
            interval = result["score_details"]["uncertainty"]["confidence_interval"]
            key = log["model_info"]["name"], result["evaluation_result_id"]
            exported[key] = result["score_details"]["score"], interval["lower"], interval["upper"]
    scores = ("mastery", "average_accuracy", "joint_accuracy")
    columns = [f"{name}{end}" for name in scores for end in ("", "_ci_low", "_ci_high")]
    rows = site.query(f"select model, {', '.join(columns)} from leaderboard")
    assert exported == {
        (model, name): tuple(numbers[3 * n : 3 * n + 3])
        for model, *numbers in rows
        for n, name in enumerate(scores)
    }
