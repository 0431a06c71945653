"""PostgreSQL, from Debian's package or any other, as a service of an installation.

Prefect's server needs it as soon as there are workers: with two workers, SQLite returned about 440 "database
is locked" errors in three minutes, and PostgreSQL none.
"""

import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pretexeval.primitives.errors import InputError

# Debian's package creates the first user; the second exists on every system.
USERS = ("postgres", "nobody")
NAME = "prefect"
"""Name of the database and of the role that owns it."""


@dataclass(frozen=True)
class Database:
    """A PostgreSQL cluster of an installation: its folder, and how Prefect's server connects to it."""

    folder: Path
    port: int
    password: str
    binaries: Path
    user: str | None

    @property
    def command(self) -> list[str]:
        """The command of the cluster; it listens on loopback, asks for a password, has no socket file."""
        listen = ["-h", "127.0.0.1", "-p", str(self.port), "-k", ""]
        return [str(self.binaries / "postgres"), "-D", str(self.folder / "cluster"), *listen]

    def is_ready(self) -> bool:
        """Return whether the cluster takes connections."""
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-d", NAME, "-U", NAME]
        return (
            subprocess.run([str(self.binaries / "pg_isready"), "-q", *address], check=False).returncode == 0
        )

    def build_settings(self) -> dict[str, str]:
        """Return Prefect's settings for this database, as parts: a password in a URL would need quoting."""
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
    """Return the folder of the newest PostgreSQL on this machine, or None."""
    on_path = shutil.which("postgres")
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    folders.sort(key=lambda folder: int(folder.parent.name) if folder.parent.name.isdigit() else 0)
    if on_path:
        # Lowest preference: only Debian's folders are sure to contain initdb and postgres of one version.
        folders.insert(0, Path(on_path).resolve().parent)
    return folders[-1] if folders else None


def open_database(folder: Path, port: int) -> Database:
    """Return the cluster of the folder, and create it if there is none.

    Raises:
        InputError: if there is no PostgreSQL, or its user has no access to the folder.
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


def become(user: str | None) -> dict[str, Any]:
    """Return the options of Popen that run the child as this user, without root's groups."""
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def _choose_user() -> str | None:
    """Return the user that runs PostgreSQL if this is root, because PostgreSQL refuses to run as root."""
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
            f"{folder}: PostgreSQL does not run as root, and its user {user} has no access to this folder; "
            "choose another folder for the database (--database), or run this as an ordinary user"
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
    """Create the cluster in a temporary folder and rename it, so that `cluster` is always complete."""
    aside, final = database.folder / "cluster.new", database.folder / "cluster"
    shutil.rmtree(aside, ignore_errors=True)
    rules = ["-A", "scram-sha-256", "--pwfile", str(database.folder / "password")]
    _run(database, "initdb", "-D", str(aside), "-U", NAME, *rules, "-E", "UTF8", "--no-locale")
    _run(database, "postgres", "--single", "-D", str(aside), "postgres", stdin=f"create database {NAME}\n")
    aside.rename(final)


def _run(database: Database, program: str, *arguments: str, stdin: str = "") -> None:
    done = subprocess.run(
        [str(database.binaries / program), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=database.folder,
        env=_remove_client_settings(os.environ),
        check=False,
        **become(database.user),
    )
    if done.returncode != 0:
        raise InputError(f"{database.folder}: {program} failed ({done.stderr.strip()[-500:]})")


def _remove_client_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without PG… variables, which belong to clients of another database."""
    return {k: v for k, v in environment.items() if not k.startswith("PG")} | {"LC_ALL": "C"}
