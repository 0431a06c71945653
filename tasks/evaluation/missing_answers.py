"""Ask a model the prompts of an evaluation that have no answer yet."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

from pretexeval.engines.loading import load_engine
from pretexeval.primitives.hashing import hash_text
from pretexeval.primitives.literal_paths import read_parquet
from pretexeval.storage.responses import KEYS
from pretexeval.storage.store import Store
from schemas.exchange import Prompt
from schemas.stages import REQUESTS
from tasks.asking.model_session import Advance, LoadEngine, ModelSession
from tasks.evaluation.asked_items import AskedItems, read_items, require_right_labels
from tasks.evaluation.enough import (
    add_outcomes,
    list_next,
    measure_half_width,
    order_cells,
    select_needed,
)
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.judged_answers import (
    judge_items,
    list_weighed_items,
    plan_looks,
    read_asked_files,
    read_clusters,
)
from tasks.evaluation.request_files import RequestFiles
from tasks.evaluation.requests import Requests, Shots

# Digits of the hash by which a text belongs to a shard.
N_DIGITS = 8
# Prompts in memory at a time. Those with five demonstrations have about 2 kB each.
N_RENDERED = 65_536
ReadItems = Callable[[Collection[str]], Iterator[AskedItems]]
"""Takes names of files of an edition, and yields their items."""


class Shard(BaseModel):
    """One of several parts of the prompts of an evaluation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: Annotated[int, Field(ge=1)]
    """1, 2, …"""
    of: Annotated[int, Field(ge=2)]
    """The number of shards."""

    @model_validator(mode="after")
    def _require_existing(self) -> Self:
        if self.number > self.of:
            raise ValueError(f"there is no shard {self.number} of {self.of}")
        return self

    @property
    def name(self) -> str:
        """The name of the shard in locks and in the names of runs."""
        return f"shard-{self.number}-of-{self.of}"

    def contains(self, text: str) -> bool:
        """Return whether an item with this text belongs to the shard; each belongs to exactly one.

        Items with the same prompt have the same text, so no two shards ask the same prompt. The text is known
        without rendering the prompt, so a shard renders the prompts of its own items only.
        """
        return int(hash_text(text, digits=N_DIGITS), 16) % self.of == self.number - 1


@dataclass
class AskingReport:
    """Counts of the requests of an evaluation: asked, reused, failed."""

    n_samples: int = 0
    """Samples, or questions times repeats."""
    n_asked: int = 0
    """Prompts that this run asked."""
    n_reused: int = 0
    """Samples whose prompt was answered before, or is also the prompt of another sample."""
    n_errors: int = 0
    """Samples whose prompt has no response after the run."""
    n_not_needed: int = 0
    """Samples that were not asked, because the scores do not need them (enough.py)."""
    n_open: int = 0
    """Failed prompts that the next run asks again. Prompts that are too long for the model do not count."""


def ask_missing(
    evaluation: Evaluation,
    requests: RequestFiles,
    store: Store,
    on_progress: Advance,
    load: LoadEngine = load_engine,
    *,
    asks_failed: bool = True,
) -> AskingReport:
    """Ask the prompts of the requests that have no answer. The engine is loaded only if there are any.

    Args:
        asks_failed: whether to ask prompts again that were asked and have no response.

    Raises:
        InputError: the model cannot be loaded or reached. The answers that it gave are kept.
    """
    report = AskingReport(n_samples=requests.n_samples)
    columns = ["item_id", "prompt_key", "repeat"]
    asked = _list_asked(
        (Path(ref.path).name, read_parquet(evaluation.root / ref.path, columns).filter(repeat=0))
        for ref in requests.files
    )
    with ModelSession(evaluation.model, store, load) as session:
        if evaluation.asks_enough:
            report.n_asked, report.n_samples = _ask_enough(
                evaluation, requests, session, on_progress, asks_failed=asks_failed
            )
            report.n_not_needed = requests.n_samples - report.n_samples
        else:
            report.n_asked = _ask_open(evaluation, asked, session, on_progress, asks_failed=asks_failed)
        session.write_model_record()
    report.n_reused = report.n_samples - report.n_asked
    is_asked = pl.col("repeat") < evaluation.subject.n_repeats
    failed = asked.join(evaluation.store.read_failed().filter(is_asked), on="prompt_key")
    report.n_errors, report.n_open = failed.height, failed.filter("is_open").select(KEYS).n_unique()
    return report


def _ask_enough(
    evaluation: Evaluation,
    requests: RequestFiles,
    session: ModelSession,
    on_progress: Advance,
    *,
    asks_failed: bool,
) -> tuple[int, int]:
    """Ask each pair until its first wrong answer, and as many pairs as the precision takes.

    Return the number of prompts that were asked, and that of the samples that are scored.
    """
    # Each round asks a part of the items of all files, which are read once.
    files = read_asked_files(evaluation, requests)
    items = list_weighed_items(files)
    precision = evaluation.scoring.precision
    clusters = None if precision is None else read_clusters(evaluation)
    is_first = pl.col("weight") > 0
    if asks_failed:
        is_first |= pl.col("prompt_key").is_in(evaluation.store.read_failed()["prompt_key"].implode())
    outcomes, n_asked, n_done = judge_items(evaluation, items, files), 0, 0
    looks, previous = plan_looks(evaluation, items), 0.0

    def select_files(names: Collection[str]) -> Iterator[AskedItems]:
        return (file.asked for name, file in files.items() if name in names)

    def ask(chosen: pl.DataFrame) -> None:
        nonlocal n_asked, n_done, outcomes
        n_asked += _ask_open(
            evaluation, chosen, session, on_progress, asks_failed=asks_failed, read=select_files
        )
        n_done += chosen.height
        outcomes = pl.concat([outcomes, judge_items(evaluation, chosen, files)])
        outcomes = outcomes.unique("item_id", keep="last", maintain_order=True)

    for look in looks:
        part = items.filter(pl.col("turn") <= look)
        # A prompt that fails again is not asked a third time at the next look.
        ask(part.filter(is_first & (pl.col("turn") > previous)))
        previous = look
        # A pair without a wrong answer so far is asked more and more at once: few of these will have one, and
        # each round waits for the answers of the last one.
        n_cells = 1
        while True:
            judged = add_outcomes(part, outcomes)
            following = list_next(judged, order_cells(judged), n_cells)
            if following.is_empty():
                break
            ask(following)
            n_cells *= 2
        if clusters is not None and measure_half_width(judged, clusters) <= (precision or 0):
            break
    on_progress(requests.n_samples - n_done)
    return n_asked, select_needed(add_outcomes(items, outcomes), looks).height


def list_shard(evaluation: Evaluation, shard: Shard) -> pl.DataFrame:
    """Return what a shard asks: file, item_id and prompt_key of each of its items.

    Raises:
        InputError: the edition is not complete, or a sample of it has a wrong label.
    """
    require_right_labels(evaluation)

    def render_files() -> Iterator[tuple[str, pl.DataFrame]]:
        for asked in read_items(evaluation):
            of_shard = asked.items.filter([shard.contains(text) for text in asked.items["text"]])
            for requests in _render(evaluation, of_shard, asked.shots):
                yield asked.file, requests.frame

    return _list_asked(render_files())


def ask_shard(
    evaluation: Evaluation,
    asked: pl.DataFrame,
    shard: Shard,
    store: Store,
    on_progress: Advance,
    load: LoadEngine = load_engine,
) -> int:
    """Ask the prompts of a shard that have no answer; return their number. Raises as `ask_missing` does.

    Args:
        asked: what `list_shard` returns.
    """
    with ModelSession(evaluation.model, store, load, shard.name) as session:
        return _ask_open(evaluation, asked, session, on_progress)


def _list_asked(requests: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Return file, item_id and prompt_key of the requests about each file of an edition."""
    parts = [
        frame.select(pl.lit(file).cast(pl.Categorical).alias("file"), "item_id", "prompt_key")
        for file, frame in requests
    ]
    return pl.concat(parts) if parts else _list_asked([("", REQUESTS.empty)])


def _render(evaluation: Evaluation, items: pl.DataFrame, shots: Shots) -> Iterator[Requests]:
    """Yield the requests about items of one relation for one repeat, N_RENDERED at a time."""
    settings = replace(evaluation.request_settings, n_repeats=1)
    for part in items.iter_slices(N_RENDERED):
        yield evaluation.subject.build_requests(part, shots, settings)


def _ask_open(
    evaluation: Evaluation,
    asked: pl.DataFrame,
    session: ModelSession,
    on_progress: Advance,
    *,
    asks_failed: bool = True,
    read: ReadItems | None = None,
) -> int:
    """Ask every prompt without a stored answer, of all repeats, and return their number.

    Args:
        asked: file, item_id and prompt_key of the items. Several items can have the same prompt.
        read: yields the items of files by their names; None: reads the files of the edition.
    """
    repeats = range(evaluation.subject.n_repeats)
    prompts = asked.unique("prompt_key", keep="first", maintain_order=True)
    left = [evaluation.store.select_open(prompts, repeat, asks_failed=asks_failed) for repeat in repeats]
    n_left, n_samples = sum(rows.height for rows in left), asked.height * len(repeats)
    # These may be prompts that are refused for their content, as they were before. If all of them fail
    # again, the evaluation is still valid.
    session.accepts_refusal = n_left <= evaluation.scoring.max_error_rate * n_samples
    on_progress(n_samples - n_left)
    for repeat, rows in enumerate(left):
        _ask_repeat(evaluation, rows, repeat, session, on_progress, read or partial(read_items, evaluation))
    return n_left


def _ask_repeat(
    evaluation: Evaluation,
    left: pl.DataFrame,
    repeat: int,
    session: ModelSession,
    on_progress: Advance,
    read: ReadItems,
) -> None:
    """Ask the prompts of these items for this repeat. Few of them are in memory at a time."""
    sampling = replace(evaluation.request_settings.sampling, repeat=repeat)
    by_file = {str(name): rows for (name,), rows in left.partition_by("file", as_dict=True).items()}

    def render_left() -> Iterator[tuple[str, Prompt]]:
        for asked in read(by_file):
            items = asked.items.join(by_file[asked.file], on="item_id", how="semi", maintain_order="left")
            for requests in _render(evaluation, items, asked.shots):
                yield from zip(requests.frame["prompt_key"], requests.prompts, strict=True)

    session.ask(render_left(), sampling, on_progress)
