"""Measure publishing with many models on a large edition: processor time, memory and size of the warehouse.

``python -m benchmarks --only many-models --root FOLDER`` keeps what it generates in the folder and uses it
again; generating takes minutes. ``python -m benchmarks.many_models FOLDER`` publishes the folder once;
with ``pages``, it writes the pages.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import FinishedProcess, run_python
from benchmarks.simulated_evaluations import N_MODELS, count_parquet_bytes, write_evaluations
from report.console import align
from report.page import write_pages
from storage.layout import MODEL, PAGES_FOLDER, RESPONSES_FOLDER, WAREHOUSE
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows

VARIABLE = "PRETEXEVAL_REFERENCE_DATA"


def measure_many_models(root: Path) -> str:
    """Return a table of what it takes to publish one more model, nothing new, and everything at once.

    Publishes under `root`, which holds the warehouse of all models afterwards.
    """
    if not os.environ.get(VARIABLE):
        return f"many models: not measured, because {VARIABLE} does not name the reference data"
    write_evaluations(root)
    (root / WAREHOUSE).unlink(missing_ok=True)
    with _hide_a_model(root):
        _publish(root)
    rows = [_measure("one more model", root), _measure("nothing new", root)]
    (root / WAREHOUSE).unlink()
    rows.insert(0, _measure("first publish", root))
    shutil.rmtree(root / PAGES_FOLDER, ignore_errors=True)
    rows += [_measure_pages(title, root) for title in ("pages and samples", "pages, nothing new")]
    columns = ["", "processor (s)", "wall (s)", "peak memory (GB)", "size (GB)"]
    return "\n".join(
        [
            f"publishing MedLAMA with {N_MODELS} models, {count_parquet_bytes(root) / 1e9:.2f} GB of Parquet",
            align(columns, rows),
        ]
    )


def _measure(title: str, root: Path) -> list[str]:
    finished = _publish(root)
    figures = (finished.peak_bytes / 1e9, (root / WAREHOUSE).stat().st_size / 1e9)
    return [title, f"{finished.cpu_s:.1f}", f"{finished.wall_s:.1f}", *(f"{value:.2f}" for value in figures)]


def _measure_pages(title: str, root: Path) -> list[str]:
    finished = _publish(root, "pages")
    n_bytes = sum(path.stat().st_size for path in (root / PAGES_FOLDER).rglob("*") if path.is_file())
    figures = (finished.peak_bytes / 1e9, n_bytes / 1e9)
    return [title, f"{finished.cpu_s:.1f}", f"{finished.wall_s:.1f}", *(f"{value:.2f}" for value in figures)]


def _publish(root: Path, part: str = "warehouse") -> FinishedProcess:
    return run_python(["-m", "benchmarks.many_models", str(root), part], root)


@contextmanager
def _hide_a_model(root: Path) -> Iterator[None]:
    """Rename the record of one model: a model without a record is not published."""
    record = min((root / RESPONSES_FOLDER).glob(f"*/{MODEL}"))
    hidden = record.with_suffix(".hidden")
    record.rename(hidden)
    try:
        yield
    finally:
        hidden.rename(record)


if __name__ == "__main__":
    if sys.argv[2:] == ["pages"]:
        editions = read_rows(Path(sys.argv[1]), "select edition_id from editions")
        write_pages(Path(sys.argv[1]), [row["edition_id"] for row in editions])
    else:
        build_warehouse(Path(sys.argv[1]))
