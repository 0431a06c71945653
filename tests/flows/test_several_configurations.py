"""`pretexeval run` with several configurations: the page of each is there as soon as it is done."""

from pathlib import Path

import pytest

from commands.in_process import is_published
from pretexeval.config.file import load_config
from tests.support.command import make_rows, run_command, write_base, write_config
from tests.support.endpoint import serve_endpoint
from tests.support.fault_models import answer_by_checksum, count_requests
from warehouse.query import read_rows as query_rows

pytestmark = pytest.mark.long


def test_configurations_run_one_after_the_other(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    with serve_endpoint(answer_by_checksum) as endpoint:
        model = {"name": "far", "engine": "openai", "model": "far", "base_url": endpoint.base_url}
        files = []
        for name, relation in (("first", "may_treat"), ("broken", "cannot_be"), ("last", "may_prevent")):
            base = write_base(tmp_path / f"{name}.tsv", make_rows(relation))
            knowledge = {"name": name, "format": "table", "path": str(base)}
            table = model | {"pairs_per_relation": 2, "unsure": True}
            files.append(
                write_config(
                    tmp_path / f"{name}.toml", tmp_path / "data", knowledge=knowledge, models=[table]
                )
            )
        # A configuration that cannot be built does not stop the others.
        run = run_command("run", *files, folder=tmp_path, environment=prefect_server).require(2)
        assert f"pretexeval: {files[1]}: " in run.err
        pages = [next(tmp_path.glob(f"data/report/{name}-*/index.html")) for name in ("first", "last")]
        assert f"open {pages[0]} now; still to run: {files[1]}, {files[2]}\n" in run.err
        assert [line.split()[-1] for line in run.out.splitlines() if line.startswith("page ")] == [
            str(page) for page in pages
        ]
        assert max(count_requests(endpoint, "far").values()) == 1
    settings = query_rows(tmp_path / "data", "select setting from runs order by setting nulls first")
    assert [row["setting"] for row in settings] == [None] * 2 + ["true_false_unsure"] * 2
    # A second run of both would publish neither again.
    for file, page in zip((files[0], files[2]), pages, strict=True):
        assert is_published(load_config(file), page.parent.name)


def test_configurations_of_one_run_have_one_data_folder(tmp_path: Path) -> None:
    files = [write_config(tmp_path / f"{name}.toml", tmp_path / name) for name in ("one", "other")]
    refused = run_command("run", *files, folder=tmp_path).require(2)
    assert str(tmp_path / "one") in refused.err
    assert str(tmp_path / "other") in refused.err
    assert sorted(tmp_path.iterdir()) == sorted(files)
