"""How commands find the password of an installation's server, and to which server they send it."""

import os
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
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import CLIENT_SETTINGS

ADDRESS = "http://127.0.0.1:4200/api"
# A password with all that a shell could take apart.
WORD = "me:a b'c\"$d#e=f"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    # Set first, so that monkeypatch restores what the code sets.
    for name in (URL_VARIABLE, PASSWORD_VARIABLE, SERVER_PASSWORD_VARIABLE, "PREFECT_API_KEY"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_client_settings(tmp_path, {URL_VARIABLE: ADDRESS, PASSWORD_VARIABLE: WORD})
    return tmp_path


def test_only_the_owner_can_read_the_file_also_after_it_is_written_again(root: Path) -> None:
    file = root / CLIENT_SETTINGS
    file.chmod(0o644)
    write_client_settings(root, {URL_VARIABLE: ADDRESS, PASSWORD_VARIABLE: WORD})
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("address", "is_sent"),
    [
        (ADDRESS, True),
        (f"{ADDRESS}/", True),
        ("http://localhost:4200/api", True),
        ("http://127.0.0.1:4201/api", False),
        ("https://127.0.0.1:4200/api", False),
        ("http://127.0.0.1:4200@evil.example/api", False),
        ("http://localhost:4200.evil.example/api", False),
        ("http://[::1", False),
        ("", False),
    ],
)
def test_the_password_is_sent_only_to_its_own_server(
    root: Path, monkeypatch: pytest.MonkeyPatch, address: str, is_sent: bool
) -> None:
    monkeypatch.setenv(URL_VARIABLE, address)
    load_client_settings(root)
    assert os.environ.get(PASSWORD_VARIABLE) == (WORD if is_sent else None)
    monkeypatch.setenv(PASSWORD_VARIABLE, "mine:mine")
    load_client_settings(root)
    assert os.environ[PASSWORD_VARIABLE] == "mine:mine"


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
