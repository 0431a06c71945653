"""A real installation for the tests of this folder: PostgreSQL, Prefect's server on it, workers, pages."""

from collections.abc import Iterator

import pytest

from commands.deploy.cards import GpuWorker
from commands.deploy.local.installation import Installation, start_installation
from tests.support.database_folder import open_database_folder


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Return an installation that ends with its module, because its workers keep a core partly busy."""
    root = tmp_path_factory.mktemp("installation")
    (root / "report").mkdir()
    (root / "report" / "index.html").write_text("<p>the pages</p>")
    with (
        open_database_folder() as folder,
        start_installation(root, gpu_workers=[GpuWorker()] * 2, database=folder, folder=root) as started,
    ):
        yield started
