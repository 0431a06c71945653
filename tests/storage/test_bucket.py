from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from primitives.checksums import checksum_file
from primitives.errors import InputError
from storage.bucket import Bucket, show_reason
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


def test_what_was_sent_is_listed_and_brought_back(bucket: Bucket, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "deep" / "target"
    # More than one part of an upload, more than one chunk of a download.
    source.write_bytes(bytes(range(256)) * 100_000)
    bucket.send("a/b/file", source)
    bucket.send("a/small", b"few")
    found = {path: each.n_bytes for path, each in bucket.list_objects("a").items()}
    assert found == {"a/b/file": 25_600_000, "a/small": 3}
    assert list(bucket.list_objects("a/b")) == ["a/b/file"]
    assert bucket.fetch("a/b/file", target, checksum_file(source))
    assert target.read_bytes() == source.read_bytes()
    assert bucket.read("a/small") == b"few"


def test_what_is_not_there_is_not_there(bucket: Bucket, tmp_path: Path) -> None:
    assert bucket.read("nothing") is None
    assert bucket.list_objects("nothing") == {}
    assert not bucket.fetch("nothing", tmp_path / "file")
    bucket.remove("nothing")
    assert not list(tmp_path.iterdir())


def test_other_bytes_than_asked_for_are_not_kept(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    bucket.send("object", b"new")
    assert not bucket.fetch("object", tmp_path / "file", "0" * 64)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_an_object_is_removed(bucket: Bucket) -> None:
    bucket.send("object", b"some")
    bucket.remove("object")
    assert bucket.read("object") is None


def test_a_bucket_that_is_not_there_is_said_without_keys(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.set_environment(monkeypatch)
    with pytest.raises(InputError, match=r"^\[storage\] shared s3://nowhere/at/all: .*environment") as caught:
        Bucket("s3://nowhere/at/all").send("a", b"b")
    assert not any(secret in str(caught.value) for secret in KEYS.values())


def test_a_server_that_is_away_is_waited_for_and_then_said(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.set_environment(monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="shared s3://bucket"):
        Bucket(storage.address, timedelta(seconds=1)).read("a")


@pytest.mark.parametrize("address", ["s3://", "ftp://bucket/a", "nothing"])
def test_an_address_that_names_no_storage_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"\[storage\] shared"):
        Bucket(address)


def test_a_reason_is_one_line_without_the_queries_of_addresses() -> None:
    text = "Generic error: GET https://a.b/c?sig=SECRET&x=1 failed\n  at once\n\nDebug source:\nGeneric"
    assert show_reason(Exception(text)) == "Generic error: GET https://a.b/c failed at once"
