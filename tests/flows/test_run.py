"""`pretexeval run`: again after a run with real vLLM and Prefect, and with several configurations."""

from pathlib import Path
from typing import Any

import pytest

from commands import in_process
from commands.selection import limit_pairs
from pretexeval.config.file import load_config
from pretexeval.storage.layout import diversity_file
from tests.support.command import (
    block_packages,
    list_half_written,
    make_rows,
    run_command,
    wait_for_servers_to_end,
    write_base,
    write_config,
)
from tests.support.endpoint import serve_endpoint
from tests.support.fault_models import answer_by_checksum, count_requests
from tests.support.quickstart import CONFIG, N_PAIRS, Quickstart
from warehouse.query import read_rows

NOT_NEEDED = ("vllm", "openai", "transformers", "great_expectations", "prefect")


@pytest.mark.slow
def test_second_run_loads_neither_an_engine_nor_prefect_and_changes_no_file(
    quickstart: Quickstart, tmp_path: Path
) -> None:
    before = quickstart.read_stamps()
    second = quickstart.run_again(blocked=block_packages(tmp_path, *NOT_NEEDED)).require()
    assert second.out == quickstart.out
    assert "asking" not in second.err
    assert quickstart.read_stamps() == before
    assert list_half_written(quickstart.root) == []
    assert wait_for_servers_to_end(quickstart.root)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "tables", "is_evaluated", "is_published"),
    [
        pytest.param(None, {}, True, True, id="nothing"),
        pytest.param("report/*/index.html", {}, True, False, id="page"),
        pytest.param(diversity_file("*"), {}, True, False, id="measurement"),
        pytest.param("predictions/*/*/predictions/*.parquet", {}, False, False, id="damaged predictions"),
        pytest.param(None, {"scoring": {"policies": ("strict", "excluded")}}, False, True, id="policies"),
    ],
)
def test_run_has_nothing_to_do_only_if_nothing_has_changed(
    quickstart: Quickstart,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lost: str | None,
    tables: dict[str, dict[str, Any]],
    is_evaluated: bool,
    is_published: bool,
) -> None:
    monkeypatch.chdir(quickstart.copy(tmp_path))
    config = limit_pairs(load_config(Path(CONFIG)), N_PAIRS)
    for name, changes in tables.items():
        config = config.model_copy(update={name: getattr(config, name).model_copy(update=changes)})
    if lost is not None:
        path = next((tmp_path / "data").glob(lost))
        path.unlink()
        if not is_evaluated:
            path.write_bytes(b"damaged")
    assert in_process.is_evaluated_here(config, quickstart.edition_id) == is_evaluated
    assert in_process.is_published(config, quickstart.edition_id) == is_published


@pytest.mark.long
def test_configurations_run_one_after_the_other(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    """The page of each is there as soon as it is done."""
    with serve_endpoint(answer_by_checksum) as endpoint:
        model = {"name": "far", "engine": "openai", "model": "far", "base_url": endpoint.base_url}
        files = []
        for name, relation in (("first", "may_treat"), ("broken", "cannot_be"), ("last", "may_prevent")):
            knowledge = write_base(tmp_path / f"{name}.tsv", make_rows(relation))
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
    settings = read_rows(tmp_path / "data", "select setting from runs order by setting nulls first")
    assert [row["setting"] for row in settings] == [None] * 2 + ["true_false_unsure"] * 2
    # A second run of both would publish neither again.
    for file, page in zip((files[0], files[2]), pages, strict=True):
        assert in_process.is_published(load_config(file), page.parent.name)


@pytest.mark.long
def test_configurations_of_one_run_have_one_data_folder(tmp_path: Path) -> None:
    files = [write_config(tmp_path / f"{name}.toml", tmp_path / name) for name in ("one", "other")]
    refused = run_command("run", *files, folder=tmp_path).require(2)
    assert str(tmp_path / "one") in refused.err
    assert str(tmp_path / "other") in refused.err
    assert sorted(tmp_path.iterdir()) == sorted(files)
