"""Workers that hold cards of a host: ``python -m commands.deploy.gpu_worker 0,1 [OPTION …]`` starts one.

A worker takes one run at a time and shows it its cards alone (CUDA_VISIBLE_DEVICES). It serves the work pool
of the models that take as many cards (`EngineConfig.work_pool`). `none` stands for no card: vLLM's CPU build
serves the pool `gpu`. Further options go to `prefect worker start`.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pretexeval.config.engines import CPU_POOL, DEFAULT_POOL, EngineConfig, name_gpu_pool
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.gpus import find_gpus

CARDS_VARIABLE = "CUDA_VISIBLE_DEVICES"
NO_CARDS = "none"
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


def read_gpu_worker(text: str) -> GpuWorker:
    """Return the worker of an option such as `0,1`, or `big=0,1` for the pool `big`, or `none`.

    Raises:
        InputError: it does not name cards, or names one twice.
    """
    pool, _, named = text.rpartition("=")
    if named == NO_CARDS:
        return GpuWorker(pool or DEFAULT_POOL)
    cards = tuple(card.strip() for card in named.split(","))
    if not all(map(CARD.fullmatch, cards)) or len(set(cards)) < len(cards):
        raise InputError(f"--gpus {text}: give the numbers of its cards, such as 0 or 0,1,2,3")
    return GpuWorker(pool or name_gpu_pool(len(cards)), cards)


def list_default_workers() -> list[str]:
    """Return one worker for each card of this host, or one without a card if there is none, as options."""
    return list_cards() or [NO_CARDS]


def list_cards() -> list[str]:
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
        held = [len(worker.cards) for worker in workers if worker.pool == pool]
        for model in asked:
            if model.engine == "vllm" and pool != CPU_POOL and not {0, model.n_gpus} & {*held}:
                raise InputError(
                    f"the model {model.name} takes {model.n_gpus} cards (tensor_parallel_size x "
                    f"pipeline_parallel_size), and the workers of the pool {pool!r} hold: "
                    f"{', '.join(map(str, held)) or 'no worker'}; declare a worker that holds as many, such "
                    f"as --gpus {','.join(map(str, range(model.n_gpus)))}"
                )
    for worker in [*workers, *([GpuWorker(CPU_POOL)] if CPU_POOL in models else [])]:
        names = (
            ", ".join(model.name for model in models.get(worker.pool, ())) or "no model of the configuration"
        )
        kind = ("no card", "card ", "cards ")[min(len(worker.cards), 2)]
        yield f"{kind}{', '.join(worker.cards)}: pool {worker.pool}: {names}"


def main() -> None:
    """Replace this process by Prefect's worker."""
    asked, *more = sys.argv[1:] or [NO_CARDS]
    try:
        worker = read_gpu_worker(asked)
    except InputError as error:
        sys.exit(f"commands.deploy.gpu_worker: {error}")
    start = [sys.executable, "-m", "prefect", "worker", "start", "--pool", worker.pool, "--type", "process"]
    cards = {CARDS_VARIABLE: ",".join(worker.cards)} if worker.cards else {}
    os.execve(sys.executable, [*start, "--limit", "1", *more], os.environ | cards)


if __name__ == "__main__":
    main()
