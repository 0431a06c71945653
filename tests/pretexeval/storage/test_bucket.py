from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.bucket import Bucket, render_reason
from tests.support.object_storage import KEYS, ObjectStorage, serve_moto, serve_rclone


@pytest.fixture(scope="module", params=["moto", "rclone"])
def storage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ObjectStorage]:
    folder = tmp_path_factory.mktemp("rclone")
    with serve_moto() if request.param == "moto" else serve_rclone(folder) as server:
        yield server


@pytest.fixture
def bucket(storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    storage.set_environment(monkeypatch)
    return Bucket(storage.make_address())


def test_sent_objects_are_listed_and_fetched(bucket: Bucket, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "deep" / "target"
    # Large enough for several parts of an upload and several chunks of a download.
    source.write_bytes(bytes(range(256)) * 100_000)
    bucket.send("a/b/file", source)
    bucket.send("a/small", b"few")
    sizes = {path: found.n_bytes for path, found in bucket.list_objects("a").items()}
    assert sizes == {"a/b/file": 25_600_000, "a/small": 3}
    assert list(bucket.list_objects("a/b")) == ["a/b/file"]
    assert bucket.fetch("a/b/file", target, checksum_file(source))
    assert target.read_bytes() == source.read_bytes()
    assert bucket.read("a/small") == b"few"
    bucket.remove("a/small")
    assert bucket.read("a/small") is None


def test_missing_objects_are_no_error(bucket: Bucket, tmp_path: Path) -> None:
    assert bucket.read("nothing") is None
    assert bucket.list_objects("nothing") == {}
    assert not bucket.fetch("nothing", tmp_path / "file")
    bucket.remove("nothing")
    assert not list(tmp_path.iterdir())


def test_object_with_another_checksum_does_not_replace_the_file(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    bucket.send("object", b"new")
    assert not bucket.fetch("object", tmp_path / "file", "0" * 64)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_missing_bucket_is_an_error_without_keys(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.set_environment(monkeypatch)
    with pytest.raises(InputError, match=r"^\[storage\] shared s3://nowhere/at/all: .*environment") as caught:
        Bucket("s3://nowhere/at/all").send("a", b"b")
    assert not any(secret in str(caught.value) for secret in KEYS.values())


def test_unreachable_server_is_an_error_after_the_retries(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.set_environment(monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="shared s3://bucket"):
        Bucket(storage.address, timedelta(seconds=1)).read("a")


@pytest.mark.parametrize("address", ["s3://", "ftp://bucket/a", "nothing"])
def test_address_of_no_known_storage_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"\[storage\] shared"):
        Bucket(address)


def test_reason_is_one_line_without_url_queries() -> None:
    text = "Generic error: GET https://a.b/c?sig=SECRET&x=1 failed\n  at once\n\nDebug source:\nGeneric"
    assert render_reason(Exception(text)) == "Generic error: GET https://a.b/c failed at once"
