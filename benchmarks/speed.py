"""Time and memory of builds and publications, each as a whole process.

- `builds`: all of MedLAMA with its questions, if there is reference data, and bases of four relations; with
  `--large`, one of 4 million rows as well, which takes minutes.
- `publication`: the designed models (benchmarks/instrument.py) answer all of MedLAMA, which takes minutes;
  then everything is published for the first time, again with nothing new, and again with one more model.
  `--root` keeps the answers for the next measurement.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.instrument import prove_instrument
from benchmarks.measuring import (
    FIGURES,
    REFERENCE,
    build_parser,
    find_reference,
    run_command,
    tabulate,
    write_config,
)
from pretexeval.primitives.mixing import Numbers, combine
from pretexeval.primitives.toml_files import parse_toml
from pretexeval.storage.layout import MODEL, RESPONSES_FOLDER, WAREHOUSE
from tests.support.published_bases import MEDLAMA_TABLE

RELATIONS = ("has_target", "may_prevent", "may_treat", "occurs_after")
FACTS_PER_HEAD = 2
WORDS = ("acute", "renal", "cell", "tumor", "lung", "chronic", "pain", "disorder", "type", "syndrome")


def measure_builds(folder: Path, sizes: Sequence[int]) -> str:
    """Return the table of whole builds.

    Args:
        sizes: the numbers of heads of the bases that are made.
    """
    rows = {}
    if os.environ.get(REFERENCE):
        tables = {
            "knowledge": MEDLAMA_TABLE,
            "edition": {"heads_per_relation": 1000},
        }
        questions = {"settings": ["answer_only"]}
        config = write_config(folder / "medlama.toml", folder / "medlama", **tables, questions=questions)
        rows["MedLAMA, with questions"] = run_command(folder, "build", config).render()
    for n_heads in sizes:
        knowledge = write_drawn_base(folder, n_heads)
        config = write_config(folder / f"{n_heads}.toml", folder / str(n_heads), knowledge=knowledge)
        rows[f"{n_heads * FACTS_PER_HEAD:,} rows"] = run_command(folder, "build", config).render()
    return tabulate(FIGURES, rows)


def write_drawn_base(folder: Path, n_heads: int) -> dict[str, str]:
    """Write a base of four relations with so many heads, and return the table [knowledge] that reads it."""
    base = folder / f"{n_heads}.parquet"
    pl.concat(_draw_relations(n_heads)).write_parquet(base)
    return {"name": "own", "format": "table", "path": str(base)}


def _draw_relations(n_heads: int) -> Iterator[pl.DataFrame]:
    """Yield the facts of each relation. A tail is true of ten heads on average."""
    n_of_relation = n_heads // len(RELATIONS)
    n_tails = max(n_of_relation * FACTS_PER_HEAD // 10, 50)
    heads = np.repeat(np.arange(n_of_relation, dtype=np.uint64), FACTS_PER_HEAD)
    facts = np.arange(len(heads), dtype=np.uint64)
    for relation in RELATIONS:
        tails = combine(relation, facts) % np.uint64(n_tails)
        names = {"head": _name("drug", heads), "tail": _name("disease", tails)}
        yield pl.DataFrame(names).with_columns(relation=pl.lit(relation))


def _name(kind: str, numbers: Numbers) -> pl.Series:
    """Return a name of four words for each number."""
    drawn, words = combine(kind, numbers), pl.Series(WORDS)
    chosen = [words.gather((drawn >> np.uint64(shift)) % np.uint64(len(WORDS))) for shift in (8, 24)]
    return chosen[0] + " " + chosen[1] + f" {kind} " + pl.Series(numbers).cast(pl.String)


def measure_publication(root: Path) -> str:
    """Return the table of publications of a data folder; the designed models fill it unless they have."""
    find_reference()
    config, warehouse = root / "config.toml", root / WAREHOUSE
    if not warehouse.exists():
        prove_instrument(parse_toml(Path("configs/medlama.toml")) | {"knowledge": MEDLAMA_TABLE}, root)
    warehouse.unlink()
    # A model without a record is not published.
    record = min((root / RESPONSES_FOLDER).glob(f"*/{MODEL}"))
    hidden = record.rename(record.with_suffix(".hidden"))
    finished = {"all but one model, for the first time": run_command(root, "publish", config)}
    hidden.rename(record)
    finished["one more model"] = run_command(root, "publish", config)
    finished["nothing new"] = run_command(root, "publish", config)
    table = tabulate(FIGURES, {title: process.render() for title, process in finished.items()})
    return f"{table}\nThe warehouse has {warehouse.stat().st_size / 1e9:.2f} GB."


def measure(name: str, arguments: Sequence[str]) -> None:
    """Measure builds or publications, and print the tables."""
    parser = build_parser(name, __doc__)
    parser.add_argument("--large", action="store_true", help="build the base of 4 million rows as well")
    parser.add_argument("--root", type=Path, help="folder that keeps the answers for publications")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="pretexeval-bench-") as temporary:
        folder = Path(temporary)
        if name == "builds":
            sizes = (20_000, 200_000, *((2_000_000,) if options.large else ()))
            print(measure_builds(folder, sizes), end="\n\n", flush=True)
        else:
            print(measure_publication((options.root or folder / "models").resolve()), end="\n\n", flush=True)
