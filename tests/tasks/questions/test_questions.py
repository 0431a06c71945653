"""What must hold for the questions of any small base, under every way of drawing negatives."""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import chain
from random import Random
from typing import Any, NamedTuple, get_args

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pretexeval.knowledge.base import FALSE_COLUMNS, KnowledgeBase
from pretexeval.knowledge.names import fold_name
from pretexeval.primitives.errors import InputError
from prototypes.question_wording import QuestionTexts, RelationWording, load_question_wording
from schemas.answer_rules import ANSWER_RULES
from schemas.choices import Negatives
from schemas.question_stages import QUESTIONS
from tasks.drawing.pieces import Piece, TripletSampling
from tasks.drawing.relation_facts import collect_facts
from tasks.edition.triplets import draw_triplets
from tasks.questions.options import Options, draw_options
from tasks.questions.points import Point, Points, collect_points, describe_missing, identify_point
from tasks.questions.questions import Question, build_questions, draw_questions, identify_question
from tests.support.examples import count_examples
from tests.support.small_bases import as_facts, as_rows, make_base, make_facts, row_lists
from tests.tasks.edition.test_triplets import is_true

POLICIES: tuple[Negatives, ...] = get_args(Negatives)
WORDING = RelationWording(
    "r",
    {
        "MCQ": QuestionTexts("Which of these has [X]?", "Which of these has [X] not?"),
        "MAQ": QuestionTexts("Which of these have [X]?", "Which of these have [X] not?"),
        "TFQ": QuestionTexts("[X] has |[Y]|.", "[X] does not have |[Y]|."),
    },
)
EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES)
NO_FALSE = pl.DataFrame(schema=FALSE_COLUMNS)


class Drawn(NamedTuple):
    """The questions of a base with one relation."""

    frame: pl.DataFrame
    triplets: pl.DataFrame
    missing: dict[tuple[str, str, bool], str]
    """Head, type and whether it is negated -> the reason why there is no such question."""


def draw(
    rows: pl.DataFrame,
    policy: Negatives = "balanced",
    seed: int = 1,
    cap: int | None = None,
    also_false: pl.DataFrame = NO_FALSE,
) -> Drawn:
    sampling, base = TripletSampling(seed, policy, cap), KnowledgeBase("own", rows, (), also_false)
    triplets, facts = draw_triplets(base, "r", sampling), collect_facts(base, "r")
    points = collect_points(facts, Piece("r"), triplets, sampling)
    missing = {
        (head, item["type"], item["is_negated"]): item["reason"]
        for item in describe_missing(points)
        for head in item["heads"]
    }
    return Drawn(draw_questions(facts, triplets, WORDING, sampling), triplets, missing)


def make_rich_facts(n_heads: int = 40) -> dict[str, list[str]]:
    """Return heads with one to five true tails."""
    random = Random(1)
    tails = [f"tail {i}" for i in range(20)]
    return {f"head {i}": random.sample(tails, 1 + i % 5) for i in range(n_heads)}


def divide_options(question: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the folded options that are true of the head, and the false ones; a TFQ has one option."""
    if question["type"] == "TFQ":
        options = [fold_name(question["text"].split("|")[1])]
        return (options, []) if (question["answer"] == "T") != question["is_negated"] else ([], options)
    letters = question["answer"].rpartition("|")[2].split(",")
    options = [fold_name(option) for option in question["options"]]
    right = [options["ABCD".index(letter)] for letter in letters]
    wrong = [option for option in options if option not in right]
    assert len(right) in ((1, 2, 3) if question["type"] == "MAQ" else (1,))
    assert len({*right, *wrong}) == len(options) == 4
    return (wrong, right) if question["is_negated"] else (right, wrong)


def require_sound(frame: pl.DataFrame, rows: pl.DataFrame, triplets: pl.DataFrame) -> None:
    """Check every question by itself, and that the tails of its pair are in it, in their roles."""
    given = rows.to_dicts()
    tested = {(row["head"], fold_name(row["tail"])) for row in given if not row["also_true"]}
    pairs: dict[str, dict[bool, str]] = defaultdict(dict)
    for pair_id, is_positive, tail in triplets.select("pair_id", "is_positive", "tail").iter_rows():
        pairs[pair_id][is_positive] = fold_name(tail)
    assert set(pairs) == set(frame["pair_id"].drop_nulls())
    assert frame["question_id"].is_unique().all()
    assert frame.schema == QUESTIONS.empty.schema
    for rule in ANSWER_RULES["questions"]:
        assert frame.select(rule.holds.all()).item(), rule.name
    for question in frame.to_dicts():
        head, offered, answer = question["head"], question["offered"], question["answer"]
        true, false = divide_options(question)
        assert {(head, option) for option in true} <= tested
        assert not any(is_true(given, head, option) for option in false), question
        if offered:
            assert answer.startswith("T" if offered == answer[-1] else "F")
        if pair := pairs.get(question["pair_id"]):
            assert not true or pair[True] in true
            assert not false or pair[False] in false
            if offered:
                named = fold_name(question["options"]["ABCD".index(offered)])
                assert named == pair[(answer[0] == "T") != question["is_negated"]]


@settings(max_examples=count_examples(30))
@given(
    policy=st.sampled_from(POLICIES),
    rows=row_lists(),
    seed=st.integers(0, 3),
    random=st.randoms(use_true_random=False),
)
def test_questions_of_any_base_are_sound(
    policy: Negatives, rows: list[dict[str, Any]], seed: int, random: Random
) -> None:
    base = as_rows(rows)
    try:
        drawn = draw(base, policy, seed)
    except InputError:
        assume(False)
        raise
    require_sound(drawn.frame, base, drawn.triplets)
    # Every head has each question, or is listed with the reason why it has not.
    n_questions = Counter(drawn.frame.select("head", "type", "is_negated").iter_rows())
    heads = set(base.filter(~pl.col("also_true"))["head"])
    kinds = [(type_, is_negated) for type_ in ("MCQ", "RQ", "MAQ", "TFQ") for is_negated in (False, True)]
    for key in ((head, *kind) for head in heads for kind in kinds):
        assert n_questions[key] == (0 if key in drawn.missing else 2 if key[1] == "RQ" else 1), key
    shuffled = random.sample(rows, len(rows))
    again = draw(as_rows(shuffled), policy, seed)
    assert again.frame.equals(drawn.frame)
    assert again.missing == drawn.missing


def test_negated_and_revision_questions_fit_the_others_of_their_point() -> None:
    frame = draw(as_facts(make_rich_facts())).frame
    for (_, type_), questions in frame.filter(pl.col("type").is_in(["MAQ", "TFQ"])).group_by(
        "point_id", "type"
    ):
        affirmed, negated = questions.sort("is_negated").to_dicts()
        assert affirmed["options"] == negated["options"]
        answers = sorted(f"{affirmed['answer']},{negated['answer']}".split(","))
        assert answers == (["F", "T"] if type_ == "TFQ" else list("ABCD"))
    keys = ["point_id", "is_negated"]
    revisions, mcqs = frame.filter(type="RQ"), frame.filter(type="MCQ")
    both = revisions.join(mcqs, on=keys, suffix="_of_mcq")
    assert both.height == revisions.height == 2 * mcqs.height > 0
    assert both["text"].equals(both["text_of_mcq"], check_names=False)
    assert both["options"].to_list() == both["options_of_mcq"].to_list()
    assert (both["answer"].str.tail(1) == both["answer_of_mcq"]).all()
    judgements = both.group_by(keys).agg(pl.col("answer").str.head(1).sort().str.join())
    assert set(judgements["answer"]) == {"FT"}


def test_letters_and_truth_values_are_as_frequent_as_each_other() -> None:
    frame = draw(as_facts(make_rich_facts(43))).frame.filter(split="test")
    for _, questions in frame.filter(pl.col("type").is_in(["MCQ", "MAQ"])).group_by("type", "is_negated"):
        counts = Counter(chain(*(answer.split(",") for answer in questions["answer"])))
        assert max(counts.values()) - min(counts[letter] for letter in "ABCD") <= 1
    truth = Counter(frame.filter(type="TFQ", is_negated=False)["answer"])
    assert abs(truth["T"] - truth["F"]) <= 1
    n_right = Counter(
        answer.count(",") + 1
        for head, answer in frame.filter(type="MAQ", is_negated=False).select("head", "answer").iter_rows()
        if len(make_rich_facts(43)[head]) >= 3
    )
    assert max(n_right.values()) - min(n_right[k] for k in (1, 2, 3)) <= 1


@EVERY_POLICY
def test_only_the_cap_takes_points_away_and_demonstrations_stay(policy: Negatives) -> None:
    facts = as_facts(make_rich_facts() | {f"alone {i}": ["tail 1"] for i in range(60)})
    whole, other, capped = (draw(facts, policy, *given).frame for given in ((1, None), (2, None), (3, 30)))
    assert [frame["head"].n_unique() for frame in (whole, other, capped)] == [100, 100, 30]
    n_without_pair = whole.filter(pl.col("pair_id").is_null())["head"].n_unique()
    assert (n_without_pair > 0) == (policy != "uniform")
    held_out = [frame.filter(split="demonstration") for frame in (whole, other, capped)]
    assert held_out[0]["head"].n_unique() == 5
    assert all(each.equals(held_out[0]) for each in held_out)
    tested = [frame.filter(split="test").select("head", "options") for frame in (whole, other)]
    assert not tested[0].equals(tested[1])


def test_wrong_options_generalise_no_true_tail() -> None:
    random = Random(3)
    words = ("renal", "lung", "cell", "acute", "tumor", "pain")
    tails = sorted({" ".join(random.sample(words, 1 + i % 3)) for i in range(40)})
    facts = {f"head {i}": random.sample(tails, 1 + i % 4) for i in range(60)}
    n_checked = 0
    for question in draw(as_facts(facts)).frame.filter(pl.col("type") != "TFQ").to_dicts():
        true = [set(tail.split()) for tail in facts[question["head"]]]
        for option in divide_options(question)[1]:
            assert not any(set(option.split()) <= names for names in true), (question, option)
            n_checked += 1
    assert n_checked > 500


@EVERY_POLICY
def test_asserted_tails_are_wrong_options_and_never_right_ones(policy: Negatives) -> None:
    facts = make_facts(30, 10)
    asserted = {head: {f"outside {i % 3}", f"outside {(i + 1) % 3}"} for i, head in enumerate(facts)}
    rows = [{"relation": "r", "head": head, "tail": tail} for head in facts for tail in asserted[head]]
    also_false = pl.DataFrame(rows, schema=FALSE_COLUMNS)
    frame = draw(as_facts(facts), policy, also_false=also_false).frame
    n_asserted = 0
    for question in frame.filter(type="MCQ", is_negated=False).to_dicts():
        true, false = divide_options(question)
        n_asserted += len(asserted[question["head"]] & set(false))
        assert not any(option.startswith("outside") for option in true)
    assert (n_asserted == 60) == (policy == "uniform")


def test_all_options_are_written_as_within_a_sentence() -> None:
    facts = {head: [f"{tail} Tissue" for tail in tails] for head, tails in make_rich_facts().items()}
    frame = draw(as_facts(facts)).frame.filter(pl.col("type") != "TFQ")
    assert {option[-7:] for option in frame["options"].explode()} == {" tissue"}
    for question in frame.filter(type="RQ").iter_rows(named=True):
        # The offered option is that of the answer, or one that the answer rejects.
        assert (question["offered"] == question["answer"][-1]) == question["answer"].startswith("T|")


def test_ids_are_hashes_of_content() -> None:
    """Answers are joined to questions by these ids, so they must never change."""
    point = Point("gout", "C1", "test", None, ("allopurinol",), frozenset(), frozenset(), 3)
    mcq = Question("MCQ", False, "Which treats gout?", ("allopurinol", "aspirin"), "A")
    assert identify_point("drugs", "gout", "C1") == "8ed3a09510685836"
    assert identify_question("drugs", point, mcq) == "9c571f5ac47dc66a"
    revised = replace(mcq, type="RQ", answer="T|A", offered="A")
    others = [replace(mcq, is_negated=True), replace(mcq, options=("aspirin", "allopurinol")), revised]
    others.append(replace(revised, answer="F|A", offered="B"))
    assert len({identify_question("drugs", point, question) for question in [mcq, *others]}) == 5
    assert identify_point("drugs", "gout", None) != identify_point("drugs", "gout", "C1")


def test_every_missing_question_has_its_reason() -> None:
    few = as_facts({f"head {i}": [f"tail {i % 3}"] for i in range(12)})
    drawn = draw(few, "uniform")
    reasons = {(type_, is_negated): reason for (_, type_, is_negated), reason in drawn.missing.items()}
    few_tails = "needs 4 tails, with 1 to 3 true ones; there are 1 true and 2 false ones"
    affirmed = dict.fromkeys(("MCQ", "RQ"), "needs 3 tails that are false of the head; there are 2")
    negated = dict.fromkeys(("MCQ", "RQ"), "needs 3 tails that are true of the head; there are 1")
    assert reasons == {
        (type_, is_negated): reason
        for is_negated, found in ((False, affirmed), (True, negated))
        for type_, reason in (found | {"MAQ": few_tails}).items()
    }
    assert set(drawn.frame["type"]) == {"TFQ"}
    everything = {f"tail {i}" for i in range(3)}
    with_all = pl.concat([few, as_facts({"has all": everything})])
    lost = [reason for (head, *_), reason in draw(with_all, "uniform").missing.items() if head == "has all"]
    assert lost == 8 * ["the relation has no tail that is false of the head"]


def test_the_bundled_wording_fills_every_question() -> None:
    base, sampling = make_base(may_treat=make_rich_facts()), TripletSampling(1)
    triplets, facts = draw_triplets(base, "may_treat", sampling), collect_facts(base, "may_treat")
    wording = load_question_wording().relations["may_treat"]
    frame = build_questions(Piece("may_treat"), lambda: facts, triplets, wording, sampling, "own")
    assert set(frame["source"]) == {"own"}
    mcq = frame.filter(head="head 3", type="MCQ", is_negated=True).row(0, named=True)
    assert mcq["text"] == "Which of the following cannot be treated with head 3?"


def draw_balanced(rows: pl.DataFrame) -> tuple[Points, list[Options]]:
    """Return the points of a relation, and the options of those that are tested."""
    relation, sampling, base = rows["relation"][0], TripletSampling(1), KnowledgeBase("own", rows)
    triplets = draw_triplets(base, relation, sampling)
    points = collect_points(collect_facts(base, relation), Piece(relation), triplets, sampling)
    options = draw_options(points, sampling)
    return points, [options[point.name] for point in points.tested]


def test_a_tail_is_wrong_three_times_as_often_as_it_is_right() -> None:
    _, options = draw_balanced(as_facts(make_facts(60, 20)))
    right = Counter(found.true for found in options)
    wrong = Counter(tail for found in options for tail in found.false)
    assert wrong == Counter({tail: 3 * count for tail, count in right.items()})


def test_a_tail_that_is_true_of_most_heads_is_wrong_for_all_others() -> None:
    """It cannot be wrong three times as often as it is right. Each of the other tails is wrong more often."""
    facts = {f"head {i}": ["common" if i % 3 else f"rare {i % 7}"] for i in range(63)}
    points, options = draw_balanced(as_facts(facts))
    right = Counter(found.true for found in options)
    wrong = Counter(tail for found in options for tail in found.false)
    n_others = sum(facts[point.name] != ["common"] for point in points.tested)
    assert wrong["common"] == n_others < 3 * right["common"]
    shares = [wrong[tail] / right[tail] for tail in right if tail != "common"]
    assert min(shares) > 3
    assert max(shares) < 1.5 * min(shares)


def test_the_true_tails_of_negated_questions_follow_the_false_one() -> None:
    """Each head has all of ten tails but two, so any three of its true tails can be asked about."""
    facts = {f"head {i}": ["x", *(f"tail {k}" for k in range(10) if (k - i) % 10 > 1)] for i in range(60)}
    _, options = draw_balanced(as_facts(facts))
    false = Counter(found.false[0] for found in options)
    true = Counter(tail for found in options for tail in found.true_of_negated)
    assert true.total() == 3 * false.total() == 3 * len(options)
    assert true == {tail: 3 * n for tail, n in false.items()}
