"""Sheets for reviewers: what they show and hide, how they are read, and what becomes of the verdicts."""

import codecs
import csv
import io
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands.main import main
from commands.review.items import list_items
from commands.review.review import export_sheets, import_sheet
from commands.review.sheet import COLUMNS, GRADES, read_sheet, render_sheet
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import write_stage_file
from pretexeval.storage.records import read_manifest, read_record
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.edition.recipes import RECIPES
from tests.support.data_folder import DataFolder
from tests.support.endpoint import serve_endpoint
from tests.support.small_bases import build_edition, build_frames, make_base, make_edition, make_facts
from tests.support.stage_rows import Row
from tests.tasks.edition.test_writers import build as build_rewritten
from tests.tasks.edition.test_writers import plan_priced, reply
from warehouse import catalogue
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows as query

HEADER = ",".join(COLUMNS)
ROW = "e-1,ann,reliability,bcdf,gout | symptoms | pain,(true) Gout hurts.,,4,"
METHODS = ("pretexeval", "prototype", "direct")
# Five pairs per relation are demonstrations: (14 - 5) + (12 - 5) pairs are tested.
N_PAIRS = 16
# Whether a triplet is true, and its place among those under test -> its doubt and the reason.
DOUBTS = {
    (False, 12): (0.25, "a general tail"),
    (False, 23): (0.5, "true of similar heads"),
    (True, 31): (0.12, "the name of the head"),
}
Rows = list[dict[str, str]]


def read_rows(path: Path) -> Rows:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    pl.DataFrame(rows).write_csv(path)
    return path


def judge(sheet: Path, choose: Callable[[int], str]) -> Rows:
    """Write verdicts by the number of the row, and return the rows."""
    rows = [row | {"verdict": choose(k)} for k, row in enumerate(read_rows(sheet))]
    write_rows(sheet, rows)
    return rows


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "sheet.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_no_cell_becomes_a_formula() -> None:
    content = render_sheet([{"row_id": "bcdf", "triplet": "=gout | may cause | pain", "text": "a\n+b"}])
    assert content.startswith(codecs.BOM_UTF8)
    header, row = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    assert header == list(COLUMNS)
    assert row == ["", "", "", "bcdf", "'=gout | may cause | pain", "a\n'+b", "", "", ""]


def test_a_sheet_is_read_as_any_spreadsheet_saves_it(tmp_path: Path) -> None:
    lines = [
        HEADER,
        ROW + "naïve – déjà vu",
        "",
        '"e-1","ann",reliability,ghjk,x,y,," 4.0 ",',
        ",,,,,,,,",
        "",
    ]
    # Columns may be moved.
    lines[0] = lines[0].replace("edition,reviewer", "Edition, REVIEWER ")
    for encoding, delimiter, end in (
        ("utf-8", ",", "\n"),
        ("utf-8-sig", ";", "\r\n"),
        ("utf-16", "\t", "\r\n"),
        ("cp1252", ";", "\r"),
    ):
        rows = read_sheet(write(tmp_path, end.join(lines).replace(",", delimiter), encoding))
        assert [(row.number, row.cells["row_id"]) for row in rows] == [(2, "bcdf"), (4, "ghjk")], encoding
        assert rows[0].cells["comment"] == "naïve – déjà vu"
        assert [row.verdict for row in rows] == ["4", "4"]
    # Rows are numbered as in a spreadsheet, even if a cell has several lines.
    rows = read_sheet(write(tmp_path, f'{HEADER}\n{ROW}"two\nlines"\n{ROW.replace(",4,", ",Also_True,")}\n'))
    assert [(row.number, row.verdict) for row in rows] == [(2, "4"), (3, "also_true")]
    assert rows[0].cells["comment"] == "two\nlines"
    assert read_sheet(write(tmp_path, f"{HEADER}\n{ROW}".replace(",4,", ',"4,0",')))[0].verdict == "4"


def test_a_file_that_is_not_a_sheet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    begins = "has no columns named edition; it begins with a, b, c: use the exported sheet"
    for content, message in (
        (b"a,b,c\n1,2,3\n", begins),
        (f"{HEADER},row_id\n".encode(), "has 2 columns named row_id"),
        (f"{HEADER}\n,,\n".encode(), "has no rows"),
        (b"PK\x03\x04...", "is a workbook: open it"),
        (b"edition,row_id\n\x81", "has an unknown encoding"),
        (b'"' + b"a" * 200_000, "is not a CSV file"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            read_sheet(path)


@pytest.fixture(scope="module")
def three_methods(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A root with an edition of three methods, which no test changes."""
    root = tmp_path_factory.mktemp("built")
    edition = make_edition(
        root, make_base(r=make_facts(14, 6), s=make_facts(12, 5)), methods=METHODS, evidence=[]
    )
    build_edition(edition)
    return root, edition.edition_id


@pytest.fixture
def edition_id(tmp_path: Path, three_methods: tuple[Path, str]) -> str:
    shutil.copytree(three_methods[0], tmp_path, dirs_exist_ok=True)
    return three_methods[1]


def test_a_sheet_of_grades_has_the_samples_of_true_triplets_and_hides_the_method(
    tmp_path: Path, edition_id: str
) -> None:
    sheet, instructions = export_sheets(tmp_path, edition_id, "grades", ["ann"], 1000)
    rows, items = read_rows(sheet), list_items(tmp_path, edition_id, "grades")
    assert len(rows) == N_PAIRS * len(METHODS) * len(GRADES)
    assert [row["question"] for row in rows] == list(GRADES) * (N_PAIRS * len(METHODS))
    triplets = pl.read_parquet(tmp_path / "editions" / edition_id / "triplets" / "*.parquet")
    tested = triplets.filter("is_positive", pl.col("split") == "test")
    assert set(items["triplet_id"]) == set(tested["triplet_id"])
    samples = pl.read_parquet(tmp_path / "editions" / edition_id / "samples" / "*.parquet")
    for triplet_id, method, text in items.select("triplet_id", "method", "text").iter_rows():
        of_item = samples.filter(triplet_id=triplet_id, method=method)
        marked = [f"({str(label).lower()}) {said}" for said, label in of_item.select("text", "label").rows()]
        assert sorted(text.split("\n")) == sorted(marked)
    assert sorted(row["text"] for row in rows) == sorted(items["text"])
    assert all(re.fullmatch("[bcdfghjkmnpqrstv]{12}", row["row_id"]) for row in rows)
    content = sheet.read_text(encoding="utf-8-sig")
    assert not any(word in content for word in (*METHODS, *items["item_id"], *items["triplet_id"]))
    assert all(name in instructions.read_text() for name in GRADES)


def test_reviewers_grade_the_same_samples_in_different_orders(tmp_path: Path, edition_id: str) -> None:
    paths = export_sheets(tmp_path, edition_id, "grades", ["ann", "bob"], 10)[:2]
    one, other = (read_rows(path) for path in paths)
    assert not {row["row_id"] for row in one} & {row["row_id"] for row in other}
    texts = [[row["text"] for row in rows] for rows in (one, other)]
    assert texts[0] != texts[1]
    assert sorted(texts[0]) == sorted(texts[1])
    items = list_items(tmp_path, edition_id, "grades", 10)["text"].to_list()
    assert sorted(items) == sorted(texts[0])
    assert items != texts[0]
    content = paths[0].read_bytes()
    for reviewers, message in ((["carl", "ann"], "may contain verdicts"), (["../a"], "as a file name")):
        with pytest.raises(InputError, match=message):
            export_sheets(tmp_path, edition_id, "grades", reviewers, 10)
    assert paths[0].read_bytes() == content
    assert not paths[0].with_name("grades-carl.csv").exists()


def test_grades_reach_the_view_in_any_spelling_and_replace_earlier_ones(
    tmp_path: Path, edition_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet, _ = export_sheets(tmp_path, edition_id, "grades", ["ann"], 3)
    judge(sheet, lambda k: f"{k % 6}.0" if k else "")
    path, said = import_sheet(tmp_path, sheet)
    n_rows = 3 * len(METHODS) * len(GRADES)
    assert said == [f"{n_rows - 1} of {n_rows} rows have a verdict"]
    rows = judge(sheet, lambda k: (" 3 ", "4,0", "5")[k % 3])
    write_rows(sheet, [row | {"comment": "unclear"} for row in sorted(rows, key=lambda row: row["row_id"])])
    import_sheet(tmp_path, sheet)
    found = pl.read_parquet(path)
    assert found.height == n_rows
    assert dict(found.group_by("question").agg(pl.col("verdict").unique().first()).iter_rows()) == dict(
        zip(GRADES, "345", strict=True)
    )
    assert set(found["comment"]) == {"unclear"}
    assert set(found["method"]) == set(METHODS)
    monkeypatch.setattr(catalogue, "ESTIMATED", ())
    monkeypatch.setattr(catalogue, "VIEWS", ("human_review",))
    build_warehouse(tmp_path)
    for row in query(tmp_path, "from human_review"):
        assert [row[name] for name in GRADES] == [3, 4, 5]


def test_a_flipped_bit_changes_no_verdict_without_being_noticed(tmp_path: Path, edition_id: str) -> None:
    """No record holds the checksum of the file, so the file holds those of its pages."""
    sheet, _ = export_sheets(tmp_path, edition_id, "grades", ["ann"], 3)
    judge(sheet, lambda k: str(k % 6))
    path, _ = import_sheet(tmp_path, sheet)
    content, verdicts = path.read_bytes(), pq.read_table(path)
    footer = len(content) - 8 - pq.read_metadata(path).serialized_size
    n_noticed = 0
    for offset in range(4, footer, 5):
        path.write_bytes(content[:offset] + bytes([content[offset] ^ 1]) + content[offset + 1 :])
        try:
            assert pq.read_table(path, page_checksum_verification=True).equals(verdicts)
        except (pa.ArrowException, OSError):
            n_noticed += 1
    assert n_noticed > footer / 10


def test_every_wrong_cell_is_named_at_once(tmp_path: Path, edition_id: str) -> None:
    sheet, _ = export_sheets(tmp_path, edition_id, "grades", ["ann"], 3)
    with pytest.raises(InputError, match="has no verdict"):
        import_sheet(tmp_path, sheet)
    rows = judge(sheet, lambda _: "3")
    rows[1]["verdict"] = "7"
    rows[2]["verdict"] = "3.5"
    rows[3]["edition"] = "own-other"
    rows[4]["reviewer"] = "bob"
    rows[5]["row_id"] = "bcdf"
    rows.append(rows[0])
    with pytest.raises(InputError) as caught:
        import_sheet(tmp_path, write_rows(sheet, rows))
    assert str(caught.value).splitlines() == [
        f"{sheet}: nothing was imported, correct 6 places:",
        "  row 3, verdict: '7' is none of 0, 1, 2, 3, 4, 5",
        "  row 4, verdict: '3.5' is none of 0, 1, 2, 3, 4, 5",
        f"  row 5, edition: 'own-other' is not {edition_id!r}",
        "  row 6, reviewer: 'bob' is not 'ann'",
        f"  row 7, row_id: 'bcdf' is no row of a sheet of 'ann' about {edition_id!r}",
        f"  row {len(rows) + 1}, row_id: {rows[0]['row_id']!r} repeats row 2",
    ]
    assert not list(tmp_path.glob("reviews/*/*.parquet"))
    with pytest.raises(InputError, match="names no edition"):
        import_sheet(tmp_path, write_rows(sheet, [row | {"edition": "../x"} for row in rows]))


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

    def export(self, kind: str, n_pairs: int | None = None) -> Path:
        return export_sheets(self.root, self.edition_id, kind, ["ann"], n_pairs)[0]

    def import_labels(self, sheet: Path) -> str:
        """Import a sheet of labels, and return what was said of them."""
        _, (_, said) = import_sheet(self.root, sheet)
        return said


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


def name_triplet(row: dict[str, str]) -> tuple[str, str]:
    head, _, tail = row["triplet"].split(" | ")
    return head, tail


def test_the_most_doubtful_labels_come_first(data: BuiltFolder) -> None:
    for kind, label, doubtful in (
        ("negatives", "false", ["doubt 50.0 %: true of similar heads", "doubt 25.0 %: a general tail"]),
        ("positives", "true", ["doubt 12.0 %: the name of the head"]),
    ):
        rows = read_rows(data.export(kind))
        n_tested = data.list_tested(is_positive=kind == "positives").height
        for row in rows:
            assert row["text"].startswith(f"({label}) ")
            assert name_triplet(row)[1] in row["text"]
        assert [row["note"] for row in rows] == doubtful + [""] * (n_tested - len(doubtful))


def test_a_sheet_may_have_the_pairs_of_a_limited_run(data: BuiltFolder) -> None:
    sheets = [data.export(kind, 3) for kind in ("negatives", "positives")]
    heads, of_facts = ({name_triplet(row)[0] for row in read_rows(sheet)} for sheet in sheets)
    assert heads == of_facts
    assert len(heads) == 3
    with pytest.raises(InputError, match="no texts of a language model"):
        data.export("rewordings")


def test_verdicts_that_contradict_a_label_are_kept_until_they_are_changed(data: BuiltFolder) -> None:
    negatives, path = data.export("negatives", 4), data.root / "reviews/own-verdicts.csv"
    judge(negatives, lambda _: "label is right")
    assert data.import_labels(negatives) == "nothing written: 0 of 4 verdicts contradict the label"
    assert not path.exists()
    first = judge(negatives, lambda k: ("also_true", "Undecided", "also_false", "label is right")[k])
    assert data.import_labels(negatives) == f"{path}: 2 of 4 verdicts contradict the label"
    positives = data.export("positives", 3)
    second = judge(positives, lambda k: ("also_false", "also_true", "")[k])
    assert data.import_labels(positives).startswith(f"{path}: 1 of 2 ")
    judge(negatives, lambda k: "label is right" if k == 0 else "")
    assert data.import_labels(negatives).startswith(f"{path}: 0 of 1 ")
    table = pl.read_csv(path, infer_schema=False)
    assert table.columns == ["relation", "head", "head_id", "tail", "tail_id", "verdict"]
    assert sorted(table.select("head", "tail", "verdict").rows()) == sorted(
        [(*name_triplet(first[1]), "undecided"), (*name_triplet(second[0]), "also_false")]
    )
    kept = pl.read_parquet(data.root / "reviews" / data.edition_id / "ann.parquet")
    assert sorted(kept["verdict"]) == sorted(
        ["also_false", "also_true", "undecided", "also_false"] + ["label is right"] * 2
    )


def test_a_twin_that_all_models_contradict_is_not_drawn_again(
    data: BuiltFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(catalogue, "ESTIMATED", ())
    monkeypatch.setattr(catalogue, "VIEWS", ("leaderboard", "label_audit"))
    export = ["review", "export", data.edition_id, "--what", "audit", "--root", str(data.root)]
    build_warehouse(data.root)
    assert main(export) == 2
    assert "the models contradict no label" in capsys.readouterr().err
    head = data.list_tested(is_positive=True)["head"][0]

    def contradict(sample: Row) -> bool:
        return bool(sample["label"] == (sample["is_positive"] or sample["head"] != head))

    for name, rule in (("ann", contradict), ("bob", contradict), ("cas", contradict)):
        data.write_answers(data.edition_id, name, rule)
    build_warehouse(data.root)
    assert main(export) == 0
    sheet = Path(capsys.readouterr().out.splitlines()[0])
    (row,) = judge(sheet, lambda _: "also_true")
    assert row["text"].startswith("(false) ")
    assert re.fullmatch(r"wrong with a probability of \d+ %, contradicted by 3 of 3 models", row["note"])
    assert main(["review", "import", str(sheet), "--root", str(data.root)]) == 0
    path, counts = capsys.readouterr().out.splitlines()[-1].split(": ")
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


def test_verdicts_on_rewordings_change_the_estimate_of_the_edition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_endpoint(reply) as endpoint:
        edition, store = plan_priced(tmp_path, endpoint, 1.0)
        build_rewritten(edition, store)
    root, edition_id = edition.root, edition.edition_id
    ann, bob, _ = export_sheets(root, edition_id, "rewordings", ["ann", "bob"])
    rows = read_rows(ann)
    found = read_manifest(root, edition_id)["wrong_texts"]
    assert 2 < len(rows) <= found["n_accepted"]
    assert all(row["text"].count("\n") == 1 for row in rows)
    likeness = [float(row["note"].removeprefix("likeness ")) for row in rows]
    assert likeness == sorted(likeness)
    judge(ann, lambda _: "also_true")
    assert main(["review", "import", str(ann), "--root", str(root)]) == 2
    judge(ann, lambda k: "" if k else "Wrong")
    _, (_, said) = import_sheet(root, ann)
    assert "1 of 1 rewordings are wrong" in said
    judge(bob, lambda _: "same")
    path, _, counts = import_sheet(root, bob)[1][1].partition(": ")
    assert counts.startswith(f"1 of {len(rows)} rewordings are wrong")
    estimate = (read_record(Path(path)) or {})["wrong_texts"]
    assert estimate["low"] <= estimate["wrong_rate"] <= estimate["high"]
    assert estimate["wrong_rate"] >= 1 / found["n_accepted"] - 1e-4
    monkeypatch.setattr(catalogue, "ESTIMATED", ())
    monkeypatch.setattr(catalogue, "VIEWS", ("sample_quality",))
    build_warehouse(root)
    (row,) = query(root, "from sample_quality where method = 'pretexeval'")
    assert row["wrong_rate"] == estimate["wrong_rate"]
