"""Labels that most of the good models contradict, in one warehouse that is worked out by hand."""

from collections import Counter
from functools import partial

import pytest

from report.contents import Setting
from report.edition_reader import EditionReader
from report.page_rows import UNDISPUTED
from schemas.transformations import NAMES
from tests.support.data_folder import DataFolder
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse
from warehouse.query import open_warehouse

N_PAIRS = 40
TAILS = "ABCDE"
# (head, whether the triplet is the true one) -> how many of the eight answers of a model are right, where not
# all are; None: it gives no answer. `dee` is asked twice. Only `opposite` is below the best shortcut.
RIGHT: dict[tuple[str, bool], dict[str, int | None]] = {
    # Disputed: three of four contradict the label, one of them with two answers that agree with it.
    ("head 0", False): {"ann": 0, "bob": 2, "cas": 0},
    # Disputed: no answer is no contradiction.
    ("head 1", True): {"ann": 0, "bob": 0, "cas": 0, "dee": None},
    # Not disputed: two of four; the third has three answers that agree with the label; the third contradicts
    # it in one of its repeats; one model alone.
    ("head 2", True): {"ann": 0, "bob": 0},
    ("head 3", True): {"ann": 0, "bob": 3, "cas": 2},
    ("head 4", True): {"ann": 0, "bob": 0},
    ("head 5", True): {"ann": 0, "bob": None, "cas": None, "dee": None},
    ("head 6", True): {"dee": 7},
    ("head 7", True): {"dee": 7},
}


@pytest.fixture(scope="module")
def disputed(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    data = DataFolder(tmp_path_factory.mktemp("disputed") / "data")
    for k in range(N_PAIRS):
        # Each tail is true as often as false, so that no shortcut works.
        true, false = (f"sign {TAILS[i % len(TAILS)]}" for i in (k, k + 1))
        data.add_pair("findings", f"head {k}", true, false)
    data.write_edition(EDITION, ("pretexeval", "direct"))
    asked: Counter[tuple[str, str]] = Counter()

    def answer(model: str, sample: Row) -> bool | None:
        n_right = RIGHT.get((sample["head"], sample["is_positive"]), {}).get(model, 8)
        asked[model, sample["text"]] += 1
        if model == "opposite" or (sample["head"] == "head 4" and asked[model, sample["text"]] == 2):
            n_right = 0
        if n_right is None:
            return None
        return bool(sample["label"]) == (NAMES.index(sample["transformation"]) < n_right)

    for name in ("ann", "bob", "cas", "dee", "opposite"):
        data.write_model(name)
        data.write_answers(
            EDITION,
            name,
            partial(answer, name),
            methods=("pretexeval", "direct") if name in ("ann", "bob") else ("pretexeval",),
            n_repeats=2 if name == "dee" else 1,
        )
    build_warehouse(data.root)
    return data


def test_a_label_is_disputed_if_most_good_models_contradict_it_in_all_forms(disputed: DataFolder) -> None:
    rows = disputed.query("from disputed_facts")
    names = ("head", "tail", "is_positive", "n_contradicting", "n_models", "models")
    good = ["Ann", "Bob", "Cas"]
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("head 1", "sign B", True, 3, 3, good),
        ("head 0", "sign B", False, 3, 4, good),
    ]
    assert [row["contradicting_rate"] for row in rows] == [1, 3 / 4]


def test_scores_without_the_pairs_of_disputed_labels(disputed: DataFolder) -> None:
    with open_warehouse(disputed.root) as connection:
        found = EditionReader(connection, EDITION).read(UNDISPUTED, **vars(Setting("pretexeval")))
    rows = {row["model"]: row for row in found}
    assert {model: (row["mastery"], row["undisputed_mastery"]) for model, row in rows.items()} == {
        "Cas": (36 / 40, 36 / 38),
        "Dee": (36 / 40, 35 / 38),
        "Bob": (34 / 40, 34 / 38),
        "Ann": (34 / 40, 34 / 38),
        "Opposite": (0, 0),
    }
    assert {(row["n_pairs"], row["n_disputed_pairs"]) for row in found} == {(40, 2)}
    # `cas` has eight of the 16 answers about each disputed pair right.
    cas = rows["Cas"]
    assert cas["undisputed_accuracy"] == pytest.approx((cas["average_accuracy"] * 640 - 16) / 608)
