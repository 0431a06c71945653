"""Compare a small job with other tools: 384 prompts to the same endpoint, each as a whole process.

pretexeval also builds the edition, checks it, and publishes the warehouse and the pages; the other tools get
tasks that `pretexeval export` has written. They run in the environments that `make test-interop` creates.
"""

import os
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from benchmarks.processes import FinishedProcess, run_program, run_python
from benchmarks.rule_endpoint import serve_rule
from primitives.toml_files import write_toml
from report.console import align

REPOSITORY = Path(__file__).parents[1]
RELATIONS = ("symptoms", "affected_sites", "therapeutic_drugs")
N_PAIRS = 8
N_PROMPTS = len(RELATIONS) * N_PAIRS * 2 * 8
MAX_TOKENS = "8"
CONCURRENCY = 8
# Only loopback is reached: an attempt to reach anything else fails at once.
OFFLINE = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "PYTHONPATH": "",
}


@dataclass
class SmallJob:
    """The edition of the tasks, and how many prompts the endpoint has answered."""

    folder: Path
    base_url: str = ""
    edition_id: str = ""
    prompts: list[str] = field(default_factory=list)

    def reply(self, prompt: str) -> str:
        """Answer True or False by the checksum of the prompt."""
        self.prompts.append(prompt)
        return " True" if sha256(prompt.encode()).digest()[0] % 2 else " False"

    def write_config(self, root: Path) -> Path:
        """Write a configuration whose results are under the root."""
        table: dict[str, object] = {"name": "rule", "engine": "openai", "model": "rule"}
        table |= {"base_url": self.base_url, "pairs_per_relation": N_PAIRS, "concurrency": CONCURRENCY}
        knowledge = {"relations": list(RELATIONS)}
        path = self.folder / "small.toml"
        write_toml(path, {"storage": {"root": str(root)}, "knowledge": knowledge, "models": [table]})
        return path

    def export_tasks(self) -> None:
        """Build an edition, and write its tasks for the other tools."""
        root = self.folder / "exported"
        run_python(["-m", "cli", "build", str(self.write_config(root))], self.folder)
        (self.edition_id,) = (path.name for path in root.glob("editions/*"))
        for tool in ("inspect", "lm-eval"):
            few = ("--pairs-per-relation", str(N_PAIRS), "--root", str(root))
            out = str(self.folder / tool)
            run_python(["-m", "cli", "export", self.edition_id, "--to", tool, out, *few], self.folder)

    def run_ours(self, number: int) -> FinishedProcess:
        """Run the whole pipeline into a data folder of this number."""
        path = self.write_config(self.folder / f"data-{number}")
        return run_python(["-m", "cli", "run", str(path)], self.folder)

    def run_inspect(self, number: int) -> FinishedProcess:
        """Run the task of inspect_ai."""
        # inspect_ai takes paths that are relative to the working directory.
        task = os.path.relpath(self.folder / "inspect" / "task.py@pretexeval")
        options = ("-T", "prompt_style=completion", "--max-tokens", MAX_TOKENS, "--display", "none")
        logs = ("--log-dir", str(self.folder / f"inspect-{number}"), "--max-connections", str(CONCURRENCY))
        command = [find_program("inspect", "inspect"), "eval", task, *options, *logs]
        model = ("--model", "openai-api-completions/local/rule")
        variables = OFFLINE | {"LOCAL_BASE_URL": self.base_url, "LOCAL_API_KEY": "none"}
        return run_program([*command, *model], self.folder, **variables)

    def run_lm_eval(self, number: int) -> FinishedProcess:
        """Run the task of lm-evaluation-harness."""
        address = f"model=rule,base_url={self.base_url}/completions,num_concurrent={CONCURRENCY}"
        model = ("--model", "local-completions", "--model_args", f"{address},tokenizer_backend=None")
        task = ("--include_path", str(self.folder / "lm-eval"), "--tasks")
        named = (f"{self.edition_id}_pretexeval_completion", "--gen_kwargs", f"max_gen_toks={MAX_TOKENS}")
        out = ("--log_samples", "--output_path", str(self.folder / f"lm-eval-{number}"))
        command = [find_program("lm-eval", "lm_eval"), *model, *task, *named, *out]
        return run_program(command, self.folder, **OFFLINE, HF_HOME=str(self.folder / "hub"))


def find_program(environment: str, name: str) -> str:
    """Return the path of a program of an environment of `make test-interop`, which need not exist."""
    return str(REPOSITORY / f".venv-{environment}" / "bin" / name)


def measure_small_jobs(folder: Path, n_rounds: int) -> str:
    """Run each job in every round, and return a table of the median times."""
    folder.mkdir()
    job = SmallJob(folder)
    with serve_rule(job.reply) as job.base_url:
        job.export_tasks()
        jobs: dict[str, Callable[[int], FinishedProcess]] = {
            "pretexeval run": job.run_ours,
            "the same again": job.run_ours,
        }
        if Path(find_program("inspect", "inspect")).is_file():
            jobs["inspect_ai"] = job.run_inspect
        if Path(find_program("lm-eval", "lm_eval")).is_file():
            jobs["lm-evaluation-harness"] = job.run_lm_eval
        runs: dict[str, list[FinishedProcess]] = {name: [] for name in jobs}
        for number in range(n_rounds):
            for name, run in jobs.items():
                job.prompts.clear()
                runs[name].append(run(number))
                expected = 0 if name == "the same again" else N_PROMPTS
                if len(job.prompts) != expected:
                    raise SystemExit(f"{name} asked {len(job.prompts)} prompts instead of {expected}")
    columns = ["job", "wall (s)", "processor (s)", "peak (GB)"]
    return align(columns, [[name, *_describe(found)] for name, found in runs.items()])


def _describe(runs: Iterable[FinishedProcess]) -> list[str]:
    values = [(run.wall_s, run.cpu_s, run.peak_bytes / 1e9) for run in runs]
    return [f"{statistics.median(column):.1f}" for column in zip(*values, strict=True)]
