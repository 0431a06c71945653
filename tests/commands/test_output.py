"""What the command prints: it gives no orders to a terminal or a spreadsheet, and survives bad streams."""

import signal
import subprocess
import time
from pathlib import Path

import duckdb
import pytest

from commands.arguments import report_error, write_json, write_output
from tests.support.command import build_command, build_environment

HOSTILE = "select chr(27) || '[31m' || chr(8238) || chr(155) || chr(10) || 'x' as a, '=1+1' as f, -1 as n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    duckdb.connect(folder / "warehouse.duckdb").close()
    return folder


def run_shell(command: str, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run a shell command in which "$@" is the command line of `pretexeval`."""
    return subprocess.run(
        ["bash", "-c", command, "bash", *build_command(*arguments)],
        env=build_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_control_characters_and_formulas_are_disarmed(root: Path) -> None:
    command = '"$@"; "$@" --format csv; "$@" --format json'
    done = run_shell(command, "sql", HOSTILE, "--root", root)
    assert done.stdout.splitlines()[2:5] == [
        "\\u001b[31m\\u202e\\u009b\\nx  =1+1  -1",
        "a,f,n",
        "\\u001b[31m\\u202e\\u009b x,'=1+1,-1",
    ]
    assert '"a": "\\u001b[31m\\u202e\\u009b\\nx"' in done.stdout
    assert not {"\x1b", "\u202e", "\x9b"} & set(done.stdout)


def test_every_way_to_print_escapes_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    for write in (write_output, write_json, report_error):
        write("a\x1b[31m\x9b")
    said = capsys.readouterr()
    assert (said.out.count("a\\u001b[31m\\u009b"), said.err.count("a\\u001b[31m\\u009b")) == (2, 1)


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ('"$@" | head -1 > /dev/null; exit ${PIPESTATUS[0]}', 141, ""),
        ('"$@" >&-', 2, "standard output is closed"),
        ('"$@" > /dev/full', 1, "No space left on device"),
        ('"$@" 2>&- > /dev/null', 0, ""),
        ('LC_ALL=C PYTHONIOENCODING=ascii "$@" > /dev/null', 0, ""),
        ('ALL_PROXY=socks5://127.0.0.1:9 "$@" > /dev/null', 0, "the proxy in ALL_PROXY is not used"),
        ("\"$1\" -m commands validate $'\\xff.toml'", 2, "cannot be read"),
        ('"$1" -m commands validate <(printf "[knowledge]\\nname = \\"\\xe9\\"")', 2, "not valid TOML"),
    ],
)
def test_no_stream_and_no_text_ends_in_a_traceback(
    root: Path, command: str, status: int, message: str
) -> None:
    query = "select 'ä', repeat('x', 100), range from range(20_000)"
    done = run_shell(
        f"cd {root}/..; ln -sfn {root} data; {command}", "sql", query, "--format", "csv", "--root", root
    )
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == bool(message)


def test_a_query_without_an_end_is_interrupted(root: Path) -> None:
    slow = "select sum(hash(a.range * b.range)) from range(10_000_000) a, range(10_000_000) b"
    command = build_command("sql", slow, "--root", root)
    running = subprocess.Popen(command, env=build_environment(), stderr=subprocess.PIPE, text=True)
    try:
        # The command imports DuckDB within a few seconds; earlier signals are handled by Python itself.
        while b"duckdb" not in Path(f"/proc/{running.pid}/maps").read_bytes():
            time.sleep(0.05)
        time.sleep(2)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=20)
    finally:
        running.kill()
    assert running.returncode == 130
    assert err == "pretexeval: interrupted; run the same command again to continue\n"
