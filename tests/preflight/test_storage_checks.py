import os
from datetime import timedelta
from pathlib import Path

import pytest

from preflight import storage_checks
from preflight.key_checks import FoundKey
from preflight.storage_checks import check_shared
from tests.support.object_storage import KEYS, serve_moto, serve_rclone


def set_environment(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def test_storage_with_conditional_writes_is_ok(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_storage_that_is_not_running_is_failing_without_its_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_environment(monkeypatch, {**KEYS, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "here"})
    check = check_shared("s3://bucket/a")
    assert check.state == "failing"
    assert "s3://bucket/a" in check.found
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in check.found


def test_keys_that_were_found_elsewhere_open_it_and_do_not_stay_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {name: FoundKey(value, "in a block") for name, value in KEYS.items()}
    with serve_moto() as server:
        server.set_environment(monkeypatch)
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", " ")
        check = check_shared(server.address, found)
    assert check.state == "ok"
    assert "AWS_ACCESS_KEY_ID" not in os.environ
    assert os.environ["AWS_SECRET_ACCESS_KEY"] == " "


def test_storage_whose_keys_are_missing_is_failing_with_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    # Without keys the library asks the machine for a role.
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(storage_checks, "PATIENCE", timedelta(seconds=1))
    check = check_shared("s3://bucket/a")
    assert check.state == "failing"
    assert "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, " in check.remedy
    assert "'aws-access-key-id'" in check.remedy
