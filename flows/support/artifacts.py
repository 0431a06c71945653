"""Display of a run in the Prefect UI: its progress, and one page with its results and their links."""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar, cast
from uuid import UUID

import httpx
from prefect import get_run_logger
from prefect.artifacts import create_markdown_artifact, create_progress_artifact, update_progress_artifact
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from flows.support.cancellation import require_not_cancelled
from pretexeval.config.tables import StorageConfig
from pretexeval.storage.layout import PAGES_FOLDER

BASE_URL_VARIABLE = "PRETEXEVAL_BASE_URL"
"""Address of the web server, such as `http://127.0.0.1:8080`."""
SERVED_ROOT_VARIABLE = "PRETEXEVAL_SERVED_ROOT"
"""The data folder that it serves. A configuration with another `[storage] root` gets no links to it."""
SECONDS_BETWEEN_LINES = 20.0
# Every update is a request to the server.
SECONDS_BETWEEN_UPDATES = 5.0
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@contextlib.contextmanager
def show_progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show progress on the console; yield a function that takes the number of items since its last call."""
    console = Console(stderr=True)
    if console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console) as progress:
            bar = progress.add_task(title, total=total)
            yield lambda n: progress.advance(bar, n)
        return
    n_done, next_line = 0, time.monotonic() + SECONDS_BETWEEN_LINES

    def print_line(n: int) -> None:
        nonlocal n_done, next_line
        n_done += n
        if time.monotonic() >= next_line:
            console.print(f"{title}: {n_done:,} of {total:,}", highlight=False)
            next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    yield print_line


@contextlib.contextmanager
def show_run_progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show progress on the console and in the UI; yield a function that takes the number of new items.

    The function raises RunCancelledError if the run was cancelled, also before the first item.
    """
    # Outside an event loop, Prefect returns the id and no coroutine.
    artifact = cast("UUID | None", show_in_ui(create_progress_artifact, 0.0, description=title))
    n_done, next_update = 0, 0.0

    def update() -> None:
        if artifact is not None:
            show_in_ui(update_progress_artifact, artifact, min(100.0, 100 * n_done / max(total, 1)))

    with show_progress(title, total) as advance:

        def advance_both(n: int) -> None:
            nonlocal n_done, next_update
            advance(n)
            n_done += n
            if time.monotonic() >= next_update:
                require_not_cancelled()
                update()
                next_update = time.monotonic() + SECONDS_BETWEEN_UPDATES

        yield advance_both
    n_done = max(total, 1)
    update()


def show_page(flow: str, edition_id: str | None, parts: Sequence[str]) -> None:
    """Show the paragraphs as the page of this run, the latest one of its flow and edition.

    Args:
        edition_id: None for all editions.
    """
    key = re.sub(r"[^a-z0-9]+", "-", f"{flow}-{edition_id or 'everything'}".lower())
    description = f"{flow} of {edition_id or 'all editions'}"
    show_in_ui(create_markdown_artifact, "\n\n".join(parts), key=key, description=description)


def render_links(storage: StorageConfig, paths: Mapping[str, str]) -> str:
    """Return a list of links.

    Args:
        paths: text of a link -> path under the data root.
    """
    return "\n".join(f"- [{text}]({locate(storage, path)})" for text, path in paths.items())


def locate(storage: StorageConfig, path: str) -> str:
    """Return the address of a path: on the web server, or else in the shared storage or under the root."""
    root, shared = storage.root, storage.shared
    base_url, served = (os.environ.get(name, "") for name in (BASE_URL_VARIABLE, SERVED_ROOT_VARIABLE))
    if base_url and (not served or Path(served).resolve() == root.resolve()):
        # It serves the pages at the top.
        return f"{base_url.rstrip('/')}/{path.removeprefix(f'{PAGES_FOLDER}/')}"
    return f"{shared.rstrip('/')}/{path}" if shared else (root.absolute() / path).as_uri()


def show_in_ui(
    create: Callable[Parameters, Result], *args: Parameters.args, **options: Parameters.kwargs
) -> Result | None:
    """Create an artifact and return its id; None if the server is unavailable, which is logged."""
    try:
        return create(*args, **options)
    except httpx.HTTPError as error:
        get_run_logger().warning("Prefect's server did not take an artifact: %s", error)
        return None
