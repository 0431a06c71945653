"""Which editions a page is set against."""

from pathlib import Path

from report.contents import Setting
from report.read_pairs import N_EDITIONS_SHOWN, read_drift
from report.reader import Reader
from tests.support import simulated_models
from tests.support.data_folder import World
from tests.support.stage_rows import write_record
from warehouse.publish import build_warehouse
from warehouse.query import open_warehouse
from warehouse.records import read_record


def test_the_nearest_editions_of_the_same_base_are_shown(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.add_pair("symptoms", "Influenza", "Fever", "Itch")
    world.write_model("expert")
    names = [f"tiny-2026w{week}" for week in range(10, 18)]
    for name in names:
        world.write_edition(name)
        if name != "tiny-2026w12":
            world.write_answers(name, "expert", simulated_models.expert)
    foreign = world.root / "editions" / "tiny-2026w14" / "manifest.json"
    write_record(foreign, read_record(foreign) | {"kb": "another"})
    build_warehouse(world.root)
    with open_warehouse(world.root) as connection:
        rows, n_others = read_drift(Reader(connection, "tiny-2026w13"), Setting("pretexeval"))
        first, n_first = read_drift(Reader(connection, "tiny-2026w10"), Setting("pretexeval"))
    assert {row["edition_id"] for row in rows} == {"tiny-2026w13"}
    # Week 12 was never asked, week 14 is of another base.
    assert [row["other_edition_id"][-2:] for row in rows] == ["10", "11", "15", "16"]
    assert len(rows) == N_EDITIONS_SHOWN
    assert [row["other_edition_id"][-2:] for row in first] == ["11", "13", "15", "16"]
    assert n_others == n_first == 5
