"""PostgreSQL from Debian's package or any other, as a process of this installation.

Prefect's server needs it as soon as there are workers: under two of them SQLite answered with some 440
"database is locked" in three minutes, PostgreSQL with none.
"""

import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.local.service import Service, become
from primitives.errors import InputError

# Debian's package has made the first; the second is on every system.
USERS = ("postgres", "nobody")
NAME = "prefect"
"""Of the database and of the role that owns it."""


@dataclass(frozen=True)
class Database:
    """A cluster of ours: where it lies, and how the server reaches it."""

    folder: Path
    port: int
    password: str
    binaries: Path
    user: str | None

    def write_settings(self) -> dict[str, str]:
        """What tells Prefect's server of it; parts, so that no password needs quoting in an address."""
        parts = {
            "DRIVER": "postgresql+asyncpg",
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "USER": NAME,
            "PASSWORD": self.password,
            "NAME": NAME,
        }
        return {f"PREFECT_SERVER_DATABASE_{key}": value for key, value in parts.items()}


def find_binaries() -> Path | None:
    """The folder of the newest PostgreSQL at hand, or None."""
    on_path = shutil.which("postgres")
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    folders.sort(key=lambda folder: int(folder.parent.name) if folder.parent.name.isdigit() else 0)
    if on_path:
        # Debian's own folders first: initdb and postgres must be of one version.
        folders.insert(0, Path(on_path).resolve().parent)
    return folders[-1] if folders else None


def open_database(folder: Path, port: int) -> Database:
    """The cluster of that folder, made if there is none.

    Raises:
        InputError: if there is no PostgreSQL, or its user cannot use the folder.
    """
    binaries = find_binaries()
    if binaries is None:
        raise InputError("PostgreSQL: no binaries found; install it (Debian: apt-get install postgresql)")
    user = _choose_user()
    _prepare_folder(folder, user)
    password = _read_password(folder, user)
    database = Database(folder, port, password, binaries, user)
    if not (folder / "cluster").exists():
        _create_cluster(database)
    return database


def write_service(database: Database, environment: Mapping[str, str], log: Path) -> Service:
    """The process: on loopback, with a password, without a socket file."""
    listen = ["-h", "127.0.0.1", "-p", str(database.port), "-k", ""]
    probe = [str(database.binaries / "pg_isready"), "-q", *listen[:4], "-d", NAME, "-U", NAME]
    return Service(
        name="database",
        command=[str(database.binaries / "postgres"), "-D", str(database.folder / "cluster"), *listen],
        environment=_clean(environment),
        log=log,
        is_ready=lambda: subprocess.run(probe, check=False).returncode == 0,
        user=database.user,
    )


def _choose_user() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(user for user in USERS if user in known)


def _prepare_folder(folder: Path, user: str | None) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if user is None:
        return
    shutil.chown(folder, user, pwd.getpwnam(user).pw_gid)
    if subprocess.run(["test", "-w", folder], cwd="/", check=False, **become(user)).returncode != 0:
        raise InputError(
            f"{folder}: PostgreSQL does not run as root, and its user {user} cannot enter this folder; "
            "choose another for the database, or run this as an ordinary user"
        )


def _read_password(folder: Path, user: str | None) -> str:
    path = folder / "password"
    if not path.exists():
        with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(16))
        if user is not None:
            shutil.chown(path, user)
    return path.read_text()


def _create_cluster(database: Database) -> None:
    """Made aside and renamed: what is called `cluster` is whole."""
    aside, final = database.folder / "cluster.new", database.folder / "cluster"
    shutil.rmtree(aside, ignore_errors=True)
    rules = ["-A", "scram-sha-256", "--pwfile", str(database.folder / "password")]
    _run(database, "initdb", "-D", str(aside), "-U", NAME, *rules, "-E", "UTF8", "--no-locale")
    _run(database, "postgres", "--single", "-D", str(aside), "postgres", said=f"create database {NAME}\n")
    aside.rename(final)


def _run(database: Database, program: str, *arguments: str, said: str = "") -> None:
    done = subprocess.run(
        [str(database.binaries / program), *arguments],
        input=said,
        capture_output=True,
        text=True,
        cwd=database.folder,
        env=_clean(os.environ),
        check=False,
        **become(database.user),
    )
    if done.returncode != 0:
        raise InputError(f"{database.folder}: {program} failed ({done.stderr.strip()[-500:]})")


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Without PG… settings, which are for clients of some other database."""
    return {k: v for k, v in environment.items() if not k.startswith("PG")} | {"LC_ALL": "C"}
