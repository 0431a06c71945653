"""Pages are kept while nothing that they show has changed, and are never older than the warehouse."""

from pathlib import Path

from report.page import write_pages
from tests.report.conftest import fill_pairs
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.parsed_page import parse
from warehouse.publishing import build_warehouse

EDITION = "tiny-seed1-00000001"


def test_pages_are_written_again_only_if_the_warehouse_or_a_file_changed(tmp_path: Path) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_edition(EDITION)
    data.write_model("changing")
    data.write_answers(EDITION, "changing", simulated_models.expert)
    build_warehouse(data.root)
    (page,) = write_pages(data.root, [EDITION])
    files = [path for path in (data.root / "report").rglob("*") if path.is_file()]
    assert {"index.html", "validity.html", "data.html", "sort.js"} <= {path.name for path in files}
    before = [(path.stat().st_ino, path.stat().st_mtime_ns) for path in files]
    assert write_pages(data.root, [EDITION]) == [page]
    assert [(path.stat().st_ino, path.stat().st_mtime_ns) for path in files] == before
    assert "masters 100.0\u00a0%" in parse(page.read_text(encoding="utf-8")).text
    # A page or a piece of the samples that somebody removed, and a damaged record of its inputs.
    piece = next((page.parent / "samples" / "data").glob("*.js"))
    for path in (page.with_name("validity.html"), piece):
        path.unlink()
        write_pages(data.root, [EDITION])
        assert path.is_file()
    data.write_answers(EDITION, "changing", simulated_models.polarity)
    build_warehouse(data.root)
    write_pages(data.root, [EDITION])
    assert "masters 0.0\u00a0%" in parse(page.read_text(encoding="utf-8")).text
