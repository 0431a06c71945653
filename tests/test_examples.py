"""Every example runs as its page says, from a folder that looks like the root of the repository."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from prototypes.__main__ import main as check_pools
from tests.support.command import REPOSITORY, read_record, run_command
from tests.support.endpoint import Endpoint, serve_endpoint
from tests.support.fault_models import answer_by_checksum
from warehouse.query import run_query

EXAMPLES = REPOSITORY / "examples"
CONFIGS = sorted(path.relative_to(REPOSITORY).as_posix() for path in EXAMPLES.glob("*/config.toml"))
OWN_BASE = "examples/own_base/config.toml"
ENDPOINT = "examples/openai_endpoint/config.toml"
SAMPLES_OF_A_PAIR = 16


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples and the models, so that results do not land in the repository."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("examples", "models"):
        (folder / name).symlink_to(REPOSITORY / name)
    return folder


@pytest.fixture(scope="module")
def own_base(checkout: Path, prefect_server: dict[str, str]) -> Path:
    """The data folder of the example, after the documented command."""
    run_command("run", OWN_BASE, folder=checkout, environment=prefect_server).require()
    return checkout / "data" / "examples" / "own_base"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serve_endpoint(answer_by_checksum) as endpoint:
        yield endpoint


@pytest.mark.parametrize("config", CONFIGS)
def test_configuration_is_valid(config: str, checkout: Path) -> None:
    outcome = run_command("validate", config, folder=checkout).require()
    assert outcome.out.startswith("edition ")


def test_prototypes_have_no_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_pools([str(EXAMPLES / "own_base" / "prototypes.toml")]) == 0
    assert capsys.readouterr().out == "no problems\n"


@pytest.mark.parametrize("page", sorted(EXAMPLES.rglob("README.md")), ids=lambda page: page.parent.name)
def test_commands_of_a_page_name_files_that_exist(page: Path) -> None:
    named = set(re.findall(r"\bexamples/[\w./]+\.(?:toml|csv|py)\b", page.read_text(encoding="utf-8")))
    assert [path for path in sorted(named) if not (REPOSITORY / path).is_file()] == []


@pytest.mark.parametrize("config", CONFIGS)
def test_results_lie_where_the_page_says(config: str) -> None:
    root = tomllib.loads((REPOSITORY / config).read_text(encoding="utf-8"))["storage"]["root"]
    page = (REPOSITORY / config).with_name("README.md").read_text(encoding="utf-8")
    assert root == f"data/{Path(config).parent.as_posix()}"
    assert f"All results are under `{root}`" in page
    assert f"--root {root}\n" in page


@pytest.mark.slow
def test_own_base_is_built_evaluated_and_published(own_base: Path) -> None:
    record = read_record(own_base, "reference-small")
    n_pairs = 18
    assert record["n_samples"] == record["n_asked"] == n_pairs * SAMPLES_OF_A_PAIR
    assert record["n_errors"] == 0
    _, rows = run_query(own_base, "select relation, n_pairs, mastery from accuracy_by_relation")
    assert rows == [("has_antidote", n_pairs, 0.0)]
    assert (own_base / "report" / record["edition_id"] / "index.html").is_file()


@pytest.mark.slow
def test_analysis_reads_a_warehouse(own_base: Path, checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, "examples/analysis.py"],
        cwd=checkout,
        env=os.environ | {"WAREHOUSE": str(own_base / "warehouse.duckdb")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    _, [(edition_id,)] = run_query(own_base, "select edition_id from editions")
    _, [(n_missed,)] = run_query(own_base, "select count(*) from missed_points")
    assert f"reference-small on {edition_id}, method pretexeval\n" in done.stdout
    assert f"\n{n_missed} facts missed\n" in done.stdout
    for heading in ("average_accuracy", "width", "baseline", "wrong_of_true", "transformation", "response"):
        assert heading in done.stdout


@pytest.mark.slow
def test_endpoint_is_asked_for_every_sample(
    endpoint: Endpoint, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    text = (REPOSITORY / ENDPOINT).read_text(encoding="utf-8")
    address = tomllib.loads(text)["models"][0]["base_url"]
    (tmp_path / "config.toml").write_text(text.replace(f'"{address}"', f'"{endpoint.base_url}"'))
    run_command("evaluate", "config.toml", folder=tmp_path, environment=prefect_server).require()
    record = read_record(tmp_path / "data" / "examples" / "openai_endpoint", "my-endpoint")
    assert record["n_samples"] == 2 * 5 * SAMPLES_OF_A_PAIR
    assert record["n_errors"] == 0
    assert len(endpoint.requests) == record["n_asked"]
    assert {(path, body["model"]) for path, _, body in endpoint.requests} == {
        ("/v1/completions", "reference-small")
    }
