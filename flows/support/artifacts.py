"""Artifacts of a run in the Prefect UI: links to its results, the leaderboard, facets, and its progress."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ParamSpec, TypeVar, cast
from uuid import UUID

import httpx
from prefect import get_run_logger
from prefect.artifacts import (
    create_link_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from flows.support.cancellation import require_not_cancelled
from flows.support.configurations import name_artifact
from flows.support.score_changes import read_leaderboard, read_not_evaluated
from pretexeval.config.file import Config
from pretexeval.storage.layout import (
    ANCHOR_EVALUATIONS_FOLDER,
    EDITIONS_FOLDER,
    PAGES_FOLDER,
    WAREHOUSE,
    edition_folder,
    page_file,
)
from report.columns import TABLES
from report.facet_scores import note_unanswered, read_facet_scores
from report.remarks import list_remarks, read_reply_remarks
from report.score_tables import list_numbers, note_repeats
from warehouse.drift import describe_drift, describe_freshness, read_new_text_rates
from warehouse.query import read_rows

BASE_URL_VARIABLE = "PRETEXEVAL_BASE_URL"
"""Address of the web server, such as `http://127.0.0.1:8080`."""
SERVED_ROOT_VARIABLE = "PRETEXEVAL_SERVED_ROOT"
"""The data folder that it serves. A configuration with another `[storage] root` gets no links to it."""
SECONDS_BETWEEN_LINES = 20.0


@contextlib.contextmanager
def show_progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of items that were done since its last call."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _print_lines(console, title, total)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(title, total=total)
        yield lambda n: progress.advance(bar, n)


def _print_lines(console: Console, title: str, total: int) -> Callable[[int], None]:
    n_done = 0
    next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    def advance(n: int) -> None:
        nonlocal n_done, next_line
        n_done += n
        if time.monotonic() >= next_line:
            console.print(f"{title}: {n_done:,} of {total:,}", highlight=False)
            next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    return advance


# Every update is a request to the server.
SECONDS_BETWEEN_UPDATES = 5.0
UNPUBLISHED = "Scores and samples. The page is written when the edition is published."
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def link_results(config: Config, edition_id: str | None) -> None:
    """Link the edition's page, its Parquet files and the warehouse; without an edition, those of all."""
    link_edition(config, edition_id, "Scores and samples.")
    what = "The warehouse: all editions, evaluations and scores in one DuckDB file."
    _link(config, edition_id, "warehouse", "Warehouse (DuckDB)", locate(config, WAREHOUSE), what)


def link_edition(config: Config, edition_id: str | None, of_page: str = UNPUBLISHED) -> None:
    """Link the edition's Parquet files, and its page with its description. Anchors have no page."""
    if config.n_anchor_pairs is None:
        _link_page(config, edition_id, of_page)
    folder = edition_folder(edition_id) if edition_id else EDITIONS_FOLDER
    what = "The texts of the test set, one file per stage"
    _link_folder(config, edition_id, folder, edition_id or "all editions", what)


def link_predictions(config: Config, edition_id: str, folder: str) -> None:
    """Link an evaluation's Parquet files, and the page that will show the results. Anchors have no page."""
    if not folder.startswith(ANCHOR_EVALUATIONS_FOLDER):
        _link_page(config, edition_id, UNPUBLISHED)
    what = "The prompts and the scored answers of a model, one file per stage"
    _link_folder(config, edition_id, folder, folder, what)


def _link_folder(config: Config, edition_id: str | None, folder: str, of_what: str, what: str) -> None:
    text, address = f"Parquet files of {of_what}", locate(config, f"{folder}/")
    _link(config, edition_id, "parquet", text, address, f"{what} and relation.")


def _link_page(config: Config, edition_id: str | None, what: str) -> None:
    text = f"Dashboard of {edition_id or 'all editions'}"
    _link(config, edition_id, "dashboard", text, locate(config, page_file(edition_id)), what)


def locate(config: Config, path: str) -> str:
    """Return the address of a path: on the web server, or else in the shared storage or under the root."""
    root, shared = config.storage.root, config.storage.shared
    base_url, served = (os.environ.get(name, "") for name in (BASE_URL_VARIABLE, SERVED_ROOT_VARIABLE))
    if base_url and (not served or Path(served).resolve() == root.resolve()):
        # It serves the pages at the top.
        return f"{base_url.rstrip('/')}/{path.removeprefix(f'{PAGES_FOLDER}/')}"
    return f"{shared.rstrip('/')}/{path}" if shared else (root.absolute() / path).as_uri()


def _link(config: Config, edition_id: str | None, kind: str, text: str, address: str, what: str) -> None:
    key = name_artifact(kind, config, edition_id)
    show_in_ui(create_link_artifact, address, link_text=text, key=key, description=what)


def show_in_ui(
    create: Callable[Parameters, Result], *args: Parameters.args, **options: Parameters.kwargs
) -> Result | None:
    """Create an artifact and return its id; None if the server is unavailable, which fails no run."""
    try:
        return create(*args, **options)
    except httpx.HTTPError as error:
        get_run_logger().warning("Prefect's server did not take an artifact: %s", error)
        return None


def show_leaderboard(config: Config, edition_id: str) -> None:
    """Show the leaderboard of the edition, with the changes since the previous edition.

    Models that count as not evaluated follow without scores, with the reason, and with the setting if it is
    that of questions.
    """
    # Of a model that was asked several times, the first repeat.
    root = config.storage.root
    rows = [row for row in read_leaderboard(root, edition_id) if row["repeat"] == 0]
    new_texts = read_new_text_rates(root, edition_id)
    reply_remarks: dict[str, list[str]] = {}
    for remark in read_reply_remarks(root, edition_id):
        reply_remarks.setdefault(remark["model_id"], []).append(remark["remark"])
    scored = [
        list_numbers(TABLES["leaderboard"], row)
        | {
            "new texts %": _percent(new_texts.get(row["method"])),
            "change, points": _percent(row["change"]),
            "since": row["since"],
            "evaluated": "yes",
            "remarks": " ".join(
                [
                    *list_remarks([row], {row["model_id"]: row["model"]}),
                    *reply_remarks.get(row["model_id"], ()),
                ]
            ),
        }
        for row in rows
    ]
    nothing = dict.fromkeys(scored[0] if scored else ())
    failed = [
        nothing
        | {
            "model": f"{row['model']} ({row['setting']})" if row["setting"] else row["model"],
            "failed %": _percent(row["error_rate"]),
            "evaluated": f"not evaluated: {row['reason']}",
        }
        for row in read_not_evaluated(root, edition_id)
    ]
    freshness = describe_freshness(root, edition_id)
    drift = describe_drift(root, edition_id)
    repeats = note_repeats(root, edition_id)
    notes = [*repeats, *note_unanswered(rows), *([freshness] if freshness else []), *drift]
    description = " ".join([f"Leaderboard of {edition_id}.", *notes])
    key = name_artifact("leaderboard", config, edition_id)
    show_in_ui(create_table_artifact, scored + failed, key=key, description=description)


def show_facets(config: Config, edition_id: str) -> None:
    """Show the facets of each model and setting as a table; nothing if no model has answered questions."""
    root = config.storage.root
    rows = read_facet_scores(lambda sql: read_rows(root, sql), edition_id)
    table = [
        list_numbers(TABLES["facets"], row) | {"random average %": _percent(row["average_random"])}
        for row in rows
    ]
    if table:
        key = name_artifact("facets", config, edition_id)
        show_in_ui(create_table_artifact, table, key=key, description=f"Facets of {edition_id}.")


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


class _ProgressArtifact:
    """A progress bar in the UI."""

    def __init__(self, title: str, total: int) -> None:
        """Create the artifact with no progress."""
        self._id = show_in_ui(create_progress_artifact, 0.0, description=title)
        self._total = max(total, 1)

    def update(self, n_done: int) -> None:
        """Show how many items are done."""
        if self._id is not None:
            show_in_ui(update_progress_artifact, cast(UUID, self._id), min(100.0, 100 * n_done / self._total))


def track_calls(
    function: Callable[Parameters, Result], title: str, total: int
) -> Callable[Parameters, Result]:
    """Return the function, wrapped so that the UI shows how many of ``total`` calls have returned."""
    artifact, n_done = _ProgressArtifact(title, total), 0

    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        nonlocal n_done
        result = function(*args, **kwargs)
        n_done += 1
        artifact.update(n_done)
        return result

    return call


@contextlib.contextmanager
def show_run_progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show progress on the console and in the UI; yield a function that takes the number of new items.

    The function raises RunCancelledError if the run was cancelled, also before the first item.
    """
    artifact = _ProgressArtifact(title, total)
    n_done, next_update = 0, 0.0
    with show_progress(title, total) as advance:

        def advance_both(n: int) -> None:
            nonlocal n_done, next_update
            advance(n)
            n_done += n
            if time.monotonic() >= next_update:
                require_not_cancelled()
                artifact.update(n_done)
                next_update = time.monotonic() + SECONDS_BETWEEN_UPDATES

        yield advance_both
    artifact.update(max(total, 1))
