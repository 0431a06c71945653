"""An evaluation in shards, with an engine that answers at once: ``python -m benchmarks --only shards``.

Builds an edition with 16 prompts for each head, and asks each shard in a process of its own. Some processes
are killed while they ask, and started again. Every prompt must then have exactly one stored answer. A last
process scores the answers.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import polars as pl

from benchmarks.measuring import (
    FIGURES,
    REPOSITORY,
    FinishedProcess,
    build_edition,
    build_parser,
    run_program,
    tabulate,
)
from benchmarks.speed import write_drawn_base
from pretexeval.config.engines import ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.base import Engine, Receive
from pretexeval.primitives.literal_paths import scan_parquet
from pretexeval.storage.layout import edition_folder
from pretexeval.storage.responses import scan_response_files
from pretexeval.storage.store import Store
from schemas.exchange import Completion, Prompt, Sampling
from schemas.stages import SAMPLES
from tasks.asking import answer_stream
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.missing_answers import Shard, ask_missing, ask_shard, list_shard
from tasks.evaluation.request_files import write_requests
from tasks.evaluation.run_record import complete_run
from tasks.evaluation.scoring import score_evaluation

MODEL = ModelConfig(name="stub", engine="openai", model="stub", base_url="http://127.0.0.1:1/v1")
# A process can be killed after so many prompts, when it has stored their answers.
N_BEFORE_KILL = 2048
N_TICK = 1024
STORE_S = 0.2
POLL_S = 0.05


class Stub(Engine):
    """Answers True to every prompt, and creates a file when its process can be killed."""

    def __init__(self, mark: Path) -> None:
        """Remember the file."""
        self._mark = mark

    def answer(
        self,
        prompts: Iterable[Prompt],
        sampling: Sampling,
        receive: Receive,
        on_tick: Callable[[], None],
    ) -> None:
        """Answer True to every prompt."""
        said = Completion(" True", finish_reason="stop", n_completion_tokens=1)
        for position, _ in enumerate(prompts):
            receive(position, said)
            if position == N_BEFORE_KILL:
                time.sleep(STORE_S)
                on_tick()
                self._mark.touch()
                time.sleep(STORE_S)
            elif position % N_TICK == 0:
                on_tick()

    def close(self) -> None:
        """Close nothing."""


def measure_shards(folder: Path, n_heads: int, n_shards: int, n_kills: int, n_at_once: int) -> str:
    """Return the table of the processes of each shard, and what they did together.

    Args:
        folder: if it contains an edition already, that is asked.

    Raises:
        SystemExit: a process failed, a prompt has no answer, or one was asked again after it was stored.
    """
    editions = folder / "data" / edition_folder("")
    if not editions.is_dir():
        build_edition(folder, {"knowledge": write_drawn_base(folder, n_heads)})
    (edition,) = editions.iterdir()
    kills = [n_kills // n_shards + (k < n_kills % n_shards) for k in range(n_shards)]
    shards = [Shard(number=k + 1, of=n_shards) for k in range(n_shards)]
    with ThreadPoolExecutor(n_at_once) as pool:
        processes = list(pool.map(partial(_run_shard, folder, edition.name), shards, kills))
    _require_one_answer(folder, edition, [process.stderr for process in processes])
    n_samples = _count_tested(edition)
    cpu_s = sum(process.cpu_s for process in processes)
    rows = {shard.name: process.render() for shard, process in zip(shards, processes, strict=True)}
    scoring = [sys.executable, "-m", "benchmarks.shards", "score", str(folder), edition.name]
    rows["scoring"] = run_program(scoring, folder).render()
    return (
        f"{tabulate(FIGURES, rows)}\n{n_samples:,} samples, {1e6 * cpu_s / n_samples:.0f} microseconds of "
        f"processor time each; {n_kills} processes were killed, and every prompt has one answer."
    )


def _run_shard(folder: Path, edition_id: str, shard: Shard, n_kills: int) -> FinishedProcess:
    """Ask a shard, and return what its processes took together; stderr is what the last one printed."""
    started, cpu_s, peak_bytes = time.monotonic(), 0.0, 0
    mark = folder / f"{shard.name}.mark"
    arguments = [str(folder), edition_id, str(shard.number), str(shard.of), str(mark)]
    command = [sys.executable, "-m", "benchmarks.shards", *arguments]
    for is_killed in [True] * n_kills + [False]:
        mark.unlink(missing_ok=True)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY)
        while is_killed and not mark.exists() and process.poll() is None:
            time.sleep(POLL_S)
        if is_killed:
            process.kill()
        said = b"" if process.stdout is None else process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != (-9 if is_killed else 0):
            raise SystemExit(f"{shard.name} ended with {process.returncode}")
        cpu_s += usage.ru_utime + usage.ru_stime
        peak_bytes = max(peak_bytes, usage.ru_maxrss * 1024)
    return FinishedProcess(time.monotonic() - started, cpu_s, peak_bytes, said.decode())


def _count_tested(edition: Path) -> int:
    files = [scan_parquet(path) for path in sorted((edition / SAMPLES.name).iterdir())]
    tested = pl.concat(files).filter(pl.col("split") == "test").select(pl.len())
    return int(tested.collect(engine="streaming").item())


def _require_one_answer(folder: Path, edition: Path, counts: Sequence[str]) -> None:
    """Raise SystemExit unless every sample is in one shard, and its prompt has one stored answer.

    Args:
        counts: how many samples and how many prompts each shard has.
    """
    n_samples, n_prompts = (sum(int(text.split()[k]) for text in counts) for k in (0, 1))
    if n_samples != (n_tested := _count_tested(edition)):
        raise SystemExit(f"the shards have {n_samples} of {n_tested} samples")
    files = _plan(folder, edition.name).store.list_files()
    keys = scan_response_files(files).select(pl.len(), pl.col("prompt_key").n_unique().alias("n"))
    n_stored, n_answered = keys.collect(engine="streaming").row(0)
    if not n_stored == n_answered == n_prompts:
        raise SystemExit(f"{n_prompts} prompts have {n_stored} answers, of which {n_answered} are different")


def _plan(folder: Path, edition_id: str) -> Evaluation:
    return Evaluation(StorageConfig(root=folder / "data"), edition_id, MODEL)


def ask(folder: Path, edition_id: str, shard: Shard, mark: Path) -> None:
    """Ask a shard, and print how many samples and how many prompts it has."""
    evaluation = _plan(folder, edition_id)
    asked = list_shard(evaluation, shard)
    # By default, nothing would be stored when a process is killed.
    answer_stream.MIN_INTERVAL_S = STORE_S
    ask_shard(evaluation, asked, shard, Store(evaluation.storage), lambda _: None, lambda _: Stub(mark))
    print(asked.height, asked["prompt_key"].n_unique())


def score(folder: Path, edition_id: str) -> None:
    """Score the answers to all shards, as the run that follows them does."""
    evaluation = _plan(folder, edition_id)
    requests = write_requests(evaluation)
    report = ask_missing(evaluation, requests, Store(evaluation.storage), lambda _: None)
    complete_run(evaluation, requests, score_evaluation(evaluation, requests), report, duration_s=0.0)


def main(arguments: Sequence[str]) -> None:
    """Measure the shards, and print the table."""
    parser = build_parser("shards", __doc__)
    parser.add_argument(
        "--heads", type=int, default=20_000, help="of the base: 630000 for 10 million prompts"
    )
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=2, help="processes at a time")
    parser.add_argument("--root", type=Path, help="folder that keeps the edition and the answers")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="pretexeval-shards-") as temporary:
        folder = (options.root or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        print(measure_shards(folder, options.heads, options.shards, options.kills, options.at_once))


if __name__ == "__main__":
    if sys.argv[1] == "score":
        score(Path(sys.argv[2]), sys.argv[3])
        sys.exit()
    _folder, _edition_id, _number, _of, _mark = sys.argv[1:]
    ask(Path(_folder), _edition_id, Shard(number=int(_number), of=int(_of)), Path(_mark))
