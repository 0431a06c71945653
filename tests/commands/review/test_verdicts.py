"""Sheets of labels and of rewordings: the rows that they have, and what becomes of the verdicts."""

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from commands.main import main
from commands.review.rewordings import export_rewordings, import_rewordings
from commands.review.verdicts import export_verdicts, import_verdicts
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import write_stage_file
from pretexeval.storage.records import read_manifest, read_record
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.edition.recipes import RECIPES
from tests.commands.review.test_grades import Rows, read_rows, write_rows
from tests.support.data_folder import DataFolder
from tests.support.endpoint import serve_endpoint
from tests.support.simulated_models import expert
from tests.support.small_bases import build_frames
from tests.support.stage_rows import Row
from tests.tasks.edition.test_writer_tokens import build as build_rewritten
from tests.tasks.edition.test_writer_tokens import plan_priced, reply
from warehouse import catalogue
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows as query

# Whether a triplet is true, and its place among those under test -> its doubt and the reason.
DOUBTS = {
    (False, 12): (0.25, "a general tail"),
    (False, 23): (0.5, "true of similar heads"),
    (True, 31): (0.12, "the name of the head"),
}


class BuiltFolder(DataFolder):
    """A data folder with an edition that was built."""

    edition_id = ""

    def read_triplets(self) -> pl.DataFrame:
        return pl.read_parquet(self.root / "editions" / self.edition_id / "triplets" / "*.parquet")

    def samples(self, method: str) -> list[Row]:
        samples = pl.read_parquet(self.root / "editions" / self.edition_id / "samples" / "*.parquet")
        columns = ["triplet_id", "head", "tail", "is_positive"]
        triplets = self.read_triplets().select(columns)
        return samples.filter(method=method).join(triplets, on="triplet_id").to_dicts()

    def list_tested(self, *, is_positive: bool) -> pl.DataFrame:
        return self.read_triplets().filter(is_positive=is_positive, split="test")


def plan(root: Path, **knowledge: Path) -> Edition:
    base = {"name": "own", "format": "table", "path": root.parent / "facts.csv", **knowledge}
    return plan_edition(Config.model_validate({"knowledge": base, "storage": {"root": root}}))


def build(edition: Edition) -> str:
    """Write an edition with DOUBTS, and return its name."""
    (piece,) = edition.pieces
    frames = build_frames(edition, piece)
    rows = [row | {"doubt": None, "doubt_reason": None} for row in frames["triplets"].to_dicts()]
    for (is_positive, place), (doubt, reason) in DOUBTS.items():
        tested = [row for row in rows if (row["is_positive"], row["split"]) == (is_positive, "test")]
        tested[place] |= {"doubt": doubt, "doubt_reason": reason}
    frames["triplets"] = pl.DataFrame(rows, frames["triplets"].schema)
    refs = [
        write_stage_file(edition.root, f"{edition.folder}/{name}/{piece}.parquet", frame, RECIPES[name].stage)
        for name, frame in frames.items()
    ]
    return complete_edition(edition, refs, [])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with an edition of 100 drugs, of which four each treat a disease; no test changes it."""
    folder = tmp_path_factory.mktemp("built")
    rows = [f"drug {k},may_treat,disease {k % 25}" for k in range(100)]
    (folder / "facts.csv").write_text("\n".join(["head,relation,tail", *rows]), encoding="utf-8")
    return folder, build(plan(folder / "data"))


@pytest.fixture
def data(tmp_path: Path, built: tuple[Path, str]) -> BuiltFolder:
    shutil.copytree(built[0], tmp_path, dirs_exist_ok=True)
    data = BuiltFolder(tmp_path / "data")
    data.edition_id = built[1]
    return data


def judge(sheet: Path, choose: Callable[[int], str]) -> Rows:
    """Write verdicts by the number of the row, and return the rows."""
    rows = [row | {"verdict": choose(k)} for k, row in enumerate(read_rows(sheet))]
    write_rows(sheet, rows)
    return rows


def name_triplet(row: dict[str, str]) -> tuple[str, str]:
    head, _, tail = row["triplet"].split(" | ")
    return head, tail


def test_the_most_doubtful_labels_come_first(data: BuiltFolder) -> None:
    for what, label, doubtful in (
        ("negatives", "false", [("50.0 %", "true of similar heads"), ("25.0 %", "a general tail")]),
        ("positives", "true", [("12.0 %", "the name of the head")]),
    ):
        sheet, _ = export_verdicts(data.root, data.edition_id, what)
        rows = read_rows(sheet)
        n_tested = data.list_tested(is_positive=what == "positives").height
        assert {row["label"] for row in rows} == {label}
        assert all(name_triplet(row)[1] in row["statement"] and not row["verdict"] for row in rows)
        shown = [(row["doubt"], row["doubt_reason"]) for row in rows]
        assert shown == doubtful + [("", "")] * (n_tested - len(doubtful))


def test_a_sheet_may_have_the_pairs_of_a_limited_run_and_is_not_replaced(data: BuiltFolder) -> None:
    sheets = [export_verdicts(data.root, data.edition_id, what, 3)[0] for what in ("negatives", "positives")]
    heads, of_facts = ({name_triplet(row)[0] for row in read_rows(sheet)} for sheet in sheets)
    assert heads == of_facts
    assert len(heads) == 3
    content = sheets[0].read_bytes()
    with pytest.raises(InputError, match="exists already"):
        export_verdicts(data.root, data.edition_id, "negatives", 3)
    assert sheets[0].read_bytes() == content


def test_verdicts_that_contradict_a_label_are_kept_until_they_are_changed(data: BuiltFolder) -> None:
    negatives, _ = export_verdicts(data.root, data.edition_id, "negatives", 4)
    judge(negatives, lambda _: "label is right")
    path, *counts = import_verdicts(data.root, negatives)
    assert counts == [0, 4]
    assert not path.exists()
    first = judge(negatives, lambda k: ("also_true", "Undecided", "also_false", "label is right")[k])
    assert import_verdicts(data.root, negatives) == (path, 2, 4)
    positives, _ = export_verdicts(data.root, data.edition_id, "positives", 3)
    second = judge(positives, lambda k: ("also_false", "also_true", "")[k])
    assert import_verdicts(data.root, positives) == (path, 1, 2)
    judge(negatives, lambda k: "label is right" if k == 0 else "")
    assert import_verdicts(data.root, negatives) == (path, 0, 1)
    table = pl.read_csv(path, infer_schema=False)
    assert table.columns == ["relation", "head", "head_id", "tail", "tail_id", "verdict"]
    assert sorted(table.select("head", "tail", "verdict").rows()) == sorted(
        [(*name_triplet(first[1]), "undecided"), (*name_triplet(second[0]), "also_false")]
    )


def test_wrong_cells_are_listed_and_nothing_is_written(data: BuiltFolder) -> None:
    sheet, _ = export_verdicts(data.root, data.edition_id, "negatives")
    judge(sheet, lambda k: "yes" if k == 1 else "")
    text = sheet.read_text(encoding="utf-8").splitlines()
    sheet.write_text("\n".join([*text, text[1], text[2].replace("own-seed1", "other")]), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        import_verdicts(data.root, sheet)
    said = str(raised.value)
    assert "correct 4 places" in said
    assert "row 3, verdict: 'yes' is none of also_true, also_false, undecided, label is right" in said
    assert "appears twice" in said
    assert not list(data.root.glob("reviews/*.csv"))


def test_a_twin_that_the_models_dispute_is_not_drawn_again(
    data: BuiltFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(catalogue, "ESTIMATED", ())
    monkeypatch.setattr(catalogue, "VIEWS", ("leaderboard", "disputed_facts"))
    export = ["review", "export", data.edition_id, "--what", "disputed", "--root", str(data.root)]
    build_warehouse(data.root)
    assert main(export) == 2
    assert "the models dispute no label" in capsys.readouterr().err
    head = data.list_tested(is_positive=True)["head"][0]

    def contradict(sample: Row) -> bool:
        return bool(sample["label"] == (sample["is_positive"] or sample["head"] != head))

    for name, rule in (("ann", contradict), ("bob", contradict), ("cas", expert)):
        data.write_model(name)
        data.write_answers(data.edition_id, name, rule)
    build_warehouse(data.root)
    assert main(export) == 0
    sheet = Path(capsys.readouterr().out.splitlines()[0])
    (row,) = judge(sheet, lambda _: "also_true")
    assert (row["label"], row["contradicted_by"]) == ("false", "2 of 3 models")
    assert main(["review", "import", str(sheet), "--root", str(data.root)]) == 0
    path, counts = capsys.readouterr().out.strip().split(": ")
    assert counts == "1 of 1 verdicts contradict the label"
    tail = name_triplet(row)[1]
    assert name_triplet(row)[0] == head
    assert Path(path).read_text(encoding="utf-8").splitlines() == [
        "relation,head,head_id,tail,tail_id,verdict",
        f"may_treat,{head},,{tail},,also_true",
    ]
    edition_id = data.edition_id
    data.edition_id = build(plan(data.root, verdicts=Path(path)))
    assert data.edition_id != edition_id
    assert (head, tail) not in data.list_tested(is_positive=False).select("head", "tail").rows()


def test_verdicts_change_the_estimate_of_the_edition(tmp_path: Path) -> None:
    with serve_endpoint(reply) as endpoint:
        edition, store = plan_priced(tmp_path, endpoint, 1.0)
        build_rewritten(edition, store)
    root, edition_id = edition.root, edition.edition_id
    sheet, instructions = export_rewordings(root, edition_id)
    assert instructions.exists()
    rows = read_rows(sheet)
    found = read_manifest(root, edition_id)["wrong_texts"]
    assert 2 < len(rows) <= found["n_accepted"]
    likeness = [float(row["likeness"]) for row in rows]
    assert likeness == sorted(likeness)
    filled = write_rows(root / "filled.csv", [rows[0] | {"verdict": "also_true"}, *rows[1:]])
    assert main(["review", "import", str(filled), "--root", str(root)]) == 2
    with pytest.raises(InputError, match="'also_true' is none of same, wrong"):
        import_rewordings(root, filled)
    with pytest.raises(InputError, match="has no verdict"):
        import_rewordings(root, sheet)
    with pytest.raises(InputError, match="exists already"):
        export_rewordings(root, edition_id)
    write_rows(filled, [rows[0] | {"verdict": "Wrong"}, *rows[1:]])
    path, n_wrong, n_judged = import_rewordings(root, filled)
    assert (n_wrong, n_judged) == (1, 1)
    write_rows(filled, [rows[0], *(row | {"verdict": "same"} for row in rows[1:])])
    assert import_rewordings(root, filled) == (path, 1, len(rows))
    record = read_record(path)
    assert record is not None
    estimate = record["wrong_texts"]
    assert estimate["low"] <= estimate["wrong_rate"] <= estimate["high"]
    assert estimate["wrong_rate"] >= 1 / found["n_accepted"] - 1e-4
    build_warehouse(root)
    (row,) = query(root, "from sample_quality where method = 'pretexeval'")
    assert row["wrong_rate"] == estimate["wrong_rate"]


def test_edition_without_a_writer_has_no_sheet(data: BuiltFolder) -> None:
    with pytest.raises(InputError, match="no texts of a language model"):
        export_rewordings(data.root, data.edition_id)
