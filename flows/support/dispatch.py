"""Run a subflow that loads a model: in this process, or as a deployment run in its work pool.

A flow that was started by hand calls the subflow as a function. A flow that is a deployment run itself starts
a deployment run of the subflow, waits for it without holding a GPU, and starts it again if its worker is
lost. It also waits while the server, or its database, is unavailable.
"""

import json
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

import httpx
from prefect import Flow, get_run_logger, runtime
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound

from flows.support.cancellation import cancel_with_this_run, require_not_cancelled
from flows.support.configurations import inherit_config_file
from flows.support.outcomes import call_flow
from pretexeval.config.engines import DEFAULT_POOL, ModelConfig
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError, describe_failure, is_failure
from pretexeval.primitives.hashing import hash_text
from tasks.evaluation.evaluation import find_model
from tasks.evaluation.missing_answers import Shard

logger = logging.getLogger(__name__)


POLL_S = 2.0
# How often a subflow whose worker was lost is started again.
MAX_CRASHES = 3
# Long enough for an upgrade of the server, which migrates its database before it answers.
MAX_SERVER_OUTAGE_S = 1800.0

Parameters = dict[str, Any]


def run_subflows(
    subflow: Flow[..., Any], calls: Sequence[Parameters], pools: Sequence[str] = ()
) -> list[str | None]:
    """Run a flow once for each set of parameters; return for each call why it failed, or null.

    A failure does not stop the other calls.

    Args:
        pools: the work pool of each call; by default that of the flow.
    """
    calls = [inherit_config_file() | parameters for parameters in calls]
    if runtime.deployment.id is None:
        return [_run_in_process(subflow, parameters) for parameters in calls]
    n_crashes = dict.fromkeys(range(len(calls)), 0)
    waiting, runs, scheduled = list(range(len(calls))), dict[int, UUID](), set[int]()
    pool_of = dict(enumerate(pools or [DEFAULT_POOL] * len(calls)))
    reasons: dict[int, str | None] = {}
    with cancel_with_this_run(runs):
        while waiting or runs:
            require_not_cancelled()
            # Two workers that poll at the same moment can exceed the pool's limit if two runs wait for them.
            for number in _choose_next(waiting, [pool_of[each] for each in scheduled], pool_of):
                waiting.remove(number)
                key = f"{number}-{n_crashes[number]}"
                try:
                    runs[number] = _create_run(subflow, calls[number], key, pool_of[number])
                except InputError as error:
                    reasons[number] = str(error)
                    continue
                scheduled.add(number)
            time.sleep(POLL_S)
            for number, run_id in list(runs.items()):
                state = _read_state(run_id)
                if state is None or state.type == StateType.SCHEDULED:
                    continue
                scheduled.discard(number)
                if not state.is_final():
                    continue
                del runs[number]
                if state.type == StateType.CRASHED and n_crashes[number] < MAX_CRASHES:
                    n_crashes[number] += 1
                    get_run_logger().warning("%s lost its worker and is started again", subflow.name)
                    waiting.insert(0, number)
                    continue
                is_done = state.type == StateType.COMPLETED
                reasons[number] = None if is_done else _read_reason(state)
    return [reasons[number] for number in range(len(calls))]


def _choose_next(waiting: Sequence[int], taken: Collection[str], pool_of: Mapping[int, str]) -> list[int]:
    """Return the first waiting call of every work pool in which no run waits for a worker."""
    first: dict[str, int] = {}
    for number in waiting:
        first.setdefault(pool_of[number], number)
    return [number for pool, number in first.items() if pool not in taken]


def require_subflow(subflow: Flow[..., Any], parameters: Parameters, pool: str = DEFAULT_POOL) -> None:
    """Run a flow that has to succeed.

    Args:
        pool: the work pool of its run.

    Raises:
        InputError: the flow failed; the message says why.
    """
    (reason,) = run_subflows(subflow, [parameters], [pool])
    if reason is not None:
        raise InputError(reason)


def _run_in_process(subflow: Flow[..., Any], parameters: Parameters) -> str | None:
    """Call the flow; return why it failed, or null."""
    require_not_cancelled()
    try:
        call_flow(subflow, **parameters)
    except BaseException as error:
        if not is_failure(error):
            raise
        return describe_failure(error)
    return None


def _create_run(subflow: Flow[..., Any], parameters: Parameters, key: str, pool: str = DEFAULT_POOL) -> UUID:
    """Create a run of the flow's deployment, which is named after its work pool; return the run's id.

    Args:
        key: identifies the run, together with its parameters, among those that this run creates. If it is
            unclear whether the server got a request, the request is sent again with the same key, and the
            server creates only one run.
        pool: the work pool in which it runs.

    Raises:
        InputError: the flow has no deployment for this pool.
    """
    # A deployment that was registered before a table was added to the configuration refuses that table, even
    # if it has its default.
    as_json = {
        name: value.model_dump(mode="json", exclude_defaults=True) if hasattr(value, "model_dump") else value
        for name, value in parameters.items()
    }
    # Prefect names a run by its flow only when it starts, so a run that waits for a worker is named here.
    name_run = cast(Callable[[Parameters], str], subflow.flow_run_name)
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


def _read_reason(state: State[Any]) -> str:
    """Return why a run did not complete, without the words that Prefect puts before every message of ours."""
    message = (state.message or "").removeprefix("Flow run encountered an exception: ")
    return message.removeprefix(f"{InputError.__name__}: ") or state.name or "it failed"


def _read_state(run_id: UUID) -> State[Any] | None:
    def read() -> FlowRun:
        with get_client(sync_client=True) as client:
            return client.read_flow_run(run_id)

    return retry_while_unavailable(read).state


def retry_while_unavailable(request: Callable[[], FlowRun]) -> FlowRun:
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


def run_evaluations(evaluate: Flow[..., str], calls: Sequence[Parameters]) -> list[str | None]:
    """Run the flow for each set of parameters; return for each call why it failed, or null.

    The prompts of a model with several workers are divided into shards, which are runs of their own. When all
    have ended, one more run scores the answers, unless a shard failed.
    """
    parts = [(n, part) for n, call in enumerate(calls) for part in _divide(call)]
    failed = {
        n: _explain(part, reason)
        for (n, part), reason in zip(parts, _run(evaluate, [part for _, part in parts]), strict=True)
        if reason is not None
    }
    divided = dict.fromkeys(n for n, part in parts if "shard" in part and n not in failed)
    scored = _run(evaluate, [calls[n] | {"is_asked": True} for n in divided])
    reasons = failed | dict(zip(divided, scored, strict=True))
    return [reasons.get(n) for n in range(len(calls))]


def _divide(call: Parameters) -> list[Parameters]:
    """Return the parameters of the shards of an evaluation; of a model with one worker, those given."""
    model = _find_model(**call)
    if model.workers == 1:
        return [call]
    if runtime.deployment.id is None:
        logger.warning("%s: this process asks alone; `workers` holds for deployed runs", model.name)
        return [call]
    return [call | {"shard": Shard(number=n + 1, of=model.workers)} for n in range(model.workers)]


def _explain(call: Parameters, reason: str) -> str:
    shard = call.get("shard")
    if shard is None:
        return reason
    return f"{shard.name}: {reason}; the answers of all shards are kept, and the next run asks the others"


def _run(evaluate: Flow[..., str], calls: Sequence[Parameters]) -> list[str | None]:
    return run_subflows(evaluate, calls, [_find_model(**call).work_pool for call in calls]) if calls else []


def _find_model(config: Config, model_name: str, **_: object) -> ModelConfig:
    """Return the model of an evaluation."""
    return find_model(config, model_name)
