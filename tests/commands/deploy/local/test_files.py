"""The files of an installation: the password for its clients, and the settings of its services."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from prefect.settings import Settings
from supervisor.options import ServerOptions  # type: ignore[import-untyped]

from commands.deploy.local.client_settings import (
    PASSWORD_VARIABLE,
    SERVER_PASSWORD_VARIABLE,
    URL_VARIABLE,
    load_client_settings,
    provide_password,
    read_client_settings,
    write_client_settings,
)
from commands.deploy.local.services import DEFAULTS, Service, write_configuration
from commands.prefect_server import SETTINGS
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import CLIENT_SETTINGS

ADDRESS = "http://127.0.0.1:4200/api"
# A password with all that a shell could take apart.
WORD = "me:a b'c\"$d#e=f"


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


def test_the_log_of_a_service_is_rotated_and_old_runs_are_removed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As supervisord and Prefect understand their settings."""
    service = Service([sys.executable, "-V"], is_ready=lambda: True)
    write_configuration(root / "supervisord.conf", root / "socket", {"cpu": service}, root)
    options = ServerOptions()
    options.realize(["-c", str(root / "supervisord.conf")], doc="")
    (program,) = (each for group in options.process_group_configs for each in group.process_configs)
    assert program.stdout_logfile == str(root / "cpu.log")
    assert (program.stdout_logfile_maxbytes, program.stdout_logfile_backups) == (10 * 2**20, 4)
    assert program.redirect_stderr
    for settings in (DEFAULTS, SETTINGS):
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        vacuum = Settings().server.services.db_vacuum
        assert vacuum.enabled == {"events", "flow_runs"}
        assert vacuum.retention_period == timedelta(days=90)
        for name in settings:
            monkeypatch.delenv(name)
