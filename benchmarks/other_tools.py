"""The pipeline beside a bare engine and beside other tools, on the same prompts, each as a whole process.

- `engine`: the prompts of an edition, by default 8,032 about the bundled base, answered by
  `pretexeval evaluate` (with and without `early_stop`) and by one call of `vllm.LLM.generate`.
- `small-jobs`: 384 prompts to an endpoint on this machine. `pretexeval run` also builds the edition, checks
  it, and publishes the warehouse and the pages; inspect_ai and lm-evaluation-harness get tasks that
  `pretexeval export` has written, if `make test-interop` has installed them.
"""

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.measuring import (
    FIGURES,
    REPOSITORY,
    FinishedProcess,
    add_config,
    build_parser,
    run_command,
    run_program,
    serve_rule,
    tabulate,
    write_config,
)
from pretexeval.config.engines import ModelConfig
from pretexeval.engines.vllm_process import load_llm, prepare_environment
from pretexeval.storage.layout import EVALUATIONS_FOLDER, RESPONSES_FOLDER, WAREHOUSE, edition_folder
from tasks.answers.reading import read_statement
from tasks.answers.segments import cut_completion
from tasks.asking.prompts import SAMPLE_STOP_TEXTS
from warehouse.query import run_query

RELATIONS = ("symptoms", "affected_sites", "therapeutic_drugs")
N_PAIRS = 8
N_PROMPTS = len(RELATIONS) * N_PAIRS * 2 * 8
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
ANSWERS = "select prompt, any_value(response) as response from responses group by prompt"


def measure_engine(folder: Path, model: Path, n_rounds: int, tables: Mapping[str, Any]) -> str:
    """Return the median figures of the pipeline, with and without `early_stop`, and of the bare engine.

    Args:
        tables: the tables of a configuration, of which `knowledge` and `edition` count.
    """
    kept = {key: tables[key] for key in ("knowledge", "edition") if key in tables}
    table = {"name": "bench", "model": str(model.absolute()), "dtype": "bfloat16"}
    root, prompts, answers = folder / "data", folder / "prompts.parquet", folder / "answers.parquet"
    whole = write_config(folder / "whole.toml", root, models=[table], **kept)
    stopped = table | {"early_stop": True}
    early = write_config(folder / "early.toml", root, models=[stopped], **kept)
    run_command(folder, "run", early)
    _, rows = run_query(root, ANSWERS)
    pl.DataFrame(rows, ["prompt", "response"], orient="row").write_parquet(prompts)

    def evaluate(config: Path) -> FinishedProcess:
        for name in (RESPONSES_FOLDER, EVALUATIONS_FOLDER):
            shutil.rmtree(root / name, ignore_errors=True)
        # A warehouse without the responses that it was published from is refused.
        (root / WAREHOUSE).unlink(missing_ok=True)
        return run_command(folder, "evaluate", config)

    bare = [sys.executable, "-m", "benchmarks.other_tools", str(model), str(prompts), str(answers)]
    jobs: dict[str, Callable[[int], FinishedProcess]] = {
        "pretexeval evaluate": lambda _: evaluate(whole),
        "bare engine": lambda _: run_program(bare, folder),
        "pretexeval evaluate, early_stop": lambda _: evaluate(early),
    }
    table_of_times = _run_rounds(jobs, n_rounds)
    both = pl.read_parquet(prompts).join(pl.read_parquet(answers), on="prompt", suffix="_bare")
    # bfloat16 rounds differently in different batches.
    n_different = sum(_read(kept) is not _read(bare) for _, kept, bare in both.iter_rows())
    return f"{table_of_times}\n{n_different} of {len(both):,} answers of the bare engine mean something else."


def _read(response: str) -> bool | None:
    return read_statement(cut_completion(response))


def answer_bare(model: str, prompts_file: str, answers_file: str) -> None:
    """Answer the prompts of a file by one call of vLLM, with the settings of the pipeline's engine."""
    prompts = pl.read_parquet(prompts_file)["prompt"].to_list()
    prepare_environment(is_local=True)
    config = ModelConfig(name="bare", model=model, dtype="bfloat16")
    llm = load_llm(config, str(Path(model))).llm
    from vllm import SamplingParams

    params = SamplingParams(max_tokens=config.max_tokens, temperature=0.0, stop=list(SAMPLE_STOP_TEXTS))
    outputs = llm.generate(prompts, params, use_tqdm=False)
    texts = [output.outputs[0].text for output in outputs]
    pl.DataFrame({"prompt": prompts, "response": texts}).write_parquet(answers_file)


def measure_small_jobs(folder: Path, n_rounds: int) -> str:
    """Return the median figures of a job of 384 prompts by each tool.

    Raises:
        SystemExit: a tool asked another number of prompts.
    """
    asked: list[str] = []

    def reply(prompt: str) -> str:
        asked.append(prompt)
        return " True" if sha256(prompt.encode()).digest()[0] % 2 else " False"

    with serve_rule(reply) as base_url:
        table = {"name": "rule", "engine": "openai", "model": "rule", "base_url": base_url}
        model = table | {"pairs_per_relation": N_PAIRS, "concurrency": CONCURRENCY}
        knowledge = {"relations": list(RELATIONS)}

        def run_ours(number: int) -> FinishedProcess:
            root = folder / f"data-{number}"
            config = write_config(folder / "small.toml", root, knowledge=knowledge, models=[model])
            return run_command(folder, "run", config)

        run_ours(-1)
        root = folder / "data--1"
        (edition,) = (root / edition_folder("")).iterdir()
        jobs: dict[str, Callable[[int], FinishedProcess]] = {
            "pretexeval run": run_ours,
            "the same again": run_ours,
        }
        for tool, command in _list_tools(folder, edition.name, base_url).items():
            if Path(command[0]).is_file():
                few = ("--pairs-per-relation", N_PAIRS, "--root", root)
                run_command(folder, "export", edition.name, "--to", tool, folder / tool, *few)
                jobs[tool] = _define_job(command, folder, base_url)

        def count(name: str, job: Callable[[int], FinishedProcess], number: int) -> FinishedProcess:
            asked.clear()
            finished = job(number)
            if len(asked) != (0 if name == "the same again" else N_PROMPTS):
                raise SystemExit(f"{name} asked {len(asked)} prompts instead of {N_PROMPTS}")
            return finished

        counted = {name: (lambda k, n=name, j=job: count(n, j, k)) for name, job in jobs.items()}
        return _run_rounds(counted, n_rounds)


def _list_tools(folder: Path, edition_id: str, base_url: str) -> dict[str, list[str]]:
    """Return the commands of the other tools, by the name of their environment and of their export."""
    programs = REPOSITORY / ".venv-inspect/bin/inspect", REPOSITORY / ".venv-lm-eval/bin/lm_eval"
    # inspect_ai takes paths that are relative to the working directory.
    task = os.path.relpath(folder / "inspect" / "task.py@pretexeval")
    inspect = ["eval", task, "-T", "prompt_style=completion", "--max-tokens", "8", "--display", "none"]
    inspect += ["--log-dir", str(folder / "logs"), "--max-connections", str(CONCURRENCY)]
    address = (
        f"model=rule,base_url={base_url}/completions,num_concurrent={CONCURRENCY},tokenizer_backend=None"
    )
    lm_eval = ["--model", "local-completions", "--model_args", address, "--gen_kwargs", "max_gen_toks=8"]
    lm_eval += ["--include_path", str(folder / "lm-eval"), "--tasks", f"{edition_id}_pretexeval_completion"]
    return {
        "inspect": [str(programs[0]), *inspect, "--model", "openai-api-completions/local/rule"],
        "lm-eval": [str(programs[1]), *lm_eval, "--log_samples", "--output_path", str(folder / "results")],
    }


def _define_job(command: list[str], folder: Path, base_url: str) -> Callable[[int], FinishedProcess]:
    variables = OFFLINE | {
        "LOCAL_BASE_URL": base_url,
        "LOCAL_API_KEY": "none",
        "HF_HOME": str(folder / "hub"),
    }
    return lambda _: run_program(command, folder, **variables)


def _run_rounds(jobs: Mapping[str, Callable[[int], FinishedProcess]], n_rounds: int) -> str:
    """Run every job in every round, and return the table of median figures."""
    runs: dict[str, list[FinishedProcess]] = {name: [] for name in jobs}
    for number in range(n_rounds):
        for name, job in jobs.items():
            runs[name].append(job(number))
    medians = {}
    for name, found in runs.items():
        values = zip(*((run.wall_s, run.cpu_s, run.peak_bytes) for run in found), strict=True)
        wall_s, cpu_s, peak = map(statistics.median, values)
        medians[name] = FinishedProcess(wall_s, cpu_s, int(peak), "").render()
    return tabulate(FIGURES, medians)


def measure(name: str, arguments: Sequence[str]) -> None:
    """Compare with the bare engine or with other tools, and print the table."""
    parser = build_parser(name, __doc__)
    parser.add_argument("--model", type=Path, default=Path("models/reference-large"), help="a model folder")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each, of which the median counts")
    if name == "engine":
        add_config(parser)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="pretexeval-bench-") as folder:
        if name == "engine":
            table = measure_engine(Path(folder), options.model, options.rounds, options.tables)
        else:
            table = measure_small_jobs(Path(folder), options.rounds)
        print(table, end="\n\n", flush=True)


if __name__ == "__main__":
    answer_bare(*sys.argv[1:])
