"""vLLM's own OpenAI server as a process that ends with the test."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pretexeval.engines.vllm_process import ENVIRONMENT, HUB_VARIABLE
from tests.support.processes import END_WITH_PARENT, find_free_port, wait_until_served


@dataclass
class VllmServer:
    """A started server, which may not be ready yet."""

    process: subprocess.Popen[bytes]
    base_url: str
    log: Path

    def wait(self) -> None:
        """Wait until the server answers; fail with the end of its log if it does not."""
        wait_until_served(self.process, f"{self.base_url}/models", self.log)


@contextmanager
def start_vllm_server(model: Path, log: Path, *, dtype: str = "bfloat16") -> Iterator[VllmServer]:
    """Run a server during the block on a free port; the caller waits until it is ready."""
    port = find_free_port()
    module = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    options = ["--model", str(model), "--served-model-name", "tiny", "--dtype", dtype]
    address = ["--host", "127.0.0.1", "--port", str(port)]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*END_WITH_PARENT, *module, *options, *address, "--enforce-eager"],
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
