"""Shared parts of the benchmarks: measured processes, built editions, and an endpoint with a rule."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pretexeval.primitives.toml_files import parse_toml, write_toml
from pretexeval.storage.layout import edition_folder
from report.console import align
from tests.support.endpoint import Body, EndpointReply, serve_endpoint

REPOSITORY = Path(__file__).parents[1]
REFERENCE = "PRETEXEVAL_REFERENCE_DATA"
FIGURES = ("wall (s)", "processor (s)", "peak memory (GB)")


@dataclass(frozen=True)
class FinishedProcess:
    """Time, memory and errors of a process that succeeded; children that it waited for are included."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    """Peak memory of the process, or of its largest child."""
    stderr: str

    def render(self) -> list[str]:
        """Return the cells of the columns FIGURES."""
        return [f"{self.wall_s:.1f}", f"{self.cpu_s:.1f}", f"{self.peak_bytes / 1e9:.2f}"]


def run_program(command: list[str], folder: Path, **variables: str) -> FinishedProcess:
    """Run a program in a new process, and measure it.

    Args:
        folder: folder for the files `stdout` and `stderr`.
        variables: environment variables to add.

    Raises:
        SystemExit: if the process fails, with the end of its stderr.
    """
    started = time.monotonic()
    environment = {"PYTHONPATH": str(REPOSITORY), **os.environ, **variables}
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    errors = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{errors[-2000:]}")
    # Linux counts ru_maxrss in KiB.
    return FinishedProcess(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, errors)


def run_command(folder: Path, *arguments: object) -> FinishedProcess:
    """Run `pretexeval` with the arguments, and measure it."""
    program = Path(sys.executable).with_name("pretexeval")
    return run_program([str(program), *map(str, arguments)], folder)


def write_config(path: Path, root: Path, **tables: Any) -> Path:  # noqa: ANN401
    """Write a configuration with these tables, whose results are under the root."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_toml(path, {"storage": {"root": str(root.absolute())}, **tables})
    return path


def build_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of the options of a measurement."""
    return argparse.ArgumentParser(prog=f"python -m benchmarks --only {name}", description=description)


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the argument CONFIG; `options.tables` are the tables of the file, or those of the bundled base."""
    text = "a TOML file; by default the bundled base"
    default: dict[str, Any] = {"edition": {"seed": 1}}
    parser.add_argument(
        "tables",
        metavar="CONFIG",
        type=lambda name: parse_toml(Path(name)),
        nargs="?",
        default=default,
        help=text,
    )


def build_edition(folder: Path, tables: Mapping[str, Any], **more: Any) -> Path:  # noqa: ANN401
    """Build the edition of these tables, without their models, in a data folder; return its folder."""
    kept = {key: tables[key] for key in ("knowledge", "edition") if key in tables}
    config = write_config(folder / "config.toml", folder / "data", **kept, **more)
    run_command(folder, "build", config)
    (edition,) = (folder / "data" / edition_folder("")).iterdir()
    return edition


def find_reference() -> Path:
    """Return the folder of the reference data.

    Raises:
        SystemExit: the environment does not name it.
    """
    name = os.environ.get(REFERENCE)
    if not name or not Path(name).is_dir():
        raise SystemExit(f"Set {REFERENCE} to the folder of the reference data (medlama.parquet, …).")
    return Path(name)


def tabulate(columns: tuple[str, ...], rows: Mapping[str, list[str]]) -> str:
    """Return a table whose first column has the keys of the rows."""
    return align(["", *columns], [[name, *cells] for name, cells in rows.items()])


@contextmanager
def serve_rule(reply: Callable[[str], str]) -> Iterator[str]:
    """Serve completions at a free port of the loopback interface, and yield the base URL.

    Args:
        reply: prompt -> the text of the completion. Threads call it concurrently.
    """

    def answer(request: Body, _: object) -> EndpointReply:
        # inspect_ai accepts no completion without the name of the model.
        choice = {"index": 0, "text": reply(request["prompt"]), "finish_reason": "stop"}
        return EndpointReply(body={"model": request["model"], "choices": [choice]})

    with serve_endpoint(answer) as endpoint:
        yield endpoint.base_url
