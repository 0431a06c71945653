"""S3 servers on loopback: Moto's in memory, and rclone's, which stores files and ignores write conditions."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.processes import END_WITH_PARENT, find_free_port, wait_until_served

# One request at a time, because Moto checks the condition of a write before it writes, and holds no lock.
SERVE_MOTO = """
import sys
from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple
app = DomainDispatcherApplication(create_backend_app)
run_simple("127.0.0.1", int(sys.argv[1]), app, request_handler=MotoRequestHandler)
"""
KEYS = {"AWS_ACCESS_KEY_ID": "AKIATESTTESTTEST", "AWS_SECRET_ACCESS_KEY": "a-secret-of-the-tests"}


@dataclass
class ObjectStorage:
    """A running server, and the environment variables that its users need."""

    process: subprocess.Popen[bytes]
    port: int
    address: str = "s3://bucket/some/where"
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.environment = {
            **KEYS,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
        }

    def set_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Set the variables in the environment of this process."""
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)

    def make_address(self) -> str:
        """Return an address with nothing under it."""
        return f"s3://bucket/{secrets.token_hex(4)}"

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the server from answering during the block."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


@contextmanager
def serve_moto() -> Iterator[ObjectStorage]:
    """Run Moto's server with an empty bucket during the block."""
    port = find_free_port()
    with _start([sys.executable, "-c", SERVE_MOTO, str(port)], port) as storage:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/bucket", method="PUT")
        urllib.request.urlopen(request, timeout=20).close()
        yield storage


@contextmanager
def serve_rclone(folder: Path) -> Iterator[ObjectStorage]:
    """Run rclone's server during the block; its bucket is a folder of files."""
    (folder / "bucket").mkdir(parents=True)
    program = shutil.which("rclone", path=Path(sys.executable).parent)
    assert program is not None
    port = find_free_port()
    keys = ",".join(KEYS.values())
    options = ["--auth-key", keys, "--addr", f"127.0.0.1:{port}", "--config", str(folder / "none.conf")]
    with _start([program, "serve", "s3", *options, str(folder)], port) as storage:
        yield storage


@contextmanager
def _start(command: list[str], port: int) -> Iterator[ObjectStorage]:
    quiet = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    none = subprocess.DEVNULL
    process = subprocess.Popen(
        [*END_WITH_PARENT, *command], env=quiet, stdout=none, stderr=none, start_new_session=True
    )
    try:
        wait_until_served(process, f"http://127.0.0.1:{port}/")
        yield ObjectStorage(process, port)
    finally:
        process.kill()
        process.wait()
