from collections.abc import Iterator

import pytest

from tests.object_storage import ObjectStorage, serve_moto


@pytest.fixture(scope="session")
def moto() -> Iterator[ObjectStorage]:
    """An S3 server that keeps conditional writes; every test makes an address of its own."""
    with serve_moto() as storage:
        yield storage
