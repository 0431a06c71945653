"""The gate on rewordings that were read and labelled: ``python -m benchmarks --only gate [--calibrate]``.

`labelled_rewordings.tsv` has those of 14 relations outside the pool by a strong language model.
`weak_writer_rewordings.tsv` has those of a weak one (SmolLM2-135M-Instruct): its sample `attempts` has
whatever it wrote about eight relations that is no copy of its statement, `other relations` has 80 of the 295
texts that the gate accepted of 1,643 about 13 more, and `none` and `0` have what it accepted of four
relations without a limit on new words and with 0. `error` is null where a rewording is sound. Measure other
labelled rewordings with `pretexeval gate FILE`.

The estimate of a writer's wrong texts (docs/gate.md) depends on these counts. `--calibrate` counts again,
after a change of the gate or of the labelled texts.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from benchmarks.measuring import build_parser
from pretexeval.gate import check_rewordings
from tasks.judging.writer_errors import CALIBRATION, LIMITS, name_passed


def read_rewordings(name: str) -> pl.DataFrame:
    """Return a file of labelled rewordings, with the column is_wrong."""
    path = Path(__file__).with_name(f"{name}_rewordings.tsv")
    rows = pl.read_csv(path, separator="\t", quote_char=None, infer_schema=False)
    return rows.with_columns(is_wrong=pl.col("error").is_not_null())


def count_calibration() -> pl.DataFrame:
    """Return the counts of labelled rewordings by source and relation, as `gate_calibration.tsv` has them.

    Of the sample `none`, which the gate had accepted, only the wrong texts are counted that pass under each
    limit. The sample `other relations` is left for a check.
    """
    strong = read_rewordings("labelled").with_columns(
        source=pl.lit("strong writer"), sample=pl.lit("attempts")
    )
    weak = read_rewordings("weak_writer").filter(pl.col("sample").is_in(["none", "attempts"]))
    columns = ("source", "sample", "relation", "statement", "text", "head", "tail", "is_wrong")
    rows = pl.concat(
        [strong.select(columns), weak.with_columns(source=pl.lit("weak writer")).select(columns)]
    )
    accepted = {limit: pl.Series([not each for each in check_rewordings(rows, limit)]) for limit in LIMITS}
    wrong, is_drawn, passes = pl.col("is_wrong"), pl.col("sample") == "attempts", pl.col(name_passed(None))
    counts = {
        "n_sound": is_drawn & ~wrong,
        "n_rejected": is_drawn & ~wrong & ~passes,
        "n_wrong": is_drawn & wrong,
        "n_caught": is_drawn & wrong & ~passes,
        **{name_passed(limit): wrong & pl.col(name_passed(limit)) for limit in LIMITS},
    }
    return (
        rows.with_columns(passed.alias(name_passed(limit)) for limit, passed in accepted.items())
        .group_by("source", "relation", maintain_order=True)
        .agg(counted.sum().alias(name) for name, counted in counts.items())
    )


def main(arguments: Sequence[str]) -> None:
    """Print the verdicts of the gate on the labelled rewordings, and write the calibration if asked."""
    parser = build_parser("gate", __doc__)
    parser.add_argument("--calibrate", action="store_true", help="write the counts that the estimate uses")
    options = parser.parse_args(arguments)
    labelled, weak = read_rewordings("labelled"), read_rewordings("weak_writer")
    kind = pl.col("error").str.split(":").list.first().fill_null("sound")
    verdicts = labelled.with_columns(kind=kind, is_rejected=pl.Series(map(bool, check_rewordings(labelled))))
    for (name,), part in verdicts.group_by("kind", maintain_order=True):
        n_rejected = part["is_rejected"].sum()
        print(f"{name}: {n_rejected} of {len(part)} rejected ({n_rejected / len(part):.1%})")
    for (sample,), part in weak.group_by("sample", maintain_order=True):
        for limit in LIMITS:
            accepted = part.filter(pl.Series([not reasons for reasons in check_rewordings(part, limit)]))
            n_wrong = accepted["is_wrong"].sum()
            print(
                f"weak writer, sample {sample}: {len(accepted)} of {len(part)} accepted with max_new_words "
                f"{limit}, {n_wrong} wrong ({n_wrong / max(1, len(accepted)):.1%})"
            )
    counts = count_calibration()
    totals = counts.group_by("source", maintain_order=True).agg(pl.exclude("relation").sum())
    totals = totals.with_columns(
        f=pl.col("n_rejected") / pl.col("n_sound"), c=pl.col("n_caught") / pl.col("n_wrong")
    )
    for row in totals.iter_rows(named=True):
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    if options.calibrate:
        counts.write_csv(CALIBRATION, separator="\t", quote_style="never")
        print(f"wrote {CALIBRATION}")
