"""Measure the pipeline on this machine: ``make bench`` or ``python -m benchmarks``.

The first part builds the samples of all of MedLAMA, the second those of a base with repeated rows, and the
third those of growing bases in both formats; with ``--only sizes``, also of 4 and 8 million rows. The fourth
compares an evaluation with the bare engine, and the fifth a small whole job with two other tools, if
``make test-interop`` has installed them. Only ``--only many-models`` measures publishing with 12 models,
because it first writes their evaluations, which takes minutes.
"""

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.engine_comparison import Comparison, compare
from benchmarks.many_models import measure_many_models
from benchmarks.medlama import measure_medlama
from benchmarks.repeated_rows import measure_repeated_rows
from benchmarks.sizes import measure_sizes
from benchmarks.small_jobs import measure_small_jobs

PARTS = ("medlama", "repeated-rows", "sizes", "comparison", "small-jobs", "many-models")
METHODS = ("pretexeval", "prototype", "direct")


def main() -> None:
    """Run the measurements, and print the figures that docs/performance.md explains."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--model", type=Path, default=Path("models/reference-large"), help="the model's folder"
    )
    parser.add_argument("--rounds", type=int, default=2, help="runs of each, in alternating order")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=["pretexeval"],
        help="methods that the comparison evaluates: 8,032 prompts of pretexeval, about 17,000 of all three",
    )
    parser.add_argument(
        "--medlama-heads",
        type=int,
        help="compare with prompts about so many heads of each relation of MedLAMA, not the starter base",
    )
    parser.add_argument("--only", choices=PARTS, help="run only this part")
    parser.add_argument(
        "--root", type=Path, help="folder that keeps the evaluations of many-models, for the next measurement"
    )
    options = parser.parse_args()
    os.environ.setdefault("PYTHONPATH", str(Path.cwd()))
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load average before: {load:.1f}", flush=True)
    with tempfile.TemporaryDirectory(prefix="pretexeval-bench-") as name:
        folder = Path(name)
        if options.only in (None, "medlama"):
            print(measure_medlama(folder), flush=True)
        if options.only in (None, "repeated-rows"):
            print(measure_repeated_rows(folder), flush=True)
        if options.only in (None, "sizes"):
            print(measure_sizes(folder, has_large=options.only == "sizes"), flush=True)
        if options.only in (None, "comparison"):
            comparison = Comparison(folder, options.model, tuple(options.methods), options.medlama_heads)
            print("", compare(comparison, options.rounds), sep="\n")
        if options.only in (None, "small-jobs"):
            print("", measure_small_jobs(folder / "small", options.rounds), sep="\n", flush=True)
        if options.only == "many-models":
            print(measure_many_models(options.root or folder / "many"), flush=True)


if __name__ == "__main__":
    main()
