"""Build an edition of a base that is mostly repetitions, with one head that has a third of its facts."""

import random
from collections.abc import Iterator
from pathlib import Path

from benchmarks.medlama import render_build
from benchmarks.processes import run_python

N_TAILS = 100_000
N_HEADS = 2000
N_REPEATS = 1_700_000
CONFIG = """
[knowledge]
name = "own"
format = "table"
path = "{base}"

[storage]
root = "{root}"
"""


def measure_repeated_rows(folder: Path) -> str:
    """Measure the build, and return a table of its stages with the totals of the process.

    All tails have a word in common, so that each of them could be compared with every other one.
    """
    base, config = folder / "own.tsv", folder / "own.toml"
    facts = list(_draw_facts())
    with base.open("w", encoding="utf-8") as file:
        file.write("head\trelation\ttail\n")
        file.writelines(facts)
        file.writelines(facts[row % len(facts)] for row in range(N_REPEATS))
    config.write_text(CONFIG.format(base=base, root=folder / "own"), encoding="utf-8")
    finished = run_python(["-m", "cli", "build", str(config)], folder, PREFECT_LOGGING_LEVEL="INFO")
    title = f"one head with {N_TAILS:,} tails, {len(facts):,} facts, {N_REPEATS:,} repeated rows"
    return render_build(title, finished, 4)


def _draw_facts() -> Iterator[str]:
    generator = random.Random(1)
    for tail in range(N_TAILS):
        yield f"drug 0\tmay_treat\tdisease {tail}\n"
    for head in range(1, N_HEADS + 1):
        for tail in generator.sample(range(N_TAILS), 100):
            yield f"drug {head}\tmay_treat\tdisease {tail}\n"
