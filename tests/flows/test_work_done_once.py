"""Actions that a command does only once. They are counted in the process of the real command."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.command import count_actions, make_rows, read_record, write_base, write_config
from tests.support.endpoint import Body, EndpointReply, build_reply, serve_endpoint

pytestmark = pytest.mark.slow

RELATIONS = ("may_prevent", "may_treat")


def answer(body: Body, _: int) -> EndpointReply:
    return build_reply(" True")


@pytest.fixture(scope="module")
def evaluated(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]
) -> tuple[Path, dict[str, int], dict[str, int]]:
    """Return a folder, and the counts of `build` and of `run` on the edition that it built."""
    folder = tmp_path_factory.mktemp("once")
    write_base(folder / "own.tsv", make_rows(*RELATIONS))
    with serve_endpoint(answer) as endpoint:
        model = {"name": "m", "engine": "openai", "model": "x", "base_url": endpoint.base_url}
        config = write_config(
            folder / "c.toml",
            folder / "data",
            knowledge={"name": "own", "format": "table", "path": str(folder / "own.tsv")},
            models=[model],
        )
        built = count_actions("build", config, folder=folder, environment=prefect_server)
        return folder, built, count_actions("run", config, folder=folder, environment=prefect_server)


def select_files(counts: dict[str, int], verb: str, stage: str) -> dict[str, int]:
    return {
        action: n for action, n in counts.items() if action.startswith(f"{verb} ") and f"/{stage}/" in action
    }


def test_command_reads_the_base_once_and_plans_the_edition_once(
    evaluated: tuple[Path, dict[str, int], dict[str, int]],
) -> None:
    for counts in evaluated[1:]:
        assert counts["read the knowledge base"] == 1
        assert counts["load the pool"] == 1


def test_evaluation_reads_and_hashes_every_file_of_samples_once(
    evaluated: tuple[Path, dict[str, int], dict[str, int]],
) -> None:
    counts = evaluated[2]
    assert sorted(select_files(counts, "hash", "samples").values()) == [1] * len(RELATIONS)
    # Publishing reads all files of samples a second time, to measure their diversity.
    read = select_files(counts, "read", "samples")
    assert len(read) == len(RELATIONS)
    assert set(read.values()) == {2}


def test_evaluation_renders_every_prompt_once(
    evaluated: tuple[Path, dict[str, int], dict[str, int]],
) -> None:
    folder, _, counts = evaluated
    n_samples = read_record(folder / "data", "m")["n_samples"]
    assert n_samples > 0
    assert counts["render a prompt"] == counts["hash a prompt"] == n_samples


def test_build_hashes_every_file_of_a_stage_once(
    evaluated: tuple[Path, dict[str, int], dict[str, int]],
) -> None:
    for stage in ("triplets", "variants", "statements", "samples"):
        assert sorted(select_files(evaluated[1], "hash", stage).values()) == [1] * len(RELATIONS)


def test_rounds_of_a_rephraser_run_once(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    def reword(body: Body, _: int) -> EndpointReply:
        text = str(body["prompt"]).rpartition("Statement: ")[2].splitlines()[0]
        return build_reply(f" {text}")

    write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    with serve_endpoint(reword) as endpoint:
        writer = {"name": "w", "engine": "openai", "model": "x", "base_url": endpoint.base_url}
        config = write_config(
            tmp_path / "c.toml",
            tmp_path / "data",
            knowledge={"name": "own", "format": "table", "path": str(tmp_path / "own.tsv")},
            rephraser={"kind": "model", "writer": "w", "max_attempts": 2},
            writers=[writer | {"prompt_style": "completion"}],
        )
        counts = count_actions("build", config, folder=tmp_path, environment=prefect_server)
    attempts = pl.read_parquet(tmp_path / "data/editions/*/attempts/*.parquet")
    assert counts["gate a rewording"] == attempts.height > 0
