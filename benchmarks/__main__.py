"""Measurements of the pipeline: ``make bench``, or ``python -m benchmarks [--only NAME [OPTION …]]``.

Without --only: builds, the bare engine beside the pipeline, and a small job beside other tools.
`--only NAME --help` describes one measurement and its options.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks import (
    coverage,
    gate,
    guessing,
    instrument,
    other_tools,
    real_model,
    replay,
    speed,
)

PARTS: dict[str, Callable[[Sequence[str]], None]] = {
    "builds": partial(speed.measure, "builds"),
    "engine": partial(other_tools.measure, "engine"),
    "small-jobs": partial(other_tools.measure, "small-jobs"),
    "publication": partial(speed.measure, "publication"),
    "coverage": coverage.main,
    "guessers": guessing.main,
    "gate": gate.main,
    "instrument": instrument.main,
    "replay": replay.main,
    "real-model": real_model.main,
}
DEFAULT = ("builds", "engine", "small-jobs")


def main() -> None:
    """Run one measurement with its own options, or those of this machine's speed."""
    if sys.argv[1:2] == ["--only"] and sys.argv[2:3] and sys.argv[2] in PARTS:
        PARTS[sys.argv[2]](sys.argv[3:])
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="run only this measurement, with its options after it")
    parser.parse_args()
    print(f"{os.cpu_count()} cores, load average before: {os.getloadavg()[0]:.1f}", flush=True)
    for name in DEFAULT:
        PARTS[name]([])


if __name__ == "__main__":
    main()
