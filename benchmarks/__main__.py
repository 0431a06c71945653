"""Measurements of the pipeline: ``make bench``, or ``python -m benchmarks [--only NAME [OPTION …]]``.

Without --only: builds, the bare engine beside the pipeline, and a small job beside other tools.
`--only NAME --help` describes one measurement and its options.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import (
    coverage,
    dispatch,
    enough,
    gate,
    instrument,
    naturalness,
    other_tools,
    real_model,
    replay,
    shards,
    speed,
    year,
)
from benchmarks.measuring import add_config, build_edition, build_parser, run_command
from report.console import align
from warehouse.query import run_query

TRIPLETS = """
    select
        baseline, 100 * avg(average_accuracy), 100 * avg(mastery), 100 * max(mastery),
        arg_max(relation, mastery)
    from shortcut_baselines
    where method = 'pretexeval' and relation is not null
    group by baseline order by baseline
"""
QUESTIONS = """
    select type, is_negated, baseline, 100 * avg(accuracy), 100 * max(accuracy), arg_max(relation, accuracy)
    from option_baselines
    where relation is not null and baseline not like 'position_%'
    group by type, is_negated, baseline order by type, is_negated, baseline
"""
COLUMNS = {
    TRIPLETS: ("guesser of triplets", "accuracy", "mastery", "most mastery", "in"),
    QUESTIONS: ("type", "is negated", "guesser of options", "accuracy", "most", "in"),
}
DEFAULT = ("builds", "engine", "small-jobs")


def score_guessers(arguments: Sequence[str]) -> None:
    """Print the scores of guessers without medical knowledge on the edition of a configuration.

    They are those of the tables `shortcut_baselines` (triplets) and `option_baselines` (questions): the mean
    of the relations, and the relation in which a guesser does best. No model is asked.
    """
    parser = build_parser("guessers", score_guessers.__doc__)
    add_config(parser)
    tables = parser.parse_args(arguments).tables
    with tempfile.TemporaryDirectory(prefix="pretexeval-guessers-") as name:
        folder = Path(name)
        build_edition(folder, tables, questions={"settings": ["answer_only"]})
        run_command(folder, "publish", folder / "config.toml")
        for query, columns in COLUMNS.items():
            _, rows = run_query(folder / "data", query)
            cells = [[f"{x:.1f}" if isinstance(x, float) else str(x) for x in row] for row in rows]
            print(align(columns, cells), end="\n\n")


PARTS: dict[str, Callable[[Sequence[str]], None]] = {
    "builds": partial(speed.measure, "builds"),
    "engine": partial(other_tools.measure, "engine"),
    "small-jobs": partial(other_tools.measure, "small-jobs"),
    "publication": partial(speed.measure, "publication"),
    "shards": shards.main,
    "dispatch": dispatch.main,
    "coverage": coverage.main,
    "enough": enough.main,
    "guessers": score_guessers,
    "gate": gate.check_gate,
    "instrument": instrument.main,
    "replay": replay.main,
    "real-model": real_model.main,
    "naturalness": naturalness.main,
    "year": year.main,
}


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
