"""The editions with which a page compares its own."""

from pathlib import Path

from pretexeval.storage.records import write_record
from report.contents import Setting
from report.edition_reader import EditionReader
from report.page_rows import N_EDITIONS_SHOWN, read_drift
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from warehouse.publishing import build_warehouse
from warehouse.query import open_warehouse
from warehouse.records import require_record


def test_the_nearest_editions_of_the_same_base_are_shown(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data")
    data.add_pair("symptoms", "Influenza", "Fever", "Itch")
    data.write_model("expert")
    names = [f"tiny-2026w{week}" for week in range(10, 18)]
    for name in names:
        data.write_edition(name)
        if name != "tiny-2026w12":
            data.write_answers(name, "expert", simulated_models.expert)
    foreign = data.root / "editions" / "tiny-2026w14" / "manifest.json"
    write_record(foreign, require_record(foreign) | {"kb": "another"})
    build_warehouse(data.root)
    with open_warehouse(data.root) as connection:
        rows, n_others = read_drift(EditionReader(connection, "tiny-2026w13"), Setting("pretexeval"))
        first, n_first = read_drift(EditionReader(connection, "tiny-2026w10"), Setting("pretexeval"))
    assert {row["edition_id"] for row in rows} == {"tiny-2026w13"}
    # No model answered week 12, and week 14 has another base.
    assert [row["other_edition_id"][-2:] for row in rows] == ["10", "11", "15", "16"]
    assert len(rows) == N_EDITIONS_SHOWN
    assert [row["other_edition_id"][-2:] for row in first] == ["11", "13", "15", "16"]
    assert n_others == n_first == 5
