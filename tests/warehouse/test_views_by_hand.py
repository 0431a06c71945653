"""Views whose figures are worked out by hand, or from their definition."""

from collections import Counter
from math import exp, sqrt
from pathlib import Path

import pytest
from scipy.stats import binom, mannwhitneyu, norm

from schemas.transformations import NAMES
from tests.support.data_folder import DataFolder, Rule, denial, erratic, expert
from tests.support.expected_views import expected_share, group, observe, pick, read_predictions, select
from tests.support.stage_rows import Row, change_record, digest, response_row
from tests.warehouse.conftest import EDITION, publish_signs
from warehouse.publishing import build_warehouse

# Head -> how many of the eight samples of its true and of its false triplet the model `uneven` has right.
RIGHT = {
    **{f"sign {k}": right for k, right in enumerate([(7, 3), (2, 4), (1, 5), (3, 0), (4, 4), (8, 7)])},
    **{f"site {k}": right for k, right in enumerate([(8, 8), (8, 8), (5, 2), (0, 6)])},
}
PRICE = {"input": 2.0, "output": 10.0}


def forget_tokens(responses: list[Row], *_: object) -> None:
    """Remove the numbers of tokens of every fourth answer."""
    for row in responses[::4]:
        row |= {"n_prompt_tokens": None, "n_completion_tokens": None}


# Half of the samples of each sign, and one more; no sample of a site.
BALANCED = {head: (0, 0) if head.startswith("site") else (4, 4) for head in RIGHT} | {"sign 0": (5, 4)}


def answer_by(n_right: dict[str, tuple[int, int]]) -> Rule:
    def answer(sample: Row) -> bool:
        place, n = NAMES.index(sample["transformation"]), n_right[sample["head"]]
        return bool(sample["label"] == (place < n[0 if sample["is_positive"] else 1]))

    return answer


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    data = DataFolder(tmp_path_factory.mktemp("worked") / "data")
    for head in RIGHT:
        data.add_pair(head.split()[0], head, f"{head} true", f"{head} false")
    replies = [response_row("writer", digest("reply", k, n=32), "Reword it.", None) for k in range(4)]
    attempt = {"relation": "sign", "attempt": 1, "rephraser": "writer", "text": None, "is_accepted": False}
    attempts = [
        attempt | {"variant_id": digest(k), "prompt_key": reply["prompt_key"], "reasons": ["empty"]}
        for k, reply in enumerate(replies)
    ]
    data.write_edition(EDITION, attempts=attempts)
    data.write_model("writer")
    change_record(data.root / "responses" / "writer" / "model.json", price=PRICE)
    forget_tokens(replies)
    data.write_responses("replies", "writer", replies)
    data.write_model("uneven", [{"relation": "sign", "head": f"sign {k}"} for k in range(6)])
    data.write_answers(EDITION, "uneven", answer_by(RIGHT), change=forget_tokens)
    change_record(data.root / "predictions" / EDITION / "uneven" / "run.json", price=PRICE)
    # The first contradicts the labels of one form; the second believes no inverted statement.
    for name in ("swapped", "unread"):
        data.write_model(name, [{"relation": "sign", "head": f"sign {k}"} for k in range(6)])
    data.write_answers(EDITION, "swapped", lambda s: s["label"] != (s["transformation"] == "inv_dn"))
    data.write_answers(
        EDITION, "unread", lambda s: s["label"] != (s["transformation"] == "inv" and s["is_positive"])
    )
    data.write_answers(EDITION, "balanced", answer_by(BALANCED))
    asked: Counter[str] = Counter()

    def waver(sample: Row) -> bool:
        asked[sample["text"]] += 1
        return bool(sample["label"]) != (sample["transformation"] == "inv" and asked[sample["text"]] > 1)

    def fail(sample: Row) -> str | None:
        return "timed out" if sample["transformation"] == "none" else None

    data.write_answers(EDITION, "wavering", waver, fail=fail, max_error_rate=1.0, n_repeats=2)
    data.write_answers(
        EDITION, "halved", expert, fail=lambda s: None if s["is_positive"] else fail(s), max_error_rate=1.0
    )
    build_warehouse(data.root)
    return data


def test_pair_details_tell_the_true_triplet_from_the_false_one(worked: DataFolder) -> None:
    rows = worked.query("from pair_details where model_id = 'uneven'")
    assert {row["head"]: (row["n_correct_of_true"], row["n_correct_of_false"]) for row in rows} == RIGHT
    for row in rows:
        head, (n, m) = row["head"], RIGHT[row["head"]]
        assert (row["true_tail"], row["false_tail"]) == (f"{head} true", f"{head} false")
        assert (row["wrong_of_true"], row["wrong_of_false"]) == ([*NAMES[n:]], [*NAMES[m:]])
        assert (row["n_correct"], row["is_mastered"], row["is_complete"]) == (n + m, n + m == 16, True)


def test_a_pair_is_complete_only_if_both_triplets_are_graded(worked: DataFolder) -> None:
    rows = worked.query("from pair_details where model_id = 'halved'")
    outcomes = {(row["n_correct"], row["is_complete"], row["is_mastered"]) for row in rows}
    assert outcomes == {(15, False, False)}


def test_names_in_other_capitals_are_one_cluster(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data")
    data.add_pair("sign", "gout", "Pain", "itch")
    data.add_pair("site", "Gout", "pain", "Itch")
    data.write_edition(EDITION)
    build_warehouse(data.root)
    (row,) = data.query("select count(distinct columns('cluster')) as 'n_\\0' from storage.pair_clusters")
    assert set(row.values()) == {1}


def test_samples_of_which_a_prompt_failed_have_no_same_answer(worked: DataFolder) -> None:
    """Of eight transformations one failed, and one of the other seven has another answer."""
    (row,) = worked.query("from scores where grouping_by = 'repeats'")
    assert (row["model_id"], row["same_answer_rate"]) == ("wavering", pytest.approx(6 / 7))


def test_unknown_tokens_are_counted_apart_from_the_cost(worked: DataFolder) -> None:
    """A known prompt has 10 tokens and its answer 2: 2 × 10 + 10 × 2 = 40 millionths."""
    rows = worked.query("from cost where cost is not null")
    assert {row["role"]: (row["n_prompts"], row["n_unknown"], row["cost"]) for row in rows} == {
        "evaluated": (160, 40, pytest.approx(120 * 40e-6)),
        "rephraser": (4, 1, pytest.approx(3 * 40e-6)),
    }
    (row,) = worked.query("from runs where model_id = 'uneven'")
    names = ("n_prompts", "n_errors", "n_unknown", "n_prompt_tokens", "n_completion_tokens")
    assert [row[name] for name in names] == [160, 0, 40, 10 * 120, 2 * 120]


def wilson(p: float, n: float) -> tuple[float, float]:
    """Return the limits of a share of n independent observations by Wilson's formula."""
    z = float(norm.isf(0.025))
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return centre - half, centre + half


def test_relations_are_strata_in_the_interval_of_their_mean(worked: DataFolder) -> None:
    """No sign and half of the four sites are mastered; a stratum of m pairs has the factor m/(m−1)."""
    query = (
        "select {0}, {0}_fixed_base_ci_low, {0}_fixed_base_ci_high from scores "
        "where grouping_by = 'weighting' and group_name = 'relations' and model_id = '{1}'"
    )
    variance = 0.5**2 * 4 / 3 * (0.5 * 0.5) / 4
    limits = wilson(0.25, 0.25 * 0.75 / (variance * 10 / 9))
    (row,) = worked.query(query.format("mastery", "uneven"))
    assert [*row.values()] == pytest.approx([0.25, *limits], abs=1e-6)
    # The share of a stratum in which all is wrong is drawn towards the mean by one observation, and
    # independent samples bound the interval.
    mean = 0.5 * 49 / 96
    drawn = [(49 + mean) / 97, (0 + mean) / 65]
    variance = sum(0.5**2 / n * share * (1 - share) for n, share in zip((96, 64), drawn, strict=True))
    limits = wilson(mean, mean * (1 - mean) / variance)
    (row,) = worked.query(query.format("average_accuracy", "balanced"))
    assert [*row.values()] == pytest.approx([mean, *limits], abs=1e-6)


def test_a_post_stratum_counts_as_much_as_the_base_has_of_it(tmp_path: Path) -> None:
    """75 pairs make three strata. Seven tenths of the base are as rare as the first 60 tails."""
    data = DataFolder(tmp_path / "data")
    data.add_pairs("sign", 75)
    data.commonness = {f"head{k}": 0.7 for k in range(60, 75)}
    known = {f"head{k}": (8, 8) if k < 15 or k >= 65 else (0, 8) for k in range(75)}
    data.write_edition(EDITION)
    data.write_answers(EDITION, "model", answer_by(known))
    build_warehouse(data.root)
    rows = {row["group_name"]: row for row in data.query("from scores where grouping_by = 'weighting'")}
    mastered = {"relations": 25 / 75, "pairs": 25 / 75, "facts": 0.7 * 15 / 60 + 0.3 * 10 / 15}
    assert {name: row["mastery"] for name, row in rows.items()} == pytest.approx(mastered)
    right = 0.7 * (15 * 16 + 45 * 8) / (60 * 16) + 0.3 * (10 * 16 + 5 * 8) / (15 * 16)
    assert rows["facts"]["average_accuracy"] == pytest.approx(right)
    # Each of the first 60 pairs has the weight 0.7 / 60, and each of the others 0.3 / 15.
    squares = [
        (weight / n) ** 2 * (n_right * (1 - mastered["facts"]) ** 2 + (n - n_right) * mastered["facts"] ** 2)
        for weight, n, n_right in ((0.7, 60, 15), (0.3, 15, 10))
    ]
    variance = sum(squares) * 75 / 74
    share = mastered["facts"]
    limits = wilson(share, share * (1 - share) / (variance * 75 / 74))
    interval = [rows["facts"][f"mastery_fixed_base_ci_{end}"] for end in ("low", "high")]
    assert interval == pytest.approx(limits, abs=1e-6)


def test_a_form_with_the_wrong_polarity_is_suspect_and_one_that_is_not_understood_is_not(
    worked: DataFolder,
) -> None:
    rows = {
        row["transformation"]: row
        for row in worked.query("from suspect_prototypes where model_id = 'swapped'")
    }
    assert {name: row["is_suspect"] for name, row in rows.items()} == {n: n == "inv_dn" for n in NAMES}
    suspect = rows["inv_dn"]
    assert (suspect["n_samples"], suspect["n_correct"], suspect["n_cells"]) == (12, 0, 8)
    # The other seven cells have 84 samples, all right.
    rest = (84 + 0.5) / 85
    assert suspect["rest_accuracy"] == pytest.approx(rest)
    assert suspect["p_value"] == pytest.approx(binom.cdf(0, 12, rest))
    assert rows["none"]["p_value"] == pytest.approx(1)
    (row,) = worked.query("from suspect_prototypes where model_id = 'unread' and transformation = 'inv'")
    assert row["average_accuracy"] == 0.5
    assert row["p_value"] < 1e-6
    assert not row["is_suspect"]


def test_prediction_details(worked: DataFolder) -> None:
    (row,) = worked.query(
        "from prediction_details where model_id = 'uneven' and head = 'sign 1' and transformation = 'ins_dn' "
        "and is_positive"
    )
    text = "pretexeval: sign 1 ins_dn sign 1 true"
    expected: Row = {"model": "Uneven", "method": "pretexeval", "tail": "sign 1 true", "is_negated": True}
    expected |= {"text": text, "label": False, "prediction": True, "is_correct": False, "has_answer": True}
    expected |= {"is_failed": False, "response": " True", "logprob_true": -0.1, "logprob_false": -2.5}
    expected |= {"sample_id": digest(text, "sign"), "prompt_key": digest("uneven", text, n=32)}
    assert pick(row, expected) == expected


def add_reasoning(responses: list[Row], requests: list[Row], predictions: list[Row]) -> None:
    """Let the first answers hold reasoning: in a column, between marks, or unfinished."""
    said = (" True", "<think>False?</think> True", "False? </think> True", "<think>It is false", "No.")
    for row, text in zip(responses, said, strict=False):
        row["response"] = text
    responses[0]["reasoning"] = "False?"
    for row, start, end in zip(requests[1:], (7, 0, 7), (13, 7, 18), strict=False):
        row |= {"thought_start": start, "thought_end": end}
    for k, reason in ((3, "is_unfinished_reasoning"), (4, "is_refused")):
        requests[k] |= {"answer": None, "rule": None, reason: True}
        predictions[k] |= {"prediction": None, "is_correct": False, "n_answers": 0, "n_agreeing": 0}


def test_reasoning_is_shown_apart_from_the_response_and_refusals_are_counted(data: DataFolder) -> None:
    data.write_answers(EDITION, "thinker", expert, change=add_reasoning)
    record = data.root / "predictions" / EDITION / "thinker" / "run.json"
    change_record(record, served=["x, fp_1", "x, fp_2"])
    build_warehouse(data.root)
    keys = [digest("thinker", s["text"], n=32) for s in data.samples("pretexeval") if s["split"] == "test"]
    rows = data.query("from prediction_details where model_id = 'thinker'")
    found = {row["prompt_key"]: (row["reasoning"], row["is_unfinished_reasoning"]) for row in rows}
    assert [found[key] for key in keys[:5]] == [
        *[("False?", False)] * 3,
        ("It is false", True),
        (None, False),
    ]
    for view in ("leaderboard", "joint_accuracy_curve"):
        row, *_ = data.query(f"from {view} where model_id = 'thinker'")
        assert row["unfinished_reasoning_rate"] == row["refused_rate"] == row["no_answer_rate"] / 2 == 1 / 64
    (run,) = data.query("select served from runs where model_id = 'thinker'")
    assert sorted(run["served"]) == ["x, fp_1", "x, fp_2"]


N_PAIRS = 30


def weigh(sample: Row) -> tuple[float | None, float | None]:
    """Prefer the label, in steps with ties; one sample in eight lacks one of its log-probabilities."""
    draw = int(digest("hunch", sample["sample_id"]), 16) % 64
    if draw % 8 == 0:
        return (None, -1.0) if draw % 16 else (-1.0, None)
    lean = (draw % 9 - 3) / 2
    return (-1.0, -1.0 - lean) if sample["label"] else (-1.0 - lean, -1.0)


def test_probability_calibration(tmp_path: Path) -> None:
    policies = ("excluded", "strict")
    data = publish_signs(tmp_path, N_PAIRS, (erratic,), policies=policies, weigh=weigh)
    samples = select(read_predictions(data.root, EDITION), scoring_policy="strict")
    weighed = [(sample, *weigh(sample)) for sample in samples]
    scored = [(s, 1 / (1 + exp(no - yes))) for s, yes, no in weighed if yes is not None and no is not None]
    (row,) = data.query("from probability_calibration")
    n = len(scored)
    assert 0 < n < 16 * N_PAIRS
    assert (row["n_samples"], row["missing_rate"]) == (n, pytest.approx(1 - n / (16 * N_PAIRS)))
    true, false = ([p for sample, p in scored if sample["label"] is label] for label in (True, False))
    assert row["auroc"] == pytest.approx(mannwhitneyu(true, false).statistic / len(true) / len(false))
    assert row["brier_score"] == pytest.approx(sum((p - s["label"]) ** 2 for s, p in scored) / n)
    bins = group(scored, lambda item: min(int(item[1] * 10), 9))
    gaps = [abs(sum(p - s["label"] for s, p in items)) for items in bins.values()]
    assert row["calibration_error"] == pytest.approx(sum(gaps) / n)
    # The likelier answer is scored as an answer; a tie is wrong.
    right = group(
        ((s, p != 0.5 and (p > 0.5) == s["label"]) for s, p in scored), lambda item: item[0]["triplet_id"]
    )
    observations = [observe([s for s, _ in items], sum(r for _, r in items), 0) for items in right.values()]
    expected = expected_share(observations)
    assert pick(row, expected) == pytest.approx(expected)


def test_facts_are_apart_by_whether_they_were_listed_before_the_training(tmp_path: Path) -> None:
    """The model knows the facts of the heads k, l and m, and was trained between the two releases."""
    first, second = releases = ("2019-01-01", "2021-01-01")
    ages = {"k": first, "l": first, "m": second, "n": "new", "o": first, "p": first}
    data = DataFolder(tmp_path / "data", ages=ages, releases=releases)
    for head in ages:
        data.add_pair("causes", head, f"tail of {head}", f"false tail of {head}")
    data.write_edition(EDITION)
    for name in ("reader", "unasked"):
        data.write_model(name, training_cutoff="2020-06-01")
    data.write_answers(EDITION, "reader", lambda s: expert(s) if s["head"] in "klm" else denial(s))
    build_warehouse(data.root)
    rows = data.query(
        "select model, group_name, n_pairs, mastery from accuracy_by_group "
        "where grouping_by = 'training cutoff' and scoring_policy = 'strict' order by group_position"
    )
    # The fact of m was listed by the release after the cutoff, but may have been listed before.
    assert [tuple(row.values()) for row in rows] == [
        ("Reader", "listed before", 4, 2 / 4),
        ("Reader", "listed after", 1, 0.0),
    ]
