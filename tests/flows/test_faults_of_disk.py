"""A full disk during an evaluation and during a publication: nothing is lost, the tables are equal."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.disk import MIN_FREE_BYTES
from pretexeval.storage.layout import WAREHOUSE
from tests.support.command import (
    list_half_written,
    read_bytes,
    run_command,
    write_config,
)
from tests.support.endpoint import Body, EndpointReply, serve_endpoint
from tests.support.fault_models import (
    KNOWLEDGE,
    answer_by_checksum,
    build_model_table,
    count_requests,
    list_different_tables,
)
from tests.support.small_disk import mount_disk
from warehouse.publishing import build_warehouse

pytestmark = pytest.mark.long

# A run needs MIN_FREE_BYTES to start, also the second one, which finds the files of the first.
DISK_BYTES = MIN_FREE_BYTES + 150_000_000
# The disk is full at this request, in the first of two chunks of answers.
FULL_AT = 500


class Disk:
    """A small file system, and the file that fills it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ballast = folder / "ballast"

    def fill(self) -> None:
        """Write until no byte is free."""
        with self.ballast.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"-" * 65_536)
            except OSError:
                return


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with mount_disk(tmp_path / "disk", DISK_BYTES) as folder:
        yield Disk(folder)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Iterator[Path]:
    """The root of an undisturbed run; its configuration is next to it."""
    folder = tmp_path_factory.mktemp("calm")
    with serve_endpoint(answer_by_checksum) as endpoint:
        models = [build_model_table("calm", endpoint)]
        config = write_config(folder / "c.toml", folder / "data", knowledge=KNOWLEDGE, models=models)
        run_command("run", config, folder=folder, environment=prefect_server).require()
        yield folder / "data"


def test_disk_that_fills_up_during_an_evaluation(
    disk: Disk, tmp_path: Path, prefect_server: dict[str, str], calm: Path
) -> None:
    def fill_then_answer(body: Body, number: int) -> EndpointReply:
        if number == FULL_AT:
            disk.fill()
        return answer_by_checksum(body, number)

    root = disk.folder / "data"
    with serve_endpoint(fill_then_answer) as endpoint:
        # The space that is reserved for the answers of several requests at once would do for the next chunk.
        models = [build_model_table("calm", endpoint, concurrency=1)]
        config = write_config(tmp_path / "c.toml", root, knowledge=KNOWLEDGE, models=models)
        outcome = run_command("run", config, folder=tmp_path, environment=prefect_server).require(2)
        assert "there is no room for" in outcome.err
        assert "make room and run again" in outcome.err
        kept = read_bytes(root, "responses/*/part-*.parquet")
        # The trial prompts and the first full chunk.
        assert len(kept) == 2
        assert not list_half_written(root)
        disk.ballast.unlink()
        run_command("run", config, folder=tmp_path, environment=prefect_server).require()
        assert kept.items() <= read_bytes(root, "responses/*/part-*.parquet").items()
        # The space of the current chunk was reserved before its prompts were sent, so it was stored.
        assert set(count_requests(endpoint, "calm").values()) == {1}
    assert list_different_tables(root, calm) == []


def test_disk_that_is_full_during_a_publication(disk: Disk, calm: Path) -> None:
    """The old tables stay, and once there is space again, publishing gives the same tables."""
    root = disk.folder / "published"
    shutil.copytree(calm, root, ignore=shutil.ignore_patterns("prefect", "cache"))
    # The next publication has something new to write.
    measured, aside = root / "guesses", disk.folder / "guesses"
    measured.rename(aside)
    build_warehouse(root)
    aside.rename(measured)
    before = (root / WAREHOUSE).read_bytes()
    disk.fill()
    with pytest.raises(InputError, match=r"cannot be written .* Make room"):
        build_warehouse(root)
    assert (root / WAREHOUSE).read_bytes() == before
    assert not list(root.glob(f"{WAREHOUSE}.*"))
    disk.ballast.unlink()
    build_warehouse(root)
    assert list_different_tables(root, calm) == []
