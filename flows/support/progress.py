"""Progress of long work on the console: a bar in a terminal, elsewhere a plain line every 20 s."""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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
