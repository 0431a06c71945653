"""The verdicts of the gate on rewordings whose labels are known."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from pretexeval.primitives.errors import InputError
from tasks.judging.measurement import COLUMNS, measure_gate, render_measurement

FOLDER = os.environ.get("PRETEXEVAL_REFERENCE_DATA", "")
LABELLED = Path(FOLDER) / "rephrasings_labelled.parquet"
needs_reference = pytest.mark.skipif(
    not (FOLDER and LABELLED.is_file()),
    reason="PRETEXEVAL_REFERENCE_DATA does not name a folder with rephrasings_labelled.parquet",
)
ROWS = [
    ("treats", "a", "b", "c", "positive", "a may treat b.", "b may be treated with a.", None),
    ("treats", "a", "b", "c", "negative", "a may treat c.", "a can treat c.", None),
    ("treats", "a", "b", "c", "positive", "a may treat b.", "a must treat b.", None),
    ("after", "a", "b", "c", "positive", "a occurs after b.", "b follows a.", "direction_swapped: so"),
    ("after", "a", "b", "c", "positive", "a occurs after b.", "a comes after b.", "entity_changed: no"),
]


def write(path: Path, rows: Sequence[tuple[str | None, ...]] = ROWS) -> Path:
    pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row").write_parquet(path)
    return path


def test_the_verdicts_are_counted_by_kind_reason_and_relation(tmp_path: Path) -> None:
    measurement = measure_gate(write(tmp_path / "labelled.parquet"))
    assert measurement.kinds.rows() == [("direction_swapped", 1, 1), ("entity_changed", 1, 0)]
    assert measurement.relations.rows() == [("after", 2, 1, 0, 0), ("treats", 0, 0, 3, 1)]
    assert measurement.reasons.rows() == [("modality", 0, 1), ("roles", 1, 0)]
    report = render_measurement(measurement)
    assert "direction_swapped  1  1 (100.0%)" in report
    assert "sound: 3, rejected 1 (33.3%)" in report
    assert re.search(r"^treats +0 +none +3 +1 \(33\.3%\)$", report, re.MULTILINE)


def test_aliases_of_a_file_count_as_names(tmp_path: Path) -> None:
    texts = ("aspirin treats pain.", "ASA treats an ache.")
    row = ("treats", "aspirin", "pain", "gout", "positive", *texts, None)
    path = write(tmp_path / "plain.parquet", [row])
    assert measure_gate(path).relations["n_rejected"].item() == 1
    aliases = {"head_aliases": [["ASA"]], "tail_aliases": [["ache"]]}
    pl.read_parquet(path).with_columns(**{k: pl.Series(v) for k, v in aliases.items()}).write_parquet(path)
    assert measure_gate(path).relations["n_rejected"].item() == 0
    pl.read_parquet(path).with_columns(head_aliases=pl.lit("ASA")).write_parquet(path)
    with pytest.raises(InputError, match="has String in column head_aliases: give lists of text"):
        measure_gate(path)


def test_a_file_that_is_no_table_or_has_a_bad_row_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "labelled.parquet"
    path.write_text("no table")
    with pytest.raises(InputError, match=r"labelled\.parquet is not a readable Parquet"):
        measure_gate(path)
    pl.DataFrame({"head": ["a"], "tail": ["b"]}).write_parquet(path)
    with pytest.raises(InputError, match="lacks relation, negative_tail, polarity"):
        measure_gate(path)
    bad: dict[str, list[tuple[str | None, ...]]] = {
        "contains no rephrasings": [],
        "has the polarity 'unsure'": [(*ROWS[0][:4], "unsure", *ROWS[0][5:])],
        "has no prototype in row 0": [(*ROWS[0][:5], None, *ROWS[0][6:])],
    }
    for message, rows in bad.items():
        with pytest.raises(InputError, match=message):
            measure_gate(write(path, rows))


@needs_reference
def test_the_gate_reaches_its_figures_on_the_labelled_rephrasings() -> None:
    counts = measure_gate(LABELLED).relations.drop("relation").sum()
    assert (counts["n_caught"] / counts["n_wrong"]).item() >= 0.75
    assert (counts["n_rejected"] / counts["n_sound"]).item() <= 0.25
