"""What is read in responses to samples and questions, and how the answers are graded."""

from collections.abc import Sequence

import polars as pl
import pytest

from schemas.stages import PREDICTIONS, READINGS, REQUESTS
from tasks.asking.reasoning import read_answers
from tasks.evaluation.items import QUESTION_ITEMS, SAMPLE_ITEMS, UNSURE_ITEMS, ItemKind
from tasks.evaluation.predictions import NEVER_ASKED, _guess, read_responses, score_readings

FAILED = "HTTP 400: no"
RIGHT = {"TFQ": "T", "TFU": "T", "MCQ": "B", "MAQ": "A,C", "RQ": "F|B"}
Answer = str | None


def make_items(*types: str) -> pl.DataFrame:
    """Return the items i0, i1, … of these types, with the right answers `RIGHT`."""
    items = pl.DataFrame({"type": types}, {"type": pl.String}).with_row_index("n")
    is_statement = pl.col("type").is_in(["TFQ", "TFU"])
    return items.select(
        "type",
        item_id=pl.format("i{}", "n"),
        relation=pl.lit("r"),
        text=pl.lit("Which is a sign?"),
        options=pl.when(is_statement).then([]).otherwise(["Fever", "Itch", "Rash", "Cough"]),
        offered=pl.when(type="RQ").then(pl.lit("A")),
        answer=pl.col("type").replace_strict(RIGHT, return_dtype=pl.String),
    )


def make_requests(*keys: str) -> pl.DataFrame:
    """Return the request of the items i0, i1, … with these prompt keys."""
    rows = [(f"i{i}", "m", key, 0, "r", 0, "completion", "{}", 1) for i, key in enumerate(keys)]
    return pl.DataFrame(rows, REQUESTS.empty.schema, orient="row")


def read(
    requests: pl.DataFrame,
    kind: ItemKind = SAMPLE_ITEMS,
    type_: str = "TFQ",
    *,
    repeat: int = 0,
    is_reasoned: bool = False,
    **responses: Answer,
) -> pl.DataFrame:
    """Return what is read in the responses under these prompt keys; None: the prompt failed."""
    columns = dict.fromkeys(("prompt_key", "response", "error", "finish_reason"), pl.String)
    rows = [(key, text, FAILED if text is None else None, "stop") for key, text in responses.items()]
    stored = pl.DataFrame(rows, columns, orient="row").with_columns(repeat=pl.lit(repeat, pl.Int16))
    answers = read_answers(stored, None, is_chat=False)
    items = make_items(*[type_] * requests.height)
    return read_responses(kind, requests, items, answers, is_reasoned=is_reasoned)


def test_answer_is_read_as_its_type() -> None:
    responses: dict[tuple[ItemKind, str, str], Answer] = {
        (SAMPLE_ITEMS, "TFQ", " True"): "T",
        (SAMPLE_ITEMS, "TFQ", "not true"): "F",
        (SAMPLE_ITEMS, "TFQ", "perhaps"): None,
        (SAMPLE_ITEMS, "TFQ", ""): None,
        (SAMPLE_ITEMS, "TFQ", "<think>Not false. </think>\nTrue"): "T",
        (QUESTION_ITEMS, "TFQ", " True"): "T",
        (QUESTION_ITEMS, "MCQ", " B: Itch"): "B",
        (QUESTION_ITEMS, "MAQ", "C, A"): "A,C",
        (QUESTION_ITEMS, "RQ", "False. The answer is B."): "F|B",
        (QUESTION_ITEMS, "RQ", "False."): None,
    }
    readings = {case: read(make_requests("k"), *case[:2], k=case[2]) for case in responses}
    assert {case: frame["answer"].item() for case, frame in readings.items()} == responses
    for frame in readings.values():
        assert frame.columns == READINGS.names
        assert frame["error"].to_list() == [None]
        assert frame["answer"][0] is None or frame["rule"][0] is not None


def test_requests_keep_their_order_and_share_the_answer_to_their_prompt() -> None:
    readings = read(make_requests("a", "b", "a"), b="False", unused="True", a="True")
    assert readings.select("item_id", "answer").rows() == [("i0", "T"), ("i1", "F"), ("i2", "T")]


def test_prompts_without_a_response_have_an_error() -> None:
    readings = read(make_requests("failed", "silent", "unasked"), failed=None, silent="Hm.")
    assert readings["answer"].null_count() == 3
    assert readings["error"].to_list() == [FAILED, None, NEVER_ASKED]
    of_another_repeat = read(make_requests("a"), repeat=1, a="True")
    assert of_another_repeat.select("answer", "error").rows() == [(None, NEVER_ASKED)]


def test_completion_is_read_up_to_its_first_line_unless_the_model_reasons() -> None:
    text, requests = "\n\nHard to say.\nTrue", make_requests("k")
    chat = requests.with_columns(prompt_style=pl.lit("chat"))
    frames = read(requests, k=text), read(chat, k=text), read(requests, is_reasoned=True, k=text)
    assert [frame["answer"][0] for frame in frames] == [None, "T", "T"]
    # An unfinished thought is no answer of its own kind.
    readings = read(make_requests("a", "b", "missing"), a="<think>It is false", b="Hm.")
    assert readings["answer"].null_count() == 3
    assert readings["is_unfinished_reasoning"].to_list() == [True, None, None]


def make_readings(*answers: Sequence[Answer], model_id: str = "m") -> pl.DataFrame:
    """Return the readings of the items i0, i1, …, each with its answers in order; "!" is a failed prompt."""
    columns = ("item_id", "model_id", "prompt_key", "repeat", "relation", "answer", "error")
    rows = [
        (f"i{i}", model_id, "k", repeat, "r", *((None, FAILED) if answer == "!" else (answer, None)))
        for i, of_item in enumerate(answers)
        for repeat, answer in enumerate(of_item)
    ]
    return pl.DataFrame([dict(zip(columns, row, strict=True)) for row in rows], READINGS.empty.schema)


def grade(
    kind: ItemKind, readings: pl.DataFrame, *policies: str, type_: str = "TFQ"
) -> list[tuple[object, ...]]:
    """Return policy, prediction, is_correct, n_answers, n_agreeing and error of every prediction."""
    items = make_items(*[type_] * readings["item_id"].n_unique())
    predictions = score_readings(kind, readings, items, policies or ("strict",))
    assert predictions.columns == PREDICTIONS.names
    return predictions.drop("item_id", "model_id", "repeat", "relation").rows()


def test_repeats_of_a_question_vote() -> None:
    votes: dict[str, tuple[list[Answer], tuple[object, ...]]] = {
        "majority": (["A", "B", "B"], ("B", True, 3, 2, None)),
        "earliest in a tie": (["C", "B", None, "B", "C"], ("C", False, 4, 2, None)),
        "failed repeats have no vote": (["!", None, "B", "!"], ("B", True, 1, 1, None)),
        "no answer": (["!", None], (None, False, 0, 0, None)),
        "all failed": (["!", "!"], (None, None, 0, 0, FAILED)),
    }
    graded = {
        case: grade(QUESTION_ITEMS, make_readings(said), type_="MCQ") for case, (said, _) in votes.items()
    }
    assert graded == {case: [("strict", *expected)] for case, (_, expected) in votes.items()}


def test_repeats_of_a_sample_are_graded_alone() -> None:
    readings = make_readings(["F", "T", "T"], ["T"])
    predictions = score_readings(SAMPLE_ITEMS, readings, make_items("TFQ", "TFQ"))
    graded = predictions.select("item_id", "repeat", "is_correct", "n_answers").rows()
    assert graded == [("i0", 0, False, 1), ("i0", 1, True, 1), ("i0", 2, True, 1), ("i1", 0, True, 1)]


def test_policies_differ_in_what_no_answer_is_worth() -> None:
    """No policy grades an item whose prompts all failed. Unsure is no guess and never right."""
    policies = ("strict", "excluded", "coin-flip")
    rows = grade(SAMPLE_ITEMS, make_readings(["T"], ["F"], [None], ["!"]), *policies)
    graded = {policy: [row[2] for row in rows if row[0] == policy] for policy in policies}
    assert graded["strict"] == [True, False, False, None]
    assert graded["excluded"] == [True, False, None, None]
    *answered, guessed, failed = graded["coin-flip"]
    assert (answered, failed) == ([True, False], None)
    assert guessed in (True, False)
    assert [row[1] for row in rows] == ["T", "F", None, None] * 3
    assert [row[-1] for row in rows] == [None, None, None, FAILED] * 3
    rows = grade(UNSURE_ITEMS, make_readings(["U"], ["T"], ["F"], [None]), *policies, type_="TFU")
    graded = {policy: [row[2] for row in rows if row[0] == policy] for policy in policies}
    assert graded["strict"] == [False, True, False, False]
    assert graded["excluded"] == [None, True, False, None]
    assert graded["coin-flip"][:3] == [False, True, False]
    assert graded["coin-flip"][3] is not None
    assert [row[1] for row in rows] == ["U", "T", "F", None] * 3


def test_coin_flip_guesses_with_the_chance_of_the_type() -> None:
    for type_, chance in {"TFQ": 1 / 2, "MCQ": 1 / 4, "RQ": 1 / 8, "MAQ": 0}.items():
        rows = grade(QUESTION_ITEMS, make_readings(*[[None]] * 2000), "coin-flip", type_=type_)
        assert {prediction for _, prediction, *_ in rows} == {None}
        outcomes = [row[2] for row in rows]
        assert outcomes.count(True) == pytest.approx(2000 * chance, rel=0.15)
        assert outcomes.count(None) == 0
    guesses = {_guess(str(n), "m-1", 0, "MCQ", list("vwxyz")) for n in range(100)}
    assert guesses == set("ABCDE")


def test_a_guess_depends_on_item_model_and_repeat_alone() -> None:
    def guess(readings: pl.DataFrame) -> list[tuple[object, ...]]:
        items = make_items(*["TFQ"] * 60)
        predictions = score_readings(SAMPLE_ITEMS, readings, items, ("coin-flip",))
        return predictions.sort("item_id", "repeat").select("is_correct").rows()

    silent = make_readings(*[[None, None]] * 60)
    guesses = guess(silent)
    assert guesses == guess(silent.sample(fraction=1, shuffle=True, seed=1))
    assert guesses != guess(make_readings(*[[None, None]] * 60, model_id="other"))
    assert guesses[::2] != guesses[1::2]
    assert len(set(guesses[::2])) == 2
