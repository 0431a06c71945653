"""The files of an installation: the password for its clients, and the logs of its services."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commands.deploy.local.client_settings import (
    PASSWORD_VARIABLE,
    SERVER_PASSWORD_VARIABLE,
    URL_VARIABLE,
    load_client_settings,
    provide_password,
    read_client_settings,
    write_client_settings,
)
from commands.deploy.local.services import Service, write_configuration
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import CLIENT_SETTINGS
from tests.support.fault_models import wait_until

ADDRESS = "http://127.0.0.1:4200/api"
# A password with all that a shell could take apart.
WORD = "me:a b'c\"$d#e=f"
# 2.5 MB, and then a process that stays, so that supervisord does not start it again.
TALK = """
import time
for number in range(25_000):
    print(f"{number:99}")
print("end", flush=True)
time.sleep(600)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Set first, so that monkeypatch restores what the code sets.
    for name in (URL_VARIABLE, PASSWORD_VARIABLE, SERVER_PASSWORD_VARIABLE, "PREFECT_API_KEY"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    write_client_settings(tmp_path, {URL_VARIABLE: ADDRESS, PASSWORD_VARIABLE: WORD})
    return tmp_path


def test_only_the_owner_can_read_the_password_also_after_it_is_written_again(root: Path) -> None:
    file = root / CLIENT_SETTINGS
    file.chmod(0o644)
    write_client_settings(root, {URL_VARIABLE: ADDRESS, PASSWORD_VARIABLE: WORD})
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_the_password_is_sent_only_to_its_own_server(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = (ADDRESS, f"{ADDRESS}/", "http://localhost:4200/api")
    others = (
        "http://127.0.0.1:4201/api",
        "https://127.0.0.1:4200/api",
        "http://127.0.0.1:4200@evil.example/api",
        "http://localhost:4200.evil.example/api",
        "http://[::1",
        "",
    )
    sent = {}
    for address in (*own, *others):
        monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)
        monkeypatch.setenv(URL_VARIABLE, address)
        load_client_settings(root)
        sent[address] = os.environ.get(PASSWORD_VARIABLE)
        monkeypatch.setenv(PASSWORD_VARIABLE, "mine:mine")
        load_client_settings(root)
        assert os.environ[PASSWORD_VARIABLE] == "mine:mine"
    assert sent == dict.fromkeys(own, WORD) | dict.fromkeys(others)


def test_the_password_is_kept_until_the_file_is_lost(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert provide_password(root) == WORD
    for damage in (b"", b"export 'unfinished", b"\xff\xfe"):
        (root / CLIENT_SETTINGS).write_bytes(damage)
        assert read_client_settings(root) == {}
        assert len(provide_password(root)) > 40
    monkeypatch.setenv(SERVER_PASSWORD_VARIABLE, "me:given")
    assert provide_password(root) == "me:given"
    monkeypatch.setenv(SERVER_PASSWORD_VARIABLE, "me:gegebén")
    with pytest.raises(InputError, match="ASCII"):
        provide_password(root)


def test_the_log_of_a_service_is_rotated(tmp_path: Path) -> None:
    configuration, logs = tmp_path / "supervisord.conf", tmp_path / "logs"
    logs.mkdir()
    (tmp_path / "talk.py").write_text(TALK)
    service = Service([sys.executable, str(tmp_path / "talk.py")], is_ready=lambda: True)
    write_configuration(configuration, tmp_path / "socket", {"cpu": service}, logs)
    text = configuration.read_text()
    assert "maxbytes=10MB" in text
    text = text.replace("maxbytes=10MB", "maxbytes=1MB").replace("autostart=false", "autostart=true")
    configuration.write_text(text)
    command = [sys.executable, "-m", "supervisor.supervisord", "--nodaemon", "-c", str(configuration)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as supervisord:
        try:
            newest = logs / "cpu.log"
            wait_until(lambda: newest.exists() and newest.read_text().endswith("end\n"), "all is logged", 60)
        finally:
            supervisord.terminate()
    sizes = {path.name: path.stat().st_size for path in logs.glob("cpu.log*")}
    assert sorted(sizes) == ["cpu.log", "cpu.log.1", "cpu.log.2"]
    assert max(sizes.values()) < 2**20 + 2**17
