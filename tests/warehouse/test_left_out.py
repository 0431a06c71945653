"""Damaged, edited and exchanged parts are left out with the reason, and the rest is published."""

import shutil
from collections import Counter
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import WAREHOUSE, withdrawal_record
from pretexeval.storage.records import write_record
from pretexeval.storage.withdrawals import withdraw_edition
from schemas.stages import DIVERSITY, HUMAN_VERDICTS
from tests.support.data_folder import DataFolder, expert, silent
from tests.support.question_folder import QuestionFolder, erratic, fill_points
from tests.support.stage_rows import digest, response_row, write_measured, write_rows, write_run
from tests.warehouse.conftest import EDITION, fill_pairs, list_grades
from warehouse import publishing
from warehouse.catalogue import FACTS, VIEW_GROUPS
from warehouse.publishing import build_warehouse
from warehouse.query import run_query
from warehouse.records import require_record

FRESH = "tiny-seed2-00000002"
HEADACHE = "Kopf-\n\nschmerz 🤕\u0301"
RELATIONS = "select table_name, table_type from information_schema.tables where table_schema = 'main'"
SUFFIXES = (".json", ".parquet")
Rows = dict[str, Counter[str]]
"""Table or view -> its rows, each as text."""


def read_rows(path: Path, *kinds: str) -> Rows:
    """Return the rows of all tables and views, or only of those of these kinds."""
    with duckdb.connect(str(path), read_only=True) as connection:
        found = connection.execute(RELATIONS).fetchall()
        names = [str(name) for name, kind in found if kind in (kinds or (kind,))]
        return {name: Counter(map(_show, connection.execute(f"from {name}").fetchall())) for name in names}


def _show(row: tuple[object, ...]) -> str:
    # The order in which threads add floats is not fixed.
    return str([float(f"{value:.9g}") if isinstance(value, float) else value for value in row])


def identify(path: Path) -> tuple[int, int]:
    return path.stat().st_ino, path.stat().st_mtime_ns


def publish(root: Path) -> str:
    """Publish, and return the message about the parts that are left out."""
    try:
        build_warehouse(root)
    except InputError as error:
        return str(error)
    return ""


def test_scores_of_a_withdrawn_edition_leave_all_tables_and_come_back(data: DataFolder) -> None:
    other = fill_pairs(DataFolder(data.root, wording="fresh "))
    other.write_edition(FRESH)
    other.write_answers(FRESH, "expert", silent)
    failure = {"edition_id": FRESH, "model": "another", "reason": "it is down"}
    write_record(data.root / "failures" / FRESH / "another.json", failure)
    publish(data.root)
    before = read_rows(data.root / WAREHOUSE, "BASE TABLE")
    withdraw_edition(data.root, FRESH, " the base listed wrong drugs ")
    assert publish(data.root) == ""
    rows = read_rows(data.root / WAREHOUSE)
    named = {name for name, found in rows.items() if FRESH in str(found)}
    # Its texts stay, and what was found out about them without a model.
    assert named & {*VIEW_GROUPS["Scores of the models on an edition"], "runs", "answers"} == set()
    assert named & {*VIEW_GROUPS["Comparisons of models, methods, baselines and editions"]} == set()
    assert {"editions", "samples", "freshness"} <= named
    (row,) = data.query("from editions where withdrawn_at is not null")
    assert (row["edition_id"], row["withdrawal_reason"]) == (FRESH, "the base listed wrong drugs")
    (data.root / withdrawal_record(FRESH)).unlink()
    publish(data.root)
    assert read_rows(data.root / WAREHOUSE, "BASE TABLE") == before


def test_a_damaged_part_is_reported_until_it_is_repaired(data: DataFolder) -> None:
    publish(data.root)
    path = data.root / "predictions" / EDITION / "expert" / "predictions" / "all.parquet"
    content = path.read_bytes()
    path.write_bytes(b"PAR1" + b"\xff" * 2000 + content[2004:])
    first = publish(data.root)
    assert "all.parquet: differs from the checksum in run.json" in first
    assert not read_rows(data.root / WAREHOUSE, "BASE TABLE")["pair_scores"]
    before = identify(data.root / WAREHOUSE)
    assert publish(data.root) == first
    assert identify(data.root / WAREHOUSE) == before
    path.write_bytes(content)
    assert publish(data.root) == ""
    assert len(read_rows(data.root / WAREHOUSE, "BASE TABLE")["pair_scores"]) == 4


def exchange(one: Path, other: Path) -> None:
    """Give two files or folders each other's name."""
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


@pytest.mark.long
def test_each_edited_or_exchanged_part_has_one_line(data: DataFolder) -> None:
    for name in ("one", "other"):
        data.write_answers(EDITION, name, expert)
    root, evaluations = data.root, data.root / "predictions" / EDITION
    parts = [next((root / "responses" / name).glob("*.parquet")) for name in ("one", "other")]
    exchange(root / "responses" / "one", root / "responses" / "other")
    names = "model.json has the model_id '{}' and not '{}': a folder was renamed or exchanged"
    expected = [f"{root}/responses/{a}/{names.format(b, a)}" for a, b in (("one", "other"), ("other", "one"))]
    assert_left_out(root, expected, {"expert"})
    exchange(root / "responses" / "one", root / "responses" / "other")
    # Only the answers are exchanged.
    for part, name in zip(parts, ("other", "one"), strict=True):
        part.rename(root / "responses" / name / part.name)
    text = "{}/responses/{}/{}: holds answers of {}, but is in the folder of {}"
    expected = [
        text.format(root, a, part.name, b, a)
        for a, b, part in (("one", "other", parts[1]), ("other", "one", parts[0]))
    ]
    assert_left_out(root, expected, {"expert"})
    for part in parts:
        next((root / "responses").glob(f"*/{part.name}")).rename(part)
    assert_left_out(root, [], {"expert", "one", "other"})
    # The evaluations are exchanged, a record is edited, and readings are edited.
    exchange(evaluations / "one", evaluations / "other")
    record = evaluations / "expert" / "run.json"
    record.write_text(record.read_text().replace("strict", "Strict"))
    edited = f"{record} was damaged or edited, and is now run.json.damaged"
    names = "run.json has the model_id '{}' and not '{}'"
    expected = [f"{evaluations}/{a}/{names.format(b, a)}" for a, b in (("one", "other"), ("other", "one"))]
    assert_left_out(root, [edited, *expected], set())
    exchange(evaluations / "one", evaluations / "other")
    # The record was set aside, and what it completed is still left out.
    assert_left_out(root, [edited], {"one", "other"})
    record.with_name("run.json.damaged").unlink()
    path = evaluations / "one" / "readings" / "all.parquet"
    pl.read_parquet(path).with_columns(answer=pl.lit("T")).write_parquet(path)
    assert_left_out(root, [f"{path}: differs from the checksum in run.json"], {"other"})


def assert_left_out(root: Path, expected: list[str], models: set[str]) -> None:
    """Check that one line names each part that is left out, and of which models there are scores."""
    lines = publish(root).splitlines()
    assert len(lines) == len(expected) + bool(expected)
    assert [line.strip()[: len(text)] for line, text in zip(lines[1:], expected, strict=True)] == expected
    assert {model_id for (model_id,) in run_query(root, "select model_id from leaderboard")[1]} == models


@pytest.mark.long
def test_a_file_with_unsound_rows_is_left_out_with_its_part(data: DataFolder) -> None:
    """The record has the checksum of the file, so that the rows are noticed only when they are loaded."""
    data.write_answers(EDITION, "other", expert)
    folder = data.root / "predictions" / EDITION / "other"
    path, record = folder / "readings" / "all.parquet", require_record(folder / "run.json")
    del record["files"]
    whole = pl.read_parquet(path)
    for rows, problem in (
        (whole.drop("error"), f"{path}: cannot be read as readings"),
        (whole.with_columns(repeat=pl.lit("one")), f"{path}: cannot be read as readings"),
        (whole.with_columns(item_id=pl.lit("x")), f"{folder}/predictions/all.parquet: 0 of 64 rows fit"),
    ):
        rows.write_parquet(path)
        write_run(folder, record)
        assert_left_out(data.root, [problem], {"expert"})
    whole.write_parquet(path)
    write_run(folder, record)
    assert_left_out(data.root, [], {"expert", "other"})


ADDED_TO = {"responses": ("answers", "runs"), "diversity": ("samples",), "guesses": ("triplets",)}
"""Folder -> the tables whose rows have columns from its files."""


def damage(path: Path, how: int) -> None:
    """Empty the file, cut it, or change two of its bytes."""
    content = path.read_bytes()
    third = len(content) // 3
    path.write_bytes((b"", content[: 2 * third], content[:third] + b"\x00\xff" + content[third + 2 :])[how])


@pytest.mark.long
def test_any_damaged_file_is_named_and_adds_no_wrong_row(
    data: DataFolder, caplog: pytest.LogCaptureFixture
) -> None:
    """The root has a file of each kind at least."""
    folder, root = fill_points(QuestionFolder(data)), data.root
    folder.write_edition(EDITION, ("pretexeval",))
    folder.write_answers(EDITION, "expert", erratic)
    distances = dict.fromkeys(DIVERSITY.names[-4:], 0.5)
    write_measured(root, EDITION, DIVERSITY, [s | distances for s in data.samples("pretexeval")[:1]])
    write_rows(root / "reviews" / EDITION / "ada.parquet", HUMAN_VERDICTS, list_grades(data, "ada", [5]))
    failure = {"edition_id": EDITION, "model": "another", "reason": "it is down"}
    write_record(root / "failures" / EDITION / "another.json", failure)
    publish(root)
    expected = read_rows(root / WAREHOUSE, "BASE TABLE")
    backup = root.with_name("backup")
    shutil.copytree(root, backup)
    names = [path.relative_to(root) for path in sorted(root.rglob("*.*")) if path.suffix in SUFFIXES]
    # Scores are computed again (test_scoring.py).
    names = [name for name in names if name.parts[0] != "scores"]
    assert len(names) > 15
    wrong = {}
    for k, name in enumerate(names):
        shutil.rmtree(root)
        shutil.copytree(backup, root)
        damage(root / name, k % 3)
        caplog.clear()
        said = publish(root) + caplog.text
        found = read_rows(root / WAREHOUSE, "BASE TABLE")
        # Rows stay without what the file added to them.
        changed = {*FACTS, *ADDED_TO.get(name.parts[0], ())}
        added = [table for table, rows in found.items() if table not in changed and rows - expected[table]]
        if name.stem not in said or found == expected or added:
            wrong[f"{name}, damage {k % 3}"] = (said, added)
    assert wrong == {}


def test_an_edition_whose_withdrawal_is_damaged_is_not_published(data: DataFolder) -> None:
    withdraw_edition(data.root, EDITION, "the base listed wrong drugs")
    path = data.root / withdrawal_record(EDITION)
    path.write_text(path.read_text().replace("wrong", "right"))
    assert f"{path} cannot be used as a record" in publish(data.root)
    assert not read_rows(data.root / WAREHOUSE, "BASE TABLE")["editions"]


@pytest.mark.long
def test_nothing_new_leaves_the_file_alone_and_another_program_or_hand_makes_a_rebuild(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build_warehouse(data.root)
    with duckdb.connect(str(path)) as connection:
        connection.execute("delete from samples")
    build_warehouse(data.root)
    assert read_rows(path, "BASE TABLE")["samples"].total() == 80
    before = identify(path)
    build_warehouse(data.root)
    assert identify(path) == before
    monkeypatch.setattr(publishing, "describe_code", lambda: "of another version")
    build_warehouse(data.root)
    assert identify(path) != before
    path.write_bytes(b"this is no database")
    build_warehouse(data.root)
    assert read_rows(path, "BASE TABLE")["samples"].total() == 80


def test_a_prompt_is_stored_once_and_returned_whole(data: DataFolder) -> None:
    prompts = [f"{start}\n\nStatement {n}\nAnswer:" for start in ("One", HEADACHE) for n in range(3)]
    prompts += ["no blank line", "", '[{"content":"One\\n\\nLast"}]', HEADACHE]
    rows = [response_row("expert", digest(prompt, n=32), prompt, True) for prompt in prompts]
    data.write_responses("others", "expert", rows)
    data.write_model("second")
    others = [row | {"model_id": "second", "prompt_key": digest("2", row["prompt"], n=32)} for row in rows]
    data.write_responses("others", "second", others)
    build_warehouse(data.root)
    stored = data.query("select prompt_key, prompt from responses")
    found = {row["prompt_key"]: row["prompt"] for row in stored}
    assert {row["prompt_key"]: row["prompt"] for row in rows + others}.items() <= found.items()
    counts = data.query(
        "select count(*) as n_texts, count(distinct prompt) as n_different from storage.prompts"
    )
    assert counts == [dict.fromkeys(("n_texts", "n_different"), 64 + len(prompts))]
