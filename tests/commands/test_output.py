"""Output gives no orders to a terminal, and neither bad streams nor bad texts end in a traceback."""

import json
import subprocess
from pathlib import Path

import duckdb
import pytest

from commands.arguments import report_error, write_json, write_output
from commands.main import main
from tests.support.command import build_command, build_environment

HOSTILE = "select chr(27) || '[31m' || chr(8238) || chr(155) || chr(10) || 'x' as a, '=1+1' as f, -1 as n"
STARTER = '[knowledge]\nname = "t"\nrelations = ["may_treat"]\n'
TABLE = '[knowledge]\nname = "t"\nformat = "table"\npath = "{path}"\n'
MODEL = STARTER + '[[models]]\nname = "{name}"\nmodel = "{model}"\n'


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    duckdb.connect(folder / "warehouse.duckdb").close()
    return folder


def test_control_characters_and_formulas_are_disarmed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def ask(*options: str) -> str:
        assert main(["sql", HOSTILE, *options, "--root", str(root)]) == 0
        return capsys.readouterr().out

    table, csv, values = ask(), ask("--format", "csv"), ask("--format", "json")
    assert table.splitlines()[2] == "\\u001b[31m\\u202e\\u009b\\nx  =1+1  -1"
    assert csv.splitlines() == ["a,f,n", "\\u001b[31m\\u202e\\u009b x,'=1+1,-1"]
    assert '"a": "\\u001b[31m\\u202e\\u009b\\nx"' in values
    for write in (write_output, write_json, report_error):
        write("a\x1b[31m\x9b")
    said = capsys.readouterr()
    assert (said.out.count("a\\u001b[31m\\u009b"), said.err.count("a\\u001b[31m\\u009b")) == (2, 1)
    assert not {"\x1b", "\u202e", "\x9b"} & set(table + csv + values + said.out + said.err)


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ('"$@" | head -1 > /dev/null; exit ${PIPESTATUS[0]}', 141, ""),
        ('"$@" >&-', 2, "standard output is closed"),
        ('"$@" > /dev/full', 1, "No space left on device"),
        ('"$@" 2>&- > /dev/null', 0, ""),
        (
            'LC_ALL=C PYTHONIOENCODING=ascii ALL_PROXY=socks5://127.0.0.1:9 "$@" > /dev/null',
            0,
            "the proxy in ALL_PROXY is not used",
        ),
    ],
)
def test_bad_streams_and_settings_end_in_one_sentence(
    root: Path, command: str, status: int, message: str
) -> None:
    query = "select 'ä', repeat('x', 100), range from range(20_000)"
    done = subprocess.run(
        ["bash", "-c", command, "bash", *build_command("sql", query, "--format", "csv", "--root", root)],
        env=build_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == bool(message)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (MODEL.format(name="n" * 250, model="m"), "models[0].name"),
        (MODEL.format(name="a", model="$ODD"), "the value of the variable is not text in UTF-8"),
        (TABLE.format(path="long.tsv"), "the name of relation 'rrrr"),
        (TABLE.format(path="greek.tsv"), "cannot name a file"),
        (TABLE.format(path="half.jsonl"), "a text holds half of a surrogate pair"),
        (TABLE.format(path="latin1.tsv"), "line 2: byte 0xe9 is not UTF-8"),
        ('[knowledge]\nname = "\udce9"', "not valid TOML"),
        (None, "\\udcff.toml cannot be read"),
    ],
)
def test_names_that_no_file_path_or_encoding_can_hold_are_one_message(
    config: str | None,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODD", "a\udcffb")
    rows = [(f"head {i}", f"tail {i % 6}") for i in range(14)]
    for name, relation in (("long", "r" * 250), ("greek", "ρ" * 90)):
        lines = ["head\trelation\ttail", *(f"{head}\t{relation}\t{tail}" for head, tail in rows)]
        Path(f"{name}.tsv").write_text("\n".join(lines), encoding="utf-8")
    Path("latin1.tsv").write_bytes(b"head\trelation\ttail\ncaf\xe9\tr\tt\n")
    records = [json.dumps({"head": head + "\ud800", "relation": "r", "tail": tail}) for head, tail in rows]
    Path("half.jsonl").write_text("\n".join(records))
    Path("base.toml").write_bytes((config or "").encode(errors="surrogateescape"))
    assert main(["validate", "\udcff.toml" if config is None else "base.toml"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("pretexeval: ")
    assert words in said
    assert not Path("data").exists()
