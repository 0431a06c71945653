"""Published data folders: one with names that could break a page and with everything that can be compared,
one with questions, and one without any answers."""

from pathlib import Path

import pytest

from pretexeval.storage.records import write_record
from report.formats import format_interval, format_percent, format_points, format_span
from report.page import PAGES, write_report
from schemas.stages import DIVERSITY, GUESSES, HUMAN_VERDICTS
from tests.support import data_folder
from tests.support.data_folder import RISKS, DataFolder
from tests.support.few_clusters import give_intervals
from tests.support.question_folder import Point, QuestionFolder, agreeing, always_right, erratic, fill_points
from tests.support.session_process import share_root
from tests.support.stage_rows import Row, write_measured, write_rows
from tests.warehouse import conftest as warehouse
from tests.warehouse.conftest import EDITION, METHODS, describe_attempt, list_grades
from warehouse.publishing import build_warehouse

__all__ = ["give_intervals"]
SETTING = f"edition_id = '{EDITION}' and scoring_policy = 'strict'"
ODD_HEAD = 'Crohn\'s "<b>disease</b>" & co'
ODD_NAME = "<script>alert('x')</script>"
ASKED = "asked-seed1-00000003"
BANK = "bank-seed1-00000004"
FRESH = "tiny-seed2-00000002"
ODD_REASON = "<u>roles</u>"


def share(row: Row, name: str) -> str:
    """Return the text of a cell with a share and its interval."""
    interval = format_interval(row[f"{name}_ci_low"], row[f"{name}_ci_high"])
    return format_percent(row[name]) + (f"\n{interval}" if interval else "")


def change(row: Row, name: str, *, is_swapped: bool = False) -> str:
    """Return the text of a cell with a difference and its interval, or with the difference the other way."""
    value, low, high = (row[f"{name}{end}"] for end in ("", "_ci_low", "_ci_high"))
    if is_swapped:
        value, low, high = -value, -high, -low
    span = format_span(low, high)
    return format_points(value) + (f"\n{span}" if span else "")


def fill_pairs(data: DataFolder) -> DataFolder:
    return warehouse.fill_pairs(data, ODD_HEAD)


def name_model(data: DataFolder, model_id: str, name: str) -> None:
    path = data.root / "responses" / model_id / "model.json"
    write_record(path, {"model_id": model_id, "name": name, "engine": "openai"})


def recall(sample: Row) -> bool | None:
    return bool(sample["label"]) if not sample["text"].startswith("fresh ") else False


def doubt(sample: Row) -> tuple[float | None, float | None]:
    """Return log-probabilities with p(true) = 0.9 for true samples and 0.2 for false ones."""
    return (-0.1, -0.1 - 2.1972246) if sample["label"] else (-1.5, -1.5 + 1.3862944)


def attempt(sample: Row, number: int, *reasons: str) -> Row:
    return describe_attempt(sample, number, *reasons) | {"rephraser": "writer"}


def appraise(data: DataFolder) -> None:
    """Write the diversity of one relation, a report of validation, and the grades of two graders."""
    distances = ("lexical_distance", "structural_distance", "lexical_spread", "structural_spread")
    rows = [s for s in data.samples("pretexeval") if s["relation"] == "drugs"]
    write_measured(data.root, EDITION, DIVERSITY, [row | dict.fromkeys(distances, 0.5) for row in rows])
    check = {"column": "relation", "expectation": "is_not_null", "meaning": "it is known", "n_unexpected": 2}
    report = {"stage": "guesses", "n_rows": 8, "checked_at": "2026-11-20T12:00:00+00:00"}
    write_measured(data.root, EDITION, GUESSES, [], report | {"checks": [check | {"success": False}]})
    for grader, grades in (("ada", (5, 3, 0)), ("bea", (4, 3, 1))):
        graded = [
            row
            for method in ("pretexeval", "llmeval")
            for row in list_grades(data, grader, grades, method, lexical=2)
        ]
        write_rows(data.root / "reviews" / EDITION / f"{grader}.parquet", HUMAN_VERDICTS, graded)


def publish_compared(root: Path) -> None:
    """Publish two editions, four methods, four models and all appraisals."""
    old = fill_pairs(DataFolder(root, usable_lines={"Scurvy": 5}))
    fresh = fill_pairs(DataFolder(root, wording="fresh "))
    reworded = [s for s in old.samples("pretexeval") if s["transformation"] in ("none", "inv")]
    attempts = [attempt(s, 1) for s in reworded[2:]] + [
        attempt(reworded[0], 1, ODD_REASON, "polarity"),
        attempt(reworded[1], 1, ODD_REASON),
    ]
    guessable = RISKS | {"guessable_rate": 0.894, "is_balanced": False}
    old.write_edition(
        EDITION, METHODS, attempts=attempts, balance={"symptoms": guessable, "drugs": RISKS, "sites": RISKS}
    )
    fresh.write_edition(FRESH, balance={})
    for rule in (data_folder.erratic, recall, data_folder.silent):
        old.write_model(rule.__name__)
        old.write_answers(
            EDITION,
            rule.__name__,
            rule,
            methods=METHODS,
            policies=("strict", "excluded"),
            weigh=doubt if rule is recall else lambda sample: (None, None),
        )
        fresh.write_answers(FRESH, rule.__name__, rule)
    old.write_model("limited")
    DataFolder(root, pairs=fresh.pairs[:3], wording="fresh ").write_answers(
        FRESH, "limited", data_folder.expert
    )
    name_model(old, "erratic", ODD_NAME)
    appraise(old)
    build_warehouse(root)


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return share_root(tmp_path_factory, "compared", publish_compared)


@pytest.fixture(scope="session")
def compared_texts(compared: Path) -> dict[str, str]:
    """Return the pages of the first edition of that warehouse, which have links to those of the second."""
    write_report(compared, FRESH)
    return read_pages(write_report(compared, EDITION))


def read_pages(first: Path) -> dict[str, str]:
    return {name: (first.parent / file).read_text(encoding="utf-8") for name, file in PAGES.items()}


def publish_questioned(root: Path) -> None:
    """Publish two editions: samples and questions, and questions alone."""
    both = fill_points(QuestionFolder(DataFolder(root)))
    both.write_edition(ASKED, ("pretexeval",))
    both.data.write_model("always_right", [{"relation": "symptoms", "head": "Disease 0"}])
    both.data.write_answers(ASKED, "always_right", data_folder.expert)
    for rule in (always_right, agreeing, erratic):
        name_model(both.data, rule.__name__, ODD_NAME if rule is erratic else rule.__name__)
        both.write_answers(ASKED, rule.__name__, rule, policies=("strict", "excluded"))
    both.write_answers(ASKED, "erratic", erratic, setting="chain_of_thought", n_repeats=3)
    bank = QuestionFolder(DataFolder(root))
    for k in range(6):
        bank.add_point(Point("medqa", f"Case {k}", has_pair=False, has_head=False, n_options=5))
    bank.write_edition(BANK)
    bank.write_answers(BANK, "erratic", erratic, cut=lambda *_: True)
    build_warehouse(root)


@pytest.fixture(scope="session")
def questioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return share_root(tmp_path_factory, "questioned", publish_questioned)
