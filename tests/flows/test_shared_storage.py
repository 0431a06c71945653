"""Three hosts with a folder each and a bucket between them: one builds, one evaluates, one publishes."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.flows.command import REPOSITORY, read_bytes, run_command, write_config
from tests.object_storage import KEYS, ObjectStorage, serve_moto

pytestmark = pytest.mark.slow

MODEL = {"name": "large", "model": str(REPOSITORY / "models" / "reference-large"), "dtype": "bfloat16"}
TABLES = ("editions", "triplets", "samples", "models", "responses", "predictions", "runs")


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStorage]:
    with serve_moto() as storage:
        yield storage


def read_warehouse(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return {name: connection.execute(f"from {name} order by all").fetchall() for name in TABLES}


def test_what_one_host_makes_the_others_have(server: ObjectStorage, tmp_path: Path) -> None:
    def call(host: str, *commands: str) -> Path:
        folder = tmp_path / host
        folder.mkdir(exist_ok=True)
        config = write_config(
            folder / "config.toml",
            folder / "data",
            storage={"shared": "s3://bucket/team"},
            knowledge={"relations": ["may_treat"]},
            models=[MODEL],
        )
        for command in commands:
            run_command(command, config, folder=folder, environment=server.environment).require()
        return folder / "data"

    builder = call("builder", "build")
    evaluator = call("evaluator", "evaluate")
    publisher = call("publisher", "publish")
    assert read_bytes(builder, "editions/**/*.*") == read_bytes(publisher, "editions/**/*.*")
    assert read_bytes(evaluator, "responses/**/*.parquet") == read_bytes(publisher, "responses/**/*.parquet")
    # A fourth, which does all of it, finds all of it done, and leaves the same tables.
    newcomer = call("newcomer", "run")
    assert read_warehouse(newcomer / "warehouse.duckdb") == read_warehouse(publisher / "warehouse.duckdb")
    assert read_bytes(newcomer, "responses/**/*.parquet") == read_bytes(evaluator, "responses/**/*.parquet")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEYS["AWS_SECRET_ACCESS_KEY"].encode() not in path.read_bytes(), path
