"""The doctor: findings about everything that a run needs, and no key in them."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from commands.preflight.doctor import collect_findings
from commands.preflight.reading import list_asked_models
from pretexeval.config.file import Config
from tests.commands.configurations import FAR, write_configuration
from tests.support.command import build_environment, run_command, run_process_command
from tests.support.web_server import Route, serve_routes

SECRET = "sk-very-secret"


def test_a_failure_ends_the_command_with_1_and_shows_no_key(tmp_path: Path) -> None:
    with serve_routes({"/v1/models": (401, {})}) as web:
        settings = {"base_url": f"{web.address}/v1", "api_key_env": "FAR_KEY"}
        config = write_configuration(tmp_path, models=[FAR | settings])
        refused = run_command("doctor", config, folder=tmp_path, environment={"FAR_KEY": SECRET}).require(1)
        unset = run_command("doctor", config, folder=tmp_path).require(1)
    assert "failing  model far" in refused.out
    assert "refuses the key (HTTP 401)" in refused.out
    assert SECRET not in refused.out + refused.err
    assert "the environment variable FAR_KEY is not set" in unset.out
    assert web.requests == [("/v1/models", f"Bearer {SECRET}")]


@pytest.mark.long
def test_a_key_is_read_from_the_block_that_a_run_would_read(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    save = "from prefect.blocks.system import Secret; Secret(value='%s').save('doctor-key', overwrite=True)"
    subprocess.run([sys.executable, "-c", save % SECRET], check=True, env=build_environment(prefect_server))
    with serve_routes({"/v1/models": (200, {"data": [{"id": "x"}]})}) as web:
        settings = {"base_url": f"{web.address}/v1", "api_key_env": "DOCTOR_KEY"}
        config = write_configuration(tmp_path, models=[FAR | settings])
        found = run_process_command(
            "doctor", config, "--no-prompt", folder=tmp_path, environment=prefect_server
        ).require()
    assert "in the Prefect Secret block 'doctor-key'" in found.out
    assert web.requests == [("/v1/models", f"Bearer {SECRET}")]
    assert SECRET not in found.out + found.err
    assert found.err == ""


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


def test_a_work_pool_without_a_worker_is_named_where_a_server_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_configuration(tmp_path, models=[FAR | {"pool": "gpu-4x80"}])
    monkeypatch.setenv("PRETEXEVAL_INSTALLATION", "lab")
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert not [each for each in collect_findings(config) if each.name.startswith("pool")]
    server: dict[str, Route] = {"/api/health": (200, True), "/api/admin/version": (200, version("prefect"))}
    found = []
    for workers in (None, [], [{"name": "a", "status": "OFFLINE"}], [{"name": "a", "status": "ONLINE"}]):
        path = "/api/work_pools/lab-gpu-4x80/workers/filter"
        with serve_routes(server | ({path: (200, workers)} if workers is not None else {})) as web:
            monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api/")
            found.append([each for each in collect_findings(config) if each.name == "pool lab-gpu-4x80"])
    assert [len(each) for each in found] == [1, 1, 1, 0]
    assert found[0][0].state == "warning"
    assert "a deployed run of far would wait" in found[0][0].found
    assert "start its worker" in found[0][0].remedy


def test_only_models_that_a_run_asks_are_checked() -> None:
    tables = {
        "writers": [{"name": name, "model": "org/x"} for name in ("a", "b", "c")],
        "models": [{"name": "m", "model": "org/y"}],
        "rephraser": {"kind": "model", "writer": "b"},
        "judge": {"writer": "b"},
        "llmeval": {"writer": "c"},
    }
    for methods, names in ((["pretexeval"], ["b", "m"]), (["pretexeval", "llmeval"], ["b", "c", "m"])):
        config = Config.model_validate(tables | {"edition": {"methods": methods}})
        assert [model.name for model in list_asked_models(config)] == names
