"""Run a flow several times on a host with several cards: each run in a process that takes its cards.

vLLM binds a process to the cards that it sees at its start, so one process cannot use other cards later.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from prefect import Flow
from prefect.client.orchestration import get_client

from flows.support.cancellation import RUN_OF_WORKER, require_not_cancelled
from flows.support.runs import Outcome, Parameters, describe_end, render_parameters
from pretexeval.engines.cards import list_cards

Process = subprocess.Popen[bytes]
POLL_S = 1.0
# A process that is told to end has this time to store the answers that have arrived.
END_S = 30.0


def run_in_processes(
    subflow: Flow[..., Any], calls: Sequence[Parameters], n_cards: Sequence[int]
) -> list[Outcome]:
    """Run the flow once for each set of parameters, as many at once as there are cards for them.

    The first call that fits into the free cards begins first. A run that fails does not stop the others. If
    this run is interrupted or cancelled, they are ended and keep their answers.

    Args:
        n_cards: how many cards each call takes.
    """
    n_all = n_free = len(list_cards())
    taken = [min(n, n_all) for n in n_cards]
    waiting, outcomes = list(range(len(calls))), dict[int, Outcome]()
    running = dict[int, tuple[UUID, Process]]()
    try:
        while waiting or running:
            require_not_cancelled()
            for number in list(waiting):
                if taken[number] <= n_free:
                    waiting.remove(number)
                    running[number] = _start(subflow, calls[number])
                    n_free -= taken[number]
            time.sleep(POLL_S)
            for number, (run_id, process) in list(running.items()):
                if process.poll() is not None:
                    del running[number]
                    n_free += taken[number]
                    outcomes[number] = _read_end(run_id, process)
    finally:
        _end([process for _, process in running.values()])
    return [outcomes[number] for number in range(len(calls))]


def _start(subflow: Flow[..., Any], parameters: Parameters) -> tuple[UUID, Process]:
    """Start a process as Prefect's workers do; it ends with this one, also if this one is killed."""
    with get_client(sync_client=True) as client:
        run = client.create_flow_run(subflow, parameters=render_parameters(parameters))
    entrypoint = f"{subflow.fn.__module__}.{subflow.fn.__name__}"
    own = {RUN_OF_WORKER: str(run.id), "PREFECT__FLOW_ENTRYPOINT": entrypoint}
    bound = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
    command = [*bound, sys.executable, "-m", "prefect.engine"]
    return run.id, subprocess.Popen(command, env=os.environ | own, start_new_session=True)


def _read_end(run_id: UUID, process: Process) -> Outcome:
    with get_client(sync_client=True) as client:
        state = client.read_flow_run(run_id).state
    if state is None or not state.is_final():
        return Outcome(f"its process ended with status {process.returncode}", has_failed=True)
    return describe_end(state)


def _end(processes: Sequence[Process]) -> None:
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + END_S
    for process in processes:
        try:
            process.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            process.kill()
