"""`pretexeval build`: editions are deterministic, work is reused, and no file is incomplete."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command import (
    REPOSITORY,
    list_half_written,
    make_rows,
    read_bytes,
    run_command,
    write_base,
    write_config,
)
from tests.support.fault_models import wait_until
from tests.support.prefect_server import PrefectApi

pytestmark = pytest.mark.slow

RELATIONS = ("may_prevent", "may_treat", "occurs_after")
STAGES = ("triplets", "variants", "statements", "samples")
METHODS = ("direct", "prototype")


@dataclass(frozen=True)
class Bench:
    """A folder with a knowledge base and its editions, and a Prefect server."""

    folder: Path
    server: dict[str, str]

    @property
    def root(self) -> Path:
        return self.folder / "data"

    def configure(self, name: str, **edition: object) -> Path:
        knowledge = write_base(self.folder / "own.tsv", make_rows(*RELATIONS))
        config = self.folder / f"{name}.toml"
        return write_config(config, self.root, knowledge=knowledge, edition=edition)

    def build(self, config: Path) -> Path:
        """Build the edition, and return its folder."""
        outcome = run_command("build", config, folder=self.folder, environment=self.server).require()
        return Path(outcome.out.strip())

    def read_states(self, run_name: str) -> dict[str, str]:
        """Return name of a task -> name of its state, of the last run of that name on the server.

        The server records the names and states of tasks from events, some time after the tasks begin and end.
        """
        states: dict[str, str] = {}
        ask = PrefectApi(self.server).post

        def are_final() -> bool:
            tasks = ask("/task_runs/filter", task_runs={"flow_run_id": {"any_": [run["id"]]}})
            states.clear()
            states.update({each["name"].partition(":")[0]: each["state_name"] for each in tasks})
            return len(states) == 2 * len(STAGES) and {"Pending", "Running"}.isdisjoint(states.values())

        named = {"name": {"any_": [run_name]}}
        (run,) = ask("/flow_runs/filter", flow_runs=named, sort="START_TIME_DESC", limit=1)
        wait_until(are_final, f"the states of the tasks of {run_name}")
        return states


def copy_pool(path: Path, relation: str, find: str, replace: str) -> Path:
    """Write a pool that extends the bundled one, with a change in the cell `none` of one relation."""
    with (REPOSITORY / "prototypes" / "medlama.revised.toml").open("rb") as file:
        table = tomllib.load(file)[relation]
    assert all(find in text for text in table["none"])
    table["none"] = [text.replace(find, replace) for text in table["none"]]
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    path.write_text("\n".join(['extends = "revised"', f"[{relation}]", *lines]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"), prefect_server)


@pytest.fixture(scope="module")
def first(bench: Bench) -> Path:
    return bench.build(bench.configure("first", label="first"))


def test_stages_with_the_same_inputs_are_cached_as_long_as_their_files_are_intact(
    bench: Bench, first: Path
) -> None:
    second, third = (bench.configure(method, methods=[method], label=method) for method in METHODS)
    linked = bench.build(second)
    cached = {f"{kind}{stage}": "Cached" for stage in STAGES[:3] for kind in ("", "check-")}
    built = {"samples": "Completed", "check-samples": "Completed"}
    assert bench.read_states(f"build-own-{METHODS[0]}") == cached | built
    for name in read_bytes(first, "statements/*"):
        assert (first / name).samefile(linked / name)
    (first / "statements" / "may_treat.parquet").unlink()
    damaged = first / "variants" / "may_treat.parquet"
    content = damaged.read_bytes()
    damaged.unlink()
    damaged.write_bytes(content[:-1] + b"-")
    again = bench.build(third)
    assert bench.read_states(f"build-own-{METHODS[1]}") == cached | built | {
        "variants": "Completed",
        "statements": "Completed",
    }
    assert read_bytes(again, "statements/*") == read_bytes(linked, "statements/*")


def test_failed_expectation_stops_before_the_edition_is_complete(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    """The pool contains a control character, which no check of pools looks for."""
    bench = Bench(tmp_path, prefect_server)
    pool = copy_pool(tmp_path / "pool.toml", "may_treat", " ", "\x01 ")
    outcome = run_command(
        "build", bench.configure("own", pool=str(pool)), folder=tmp_path, environment=prefect_server
    )
    assert outcome.require(2).out == ""
    assert "Traceback" not in outcome.err
    assert list_half_written(bench.root) == []
    assert list(bench.root.glob("editions/*/manifest.json")) == []
    assert "stage statements of own-seed1-" in outcome.err
    assert "statement: is_one_line (the text has no line breaks or control characters)" in outcome.err
    assert "variant_id=" in outcome.err
    assert not list(bench.root.glob("editions/*/samples"))
