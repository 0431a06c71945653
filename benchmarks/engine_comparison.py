"""Compare the pipeline with the bare engine on the same prompts, each as a whole process."""

import shutil
import statistics
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.processes import FinishedProcess, run_python
from benchmarks.timeline import read_timeline
from config.file import Config, load_config
from report.console import align
from storage.layout import EVALUATIONS_FOLDER, RESPONSES_FOLDER
from tasks.asking.answer_extraction import cut_completion, extract_answer
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import build_relation_requests

CONFIG = """\
{knowledge}
[edition]
methods = [{methods}]
{cap}

[storage]
root = "{root}"

[[models]]
name = "bench"
model = "{model}"
dtype = "bfloat16"
"""
MEDLAMA = """\
[knowledge]
name = "medlama"
format = "medlama"
path = "$PRETEXEVAL_REFERENCE_DATA/medlama.parquet"
"""


@dataclass(frozen=True)
class Round:
    """One run of the pipeline, one of the bare engine, and one with `early_stop`."""

    pipeline: FinishedProcess
    bare: FinishedProcess
    early: FinishedProcess
    """The pipeline with `early_stop`."""

    @property
    def ratio(self) -> float:
        """The pipeline's time divided by that of the bare engine."""
        return self.pipeline.wall_s / self.bare.wall_s

    @property
    def early_ratio(self) -> float:
        """The time of the pipeline with `early_stop`, divided by that of the bare engine."""
        return self.early.wall_s / self.bare.wall_s


class Comparison:
    """A built edition, a model, and a file with the prompts for it."""

    def __init__(
        self, folder: Path, model: Path, methods: tuple[str, ...], n_heads: int | None = None
    ) -> None:
        """Build the edition and write its prompts to a file, without measuring.

        Args:
            n_heads: so many heads of each relation of MedLAMA are asked about, instead of the starter base.
        """
        self.folder = folder
        self.path = folder / "compared.toml"
        names = ", ".join(f'"{method}"' for method in methods)
        root = folder / "compared"
        knowledge, cap = ("", "") if n_heads is None else (MEDLAMA, f"heads_per_relation = {n_heads}")
        self.path.write_text(
            CONFIG.format(knowledge=knowledge, methods=names, cap=cap, root=root, model=model.absolute())
        )
        run_python(["-m", "cli", "build", str(self.path)], folder)
        self.early_path = folder / "early.toml"
        self.early_path.write_text(f"{self.path.read_text()}early_stop = true\n")
        self.config: Config = load_config(self.path)
        edition_id = plan_edition(self.config).edition_id
        self.evaluation = Evaluation(self.config.storage, edition_id, self.config.models[0])
        relations = build_relation_requests(self.evaluation)
        # The pipeline asks a prompt that two samples share only once.
        prompts = dict.fromkeys(prompt.text for _, requests in relations for prompt in requests.prompts)
        self.n_prompts = len(prompts)
        self.prompts_file, self.answers_file = folder / "prompts.parquet", folder / "answers.parquet"
        pl.DataFrame({"prompt": list(prompts)}).write_parquet(self.prompts_file)

    def run_pipeline(self, module: str = "cli", path: Path | None = None) -> FinishedProcess:
        """Run the evaluation of a configuration, by default that of eight tokens, without stored answers."""
        root = self.config.storage.root
        for name in (RESPONSES_FOLDER, EVALUATIONS_FOLDER):
            shutil.rmtree(root / name, ignore_errors=True)
        return run_python(["-m", module, "evaluate", str(path or self.path)], self.folder)

    def run_bare(self) -> FinishedProcess:
        """Run the bare engine."""
        model = self.config.models[0].model
        files = [str(self.prompts_file), str(self.answers_file)]
        return run_python(["-m", "benchmarks.bare_engine", model, *files], self.folder)

    def run_round(self, is_pipeline_first: bool) -> Round:
        """Run all three; the answers of the last one are kept."""
        if is_pipeline_first:
            pipeline = self.run_pipeline()
            bare = self.run_bare()
        else:
            bare = self.run_bare()
            pipeline = self.run_pipeline()
        return Round(pipeline, bare, self.run_pipeline(path=self.early_path))

    def describe_answers(self) -> str:
        """Return the tokens that were generated, and how many answers of the last run mean something else.

        The bare engine generates eight tokens. bfloat16 rounds differently in different batches.
        """
        kept = self.evaluation.store.read(["prompt", "response", "n_completion_tokens"])
        both = pl.read_parquet(self.answers_file).join(kept, on="prompt", suffix="_kept")
        if both.height != self.n_prompts:
            raise SystemExit(f"{both.height} of {self.n_prompts} prompts were answered by both")
        texts = both.select("response", "response_kept").iter_rows()
        n_different = sum(_read(bare) is not _read(kept) for bare, kept in texts)
        tokens = both.select(pl.col("n_tokens", "n_completion_tokens").mean()).row(0)
        return f"{tokens[0]:.2f} and {tokens[1]:.2f} tokens per answer, {n_different:,} predictions differ"


def _read(response: str) -> bool | None:
    return extract_answer(cut_completion(response))


def compare(comparison: Comparison, n_rounds: int) -> str:
    """Measure the rounds, and return a table of them, the median ratio, and the timeline of one more run."""
    rounds = [comparison.run_round(is_pipeline_first=n % 2 == 0) for n in range(n_rounds)]
    answers = comparison.describe_answers()
    columns = [
        "round",
        "pipeline (s)",
        "bare (s)",
        "ratio",
        "early stop (s)",
        "its ratio",
        "pipeline CPU (s)",
        "bare CPU (s)",
        "early stop CPU (s)",
        "pipeline peak (GB)",
    ]
    rows = [
        [
            str(n + 1),
            *(f"{value:.1f}" for value in (run.pipeline.wall_s, run.bare.wall_s)),
            f"{run.ratio:.2f}",
            f"{run.early.wall_s:.1f}",
            f"{run.early_ratio:.2f}",
            *(f"{value:.1f}" for value in (run.pipeline.cpu_s, run.bare.cpu_s, run.early.cpu_s)),
            f"{run.pipeline.peak_bytes / 1e9:.2f}",
        ]
        for n, run in enumerate(rounds)
    ]
    timeline = comparison.run_pipeline("benchmarks.timeline")
    return "\n".join(
        [
            f"the same {comparison.n_prompts:,} prompts; bare engine and early stop: {answers}",
            align(columns, rows),
            f"median ratio {statistics.median(run.ratio for run in rounds):.2f}, with early stop "
            f"{statistics.median(run.early_ratio for run in rounds):.2f}; ratio of the fastest runs "
            # Other load on the machine can only add time, so the fastest runs show the least of it.
            f"{min(r.pipeline.wall_s for r in rounds) / min(r.bare.wall_s for r in rounds):.2f}",
            "",
            "time of one more run of the pipeline, by part",
            read_timeline(timeline),
        ]
    )
