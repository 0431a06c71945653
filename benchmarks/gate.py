"""The gate on rewordings that were read and labelled: ``python -m benchmarks --only gate``.

`labelled_rewordings.tsv` has rewordings of 14 relations that are not the pool's by a strong language
model, and `weak_writer_rewordings.tsv` of four relations by a weak one (SmolLM2-135M-Instruct). Measure
your own labelled rewordings with `pretexeval gate FILE`.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pretexeval.gate import check_rewordings


def main(_: Sequence[str]) -> None:
    """Print the share of rejected texts of each kind, and the accepted ones of the weak writer."""
    kind = pl.col("error").str.split(":").list.first().fill_null("sound")
    rows = read_labelled("labelled_rewordings.tsv").with_columns(kind=kind)
    verdicts = rows.with_columns(is_rejected=pl.Series(map(bool, check_rewordings(rows))))
    for (name,), part in verdicts.group_by("kind", maintain_order=True):
        n_rejected = part["is_rejected"].sum()
        print(f"{name}: {n_rejected} of {len(part)} rejected ({n_rejected / len(part):.1%})")
    weak = read_labelled("weak_writer_rewordings.tsv")
    for (sample,), part in weak.group_by("sample", maintain_order=True):
        for limit in (None, 1, 0):
            accepted = part.filter(pl.Series([not reasons for reasons in check_rewordings(part, limit)]))
            n_wrong = accepted["error"].count()
            print(
                f"weak writer, drawn with max_new_words {sample}: {len(accepted)} of {len(part)} accepted "
                f"with {limit}, {n_wrong} wrong ({n_wrong / max(1, len(accepted)):.1%})"
            )


def read_labelled(name: str) -> pl.DataFrame:
    """Return the rows of a table in this folder; `error` is null where the rewording is sound."""
    path = Path(__file__).with_name(name)
    return pl.read_csv(path, separator="\t", quote_char=None, infer_schema=False)
