"""A bucket as Moto and rclone serve it: objects, checksums, and errors that hold no keys."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.bucket import Bucket, render_reason
from tests.support.object_storage import KEYS, ObjectStorage, serve_rclone


@pytest.fixture(scope="module", params=["moto", "rclone"])
def storage(
    request: pytest.FixtureRequest, moto: ObjectStorage, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ObjectStorage]:
    if request.param == "moto":
        yield moto
    else:
        with serve_rclone(tmp_path_factory.mktemp("rclone")) as server:
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


def test_missing_or_different_objects_leave_files_as_they_are(bucket: Bucket, tmp_path: Path) -> None:
    assert bucket.read("nothing") is None
    assert bucket.list_objects("nothing") == {}
    assert not bucket.fetch("nothing", tmp_path / "file")
    bucket.remove("nothing")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_bytes(b"old")
    bucket.send("object", b"new")
    assert not bucket.fetch("object", tmp_path / "file", "0" * 64)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_missing_bucket_and_unreachable_server_are_errors_without_keys(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"^\[storage\] shared s3://nowhere/at/all: .*environment") as caught:
        Bucket("s3://nowhere/at/all").send("a", b"b")
    assert not any(secret in str(caught.value) for secret in KEYS.values())
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="shared s3://bucket"):
        Bucket(bucket.address, timedelta(seconds=1)).read("a")


@pytest.mark.parametrize("address", ["s3://", "ftp://bucket/a", "nothing"])
def test_address_of_no_known_storage_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"\[storage\] shared"):
        Bucket(address)


def test_reason_is_one_line_without_url_queries() -> None:
    text = "Generic error: GET https://a.b/c?sig=SECRET&x=1 failed\n  at once\n\nDebug source:\nGeneric"
    assert render_reason(Exception(text)) == "Generic error: GET https://a.b/c failed at once"
