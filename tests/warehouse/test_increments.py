"""Publishing step by step gives the rows of a publication from nothing, also of roots with damaged parts."""

import shutil
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import WAREHOUSE, withdrawal_record
from pretexeval.storage.records import write_record
from pretexeval.storage.withdrawals import withdraw_edition
from schemas.stages import DIVERSITY, HUMAN_GRADES
from tests.support.data_folder import DataFolder
from tests.support.question_folder import QuestionFolder
from tests.support.question_models import always_right, erratic, fill_points
from tests.support.simulated_models import expert, silent
from tests.support.stage_rows import Row, digest, response_row, write_measured, write_rows
from tests.warehouse.conftest import EDITION, fill_pairs, list_grades
from warehouse import published, publishing
from warehouse.catalogue import SUMS, VIEW_GROUPS
from warehouse.publishing import build_warehouse

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


def assert_as_rebuilt(root: Path, *kinds: str) -> Rows:
    """Check that the published tables and views are those of a publication from nothing; return them."""
    found = read_rows(root / WAREHOUSE, *kinds)
    other = root.with_name("rebuilt")
    shutil.copytree(root, other)
    (other / WAREHOUSE).unlink()
    publish(other)
    expected = read_rows(other / WAREHOUSE, *kinds)
    shutil.rmtree(other)
    assert found.keys() == expected.keys()
    assert {name for name, rows in found.items() if rows != expected[name]} == set()
    return found


@pytest.fixture
def extended(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """List the warehouses that were copied to be extended."""
    copied: list[Path] = []
    copy = shutil.copyfile

    def note(source: Path, target: Path) -> object:
        copied.append(source)
        return copy(source, target)

    monkeypatch.setattr(publishing, "copyfile", note)
    return copied


def fail_itch(sample: Row) -> str | None:
    return "HTTP 500" if sample["tail"] == "Itch" else None


@pytest.mark.long
def test_every_step_gives_the_tables_of_a_rebuild(tmp_path: Path, extended: list[Path]) -> None:
    folder = fill_points(QuestionFolder(fill_pairs(DataFolder(tmp_path / "data"))))
    data, root = folder.data, folder.data.root
    methods = ("pretexeval", "direct")
    folder.write_edition(EDITION, methods)
    publish(root)
    data.write_model("middle")
    data.write_answers(EDITION, "middle", expert, methods=methods, fail=fail_itch, max_error_rate=0.9)
    folder.write_answers(EDITION, "middle", erratic)
    failure = {"edition_id": EDITION, "model": "another", "reason": "it is down"}
    write_record(root / "failures" / EDITION / "another.json", failure)
    publish(root)
    # Both sort before what was there, so that the numbers of runs and clusters change.
    data.add_pair("symptoms", "Abscess", "Aching", "Fever")
    folder.write_edition("a-" + FRESH, methods)
    data.write_model("another")
    data.write_answers("a-" + FRESH, "another", silent, methods=methods)
    data.write_answers("a-" + FRESH, "middle", expert, methods=methods)
    folder.write_answers("a-" + FRESH, "another", always_right)
    (root / "failures" / EDITION / "another.json").unlink()
    publish(root)
    rows = assert_as_rebuilt(root, "BASE TABLE")
    assert len(rows["editions"]) == len(rows["models"]) == 2
    assert not rows["failures"]
    # The failed prompts of the first edition are asked again; then a model is removed.
    data.write_answers(EDITION, "middle", expert, methods=methods)
    publish(root)
    shutil.rmtree(root / "responses" / "another")
    publish(root)
    found = assert_as_rebuilt(root)
    assert "another" not in str(found["leaderboard"])
    assert "HTTP 500" not in str(found["predictions"])
    shutil.rmtree(root / "editions" / f"a-{FRESH}")
    publish(root)
    assert f"a-{FRESH}" not in str(assert_as_rebuilt(root, "BASE TABLE")["label_risks"])
    assert len(extended) == 5


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
    rows = assert_as_rebuilt(data.root)
    named = {name for name, found in rows.items() if FRESH in str(found)}
    # Its texts stay, and what was found out about them without a model.
    assert named & {*VIEW_GROUPS["Scores of the models on an edition"], "runs", "predictions"} == set()
    assert named & {*VIEW_GROUPS["Comparisons of models, methods, baselines and editions"]} == set()
    assert {"editions", "samples", "freshness"} <= named
    (row,) = data.query("from editions where withdrawn_at is not null")
    assert (row["edition_id"], row["withdrawal_reason"]) == (FRESH, "the base listed wrong drugs")
    (data.root / withdrawal_record(FRESH)).unlink()
    publish(data.root)
    assert read_rows(data.root / WAREHOUSE, "BASE TABLE") == before


def test_a_damaged_part_is_reported_until_it_is_repaired(data: DataFolder, extended: list[Path]) -> None:
    publish(data.root)
    path = data.root / "predictions" / EDITION / "expert" / "predictions" / "all.parquet"
    content = path.read_bytes()
    path.write_bytes(b"PAR1" + b"\xff" * 2000 + content[2004:])
    first = publish(data.root)
    assert "all.parquet: differs from the checksum in run.json" in first
    assert not assert_as_rebuilt(data.root, "BASE TABLE")["pair_scores"]
    before = identify(data.root / WAREHOUSE)
    assert publish(data.root) == first
    assert identify(data.root / WAREHOUSE) == before
    path.write_bytes(content)
    assert publish(data.root) == ""
    assert len(read_rows(data.root / WAREHOUSE, "BASE TABLE")["pair_scores"]) == 4
    assert len(extended) == 2


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
    write_rows(root / "reviews" / EDITION / "ada.parquet", HUMAN_GRADES, list_grades(data, "ada", [5]))
    failure = {"edition_id": EDITION, "model": "another", "reason": "it is down"}
    write_record(root / "failures" / EDITION / "another.json", failure)
    publish(root)
    expected = read_rows(root / WAREHOUSE, "BASE TABLE")
    backup = root.with_name("backup")
    shutil.copytree(root, backup)
    names = [path.relative_to(root) for path in sorted(root.rglob("*.*")) if path.suffix in SUFFIXES]
    assert len(names) > 15
    wrong = {}
    for k, name in enumerate(names):
        shutil.rmtree(root)
        shutil.copytree(backup, root)
        damage(root / name, k % 3)
        caplog.clear()
        said = publish(root) + caplog.text
        found = read_rows(root / WAREHOUSE, "BASE TABLE")
        # What was read from an answer stays without its text.
        changed = {*SUMS, *(("predictions", "question_answers") if name.parts[0] == "responses" else ())}
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


def test_nothing_new_leaves_the_file_alone_and_another_program_or_hand_makes_a_rebuild(
    data: DataFolder, extended: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build_warehouse(data.root)
    with duckdb.connect(str(path)) as connection:
        connection.execute("delete from samples")
    build_warehouse(data.root)
    assert read_rows(path, "BASE TABLE")["samples"].total() == 80
    before = identify(path)
    build_warehouse(data.root)
    assert identify(path) == before
    monkeypatch.setattr(published, "describe_code", lambda: "of another version")
    build_warehouse(data.root)
    assert identify(path) != before
    path.write_bytes(b"this is no database")
    build_warehouse(data.root)
    assert read_rows(path, "BASE TABLE")["samples"].total() == 80
    assert extended == []


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
        "select (select count(*) from storage.prompts) as n_texts, "
        "(select count(*) from storage.prompt_prefixes) as n_prefixes"
    )
    assert counts == [{"n_texts": 64 + len(prompts), "n_prefixes": 5}]
