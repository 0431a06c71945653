"""The sheet of rewordings that the gate accepted, and what its verdicts do to the estimate."""

from pathlib import Path

import pytest

from commands.main import main
from commands.review.rewordings import export_rewordings, import_rewordings
from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import read_manifest, read_record
from pretexeval.storage.store import Store
from tasks.edition.planning import plan_edition
from tests.support.endpoint import serve_endpoint
from tests.support.review_sheets import build_edition, read_rows, write_rows
from tests.tasks.edition.test_writer_tokens import build, configure, reply
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows as query


def test_verdicts_change_the_estimate_of_the_edition(tmp_path: Path) -> None:
    with serve_endpoint(reply) as endpoint:
        config = configure(tmp_path, endpoint, 1.0)
        edition = plan_edition(config)
        build(edition, Store(config.storage))
    root, edition_id = edition.root, edition.edition_id
    sheet, instructions = export_rewordings(root, edition_id)
    assert instructions.exists()
    rows = read_rows(sheet)
    found = read_manifest(root, edition_id)["wrong_texts"]
    assert 2 < len(rows) <= found["n_accepted"]
    likeness = [float(row["likeness"]) for row in rows]
    assert likeness == sorted(likeness)
    filled = write_rows(root / "filled.csv", [rows[0] | {"verdict": "also_true"}, *rows[1:]])
    assert main(["review", "import", str(filled), "--root", str(root)]) == 2
    with pytest.raises(InputError, match="'also_true' is none of same, wrong"):
        import_rewordings(root, filled)
    with pytest.raises(InputError, match="has no verdict"):
        import_rewordings(root, sheet)
    with pytest.raises(InputError, match="exists already"):
        export_rewordings(root, edition_id)
    write_rows(filled, [rows[0] | {"verdict": "Wrong"}, *rows[1:]])
    path, n_wrong, n_judged = import_rewordings(root, filled)
    assert (n_wrong, n_judged) == (1, 1)
    write_rows(filled, [rows[0], *(row | {"verdict": "same"} for row in rows[1:])])
    assert import_rewordings(root, filled) == (path, 1, len(rows))
    record = read_record(path)
    assert record is not None
    estimate = record["wrong_texts"]
    assert estimate["low"] <= estimate["wrong_rate"] <= estimate["high"]
    assert estimate["wrong_rate"] >= 1 / found["n_accepted"] - 1e-4
    build_warehouse(root)
    (row,) = query(root, "from sample_quality where method = 'pretexeval'")
    assert row["wrong_rate"] == estimate["wrong_rate"]


def test_edition_without_a_writer_has_no_sheet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no texts of a language model"):
        export_rewordings(tmp_path, build_edition(tmp_path))
