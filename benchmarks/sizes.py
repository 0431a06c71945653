"""Build editions of growing bases in both formats: time and memory of the whole process."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.processes import run_python
from primitives.mixing import Numbers, combine
from report.console import align

RELATIONS = ("has_target", "may_prevent", "may_treat", "occurs_after")
FACTS_PER_HEAD = 2
WORDS = ("acute", "renal", "cell", "tumor", "lung", "chronic", "pain", "disorder", "type", "syndrome")
CONFIG = """
[knowledge]
name = "own"
format = "table"
path = "{base}"

[edition]
format = {format}
{cap}

[storage]
root = "{root}"
"""


@dataclass(frozen=True)
class Build:
    """A base of a size, and how it is built."""

    n_heads: int
    """Heads of all relations, each with two facts."""
    format: int
    cap: int | None = None
    """heads_per_relation."""


SMALL = (Build(20_000, 1), Build(20_000, 2), Build(200_000, 2))
LARGE = (Build(2_000_000, 2), Build(4_000_000, 2, cap=1000))


def measure_sizes(folder: Path, *, has_large: bool) -> str:
    """Measure the builds, and return a table of them.

    Args:
        has_large: whether bases of 4 and 8 million rows are built too, which takes minutes.
    """
    rows = [_measure(build, folder) for build in (*SMALL, *(LARGE if has_large else ()))]
    header = ["rows", "format", "cap", "whole process (s)", "processor (s)", "peak memory (GB)"]
    return "\n".join(["builds of a base of four relations", align(header, rows)])


def _measure(build: Build, folder: Path) -> list[str]:
    name = f"{build.n_heads}-{build.format}-{build.cap or 'all'}"
    base, config = folder / f"{build.n_heads}.parquet", folder / f"{name}.toml"
    if not base.exists():
        pl.concat(_draw_relations(build.n_heads)).write_parquet(base)
    cap = f"heads_per_relation = {build.cap}" if build.cap else ""
    config.write_text(CONFIG.format(base=base, format=build.format, cap=cap, root=folder / name))
    finished = run_python(["-m", "cli", "build", str(config)], folder, PREFECT_LOGGING_LEVEL="INFO")
    figures = (finished.wall_s, finished.cpu_s, finished.peak_bytes / 1e9)
    size = f"{build.n_heads * FACTS_PER_HEAD:,}"
    return [size, str(build.format), str(build.cap or "none"), *(f"{figure:.1f}" for figure in figures)]


def _draw_relations(n_heads: int) -> Iterator[pl.DataFrame]:
    """Yield the facts of each relation. A tail is true of ten heads on average."""
    n_of_relation = n_heads // len(RELATIONS)
    n_tails = max(n_of_relation * FACTS_PER_HEAD // 10, 50)
    heads = np.repeat(np.arange(n_of_relation, dtype=np.uint64), FACTS_PER_HEAD)
    facts = np.arange(len(heads), dtype=np.uint64)
    for relation in RELATIONS:
        tails = combine(relation, facts) % np.uint64(n_tails)
        yield pl.DataFrame({"head": _name("drug", heads), "tail": _name("disease", tails)}).with_columns(
            relation=pl.lit(relation)
        )


def _name(kind: str, numbers: Numbers) -> pl.Series:
    """Return a name of four words for each number."""
    drawn = combine(kind, numbers)
    words = pl.Series(WORDS)
    chosen = [words.gather((drawn >> np.uint64(shift)) % np.uint64(len(WORDS))) for shift in (8, 24)]
    return chosen[0] + " " + chosen[1] + f" {kind} " + pl.Series(numbers).cast(pl.String)
