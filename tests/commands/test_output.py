"""What the command prints: results of `pretexeval sql` in all formats, and no orders to a terminal."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from commands.arguments import report_error, write_json, write_output
from commands.main import main
from commands.results import list_pooled_editions
from tests.support.command import build_command, build_environment
from tests.support.data_folder import DataFolder, always_true, expert
from warehouse import catalogue
from warehouse.catalogue import START, VIEW_GROUPS
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

EDITION, OTHER = EDITIONS = ["tiny-seed1-00000001", "tiny-seed2-00000002"]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two editions. `expert` answered both, `always_true` only the first."""
    data = DataFolder(tmp_path_factory.mktemp("sql") / "data")
    data.add_pairs("symptoms", 6)
    for edition_id in EDITIONS:
        data.write_edition(edition_id)
        data.write_answers(edition_id, "expert", expert)
    data.write_answers(EDITION, "always_true", always_true)
    build_warehouse(data.root)
    return data.root


Ask = Callable[..., str]


@pytest.fixture
def ask(published: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """A function that runs `pretexeval sql` and returns its output, or its message if it must fail."""

    def run(*arguments: str | Path, status: int = 0) -> str:
        ended = main(["sql", *map(str, arguments), "--root", str(published)])
        captured = capsys.readouterr()
        assert ended == status, captured.err
        return captured.err if status else captured.out

    return run


def test_every_view_has_a_line_with_its_grain_in_its_group(ask: Ask) -> None:
    first, *groups, tables, hint = ask().split("\n\n")
    assert [line.split()[0] for line in first.splitlines()[1:]] == list(START)
    listed = {group.splitlines()[0]: group.splitlines()[1:] for group in groups}
    assert {group: tuple(line.split()[0] for line in lines) for group, lines in listed.items()} == VIEW_GROUPS
    assert all("  one row per " in line for lines in listed.values() for line in lines)
    assert ", facet_accuracy, " in tables
    views = [name for names in VIEW_GROUPS.values() for name in names]
    assert "pretexeval sql NAME" in hint
    rows = json.loads(ask("--format", "json"))
    assert [row["name"] for row in rows][: len(views)] == views
    assert {row["group"] for row in rows[len(views) :]} == {"Tables"}


def test_the_columns_of_a_view_or_table_are_listed_with_their_meanings(ask: Ask, published: Path) -> None:
    _, _, *lines = ask("leaderboard").splitlines()
    assert [line.split()[0] for line in lines] == run_query(published, "from leaderboard")[0]
    meaning = "name of the edition [key, refers to editions]"
    assert lines[0].split(maxsplit=2) == ["edition_id", "VARCHAR", meaning]
    rows = json.loads(ask("editions", "--format", "json"))
    assert rows[0] == {"column": "edition_id", "type": "VARCHAR", "meaning": "name of the edition [key]"}


def test_an_unknown_view_or_column_gets_the_similar_ones(ask: Ask) -> None:
    for sql, said in (
        ("leaderbord", "no table or view 'leaderbord' (did you mean leaderboard?); `pretexeval sql` lists"),
        ("xyz", "no table or view 'xyz'; `pretexeval sql` lists all"),
        ("from leaderbord", 'Did you mean "leaderboard'),
        ("select mastry from leaderboard", "mastery"),
    ):
        assert said in ask(sql, status=2)


def test_the_tables_of_the_papers_are_printed(ask: Ask) -> None:
    said = ask("--papers", EDITION)
    assert "Methods: gain over random" in said
    assert "Joint accuracy (%) when n samples are asked" in said
    assert "no edition 'none'" in ask("--papers", "none", status=2)


def test_a_terminal_shows_the_columns_that_fit_and_a_pipe_gets_all_columns_and_rows(
    ask: Ask, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, _ = run_query(published, "from leaderboard")
    for arguments, cut in (([], None), (["--wide"], None), (["--format", "csv"], ",")):
        assert ask("from leaderboard", *arguments).splitlines()[0].split(cut) == columns
    assert len(ask("from range(501)").splitlines()) == 2 + 501
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "500 of 501 rows" in ask("from range(501)")
    assert ask("from leaderboard", "--wide").splitlines()[0].split() == columns
    monkeypatch.setenv("COLUMNS", "80")
    *lines, _, note = ask(f"from leaderboard where edition_id = '{EDITION}'").splitlines()
    shown = lines[0].split()
    assert {"model", "mastery"} <= set(shown)
    assert "n_pairs" not in shown
    assert re.search(r" \d\.\d{4} \[\d\.\d{4}, \d\.\d{4}\]", lines[2])
    assert max(map(len, lines)) <= 80
    assert f"edition_id ({EDITION}), method (pretexeval)" in note


def test_a_file_holds_the_rows_of_the_query_and_replaces_none(
    ask: Ask, published: Path, tmp_path: Path
) -> None:
    sql = "select text, label, is_correct from prediction_details order by all"
    columns, rows = run_query(published, sql)
    expected = pl.DataFrame(rows, columns, orient="row")
    assert expected.height > 0
    for ending in ("parquet", "csv", "json"):
        path = tmp_path / ending / f"found.{ending}"
        assert ask(sql, "--output", path) == f"{path}: {len(rows)} rows\n"
        assert getattr(pl, f"read_{ending}")(path).equals(expected), ending
        assert list(path.parent.iterdir()) == [path]
    warehouse = published / "warehouse.duckdb"
    before = warehouse.read_bytes()
    said = ask("select 1", "--format", "parquet", "--output", warehouse, status=2)
    assert "exists already" in said
    assert warehouse.read_bytes() == before


def test_an_empty_result_is_said(ask: Ask, capsys: pytest.CaptureFixture[str], published: Path) -> None:
    missing = (
        "pretexeval: the warehouse has no edition 'tiny' (did you mean {0} or {1}?); it contains: {0}, {1}\n"
    )
    missing = missing.format(*EDITIONS)
    for condition, said in (
        (f"= '{EDITION}' and false", ""),
        ("= 'tiny'", missing),
        (f"IN ('tiny', '{OTHER}') and false", missing),
        ("> 'tiny-seed3'", ""),
    ):
        sql = f"select model from leaderboard where edition_id {condition}"
        assert main(["sql", sql, "--root", str(published)]) == 0
        assert capsys.readouterr() == ("model\n-----\n", f"The result has no rows.\n{said}")


def test_what_cannot_be_written(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        (["select 1 as a", "--format", "parquet"], "give --output FILE"),
        (["select 1 as a", "--output", "a.xlsx"], "names no format"),
        (["select interval 1 day as a", "--output", "a.parquet"], "cast it"),
        (["select 1 as a, 2 as a", "--output", "a.parquet"], "two columns of the result are named a"),
        (["select 1", "--papers", "tiny"], "exclude each other"),
        (["copy (select 1) to 'a.csv'", "--output", "a.parquet"], "write a file with `--output FILE`"),
    ):
        assert message in ask(*arguments, status=2), arguments
        assert list(tmp_path.iterdir()) == []


ASCII = "LC_ALL=C PYTHONIOENCODING=ascii"
HOSTILE = "select chr(27) || '[31m' || chr(8238) || chr(155) || chr(10) || 'x' as a, '=1+1' as f, -1 as n"


def test_control_characters_and_formulas_are_disarmed(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    table, csv, values = (ask(HOSTILE, "--format", form) for form in ("table", "csv", "json"))
    assert table.splitlines()[2] == "\\u001b[31m\\u202e\\u009b\\nx  =1+1  -1"
    assert csv.splitlines() == ["a,f,n", "\\u001b[31m\\u202e\\u009b x,'=1+1,-1"]
    assert '"a": "\\u001b[31m\\u202e\\u009b\\nx"' in values
    for write in (write_output, write_json, report_error):
        write("a\x1b[31m\x9b\udcff")
    said, escaped = capsys.readouterr(), "a\\u001b[31m\\u009b\\udcff"
    assert (said.out.count(escaped), said.err.count(escaped)) == (2, 1)
    assert not {"\x1b", "\u202e", "\x9b"} & set(table + csv + values + said.out + said.err)


POOLING = [
    "select model, mastery from leaderboard",
    "select (select count(*) from triplets) as n",
    "with scores as (from leaderboard) select avg(mastery) from scores",
]
APART = [
    "select avg(mastery) from leaderboard group by edition_id",
    f"select model, mastery from leaderboard where edition_id = '{EDITION}'",
    "select mastery from leaderboard join editions using (edition_id) where label = 'seed1'",
    "select name from models",
    "no query",
    "",
]


def test_a_query_that_puts_rows_of_several_editions_together_is_named_once(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [list_pooled_editions(published, sql) for sql in POOLING] == [EDITIONS] * len(POOLING)
    assert [list_pooled_editions(published, sql) for sql in APART] == [[]] * len(APART)
    for sql, n in ((POOLING[0], 1), ("from leaderboard", 0), (None, 0)):
        assert main(["sql", *([sql] if sql else []), "--root", str(published)]) == 0
        said = capsys.readouterr().err
        assert said.count("The warehouse holds 2 editions, and no column says of which the rows are.") == n
        assert said.count("\n") == n
    monkeypatch.setattr(catalogue, "ESTIMATED", ())
    monkeypatch.setattr(catalogue, "VIEWS", ())
    alone = DataFolder(tmp_path / "data")
    alone.add_pairs("symptoms", 6)
    alone.write_edition(EDITION)
    build_warehouse(alone.root)
    assert list_pooled_editions(alone.root, POOLING[1]) == []


@pytest.mark.long
def test_bad_streams_and_settings_end_in_one_sentence(published: Path) -> None:
    query = "select 'ä', repeat('x', 100), range from range(20_000)"
    csv = build_command("sql", query, "--format", "csv", "--root", published)
    for command, status, message in (
        ('"$@" | head -1 > /dev/null; exit ${PIPESTATUS[0]}', 141, ""),
        ('"$@" >&-', 2, "standard output is closed"),
        ('"$@" > /dev/full', 1, "No space left on device"),
        ('"$@" 2>&- > /dev/null', 0, ""),
        (f'{ASCII} ALL_PROXY=socks5://127.0.0.1:9 "$@" > /dev/null', 0, "the proxy in ALL_PROXY is not used"),
    ):
        done = subprocess.run(
            ["bash", "-c", command, "bash", *csv],
            env=build_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, (command, done.stderr)
        assert message in done.stderr
        assert done.stderr.count("\n") == bool(message)
