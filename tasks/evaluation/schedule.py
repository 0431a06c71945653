"""The evaluations of several models on the cards of one host: their shards, and in which order they begin.

The order is list scheduling with the longest processing time first (Graham, 1969): whenever cards are free,
the first part that fits begins, models that take most cards before the others, and long parts before short.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pretexeval.storage.layout import evaluation_folder, run_file
from pretexeval.storage.records import read_record
from tasks.evaluation.evaluation import Evaluation, label_evaluation

LOAD_S = 90.0
"""Seconds in which a model is loaded; those of 7 to 70 billion parameters take one to two minutes."""
S_PER_PROMPT = 0.002
"""Seconds per prompt that are assumed for a model that was never asked here."""
# A shard takes about this share of the time of all cards, but asks at least three times as long as it loads.
SHARE_OF_SHARD = 0.1
MIN_ASKING_S = 3 * LOAD_S


@dataclass(frozen=True)
class Job:
    """A model to evaluate: the cards that it takes, and the seconds that asking it takes after loading."""

    name: str
    n_cards: int
    """0 for the model of an endpoint."""
    asking_s: float
    n_shards: int | None = None
    """The number of shards, if the configuration gives it."""


@dataclass(frozen=True)
class Part:
    """A job, or one of its shards, that runs from `begin_s` to `end_s` on so many cards."""

    job: Job
    job_number: int
    """The position of the job in the list of all."""
    number: int
    """The number of the shard, from 1 to `of`."""
    of: int
    begin_s: float
    end_s: float


def schedule_evaluations(evaluations: Iterable[Evaluation], n_cards: int) -> list[Part]:
    """Return the parts of evaluations of complete editions as `plan_parts` does; answered prompts count too.

    Raises:
        InputError: a file of an edition is missing or was changed.
    """
    jobs = [
        describe_job(evaluation, _count_prompts(evaluation), measure_throughput(evaluation))
        for evaluation in evaluations
    ]
    return plan_parts(jobs, n_cards)


def describe_job(evaluation: Evaluation, n_prompts: int, throughput: tuple[float, str] | None) -> Job:
    """Return the job of asking so many prompts.

    Args:
        throughput: what `measure_throughput` returns.
    """
    model, subject = evaluation.model, evaluation.subject
    asking_s = n_prompts / throughput[0] if throughput else n_prompts * S_PER_PROMPT
    # The answers about a pair decide whether more is asked about it, so its prompts stay in one process.
    n_shards = 1 if evaluation.asks_enough else model.workers
    return Job(label_evaluation(model.name, subject.setting), model.n_cards, asking_s, n_shards)


def _count_prompts(evaluation: Evaluation) -> int:
    """Return an upper bound for the number of prompts, without reading what they are about."""
    n_rows = sum(file.n_rows for file in evaluation.row_files().values())
    return evaluation.subject.n_repeats * n_rows


def measure_throughput(evaluation: Evaluation) -> tuple[float, str] | None:
    """Return the prompts per second of the model's finished evaluations in this setting, and their basis.

    Return None if there are none.
    """
    n_asked, seconds = 0, 0.0
    folder = evaluation_folder("*", evaluation.model_id, evaluation.subject.setting)
    for path in evaluation.root.glob(run_file(folder)):
        try:
            record = read_record(path) or {}
            asked, duration_s = int(record["n_asked"]), float(record["duration_s"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if asked > 0 and duration_s > 0:
            n_asked, seconds = n_asked + asked, seconds + duration_s
    if not n_asked:
        return None
    rate = n_asked / seconds
    basis = f"time at {rate:,.1f} prompts per second, loading included, as for {n_asked:,} earlier prompts"
    return rate, basis


def plan_parts(jobs: Sequence[Job], n_cards: int) -> list[Part]:
    """Return the parts of all jobs on a host with so many cards, in the order in which they begin.

    A job that takes more cards than there are is planned on all of them: it fails when it begins.
    """
    divided = zip(jobs, _count_shards(jobs, n_cards), strict=True)
    waiting = [
        Part(job, n, k + 1, of, 0, _measure(job, of))
        for n, (job, of) in enumerate(divided)
        for k in range(of)
    ]
    waiting.sort(key=lambda part: (-part.job.n_cards, -part.end_s))
    running, planned, n_free, now_s = list[Part](), list[Part](), n_cards, 0.0
    while waiting:
        for part in list(waiting):
            n_taken = min(part.job.n_cards, n_cards)
            if n_taken <= n_free:
                waiting.remove(part)
                n_free -= n_taken
                running.append(replace(part, begin_s=now_s, end_s=now_s + part.end_s))
                planned.append(running[-1])
        ending = min(running, key=lambda part: part.end_s)
        running.remove(ending)
        now_s, n_free = ending.end_s, n_free + min(ending.job.n_cards, n_cards)
    return planned


def measure_idleness(parts: Iterable[Part], n_cards: int) -> tuple[float, float]:
    """Return the seconds until all cards are free again, and the share of this time that cards are idle."""
    taking = [part for part in parts if part.job.n_cards]
    whole_s = max((part.end_s for part in taking), default=0.0)
    used_s = sum(min(part.job.n_cards, n_cards) * (part.end_s - part.begin_s) for part in taking)
    return whole_s, 1 - used_s / (whole_s * n_cards) if whole_s else 0.0


def _measure(job: Job, n_shards: int) -> float:
    return (LOAD_S if job.n_cards else 0.0) + job.asking_s / n_shards


def _count_shards(jobs: Sequence[Job], n_cards: int) -> list[int]:
    """Return the number of shards of each job, at most as many as can run at once."""
    time_s = sum(job.n_cards * _measure(job, 1) for job in jobs) / n_cards
    limit_s = max(SHARE_OF_SHARD * time_s - LOAD_S, MIN_ASKING_S)
    n_most = [n_cards // job.n_cards if job.n_cards else 1 for job in jobs]
    return [
        job.n_shards or max(1, min(math.ceil(job.asking_s / limit_s), n))
        for job, n in zip(jobs, n_most, strict=True)
    ]
