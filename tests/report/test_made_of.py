"""Pages are kept while nothing that they show has changed, and are never older than the warehouse."""

from pathlib import Path

from report.page import describe_inputs, is_made_of, write_pages, write_record
from tests.report.conftest import fill_pairs
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.parsed_page import parse
from warehouse.publishing import build_warehouse

EDITION = "tiny-seed1-00000001"


def test_pages_are_written_again_only_if_the_warehouse_changed(tmp_path: Path) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_edition(EDITION)
    data.write_model("changing")
    data.write_answers(EDITION, "changing", simulated_models.expert)
    build_warehouse(data.root)
    (page,) = write_pages(data.root, [EDITION])
    beside = [page.parent / name for name in ("validity.html", "data.html", "sort.js")]
    files = [page, data.root / "report" / "index.html", *beside, page.parent / "samples" / "index.html"]
    before = [(path.stat().st_ino, path.stat().st_mtime_ns) for path in files]
    assert write_pages(data.root, [EDITION]) == [page]
    assert [(path.stat().st_ino, path.stat().st_mtime_ns) for path in files] == before
    assert "masters 100.0\u00a0%" in parse(page.read_text(encoding="utf-8")).text
    # A page that somebody removed is written again.
    beside[0].unlink()
    write_pages(data.root, [EDITION])
    assert beside[0].is_file()
    data.write_answers(EDITION, "changing", simulated_models.polarity)
    build_warehouse(data.root)
    write_pages(data.root, [EDITION])
    assert "masters 0.0\u00a0%" in parse(page.read_text(encoding="utf-8")).text
    for path, status in zip(files[:2], before, strict=False):
        assert (path.stat().st_ino, path.stat().st_mtime_ns) != status


def test_a_page_is_known_by_its_inputs_and_its_files(tmp_path: Path) -> None:
    for name in ("warehouse.duckdb", "page/index.html", "page/samples/data/0.js"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    record, inputs = tmp_path / "page" / "made_of.json", describe_inputs(tmp_path, "title")
    write_record(record, inputs, "**/*")
    assert is_made_of(record, inputs)
    assert not is_made_of(record, describe_inputs(tmp_path, "another title"))
    (tmp_path / "page" / "samples" / "data" / "0.js").unlink()
    assert not is_made_of(record, inputs)
    record.write_text("{")
    assert not is_made_of(record, inputs)
