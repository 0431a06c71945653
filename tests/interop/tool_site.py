"""A served model with its evaluations, and the runs of other tools against the same endpoint."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pretexeval.engines.vllm_process import ENVIRONMENT
from tests.interop.conftest import REPOSITORY, require_environment
from tests.support.command import run_command, run_process_command, write_config
from tests.support.processes import run_process
from tests.support.vllm_server import start_vllm_server
from warehouse.query import run_query

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
# Nothing but loopback is reached: an attempt to reach anything else fails at once.
NO_NETWORK = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
}


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
            *("--pairs-per-relation", str(N_PAIRS), "--no-publish", "--root", self.root),
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
            environment=os.environ | ENVIRONMENT | NO_NETWORK,
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
        env=inherited | NO_NETWORK | {"HF_HOME": str(cwd / "hub")} | variables,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@contextmanager
def serve_site(folder: Path) -> Iterator[Site]:
    """Serve the model, evaluate it in both styles, and export the edition for both tools."""
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
        run_process_command("run", config, folder=folder).require()
        _, [(edition_id,)] = run_query(folder / "data", "select edition_id from editions")
        site = Site(folder, edition_id, server.base_url)
        for tool in ("inspect", "lm-eval", "batch"):
            site.export(tool, *FEW_PAIRS)
        yield site


def read_inspect_metrics(log: Path) -> tuple[dict[str, float], list[Any]]:
    """Return the metrics and the samples of a log."""
    found = json.loads(log.read_text(encoding="utf-8"))
    (result,) = found["results"]["scores"]
    return {name: metric["value"] for name, metric in result["metrics"].items()}, found["samples"]


def read_lm_eval_metrics(folder: Path) -> dict[str, float]:
    (path,) = folder.glob("results_*.json")
    (found,) = json.loads(path.read_text(encoding="utf-8"))["results"].values()
    return {name.removesuffix(",none"): value for name, value in found.items()}
