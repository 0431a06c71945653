import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.file import Config
from preflight.disk_estimates import RowCounts, count_rows, estimate_disk_bytes
from preflight.doctor import collect_findings, list_asked_models
from preflight.findings import Finding, has_failures, render_findings
from preflight.storage_checks import check_room
from tasks.edition.planning import plan_edition
from tests.support.command import (
    block_packages,
    make_rows,
    run_command,
    run_process_command,
    write_base,
    write_config,
)
from tests.support.small_bases import build_frames
from tests.support.web_server import serve_routes

ENDPOINT = {"name": "far", "engine": "openai", "model": "llama"}
SECRET = "sk-very-secret"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MiB; the test is skipped if it cannot be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a file system, and not in every container")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def write_small(folder: Path, **settings: object) -> Path:
    """Write a configuration with a small base and one model: a recording, unless settings are given."""
    base = write_base(folder / "own.tsv", make_rows("may_treat", "may_prevent"))
    (folder / "answers.parquet").write_bytes(b"")
    model = {"name": "told", "engine": "recorded", "model": str(folder / "answers.parquet")}
    knowledge = {"name": "own", "format": "table", "path": str(base)}
    return write_config(
        folder / "c.toml", folder / "results", models=[settings or model], knowledge=knowledge
    )


def test_findings_are_rendered_with_their_remedies_and_a_count() -> None:
    findings = [Finding("a", "ok", "fine"), Finding("longer", "failing", "c.toml:\n  first", "do this")]
    assert render_findings(findings).splitlines() == [
        "ok       a       fine",
        "failing  longer  c.toml:",
        "                 first",
        "                 -> do this",
        "",
        "1 ok, 0 warning, 1 failing",
    ]
    assert has_failures(findings)
    assert not has_failures(findings[:1])


def test_the_command_is_quick_imports_nothing_slow_and_writes_nothing(tmp_path: Path) -> None:
    blocked = block_packages(tmp_path / "blocked", "prefect", "vllm", "openai", "torch", "transformers")
    config = write_small(tmp_path)
    done = run_process_command("doctor", config, folder=tmp_path, blocked=blocked).require()
    assert done.cpu_s < 3
    assert done.err == ""
    assert "ok       edition        2 relations, 448 samples at most" in done.out
    assert "\nok       model told     recorded responses" in done.out
    assert "0 failing" in done.out
    assert not (tmp_path / "results").exists()
    assert run_process_command("doctor", folder=tmp_path, blocked=blocked).require().cpu_s < 3


def test_a_failure_ends_the_command_with_1_and_shows_no_key(tmp_path: Path) -> None:
    with serve_routes({"/v1/models": (401, {})}) as web:
        settings = ENDPOINT | {"base_url": f"{web.address}/v1", "api_key_env": "FAR_KEY"}
        config = write_small(tmp_path, **settings)
        refused = run_command("doctor", config, folder=tmp_path, environment={"FAR_KEY": SECRET}).require(1)
        unset = run_command("doctor", config, folder=tmp_path).require(1)
    assert "failing  model far" in refused.out
    assert "refuses the key (HTTP 401)" in refused.out
    assert SECRET not in refused.out + refused.err
    assert "the environment variable FAR_KEY is not set" in unset.out
    assert web.requests == [("/v1/models", f"Bearer {SECRET}")]


def test_a_configuration_that_cannot_be_read_is_one_finding_of_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    (tmp_path / "c.toml").write_text('[knowledge]\nformat = "table"\npath = "$NOWHERE/own.tsv"')
    findings = {finding.name: finding for finding in collect_findings(tmp_path / "c.toml")}
    assert findings["configuration"].state == "failing"
    assert "the environment variable NOWHERE is not set" in findings["configuration"].found
    assert findings["machine"].state == "ok"
    assert {"vLLM", "storage", "Prefect"} <= set(findings)


def test_a_missing_base_fails(tmp_path: Path) -> None:
    config = write_small(tmp_path)
    (tmp_path / "own.tsv").unlink()
    findings = {finding.name: finding for finding in collect_findings(config)}
    assert findings["edition"].state == "failing"
    assert "own.tsv does not exist" in findings["edition"].found


@pytest.mark.parametrize(("folder", "state"), [(".", "ok"), ("nowhere", "warning"), ("", "ok")])
def test_the_data_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, state: str) -> None:
    monkeypatch.setenv("PRETEXEVAL_REFERENCE_DATA", folder and str(tmp_path / folder))
    (data, *_) = collect_findings(None)
    assert (data.name, data.state) == ("data", state)


def test_only_models_that_a_run_asks_are_checked() -> None:
    writers = [{"name": name, "model": "org/x"} for name in ("a", "b", "c")]
    tables = {
        "writers": writers,
        "models": [{"name": "m", "model": "org/y"}],
        "rephraser": {"kind": "model", "writer": "b"},
        "judge": {"writer": "b"},
        "llmeval": {"writer": "c"},
    }
    config = Config.model_validate(tables)
    assert [model.name for model in list_asked_models(config)] == ["b", "m"]
    with_llmeval = Config.model_validate(tables | {"edition": {"methods": ["pretexeval", "llmeval"]}})
    assert [model.name for model in list_asked_models(with_llmeval)] == ["b", "c", "m"]


def test_room_is_measured_where_the_folder_will_be(tmp_path: Path, small_disk: Path) -> None:
    root = small_disk / "not" / "there"
    assert check_room(root, 30_000_000, "a run").state == "ok"
    assert check_room(root, 60_000_000, "a run").state == "warning"
    full = check_room(root, 80_000_000, "a run")
    assert full.state == "failing"
    assert full.found == f"{root}: 0.07 GB free, a run needs about 0.08 GB"
    assert list(small_disk.iterdir()) == []
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert "cannot be written (Read-only file system)" in check_room(root, 1, "a run").found


def test_a_root_that_is_a_file_or_belongs_to_another(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for root in (tmp_path / "file", tmp_path / "file" / "data", Path("/proc/none")):
        assert check_room(root, 1, "a run").state == "failing"
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.geteuid() != 0:
        assert check_room(locked / "data", 1, "a run").state == "failing"
    assert (tmp_path / "file").read_text() == "mine"


def test_no_edition_is_larger_than_its_estimate(tmp_path: Path) -> None:
    base = write_base(tmp_path / "own.tsv", make_rows("may_treat", "may_prevent"))
    config = Config.model_validate(
        {
            "knowledge": {"name": "own", "format": "table", "path": base},
            "edition": {"methods": ["pretexeval", "prototype", "direct"]},
            "models": [{"name": "m", "model": "org/x", "pairs_per_relation": 2}],
            "storage": {"root": tmp_path},
        }
    )
    edition = plan_edition(config)
    counts = count_rows(edition)
    frames = [build_frames(edition, relation) for relation in edition.base.relations]
    assert counts.n_triplets >= sum(frame["triplets"].height for frame in frames)
    assert counts.n_samples >= sum(frame["samples"].height for frame in frames)
    assert counts == RowCounts(56, 56 * 17, 0, 2 * 2 * 2 * 17)
    before = estimate_disk_bytes(config, counts)
    (tmp_path / "warehouse.duckdb").write_bytes(bytes(1000))
    assert estimate_disk_bytes(config, counts) == before + 1000
