"""Hosts with a folder each that share a bucket: commands on them, and workers that ask a shard."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from pretexeval.storage.bucket import Bucket
from tests.support.command import Environment, Table, build_environment, run_command, write_config

RUN_SHARD = """
import json, sys
from flows.evaluate_model import evaluate_model
evaluate_model(**json.load(sys.stdin))
"""
TABLES = ("editions", "triplets", "samples", "models", "responses", "predictions", "runs")


def configure_host(folder: Path, address: str, models: Sequence[Table] = ()) -> Path:
    """Write a configuration with that shared storage into the folder of a host."""
    folder.mkdir(exist_ok=True)
    return write_config(
        folder / "config.toml",
        folder / "data",
        models=models,
        storage={"shared": address},
        knowledge={"relations": ["may_treat"]},
    )


@dataclass
class Hosts:
    """Hosts of one model, by their names."""

    folder: Path
    address: str
    model: Table
    environment: Environment

    def run(self, host: str, command: str) -> Path:
        """Run a subcommand of `pretexeval` on a host, and return its data folder."""
        config = configure_host(self.folder / host, self.address, [self.model])
        run_command(command, config, folder=self.folder / host, environment=self.environment).require()
        return self.folder / host / "data"

    def start_shard(self, host: str, edition_id: str, shard: str) -> subprocess.Popen[str]:
        """Start `evaluate-model` for a shard, such as 1 of 2, in a new process, as a worker does."""
        config = configure_host(self.folder / host, self.address, [self.model])
        number, _, of = shard.partition(" of ")
        given = {"edition_id": edition_id, "model_name": self.model["name"], "config_file": str(config)}
        process = subprocess.Popen(
            [sys.executable, "-c", RUN_SHARD],
            env=build_environment(self.environment),
            cwd=self.folder / host,
            stdin=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        with process.stdin as stdin:
            json.dump(given | {"shard": {"number": number, "of": of}}, stdin)
        return process


def read_shared_prompts(bucket: Bucket, folder: Path) -> set[str]:
    """Return the prompts whose answers are in the bucket.

    Args:
        folder: folder for a temporary file.
    """
    prompts: set[str] = set()
    for path in bucket.list_objects("responses"):
        if path.endswith(".parquet") and bucket.fetch(path, folder / "fetched.parquet"):
            prompts |= set(pl.read_parquet(folder / "fetched.parquet")["prompt"])
    return prompts


def read_warehouse(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the sorted rows of the tables of a warehouse."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return {name: connection.execute(f"from {name} order by all").fetchall() for name in TABLES}
