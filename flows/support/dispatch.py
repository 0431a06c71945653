"""Run a subflow that loads a model: in this process, in others of this host, or in its work pool.

A flow that was started by hand calls the subflow as a function; on a host with several cards it runs each
call in a process of its own. A flow that is a deployment run itself starts a deployment run of the subflow,
waits for it without holding a card, and starts it again if its worker is lost. It also waits while the
server, or its database, is unavailable.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast
from uuid import UUID

import httpx
from prefect import Flow, get_run_logger, runtime
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun, State, StateType, Worker, WorkerStatus
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound
from prefect.states import Failed, Pending

from flows.support.cancellation import RUN_OF_WORKER, require_not_cancelled
from flows.support.runs import Outcome, Parameters, call_flow, describe_end, render_parameters
from pretexeval.config.engines import EngineConfig, ModelConfig
from pretexeval.engines.cards import CARDS_IN_NAME, list_cards
from pretexeval.primitives.errors import InputError, describe_failure, is_failure
from pretexeval.primitives.hashing import hash_text
from tasks.evaluation.evaluation import find_model, plan_evaluation
from tasks.evaluation.missing_answers import Shard
from tasks.evaluation.schedule import schedule_evaluations

logger = logging.getLogger(__name__)
Process = subprocess.Popen[bytes]
POLL_S = 2.0
PROCESS_POLL_S = 1.0
# A process that is told to end has this time to store the answers that have arrived.
END_S = 30.0
# The server returns the states of at most so many runs at once.
PAGE_SIZE = 200
DELETED: State[Any] = Failed(message="its run was deleted from Prefect's server")
# How often a subflow whose worker was lost is started again.
MAX_CRASHES = 3
# Long enough for an upgrade of the server, which migrates its database before it answers.
MAX_SERVER_OUTAGE_S = 1800.0
Reply = TypeVar("Reply")


def run_subflows(
    subflow: Flow[..., Any], calls: Sequence[Parameters], models: Sequence[EngineConfig]
) -> list[Outcome]:
    """Run a flow once for each set of parameters; a failure does not stop the other calls.

    Args:
        models: the model that each call loads. It gives the work pool, and the cards of a process.
    """
    if runtime.deployment.id is None and len(list_cards()) > 1:
        return _run_on_cards(subflow, calls, [model.n_cards for model in models])
    if runtime.deployment.id is None:
        return [_run_in_process(subflow, parameters) for parameters in calls]
    pool_of = [model.work_pool for model in models]
    n_crashes, waiting = [0] * len(calls), list(range(len(calls)))
    runs, outcomes = dict[int, UUID](), dict[int, Outcome]()
    while len(outcomes) < len(calls):
        # All runs wait for workers at once. A worker limits itself, and the server gives a run to only one.
        while waiting:
            require_not_cancelled()
            number = waiting.pop(0)
            try:
                key = f"{number}-{n_crashes[number]}"
                runs[number] = _create_run(subflow, calls[number], key, pool_of[number])
            except InputError as error:
                outcomes[number] = Outcome(str(error), has_failed=True)
        time.sleep(POLL_S)
        require_not_cancelled()
        states = _read_states(list(runs.values()))
        for number, run_id in list(runs.items()):
            state = states.get(run_id, DELETED)
            if not state.is_final():
                continue
            del runs[number]
            if state.type == StateType.CRASHED and n_crashes[number] < MAX_CRASHES:
                n_crashes[number] += 1
                get_run_logger().warning("%s lost its worker and is started again", subflow.name)
                waiting.append(number)
            else:
                outcomes[number] = describe_end(state)
    return [outcomes[number] for number in range(len(calls))]


def _run_in_process(subflow: Flow[..., Any], parameters: Parameters) -> Outcome:
    require_not_cancelled()
    try:
        return Outcome(call_flow(subflow, **parameters))
    except BaseException as error:
        if not is_failure(error):
            raise
        return Outcome(describe_failure(error), has_failed=True)


def _run_on_cards(
    subflow: Flow[..., Any], calls: Sequence[Parameters], n_cards: Sequence[int]
) -> list[Outcome]:
    """Run the flow once for each set of parameters, as many at once as there are cards for them.

    vLLM binds a process to the cards that it sees at its start, so one process cannot use other cards later.
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
                    running[number] = _start_process(subflow, calls[number])
                    n_free -= taken[number]
            time.sleep(PROCESS_POLL_S)
            for number, (run_id, process) in list(running.items()):
                if process.poll() is not None:
                    del running[number]
                    n_free += taken[number]
                    outcomes[number] = _read_end(run_id, process)
    finally:
        _end_processes([process for _, process in running.values()])
    return [outcomes[number] for number in range(len(calls))]


def _start_process(subflow: Flow[..., Any], parameters: Parameters) -> tuple[UUID, Process]:
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


def _end_processes(processes: Sequence[Process]) -> None:
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + END_S
    for process in processes:
        try:
            process.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            process.kill()


def _create_run(subflow: Flow[..., Any], parameters: Parameters, key: str, pool: str) -> UUID:
    """Create a run of the flow's deployment, which is named after its work pool; return the run's id.

    Args:
        key: identifies the run, together with its parameters, among those that this run creates. If it is
            unclear whether the server got a request, the request is sent again with the same key, and the
            server creates only one run.
        pool: the work pool in which it runs.

    Raises:
        InputError: the flow has no deployment for this pool.
    """
    as_json = render_parameters(parameters)
    # Prefect names a run by its flow only when it starts, so a run that waits for a worker is named here.
    name = subflow.flow_run_name
    name_run = name.format_map if isinstance(name, str) else cast("Callable[[Parameters], str]", name)
    # A run may start the same flow for several editions, one after the other: each has its own parameters.
    names = (str(runtime.flow_run.id), str(runtime.flow_run.run_count), subflow.name, key)
    idempotency_key = "-".join([*names, hash_text(json.dumps(as_json, sort_keys=True, default=str))])

    def create() -> FlowRun:
        run = run_deployment(
            f"{subflow.name}/{pool}",
            parameters=as_json,
            flow_run_name=name_run(parameters),
            timeout=0,
            idempotency_key=idempotency_key,
        )
        assert isinstance(run, FlowRun)
        return run

    try:
        return retry_while_unavailable(create).id
    except ObjectNotFound as error:
        raise InputError(
            f"{subflow.name} has no deployment for the pool {pool!r}: run `pretexeval deploy` with this "
            "configuration"
        ) from error


def _read_states(run_ids: Sequence[UUID]) -> dict[UUID, State[Any]]:
    """Return the states of the runs that exist."""
    states: dict[UUID, State[Any]] = {}
    with get_client(sync_client=True) as client:
        for start in range(0, len(run_ids), PAGE_SIZE):
            page = FlowRunFilter(id=FlowRunFilterId(any_=list(run_ids[start : start + PAGE_SIZE])))
            for run in retry_while_unavailable(partial(client.read_flow_runs, flow_run_filter=page)):
                states[run.id] = run.state or Pending()
    return states


def retry_while_unavailable(request: Callable[[], Reply]) -> Reply:
    """Return the server's answer to a request; retry the request while the server is unavailable.

    Raises:
        PrefectHTTPStatusError: the server refuses the request.
        HTTPError: the server is unavailable for longer than MAX_SERVER_OUTAGE_S.
    """
    deadline = time.monotonic() + MAX_SERVER_OUTAGE_S
    while True:
        try:
            return request()
        except httpx.HTTPError as error:
            is_refusal = isinstance(error, httpx.HTTPStatusError) and error.response.status_code < 500
            if is_refusal or time.monotonic() >= deadline:
                raise
        time.sleep(POLL_S)


def run_evaluations(evaluate: Flow[..., str], calls: Sequence[Parameters]) -> list[Outcome]:
    """Run the flow for each set of parameters.

    The prompts of a model are divided into shards, which are runs of their own, if it has several workers, or
    if several cards are free for it. When all have ended, one more run scores the answers, unless a shard
    failed.
    """
    parts = list(_divide(calls))
    ended = _run(evaluate, [part for _, part in parts])
    outcomes, divided = dict[int, Outcome](), dict[int, None]()
    for (n, part), outcome in zip(parts, ended, strict=True):
        shard = part.get("shard")
        if shard is None:
            outcomes[n] = outcome
        elif not outcome.has_failed:
            divided[n] = None
        else:
            kept = "the answers of all shards are kept, and the next run asks the others"
            outcomes[n] = Outcome(f"{shard.name}: {outcome.message}; {kept}", has_failed=True)
    whole = [n for n in divided if n not in outcomes]
    scored = _run(evaluate, [calls[n] | {"is_asked": True} for n in whole])
    outcomes |= dict(zip(whole, scored, strict=True))
    return [outcomes[n] for n in range(len(calls))]


def _divide(calls: Sequence[Parameters]) -> Iterator[tuple[int, Parameters]]:
    """Yield the number of an evaluation and the parameters of one of its runs, in the order of the runs."""
    models, is_deployed = list(map(_find_model, calls)), runtime.deployment.id is not None
    pools: dict[str, list[int]] = {}
    for number, model in enumerate(models):
        pools.setdefault(model.work_pool if is_deployed else "", []).append(number)
    for pool, numbers in pools.items():
        n_cards = _count_cards(pool) if is_deployed else len(list_cards())
        parts: list[tuple[int, int, int]] = []
        if n_cards > 1:
            try:
                planned = schedule_evaluations([plan_evaluation(**calls[n]) for n in numbers], n_cards)
                parts = [(numbers[part.job_number], part.number, part.of) for part in planned]
            except InputError:
                # The files of a model may be on the host of its workers alone.
                if not is_deployed:
                    raise
        parts = parts or _divide_as_configured(models, numbers, is_deployed=is_deployed)
        for n, number, of in parts:
            yield n, calls[n] | ({"shard": Shard(number=number, of=of)} if of > 1 else {})


def _divide_as_configured(
    models: Sequence[ModelConfig], numbers: Sequence[int], *, is_deployed: bool
) -> list[tuple[int, int, int]]:
    """Return number, shard and number of shards of each run. Only workers of a pool share an evaluation."""
    if is_deployed:
        # Models that take most cards begin first, so that those of one card fill what is left.
        order = sorted(numbers, key=lambda n: -models[n].n_cards)
        return [(n, k + 1, models[n].workers or 1) for n in order for k in range(models[n].workers or 1)]
    for model in (models[n] for n in numbers):
        if model.workers is not None and model.workers > 1:
            logger.warning("%s: this process asks alone, without `workers`", model.name)
    return [(n, 1, 1) for n in numbers]


def _count_cards(pool: str) -> int:
    """Return the cards of all workers of a pool that are online, which their names say (gpu_worker.py)."""
    online = [worker.name for worker in _read_workers(pool) if worker.status == WorkerStatus.ONLINE]
    return sum(int(found[1]) for name in online if (found := CARDS_IN_NAME.search(name)))


def _read_workers(pool: str) -> list[Worker]:
    """Return the workers of a pool; none if there is no such pool, which its run reports."""
    with get_client(sync_client=True) as client, suppress(httpx.HTTPStatusError):
        return retry_while_unavailable(partial(client.read_workers_for_work_pool, pool))
    return []


def _run(evaluate: Flow[..., str], calls: Sequence[Parameters]) -> list[Outcome]:
    return run_subflows(evaluate, calls, list(map(_find_model, calls)))


def _find_model(call: Parameters) -> ModelConfig:
    return find_model(call["config"], call["model_name"])
