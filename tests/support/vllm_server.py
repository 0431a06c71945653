"""vLLM's own OpenAI server as a process that ends with the test."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pretexeval.engines.vllm_process import ENVIRONMENT, HUB_VARIABLE


@dataclass
class VllmServer:
    """A started server, which may not be ready yet."""

    process: subprocess.Popen[bytes]
    base_url: str
    log: Path

    def wait(self, timeout_s: float = 240) -> None:
        """Wait until the server answers; fail with the end of its log if it does not."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.base_url}/models", timeout=2).close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        pytest.fail(f"the server did not come up:\n{self.log.read_text()[-2000:]}")


@contextmanager
def start_vllm_server(
    model: Path, log: Path, *, port: int = 0, dtype: str = "bfloat16"
) -> Iterator[VllmServer]:
    """Run a server during the block, on this port or a free one; the caller waits until it is ready."""
    port = port or find_free_port()
    module = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    options = ["--model", str(model), "--served-model-name", "tiny", "--dtype", dtype]
    address = ["--host", "127.0.0.1", "--port", str(port)]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*module, *options, *address, "--enforce-eager"],
            env=os.environ | ENVIRONMENT | {HUB_VARIABLE: "1"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield VllmServer(process, f"http://127.0.0.1:{port}/v1", log)
    finally:
        # The server has its own session, so this also ends the process of its engine.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


def find_free_port() -> int:
    """Return a free port of loopback."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
