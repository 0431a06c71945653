"""The views of single questions, of both methods side by side, of guessers, and of what was taught."""

from collections import Counter, defaultdict
from statistics import mean

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from schemas.question_stages import FACET_OF, LETTERS
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.expected_facets import debias, judge_questions
from tests.support.question_folder import QuestionFolder
from tests.support.question_models import always_right, erratic, fill_points
from tests.support.stage_rows import Row
from warehouse.publishing import build_warehouse

EDITION = "facets-seed1-00000001"
KNOWN = ("Disease 1", "Disease 2", "Disease 3")


def taught(question: Row, repeat: int) -> str | None:
    """Answer right about the known heads, and by chance about the others."""
    return str(question["answer"]) if question["head"] in KNOWN else erratic(question, repeat)


def taught_samples(sample: Row) -> bool | None:
    return (
        simulated_models.expert(sample) if sample["head"] in KNOWN[:2] else simulated_models.erratic(sample)
    )


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> QuestionFolder:
    folder = fill_points(QuestionFolder(DataFolder(tmp_path_factory.mktemp("views") / "data")))
    folder.write_edition(EDITION, ("pretexeval",), {"symptoms": "a" * 64, "drugs": "b" * 64})
    heads = [
        {"relation": relation, "head": head, "wordings": "pool"}
        for relation in ("symptoms", "drugs")
        for head in KNOWN
    ]
    base = {"name": "starter", "checksums": {"symptoms": "a" * 64, "drugs": "c" * 64}}
    folder.data.write_model("taught", heads, base)
    folder.data.write_model("right")
    folder.data.write_answers(EDITION, "taught", taught_samples)
    folder.data.write_answers(EDITION, "right", simulated_models.expert)
    folder.write_answers(EDITION, "taught", taught)
    folder.write_answers(EDITION, "right", always_right, setting="chain_of_thought", n_repeats=3)
    build_warehouse(folder.data.root)
    return folder


def test_one_question_down_to_its_responses(published: QuestionFolder) -> None:
    question = published.list_questions()[2]
    rows = published.data.query(
        f"from facet_details where question_id = '{question['question_id']}' and model_id = 'right' "
        "order by repeat"
    )
    assert [row["repeat"] for row in rows] == [0, 1, 2]
    for row in rows:
        for name in ("point_id", "facet", "type", "text", "options", "offered", "answer", "is_negated"):
            assert row[name] == question[name]
        assert row["prediction"] == row["repeat_answer"] == question["answer"]
        assert row["response"] == f"The answer is {question['answer']}"
        assert (row["prompt"], row["rule"]) == (question["text"], "answer_is")
        assert (row["n_answers"], row["n_agreeing"], row["is_correct"]) == (3, 3, True)


def mastered_by_transformations(folder: QuestionFolder) -> dict[str, bool]:
    pairs: dict[str, list[bool]] = defaultdict(list)
    for sample in folder.data.samples("pretexeval"):
        if sample["split"] == "test":
            pairs[sample["pair_id"]].append(taught_samples(sample) == sample["label"])
    return {pair: all(right) for pair, right in pairs.items()}


def mastered_facets(folder: QuestionFolder, is_negated_included: bool) -> dict[str, tuple[str, set[str]]]:
    """Return pair -> (head, mastered facets), for the pairs with all ten (or five) questions."""
    points: dict[str, list[Row]] = defaultdict(list)
    for row in judge_questions(folder, taught):
        if row["pair_id"] and (is_negated_included or not row["is_negated"]):
            points[row["pair_id"]].append(row)
    return {
        pair: (
            rows[0]["head"],
            {f for f in FACET_OF.values() if all(r["is_correct"] for r in rows if r["facet"] == f)},
        )
        for pair, rows in points.items()
        if len(rows) == (10 if is_negated_included else 5)
    }


@pytest.mark.parametrize("is_negated_included", [True, False])
def test_facets_beside_transformations(published: QuestionFolder, is_negated_included: bool) -> None:
    by_transformations = mastered_by_transformations(published)
    by_facets = mastered_facets(published, is_negated_included)
    where = f"where model_id = 'taught' and is_negated_included = {is_negated_included}"
    rows = {row["pair_id"]: row for row in published.data.query(f"from facets_and_transformations {where}")}
    assert set(rows) == set(by_transformations)
    for pair, (head, facets) in by_facets.items():
        row = rows[pair]
        assert (row["head"], set(row["facets"])) == (head, facets)
        assert row["is_mastered_by_facets"] == (len(facets) == 4)
        assert row["is_mastered_by_transformations"] == by_transformations[pair]
        assert (row["n_transformations"] == 8) == by_transformations[pair]
    assert {pair for pair, row in rows.items() if row["is_mastered_by_facets"] is None} == set(rows) - set(
        by_facets
    )
    (found,) = published.data.query(f"from facets_transformations_agreement {where}")
    one = [len(facets) == 4 for _, facets in by_facets.values()]
    other = [by_transformations[pair] for pair in by_facets]
    both = Counter(zip(one, other, strict=True))
    assert [found[f"n_{name}"] for name in ("both", "facets_only", "transformations_only", "neither")] == [
        both[cell] for cell in ((True, True), (True, False), (False, True), (False, False))
    ]
    assert found["kappa"] == pytest.approx(cohen_kappa_score(one, other))
    assert found["phi"] == pytest.approx(np.corrcoef(one, other)[0, 1])
    assert (found["facets_rate"], found["transformations_rate"]) == pytest.approx((mean(one), mean(other)))
    assert found["facets_ci_low"] < found["facets_rate"] < found["facets_ci_high"]


def test_points_that_a_model_was_taught(published: QuestionFolder) -> None:
    rows = published.data.query("from known_facets where not is_negated_included")
    judged = [row for row in judge_questions(published, taught) if row["relation"] == "symptoms"]
    expected = {}
    for is_known in (True, False):
        points: dict[str, list[bool]] = defaultdict(list)
        for row in judged:
            if (row["head"] in KNOWN) == is_known and not row["is_negated"]:
                points[row["point_id"]].append(row["is_correct"])
        expected[is_known] = (len(points), mean(all(right) for right in points.values()))
    found = {row["is_known"]: (row["n_points"], row["mastered_rate"]) for row in rows}
    for is_known, values in expected.items():
        assert found[is_known] == pytest.approx(values)
    assert found[True][1] == 1.0
    assert {row["taught_with"] for row in rows} == {"pool", "nothing"}
    assert published.data.query(
        "select distinct is_as_taught from taught_points where relation = 'drugs'"
    ) == [{"is_as_taught": False}]


def choose_options(question: Row, others: list[Row]) -> dict[str, str]:
    """Return the letter that every guesser chooses; `others` are like questions about other points."""
    seen, right = Counter[str](), Counter[str]()
    for other in others:
        for letter, option in zip(LETTERS, other["options"], strict=False):
            seen[option.lower()] += 1
            right[option.lower()] += letter in other["answer"].split("|")[-1].split(",")
    words = set(f"{question['text']} {question['head'] or ''}".lower().replace("?", " ").split())

    def weigh(option: str) -> dict[str, float]:
        name = option.lower()
        return {
            "longest_option": len(option),
            "shortest_option": -len(option),
            "most_frequent_right": right[name],
            "most_often_right": (right[name] + 1) / (seen[name] + 2),
            "word_overlap": len(words & set(name.split())),
        }

    weights = [weigh(option) for option in question["options"]]
    chosen = {
        name: LETTERS[max(range(len(weights)), key=lambda k: (weights[k][name], -k))] for name in weights[0]
    }
    return chosen | {f"position_{LETTERS[k]}": LETTERS[k] for k in range(len(weights))}


def test_what_guessers_get(published: QuestionFolder) -> None:
    questions = [row for row in published.list_questions() if row["split"] == "test"]
    right: dict[tuple[str, str, bool, str], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for question in questions:
        kind, is_negated = question["type"], question["is_negated"]
        like = [
            row
            for row in questions
            if (row["relation"], row["type"], row["is_negated"]) == (question["relation"], kind, is_negated)
        ]
        others = [row for row in like if row["point_id"] != question["point_id"]]
        guesses: dict[str, bool] = {}
        if kind != "TFQ":
            letter = question["answer"].split("|")[-1]
            guesses = {name: guess == letter for name, guess in choose_options(question, others).items()}
        if kind == "RQ":
            guesses["agree"] = question["answer"][0] == "T"
        if kind == "MAQ":
            guesses["every_option"] = False
        if kind == "TFQ":
            guesses = {"always_true": question["answer"] == "T", "always_false": question["answer"] == "F"}
        for name, is_correct in guesses.items():
            key = (question["relation"], kind, is_negated, name)
            right[key][question["point_id"]].append(question | {"is_correct": is_correct})
    rows = published.data.query("from option_baselines where relation is not null")
    found = {(row["relation"], row["type"], row["is_negated"], row["baseline"]): row for row in rows}
    assert set(right) == {key for key in found if key[3] != "every_option_often_right"}
    for key, points in right.items():
        scores = [
            (debias(own) or (0.0,))[0] if key[1] == "RQ" else mean(row["is_correct"] for row in own)
            for own in points.values()
        ]
        assert (found[key]["accuracy"], found[key]["n_points"]) == pytest.approx((mean(scores), len(scores)))
        assert found[key]["ci_low"] <= found[key]["accuracy"] <= found[key]["ci_high"]
