"""Every view of the accuracy on samples, row by row, against a computation from the Parquet files."""

from collections import Counter
from collections.abc import Callable
from math import tanh

import pytest
from scipy.stats import norm

from schemas.transformations import NAMES
from tests.support.data_folder import DataFolder
from tests.support.expected_views import (
    expected_curve,
    expected_difference,
    expected_scores,
    group,
    pair_up,
    pick,
    read_predictions,
    select,
)
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION, KNOWN, METHODS, POLICIES, RULES
from warehouse.publishing import build_warehouse

N_MODELS = len(RULES) + 1
PATHS = {
    "pretexeval": (["none"], ["none", "inv"], ["none", "inv", "dn", "inv_dn"], list(NAMES)),
    "pretexttrans": (["none"], ["none", "dn"], ["none", "inv", "dn", "inv_dn"], list(NAMES)),
}
ABLATION = [(name, step, forms) for name, path in PATHS.items() for step, forms in enumerate(path, 1)]
COMPONENTS = {
    "full": ("pretexeval", NAMES),
    "without_transformations": ("pretexeval", ("none",)),
    "without_rephrasing": ("prototype", NAMES),
}
KEYS = ("model_id", "method", "scoring_policy", "repeat")


@pytest.fixture(scope="module")
def predictions(published: DataFolder) -> list[Row]:
    return [
        row
        | {"taught_with": KNOWN.get(row["head"], "nothing") if row["relation"] == "symptoms" else "nothing"}
        for row in read_predictions(published.root, EDITION)
    ]


def name_setting(row: Row) -> tuple[object, ...]:
    return tuple(row[key] for key in KEYS)


@pytest.fixture(scope="module")
def settings(predictions: list[Row]) -> dict[tuple[object, ...], list[Row]]:
    """Return model, method, policy and repeat -> the predictions."""
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in predictions:
        if row["model_id"] != "bad":
            found.setdefault(name_setting(row), []).append(row)
    return found


def by(column: str) -> Callable[[Row, Row], bool]:
    return lambda row, sample: row[column] == sample[column]


# View -> whether a sample is one of those that its row is about, and the number of its rows by method.
PARTS: dict[str, tuple[Callable[[Row, Row], bool], tuple[int, ...]]] = {
    "leaderboard": (lambda *_: True, (1, 1, 1, 1)),
    "accuracy_by_relation": (by("relation"), (2, 2, 2, 2)),
    "form_effects": (by("transformation"), (8, 8, 1, 0)),
    "ablations": (
        lambda row, sample: sample["transformation"] in row["transformations"],
        (len(ABLATION), len(ABLATION), 0, 0),
    ),
}


def count_samples(row: Row) -> int:
    """Return how many samples a complete triplet has."""
    return len(row["transformations"]) if "transformations" in row else 1 if row["method"] == "direct" else 8


@pytest.mark.parametrize("view", PARTS)
def test_every_row_has_the_scores_of_its_samples(
    published: DataFolder, settings: dict[tuple[object, ...], list[Row]], view: str
) -> None:
    belongs, numbers = PARTS[view]
    rows = [row for row in published.query(f"from {view}") if not row.get("component")]
    assert Counter(row["method"] for row in rows) == {
        method: N_MODELS * len(POLICIES) * n for method, n in zip(METHODS, numbers, strict=True) if n
    }
    for row in rows:
        own = [sample for sample in settings[name_setting(row)] if belongs(row, sample)]
        expected = {name: v for name, v in expected_scores(own, count_samples(row)).items() if name in row}
        assert {"n_samples", "n_pairs", "average_accuracy", "average_accuracy_ci_low"} <= expected.keys()
        assert pick(row, expected) == pytest.approx(expected), row


def test_the_columns_that_only_some_of_these_views_have(
    published: DataFolder, settings: dict[tuple[object, ...], list[Row]]
) -> None:
    for row in published.query("from leaderboard"):
        assert {
            "mastery_ci_high",
            "joint_accuracy_ci_low",
            "true_rate",
            "consistency",
            "error_rate",
        } < row.keys()
        if row["average_accuracy"] is not None:
            assert row["gain_over_random"] == row["average_accuracy"] - 0.5
    strict = published.query("from leaderboard where method = 'pretexeval' and scoring_policy = 'strict'")
    ranks = {row["model_id"]: row["rank"] for row in strict}
    assert (ranks["expert"], ranks["silent"]) == (1, max(ranks.values()))
    assert ranks["always_true"] == ranks["polarity"]
    ablations = published.query(
        "select distinct ablation, step, transformations from ablations where component is null order by all"
    )
    assert [tuple(row.values()) for row in ablations] == ABLATION


@pytest.mark.parametrize("model_id", ["always_true", "polarity", "erratic"])
def test_joint_accuracy_curve(
    published: DataFolder, settings: dict[tuple[object, ...], list[Row]], model_id: str
) -> None:
    rows = published.query(
        f"from joint_accuracy_curve where model_id = '{model_id}' and method = 'pretexeval' "
        "and scoring_policy = 'strict'"
    )
    samples = settings[model_id, "pretexeval", "strict", 0]
    assert [row["n"] for row in rows] == list(range(1, 9))
    assert [row["joint_accuracy"] for row in rows] == pytest.approx(expected_curve(samples, 8))
    assert {row["n_triplets"] for row in rows} == {8}


@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_taught_in_which_wordings(
    published: DataFolder, settings: dict[tuple[object, ...], list[Row]], policy: str
) -> None:
    where = f"where grouping_by = 'taught' and scoring_policy = '{policy}' and method = 'pretexeval'"
    rows = published.query(f"from accuracy_by_group {where} order by group_position")
    assert [(row["model_id"], row["group_name"]) for row in rows] == [
        ("erratic", taught_with) for taught_with in ("pool", "other", "nothing")
    ]
    for row in rows:
        own = select(settings[name_setting(row)], taught_with=row["group_name"])
        expected = {name: v for name, v in expected_scores(own, 8).items() if name in row}
        assert {"average_accuracy", "mastery", "mastery_ci_low"} < expected.keys()
        assert pick(row, expected) == pytest.approx(expected)


def test_components_of_the_method(
    published: DataFolder, settings: dict[tuple[object, ...], list[Row]]
) -> None:
    rows = published.query("from ablations where ablation = 'components'")
    assert len(rows) == N_MODELS * len(POLICIES) * len(COMPONENTS)
    for row in rows:
        method, forms = COMPONENTS[row["component"]]
        samples = settings[row["model_id"], method, row["scoring_policy"], 0]
        own = [sample for sample in samples if sample["transformation"] in forms]
        assert row["k"] == len(forms)
        expected = {name: v for name, v in expected_scores(own, len(forms)).items() if name in row}
        assert pick(row, expected) == pytest.approx(expected), row


def test_relations_count_alike_or_by_their_pairs(published: DataFolder) -> None:
    """The edition has three test pairs of symptoms and two of drugs."""
    choice = "where method = 'pretexeval' and scoring_policy = 'strict' and model_id = 'erratic'"
    (drugs, symptoms) = published.query(f"from accuracy_by_relation {choice} order by relation")
    (pairs, relations) = published.query(f"from weighted_accuracy {choice} order by weighting")
    assert symptoms["average_accuracy"] != drugs["average_accuracy"]
    for measure in ("average_accuracy", "mastery"):
        assert relations[measure] == pytest.approx((symptoms[measure] + drugs[measure]) / 2)
        assert pairs[measure] == pytest.approx((3 * symptoms[measure] + 2 * drugs[measure]) / 5)
    for row in (pairs, relations):
        assert row["average_accuracy_ci_low"] <= row["average_accuracy"] <= row["average_accuracy_ci_high"]
        assert row["n_pairs"] == 5


def test_groups_of_facts(published: DataFolder, settings: dict[tuple[object, ...], list[Row]]) -> None:
    rows = published.query(
        "from accuracy_by_group where grouping_by not in ('fact', 'taught') and method = 'pretexeval'"
    )
    kinds = {(row["grouping_by"], row["group_name"], row["group_position"]) for row in rows}
    assert kinds == {
        ("negative", "not in the base", 1),
        ("negative", "asserted", 2),
        ("release", "2021", 1),
        ("release", "2019B", 2),
        ("release", "new", 3),
        ("head commonness", "once", 1),
        ("head commonness", "2 to 4 times", 2),
        ("tail commonness", "once", 1),
    }
    heads = {(s["pair_id"], s["head"].lower()) for s in next(iter(settings.values()))}
    n_with = Counter(head for _, head in heads)
    belongs: dict[str, Callable[[Row, Row], bool]] = {
        "negative": lambda row, s: s["is_asserted"] == (row["group_name"] == "asserted"),
        "release": lambda row, s: s["first_release"] == row["group_name"],
        "head commonness": lambda row, s: (n_with[s["head"].lower()] > 1) == (row["group_position"] == 2),
        "tail commonness": lambda *_: True,
    }
    for row in rows:
        own = [s for s in settings[name_setting(row)] if belongs[row["grouping_by"]](row, s)]
        expected = {name: v for name, v in expected_scores(own, 8).items() if name in row}
        assert pick(row, expected) == pytest.approx(expected), row
        if row["scoring_policy"] == "strict":
            false = [s["is_correct"] for s in own if not s["is_positive"] and s["error"] is None]
            assert row["negative_accuracy"] == pytest.approx(sum(false) / len(false))


def test_true_facts_and_false_twins(
    published: DataFolder, settings: dict[tuple[object, ...], list[Row]]
) -> None:
    rows = published.query("from accuracy_by_group where grouping_by = 'fact' and method = 'pretexeval'")
    assert {row["group_name"]: row["group_position"] for row in rows} == {"true fact": 1, "false twin": 2}
    for row in rows:
        is_positive = row["group_name"] == "true fact"
        own = [s for s in settings[name_setting(row)] if s["is_positive"] == is_positive]
        answers = [s for s in own if s["has_answer"] and s["error"] is None]
        affirming = [s["prediction"] is not s["is_negated"] for s in answers]
        assert row["affirmed_rate"] == (pytest.approx(sum(affirming) / len(affirming)) if answers else None)
        # Every answer has the same log-probabilities, -0.1 and -2.5, and denials turn them. One triplet
        # has one form only.
        assert row["probability_range"] == pytest.approx(tanh(1.2), rel=0.03)
        expected = {name: v for name, v in expected_scores(own, 8).items() if name in row and v is not None}
        assert pick(row, expected) == pytest.approx(expected, rel=1e-5), row
    shares = {
        (row["model_id"], row["group_name"]): (row["affirmed_rate"], row["consistency"])
        for row in rows
        if row["scoring_policy"] == "strict"
    }
    assert shares["expert", "true fact"][0] == 1 > shares["expert", "false twin"][0]
    # One sample is missing.
    for name in ("true fact", "false twin"):
        assert shares["always_true", name] == pytest.approx((0.5, 0), abs=0.02)


@pytest.mark.parametrize("policy", POLICIES)
def test_effects_of_forms(
    published: DataFolder, settings: dict[tuple[object, ...], list[Row]], policy: str
) -> None:
    where = f"where method = 'pretexeval' and scoring_policy = '{policy}'"
    rows = published.query(f"from form_effects {where} and transformation <> 'none'")
    assert rows
    for row in rows:
        own = settings[name_setting(row)]
        plain = {s["triplet_id"]: s for s in own if s["transformation"] == "none"}
        form = [s for s in own if s["transformation"] == row["transformation"] and s["triplet_id"] in plain]
        both = pair_up(form, [plain[s["triplet_id"]] for s in form])
        if not both:
            assert row["difference"] is row["p_value"] is None
            continue
        expected = expected_difference(both)
        se = expected.pop("difference_se")
        assert pick(row, expected) == pytest.approx(expected, abs=1e-6), row
        if se:
            assert row["p_value"] == pytest.approx(2 * norm.sf(abs(row["difference"]) / se), rel=1e-5)
    for values in group(rows, lambda row: row["model_id"]).values():
        p = sorted(row["p_value"] for row in values if row["p_value"] is not None)
        adjusted = [max((len(p) - j) * p[j] for j in range(i + 1)) for i in range(len(p))]
        found = sorted(row["holm_p_value"] for row in values if row["holm_p_value"] is not None)
        assert found == pytest.approx([min(1, a) for a in adjusted])


def test_details_of_pairs(published: DataFolder, predictions: list[Row]) -> None:
    where = "where method = 'pretexeval' and scoring_policy = 'strict' and is_complete and not is_mastered"
    assert published.query(f"from pair_details {where} and model_id = 'expert'") == []
    rows = published.query(f"from pair_details {where} and model_id = 'erratic'")
    assert rows
    for row in rows:
        own = select(
            predictions,
            model_id="erratic",
            method="pretexeval",
            scoring_policy="strict",
            relation=row["relation"],
            head=row["head"],
        )
        assert {s["tail"] for s in select(own, is_positive=True)} == {row["true_tail"]}
        assert {s["tail"] for s in select(own, is_positive=False)} == {row["false_tail"]}
        counts = (len(own), len(select(own, is_correct=True)), len(select(own, has_answer=False)))
        assert (row["n_asked"], row["n_correct"], row["n_no_answer"]) == counts
        for is_positive, column in ((True, "wrong_of_true"), (False, "wrong_of_false")):
            wrong = select(own, is_positive=is_positive, is_correct=False)
            assert row[column] == [sample["transformation"] for sample in wrong]


def test_editions_repeats_and_splits_are_kept_apart(data: DataFolder) -> None:
    """A second edition of the same samples is answered twice, and its demonstrations are answered too."""
    other = DataFolder(data.root, pairs=[(*pair[:4], "test") for pair in data.pairs])
    data.write_edition("tiny-seed2-00000002")
    asked: list[str] = []

    def answer(sample: Row) -> bool:
        """Answer right first, then wrong."""
        asked.append(sample["text"])
        return bool(sample["label"]) == (asked.count(sample["text"]) == 1)

    other.write_answers("tiny-seed2-00000002", "expert", answer, n_repeats=2)
    build_warehouse(data.root)
    sql = "select edition_id, repeat, n_samples, n_pairs, average_accuracy from leaderboard"
    assert [tuple(row.values()) for row in data.query(sql)] == [
        (EDITION, 0, 64, 4, 1.0),
        ("tiny-seed2-00000002", 0, 64, 4, 1.0),
        ("tiny-seed2-00000002", 1, 64, 4, 0.0),
    ]
