"""Scores of guessers without medical knowledge: ``python -m benchmarks --only guessers [CONFIG]``.

Builds the edition of the configuration with questions about its facts, and prints what the views
`shortcut_baselines` (triplets) and `option_baselines` (questions) say of it: the mean of the relations, and
the relation in which a guesser does best. No model is asked.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measuring import build_edition, run_command
from pretexeval.primitives.toml_files import parse_toml
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


def main(arguments: Sequence[str]) -> None:
    """Build and publish the edition, and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only guessers", description=__doc__)
    parser.add_argument("config", type=Path, nargs="?", help="a TOML file; by default the bundled base")
    options = parser.parse_args(arguments)
    tables = parse_toml(options.config) if options.config else {"edition": {"seed": 1}}
    kept = {name: tables[name] for name in ("knowledge", "edition") if name in tables}
    with tempfile.TemporaryDirectory(prefix="pretexeval-guessers-") as name:
        folder = Path(name)
        build_edition(folder, **kept, questions={"settings": ["answer_only"]})
        run_command(folder, "publish", folder / "config.toml")
        for query, columns in COLUMNS.items():
            _, rows = run_query(folder / "data", query)
            cells = [[f"{x:.1f}" if isinstance(x, float) else str(x) for x in row] for row in rows]
            print(align(columns, cells), end="\n\n")
