"""Run evaluations: one after another in this process, or as deployment runs, one or more for each model."""

import logging
from collections.abc import Sequence

from prefect import Flow, runtime

from config.engines import ModelConfig
from config.file import Config
from flows.support.dispatch import Parameters, run_subflows
from tasks.evaluation.evaluation import find_model
from tasks.evaluation.shards import Shard

logger = logging.getLogger(__name__)


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
    return run_subflows(evaluate, calls, [_find_model(**call).pool for call in calls]) if calls else []


def _find_model(config: Config, model_name: str, **_: object) -> ModelConfig:
    """Return the model of an evaluation."""
    return find_model(config, model_name)
