"""The views of questions: facets, mastered points, both methods side by side, guessers, what was taught."""

from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from statistics import mean

import polars as pl
import pytest

from schemas.question_stages import LETTERS
from tests.support import data_folder
from tests.support.data_folder import DataFolder
from tests.support.expected_views import (
    Observation,
    expected_difference,
    expected_share,
    group,
    match,
    pick,
    select,
)
from tests.support.question_folder import (
    Point,
    QuestionFolder,
    agreeing,
    always_right,
    erratic,
    fill_points,
    silent,
)
from tests.support.stage_rows import Row
from warehouse.publishing import build_warehouse

EDITION = "facets-seed1-00000001"
POLICIES = ("strict", "excluded")
FACET_ORDER = ("comparison", "verification", "rectification", "discrimination")
EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES)
KNOWN = ("Disease 1", "Disease 2", "Disease 3")
PARTS = 2520
"""A revision question's accuracy is a number of these parts."""


def read_question_predictions(root: Path, edition_id: str) -> list[Row]:
    """Return the predictions of the test questions, with their questions, setting, and names of clusters."""
    edition = root / "editions" / edition_id
    triplets = pl.read_parquet(edition / "triplets" / "*.parquet").sort("is_positive", descending=True)
    tails = {
        str(pair): [row["tail"].lower() for row in rows]
        for pair, rows in group(triplets.to_dicts(), lambda row: row["pair_id"]).items()
    }
    questions = pl.read_parquet(edition / "questions" / "*.parquet").drop("relation")
    rows = []
    for path in sorted((root / "question_predictions" / edition_id).glob("*/*/predictions/*.parquet")):
        predictions = (
            pl.read_parquet(path)
            .rename({"item_id": "question_id"})
            .join(questions, on="question_id", maintain_order="left")
        )
        for row in predictions.iter_rows(named=True):
            name = (row["head"] or row["point_id"]).lower()
            own = tails.get(row["pair_id"]) or [f"{row['point_id']} {k}" for k in range(2)]
            rows.append(row | {"setting": path.parts[-4], "cluster": name, "tails": tuple(own)})
    return rows


def weigh_questions(rows: list[Row]) -> list[list[tuple[Row, float]]]:
    """Return the graded questions of a point in parts that count alike, with their weights in them.

    A question is a part, but the revision questions of one polarity are one part together. They are weighted
    by how often an offer of their kind is right, and left out if only one kind is graded.
    """
    graded = [row for row in rows if row["is_correct"] is not None]
    if rows[0]["type"] != "RQ":
        return [[(row, 1.0)] for row in graded]
    parts = []
    n = len(rows[0]["options"])
    for half in group(graded, lambda row: row["is_negated"]).values():
        kinds = [[row for row in half if row["answer"].startswith(judgement)] for judgement in "TF"]
        if all(kinds):
            weighted = zip(kinds, (1 / n, (n - 1) / n), strict=True)
            parts.append([(row, weight / len(kind)) for kind, weight in weighted for row in kind])
    return parts


def observe_points(
    rows: list[Row], gained: str = "is_correct", lost: str | None = None
) -> tuple[list[Observation], float]:
    """Return one observation per point with a graded question of one facet, and their number at most."""
    observations, n_most = [], 0.0
    for point_id, own in group(rows, lambda row: row["point_id"]).items():
        unit, parts = PARTS if own[0]["type"] == "RQ" else 1, weigh_questions(own)
        g, x = (
            round(unit * sum(w * bool(row[name]) for part in parts for row, w in part)) if name else 0
            for name in (gained, lost)
        )
        n_most += sum(1 / sum(w * w for _, w in part) for part in parts)
        if parts:
            n = unit * len(parts)
            observations.append(Observation(point_id, own[0]["cluster"], own[0]["tails"], g, x, n))
    return observations, n_most


def expected_accuracy(rows: list[Row]) -> Row:
    observations, n_most = observe_points(rows)
    answered = [row for row in rows if row["error"] is None]
    return {
        "n_questions": sum(row["is_correct"] is not None for row in rows),
        "n_points": len(observations),
        "no_answer_rate": mean(row["n_answers"] == 0 for row in answered) if answered else None,
        "error_rate": mean(row["error"] is not None for row in rows),
    } | expected_share(observations, "accuracy", n_most)


def expected_gap(observations: list[Observation], n_most: float | None = None) -> Row:
    """Return a paired difference with its interval."""
    return {"n_pairs": len(observations)} | expected_difference(observations, n_most)


def expected_facet_gap(rows: list[Row], other_rows: list[Row]) -> Row:
    both = [
        row
        | {
            "is_correct": None if None in (row["is_correct"], other["is_correct"]) else True,
            "gained": bool(row["is_correct"]) and not other["is_correct"],
            "lost": bool(other["is_correct"]) and not row["is_correct"],
        }
        for row, other in zip(rows, other_rows, strict=True)
    ]
    return expected_gap(*observe_points(both, "gained", "lost"))


def name_form(row: Row) -> tuple[object, ...]:
    is_wrong_offer = row["type"] == "RQ" and row["answer"].startswith("F")
    return row["type"], row["is_negated"], is_wrong_offer


def observe_mastery(
    rows: list[Row], facets: Collection[str], is_negated_included: bool
) -> tuple[dict[str, Observation], int, int]:
    """Return, per graded point, whether it is mastered; the number of whole points, and of all points.

    A point is whole if it has every form of question that other points have.
    """
    asked = [row for row in rows if row["facet"] in facets and (is_negated_included or not row["is_negated"])]
    points = group(asked, lambda row: row["point_id"])
    counts = {point: Counter(map(name_form, own)) for point, own in points.items()}
    most = Counter[tuple[object, ...]]()
    for count in counts.values():
        most |= count
    whole = {str(point): own for point, own in points.items() if counts[point] == most}
    observations = {
        point: Observation(
            point, own[0]["cluster"], own[0]["tails"], int(all(row["is_correct"] for row in own)), 0, 1
        )
        for point, own in whole.items()
        if all(row["is_correct"] is not None for row in own)
    }
    return observations, len(whole), len({row["point_id"] for row in rows})


def expected_mastered(rows: list[Row], facets: Collection[str], is_negated_included: bool) -> Row:
    """Return p(M) under the facets with its counts and interval, as under the policy strict."""
    found, n_whole, n_points = observe_mastery(rows, facets, is_negated_included)
    observations = list(found.values())
    expected: Row = {
        "n_points": len(observations),
        "n_incomplete_points": n_points - n_whole,
        "left_out_rate": 1 - len(observations) / n_whole,
    }
    if observations:
        expected["n_mastered"] = sum(o.gained for o in observations)
        expected |= expected_share(observations, "mastered_rate")
    return expected


def taught(question: Row, repeat: int) -> str | None:
    return str(question["answer"]) if question["head"] in KNOWN else erratic(question, repeat)


MODELS = (agreeing, always_right, erratic, silent, taught)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> QuestionFolder:
    """Return a published folder with samples and questions; the base of drugs has changed since `taught`."""
    folder = fill_points(QuestionFolder(DataFolder(tmp_path_factory.mktemp("facets") / "data")), (4, 5))
    folder.write_edition(EDITION, ("pretexeval",), {"symptoms": "a" * 64, "drugs": "b" * 64})
    heads = [
        {"relation": r, "head": head, "wordings": "pool"} for r in ("symptoms", "drugs") for head in KNOWN
    ]
    base = {"name": "starter", "checksums": {"symptoms": "a" * 64, "drugs": "c" * 64}}
    for rule in MODELS:
        is_taught = rule is taught
        folder.data.write_model(rule.__name__, heads if is_taught else None, base if is_taught else None)
        folder.write_answers(EDITION, rule.__name__, rule, policies=POLICIES)
    expert, guesser = data_folder.expert, data_folder.erratic
    folder.data.write_answers(EDITION, "taught", lambda s: (expert if s["head"] in KNOWN[:2] else guesser)(s))
    folder.write_answers(EDITION, "erratic", erratic, setting="chain_of_thought", n_repeats=3)
    build_warehouse(folder.data.root)
    return folder


@pytest.fixture(scope="module")
def predictions(published: QuestionFolder) -> list[Row]:
    return read_question_predictions(published.data.root, EDITION)


def choose(predictions: list[Row], row: Row, other: str = "") -> list[Row]:
    return select(
        predictions,
        model_id=row[f"{other}model_id"],
        setting=row[f"{other}setting"],
        scoring_policy=row["scoring_policy"],
    )


@EVERY_POLICY
def test_accuracy_of_facets_and_mastered_points(
    published: QuestionFolder, predictions: list[Row], policy: str
) -> None:
    n_settings = len(MODELS) + (policy == "strict")
    found = published.data.query(
        f"from facet_accuracy where scoring_policy = '{policy}' and facet is not null"
    )
    assert len(found) == 12 * n_settings
    for row in found:
        own = select(choose(predictions, row), facet=row["facet"])
        if row["is_negated"] is not None:
            own = select(own, is_negated=row["is_negated"])
        expected = expected_accuracy(own)
        assert pick(row, expected) == pytest.approx(expected, abs=1e-7), row
    found = published.data.query(
        f"from mastered_points where scoring_policy = '{policy}' and taught_with is null"
    )
    assert len(found) == 4 * 2 * n_settings
    for row in found:
        assert row["facets"] == list(FACET_ORDER[: row["step"]])
        expected = expected_mastered(choose(predictions, row), row["facets"], row["is_negated_included"])
        if policy == "excluded" and expected["left_out_rate"] > 0.2:
            expected = pick(expected, dict.fromkeys(("n_points", "n_incomplete_points", "left_out_rate")))
            assert row["mastered_rate"] is None
        assert pick(row, expected) == pytest.approx(expected, abs=1e-7), row


@EVERY_POLICY
def test_paired_differences(published: QuestionFolder, predictions: list[Row], policy: str) -> None:
    where = f"where comparison = 'questions' and scoring_policy = '{policy}' and setting = other_setting"
    n_pairs = len(MODELS) * (len(MODELS) - 1) // 2
    facets = published.data.query(f"from differences {where} and measure = 'accuracy'")
    assert policy == "excluded" or len(facets) == n_pairs * 4
    for row in facets:
        sides = [select(choose(predictions, row, other), facet=row["part"]) for other in ("", "other_")]
        expected = expected_facet_gap(*sides)
        assert pick(row, expected) == pytest.approx(expected, abs=1e-7), row
        assert row["score"] - row["other_score"] == pytest.approx(row["difference"])
    points = published.data.query(f"from differences {where} and measure <> 'accuracy'")
    assert policy == "excluded" or len(points) == n_pairs * 4 * 2
    for row in points:
        is_negated_included = row["measure"] == "mastered_negated_rate"
        one, other = (
            observe_mastery(choose(predictions, row, side), row["part"].split(", "), is_negated_included)[0]
            for side in ("", "other_")
        )
        shared = [point for point in one if point in other]
        matched = match([one[point] for point in shared], [other[point] for point in shared])
        expected = expected_gap(matched)
        expected |= {"n_gained": sum(o.gained for o in matched), "n_lost": sum(o.lost for o in matched)}
        expected["score"] = mean(one[point].gained for point in shared)
        assert pick(row, expected) == pytest.approx(expected, abs=1e-7), row


def test_one_question_down_to_its_responses(published: QuestionFolder) -> None:
    question = published.list_questions()[2]
    assert question["type"] == "RQ"
    rows = published.data.query(
        f"from facet_details where question_id = '{question['question_id']}' and model_id = 'erratic' "
        "and setting = 'chain_of_thought' order by repeat"
    )
    assert [row["repeat"] for row in rows] == [0, 1, 2]
    for row in rows:
        for name in ("point_id", "facet", "type", "text", "options", "offered", "answer", "is_negated"):
            assert row[name] == question[name]
        answer = erratic(question, row["repeat"])
        assert (row["repeat_answer"], row["response"]) == (answer, f"The answer is {answer}")
        assert (row["prompt"], row["rule"]) == (question["text"], answer and "answer_is")
        assert row["is_correct"] == (row["prediction"] == question["answer"])


def test_points_that_a_model_was_taught(published: QuestionFolder, predictions: list[Row]) -> None:
    rows = published.data.query(
        "from mastered_points where scoring_policy = 'strict' and taught_with is not null and step = 4"
    )
    own = select(predictions, model_id="taught", scoring_policy="strict", relation="symptoms")
    assert len(rows) == 4
    for row in rows:
        is_known = row["taught_with"] == "pool"
        part = [each for each in own if (each["head"] in KNOWN) == is_known]
        observed, *_ = observe_mastery(part, FACET_ORDER, row["is_negated_included"])
        rate = mean(o.gained for o in observed.values())
        assert (row["n_points"], row["mastered_rate"]) == (len(observed), pytest.approx(rate))
        assert is_known or row["taught_with"] == "nothing"
        assert rate == 1 or not is_known
    drugs = "select distinct is_as_taught from storage.taught_points where relation = 'drugs'"
    assert published.data.query(drugs) == [{"is_as_taught": False}]


def guess(question: Row, others: list[Row]) -> dict[str, bool]:
    """Return whether guessers are right; `others` are like questions about other points."""
    kind, answer, options = question["type"], question["answer"], question["options"]
    if kind == "TFQ":
        return {"always_true": answer == "T", "always_false": answer == "F"}
    right = Counter(
        option.lower()
        for other in others
        for letter, option in zip(LETTERS, other["options"], strict=False)
        if letter in other["answer"].split("|")[-1].split(",")
    )
    words = set(f"{question['text']} {question['head'] or ''}".lower().replace("?", " ").split())
    weights: dict[str, Callable[[str], float]] = {
        "longest_option": len,
        "shortest_option": lambda option: -len(option),
        "most_frequent_right": lambda option: right[option.lower()],
        "word_overlap": lambda option: len(words & set(option.lower().split())),
    }
    chosen = {name: max(options, key=weigh) for name, weigh in weights.items()}
    chosen |= {f"position_{letter}": option for letter, option in zip(LETTERS, options, strict=False)}
    found = {name: LETTERS[options.index(option)] == answer.split("|")[-1] for name, option in chosen.items()}
    return found | {"RQ": {"agree": answer[0] == "T"}, "MAQ": {"every_option": False}}.get(kind, {})


def test_what_guessers_get(published: QuestionFolder) -> None:
    questions = select(published.list_questions(), split="test")
    guesses = []
    for question in questions:
        like = pick(question, dict.fromkeys(("relation", "type", "is_negated")))
        others = [row for row in select(questions, **like) if row["point_id"] != question["point_id"]]
        guesses += [
            question | {"baseline": name, "is_correct": is_correct}
            for name, is_correct in guess(question, others).items()
        ]
    names = ("relation", "type", "is_negated", "baseline")
    rows = published.data.query("from option_baselines where relation is not null")
    found = {tuple(row[name] for name in names): row for row in rows}
    expected = group(guesses, lambda row: tuple(row[name] for name in names))
    assert set(expected) == {key for key in found if "often_right" not in key[3]}
    for key, own in expected.items():
        scores = [
            mean(sum(w * row["is_correct"] for row, w in part) for part in weigh_questions(rows))
            for rows in group(own, lambda row: row["point_id"]).values()
        ]
        row = found[key]  # type: ignore[index]
        assert (row["accuracy"], row["n_points"]) == pytest.approx((mean(scores), len(scores)))
        assert row["accuracy_ci_low"] <= row["accuracy"] <= row["accuracy_ci_high"]


def test_unfinished_thoughts_and_missing_facets(tmp_path: Path) -> None:
    """Four points with thoughts that do not end, and two without most forms."""
    data = DataFolder(tmp_path)
    no_revision = ("RQ", "negated RQ", "negated MCQ", "negated MAQ", "negated TFQ")
    editions = {
        "cut": [Point("symptoms", f"Disease {n}") for n in range(4)],
        "part": [Point("symptoms", name, left_out=no_revision) for name in ("Influenza", "Scabies")],
    }
    folders = {name: QuestionFolder(DataFolder(tmp_path)) for name in editions}
    for name, points in editions.items():
        for point in points:
            folders[name].add_point(point)
        folders[name].write_edition(name)

    def answer(question: Row, repeat: int) -> str | None:
        is_answered = question["head"] not in ("Disease 0", "Disease 1") and repeat == 0
        return str(question["answer"]) if is_answered else None

    def cut(question: Row, repeat: int) -> bool:
        return question["head"] != "Disease 1" and question["type"] == "MCQ" and repeat == 1

    folders["cut"].write_answers("cut", "m", answer, n_repeats=2, cut=cut)
    folders["part"].write_answers("part", "m", always_right)
    build_warehouse(tmp_path)
    rates = data.query(
        "select type, no_answer_rate, unfinished_reasoning_rate from facet_accuracy "
        "where edition_id = 'cut' and not is_negated and facet is not null"
    )
    unfinished = {"MCQ": 0.25, "RQ": 0.0, "MAQ": 0.0, "TFQ": 0.0}
    assert {tuple(row.values()) for row in rates} == {(kind, 0.5, rate) for kind, rate in unfinished.items()}
    steps = data.query("from mastered_points where not is_negated_included order by edition_id, step")
    # An edition without revision questions has a step less.
    part = [(row["step"], row["n_points"], row["mastered_rate"]) for row in select(steps, edition_id="part")]
    assert part == [(1, 2, 1.0), (2, 2, 1.0), (3, 2, 1.0)]
