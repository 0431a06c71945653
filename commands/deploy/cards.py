"""Which worker of a host holds which cards, so that each card is given out once.

A worker takes one run at a time and shows it its cards alone (CUDA_VISIBLE_DEVICES). It serves the work pool
of the models that take as many cards as it holds (`EngineConfig.work_pool`).
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pretexeval.config.engines import EngineConfig
from pretexeval.config.installation_names import CPU_POOL, DEFAULT_POOL, name_gpu_pool
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.gpus import find_gpus

CARDS_VARIABLE = "CUDA_VISIBLE_DEVICES"
# The number of a card, or the beginning of its UUID, as CUDA_VISIBLE_DEVICES takes them.
CARD = re.compile(r"\d+|(?:GPU|MIG)-[0-9A-Za-z-]+")
HELP = (
    "the cards of one worker, such as 0 or 0,1,2,3; repeat the option for each worker. A model is asked by a "
    "worker that holds as many cards as it takes, or by one of its own pool: big=0,1"
)


@dataclass(frozen=True)
class GpuWorker:
    """A worker of a pool, and the cards that it holds; without cards, its runs use vLLM's CPU build."""

    pool: str = DEFAULT_POOL
    cards: tuple[str, ...] = ()

    @property
    def variables(self) -> dict[str, str]:
        """Its environment besides that of all workers."""
        return {CARDS_VARIABLE: ",".join(self.cards)} if self.cards else {}


def read_gpu_worker(text: str) -> GpuWorker:
    """Return the worker of an option such as `0,1`, or `big=0,1` for the pool `big`.

    Raises:
        ArgumentTypeError: it does not name cards, or names one twice.
    """
    pool, _, named = text.rpartition("=")
    cards = tuple(card.strip() for card in named.split(","))
    if not all(map(CARD.fullmatch, cards)) or len(set(cards)) < len(cards):
        raise argparse.ArgumentTypeError(f"{text!r}: give the numbers of its cards, such as 0 or 0,1,2,3")
    return GpuWorker(pool or name_gpu_pool(len(cards)), cards)


def build_worker_command(pool: str, *options: str) -> list[str]:
    """Return the command of a process worker of a pool that exists, with options of `prefect worker start`.

    Args:
        pool: the name of the pool on the server.
    """
    start = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--type", "process"]
    return [*start, *options, "--no-create-pool-if-not-found"]


def list_default_workers() -> list[GpuWorker]:
    """Return one worker for each card of this host, or one without a card if there is none."""
    return [GpuWorker(cards=(card,)) for card in _list_cards()] or [GpuWorker()]


def _list_cards() -> list[str]:
    """Return the cards of this host that a process may use; none without a driver."""
    visible, n_cards = os.environ.get(CARDS_VARIABLE, ""), len(find_gpus())
    return visible.split(",") if visible and n_cards else [str(card) for card in range(n_cards)]


def require_distinct_cards(workers: Sequence[GpuWorker]) -> None:
    """Raise InputError if two workers hold the same card."""
    held = [card for worker in workers for card in worker.cards]
    if twice := sorted({card for card in held if held.count(card) > 1}):
        raise InputError(
            f"--gpus: two workers hold card {', '.join(twice)}; give each card to one worker. Name the cards "
            "of a second host by their UUIDs (nvidia-smi -L)"
        )


def require_cards_of_host(workers: Sequence[GpuWorker]) -> None:
    """Check the cards of all workers of this host.

    Raises:
        InputError: two workers hold the same card, or the host has no card of that number.
    """
    require_distinct_cards(workers)
    there = _list_cards()
    missing = [card for worker in workers for card in worker.cards if card.isdigit() and card not in there]
    if there and missing:
        raise InputError(f"--gpus: there is no card {', '.join(missing)}; this host has {', '.join(there)}")


def describe_workers(
    workers: Sequence[GpuWorker], models: Mapping[str, Sequence[EngineConfig]]
) -> Iterator[str]:
    """Yield a line for each worker, with its cards and the models that it asks, and one for the pool `cpu`.

    Args:
        models: work pool -> its models.

    Raises:
        InputError: two workers hold the same card, or no worker of its pool holds as many as a model takes.
    """
    require_distinct_cards(workers)
    for pool, asked in models.items():
        serving = [worker for worker in workers if worker.pool == pool]
        for model in asked:
            if model.engine != "vllm" or pool == CPU_POOL:
                continue
            if not any(len(worker.cards) in (0, model.n_gpus) for worker in serving):
                held = ", ".join(str(len(worker.cards)) for worker in serving) or "no worker"
                raise InputError(
                    f"the model {model.name} takes {model.n_gpus} cards (tensor_parallel_size x "
                    f"pipeline_parallel_size), and the workers of the pool {pool!r} hold: {held}; declare a "
                    f"worker that holds as many, such as --gpus {','.join(map(str, range(model.n_gpus)))}"
                )
    for worker in workers:
        names = (
            ", ".join(model.name for model in models.get(worker.pool, ())) or "no model of the configuration"
        )
        cards = (
            f"card{'s' * (len(worker.cards) > 1)} {', '.join(worker.cards)}" if worker.cards else "no card"
        )
        yield f"{cards}: pool {worker.pool}: {names}"
    if CPU_POOL in models:
        yield f"no card: pool {CPU_POOL}: {', '.join(model.name for model in models[CPU_POOL])}"
