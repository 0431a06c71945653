"""Hand runs to workers: ``python -m benchmarks --only dispatch``.

Starts Prefect's server on PostgreSQL and Prefect's workers of processes, whose runs do nothing, and creates
runs as an evaluation in shards does. The workers are in one process, because 64 of them would import for
minutes.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measuring import build_parser
from commands.deploy.local import CLIENT_DEFAULTS, SERVER_DEFAULTS
from pretexeval.config.file import Config
from tests.support.database_folder import run_database
from tests.support.processes import find_free_port, wait_until_served

POOL = "gpu"
MAX_S = 600.0


def measure_dispatch(n_runs: int, n_workers: int, limit: int) -> str:
    """Return how long the server took to create the runs and to hand all of them to workers.

    Raises:
        SystemExit: a run waits for longer than MAX_S.
    """
    from prefect import flow
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.workers.process import ProcessWorker

    from flows.support.dispatch import _create_run, _read_states

    @flow(name="evaluate-model", flow_run_name="run-{number}")
    def evaluate(config: Config, number: int) -> None:
        """Do nothing."""

    @flow(name="regenerate")
    def create_runs() -> list[float]:
        started, config = time.time(), Config.model_validate({})
        runs = [_create_run(evaluate, {"config": config, "number": k}, str(k), POOL) for k in range(n_runs)]
        created_s, taken_s = time.time() - started, dict[object, float]()
        while len(taken_s) < n_runs:
            if time.time() - started > MAX_S:
                raise SystemExit(f"{n_runs - len(taken_s)} runs wait for a worker")
            for run, state in _read_states(runs).items():
                if not state.is_scheduled():
                    taken_s.setdefault(run, state.timestamp.timestamp() - started)
            time.sleep(1)
        return [created_s, *sorted(taken_s.values())]

    async def run_workers() -> None:
        workers = [ProcessWorker(POOL, name=f"worker-{k}", limit=limit) for k in range(n_workers)]
        await asyncio.gather(*(worker.start() for worker in workers))

    with get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
        flow_id = client.create_flow(evaluate)
        client.create_deployment(
            flow_id, POOL, work_pool_name=POOL, job_variables={"command": "true"}, entrypoint="none.none"
        )
        threading.Thread(target=lambda: asyncio.run(run_workers()), daemon=True).start()
        while len(client.read_workers_for_work_pool(POOL)) < n_workers:
            time.sleep(1)
    created_s, *taken_s = create_runs()
    return (
        f"{n_runs} runs for {n_workers} workers of {limit} at a time, which ask every "
        f"{os.environ['PREFECT_WORKER_QUERY_SECONDS']} s: created in {created_s:.0f} s; half of them are "
        f"taken after {taken_s[n_runs // 2]:.0f} s, and all after {taken_s[-1]:.0f} s"
    )


def main(arguments: Sequence[str]) -> None:
    """Measure the dispatch, and print the times."""
    parser = build_parser("dispatch", __doc__)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--limit", type=int, default=1, help="runs at a time of each worker")
    parser.add_argument("--query-seconds", default="10", help="how often each worker asks for runs")
    options = parser.parse_args(arguments)
    port, address = find_free_port(), "http://127.0.0.1:{}/api"
    with run_database() as database, tempfile.TemporaryDirectory(prefix="pretexeval-dispatch-") as home:
        variables = os.environ | SERVER_DEFAULTS | database.settings | {"PREFECT_HOME": home}
        command = [sys.executable, "-m", "prefect", "server", "start", "--port", str(port)]
        log = Path(home, "log")
        with log.open("wb") as file:
            server = subprocess.Popen(command, env=variables, cwd="/", stdout=file, stderr=file)
        try:
            wait_until_served(server, f"{address.format(port)}/health", log)
            os.environ |= CLIENT_DEFAULTS | {
                "PREFECT_HOME": home,
                "PREFECT_API_URL": address.format(port),
                "PREFECT_WORKER_QUERY_SECONDS": options.query_seconds,
                "PREFECT_LOGGING_LEVEL": "CRITICAL",
            }
            print(measure_dispatch(options.runs, options.workers, options.limit), flush=True)
        finally:
            server.terminate()
            server.wait()
    # The workers would run on, and report that their server has ended.
    os._exit(0)
