from pathlib import Path

import pytest

from preflight.storage_checks import check_shared
from tests.support.object_storage import KEYS, serve_moto, serve_rclone


def set_environment(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def test_storage_that_will_do_is_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_moto() as server:
        server.set_environment(monkeypatch)
        check = check_shared(server.address)
    assert (check.state, check.found[:20]) == ("ok", "s3://bucket/some/whe")


def test_storage_without_conditional_writes_is_failing_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_rclone(tmp_path) as server:
        server.set_environment(monkeypatch)
        check = check_shared(server.address)
    assert check.state == "failing"
    assert "conditional writes" in check.found
    assert not [path for path in (tmp_path / "bucket").rglob("*") if path.is_file()]


def test_storage_that_is_not_there_is_failing_without_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, {**KEYS, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "here"})
    check = check_shared("s3://bucket/a")
    assert check.state == "failing"
    assert "s3://bucket/a" in check.found
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in check.found
