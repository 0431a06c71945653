"""Running a process until its end, with the stacks of its threads in the report if it does not end."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

# Of the output of a process that did not end; its stacks are the last lines.
SHOWN_CHARACTERS = 20_000
DUMP_S = 10.0


def run_process(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    timeout_s: float,
    prepare: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command and capture its output; if it does not end in time, fail with the stacks of its threads.

    A Python process writes the stacks itself when it is aborted.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, "PYTHONFAULTHANDLER": "1"},
        preexec_fn=prepare,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            output = _abort(process)[-SHOWN_CHARACTERS:]
            pytest.fail(f"{' '.join(command)} did not end in {timeout_s:g} s\n{output}", pytrace=False)
        finally:
            process.kill()
    return subprocess.CompletedProcess(list(command), process.returncode, out, err)


def _abort(process: subprocess.Popen[str]) -> str:
    """Abort a process and return what it wrote; a process that it started may keep the pipes open."""
    process.send_signal(signal.SIGABRT)
    try:
        return "".join(process.communicate(timeout=DUMP_S))
    except subprocess.TimeoutExpired as error:
        return os.fsdecode(error.output or b"") + os.fsdecode(error.stderr or b"")
