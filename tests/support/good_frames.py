"""A frame of every stage that meets all expectations: one pair to test, and one for demonstrations."""

from collections.abc import Callable
from typing import Any

import polars as pl

from pretexeval.primitives.hashing import hash_text
from schemas.stages import STAGES
from schemas.transformations import NAMES, TRANSFORMATIONS

Row = dict[str, Any]
PAIRS = (("Influenza", "Fever", "Itch", "test"), ("Scabies", "Itch", "Fever", "demonstration"))
# The value of a column in every stage, unless the rows of the stage say otherwise.
USUAL: Row = {
    "relation": "symptoms",
    "model_id": "tiny-0123abcd",
    "repeat": 0,
    "prompt_style": "completion",
    "sampling": '{"max_tokens":8}',
    "weight": 1,
    "reasons": [],
}


def make_frame(name: str) -> pl.DataFrame:
    """Return the valid rows of a stage; a column without a value is null."""
    stage = STAGES[name]
    empty = {column.name: None for column in stage.columns if column.is_nullable}
    rows = [empty | USUAL | row for row in ROWS[name]()]
    return pl.DataFrame([[row[c] for c in stage.names] for row in rows], stage.empty.schema, orient="row")


def list_triplets() -> list[Row]:
    return [
        {"triplet_id": hash_text(head, tail), "pair_id": hash_text(head), "split": split}
        | {"head": head, "tail": tail, "is_positive": is_positive}
        | {"head_frequency": 2, "tail_frequency": 3, "tail_commonness": 0.25}
        for head, positive, negative, split in PAIRS
        for tail, is_positive in ((positive, True), (negative, False))
    ]


def list_statements() -> list[Row]:
    """Return the statements, which have all columns of the variants."""
    return [
        triplet
        | {"variant_id": hash_text(triplet["triplet_id"], t.name), "transformation": t.name}
        | {"predicate": predicate, "label": triplet["is_positive"] != t.is_negated}
        | {"prototype_id": hash_text(t.name), "statement": f"As {predicate} says."}
        for triplet in list_triplets()
        for t in TRANSFORMATIONS
        for predicate in [f"{t.name}({triplet['head']}, {triplet['tail']})"]
    ]


def list_attempts() -> list[Row]:
    """Return the attempts of two variants: one accepted at the second attempt, one at the first."""
    first, second = (statement["variant_id"] for statement in list_statements()[:2])
    tries: list[tuple[str, int, list[str]]] = [(first, 1, ["polarity"]), (first, 2, []), (second, 1, [])]
    return [
        {"variant_id": variant_id, "attempt": attempt, "rephraser": "writer-0123abcd", "reasons": reasons}
        | {
            "prompt_key": hash_text(variant_id, str(attempt), digits=32),
            "text": "Fever is a sign of influenza.",
        }
        | {"is_accepted": not reasons}
        for variant_id, attempt, reasons in tries
    ]


def list_diversity() -> list[Row]:
    measures = ("lexical_distance", "structural_distance", "lexical_spread", "structural_spread")
    return [sample | dict.fromkeys(measures, 0.25) for sample in list_samples()[:4]]


def list_guesses() -> list[Row]:
    tested = [row for row in list_triplets() if row["split"] == "test"]
    return [row | {"overlap_guess": True, "neighbour_guess": False} for row in tested]


def list_verdicts() -> list[Row]:
    of_edition = {"edition_id": "starter-seed1-0123abcd", "method": "pretexeval", "question": "reliability"}
    return [
        triplet | of_edition | {"item_id": triplet["triplet_id"], "reviewer": reviewer, "verdict": "5"}
        for triplet in list_triplets()[:2]
        for reviewer in ("one", "two")
    ]


def list_samples() -> list[Row]:
    """Return samples: per triplet eight reworded, eight not, and one `direct`; three of `llmeval`."""
    by_method = {"pretexeval": ("reviewed", "accepted", 1), "prototype": ("none", "as_is", 0)}
    samples = [
        statement
        | {"sample_id": hash_text(method, statement["variant_id"]), "method": method}
        | {"sample_index": NAMES.index(statement["transformation"]), "rephraser": rephraser}
        | {"text": f"{statement['statement'][:-1]}, by {method}.", "status": status, "attempts": attempts}
        for method, (rephraser, status, attempts) in by_method.items()
        for statement in list_statements()
    ]
    direct = [s for s in samples if (s["method"], s["transformation"]) == ("prototype", "none")]
    samples += [s | {"method": "direct", "sample_id": hash_text("direct", s["sample_id"])} for s in direct]
    written = direct[0] | {"method": "llmeval", "variant_id": None, "transformation": None}
    return samples + [
        written | {"sample_id": hash_text("llmeval", str(n)), "sample_index": n, "text": f"Line {n}."}
        for n in range(3)
    ]


def list_requests() -> list[Row]:
    return [
        {"item_id": hash_text("sample", str(n)), "repeat": repeat, "n_demonstrations_dropped": n}
        | {"prompt_key": hash_text("prompt", str(n), digits=32)}
        for n in range(3)
        for repeat in range(2)
    ]


def list_responses() -> list[Row]:
    answered = {"prompt": "Statement: …", "response": " True", "status": "ok", "finish_reason": "stop"}
    counted = {"n_prompt_tokens": 9, "n_completion_tokens": 1, "logprob_true": -0.5, "served": "tiny"}
    failed = {"response": None, "status": "error", "error": "timed out", "n_prompt_tokens": None}
    changes: list[Row] = [{}, {"response": ""}, failed]
    return [
        request | answered | counted | change
        for request, change in zip(list_requests()[::2], changes, strict=True)
    ]


def list_readings() -> list[Row]:
    read = [("A", "leading_letter", None), (None, None, None), (None, None, "timed out")]
    return [
        request | {"answer": answer, "rule": rule, "error": error}
        for request, (answer, rule, error) in zip(list_requests()[::2], read, strict=True)
    ]


def list_predictions() -> list[Row]:
    """Return predictions of the items 0 and 1, of 2, which has no answer, and of 3, which failed."""
    judged = [
        (0, "strict", "A", True, 3, 2, None),
        (1, "strict", "F", False, 1, 1, None),
        (2, "strict", None, False, 0, 0, None),
        (0, "excluded", "A", True, 3, 2, None),
        (2, "excluded", None, None, 0, 0, None),
        (2, "coin-flip", None, True, 0, 0, None),
        (3, "strict", None, None, 0, 0, "timed out"),
    ]
    names = ("scoring_policy", "prediction", "is_correct", "n_answers", "n_agreeing", "error")
    return [
        list_requests()[0] | {"item_id": hash_text("item", str(n))} | dict(zip(names, values, strict=True))
        for n, *values in judged
    ]


def list_questions() -> list[Row]:
    """Return one question of each type about one point, and the revision of a right and a wrong offer."""
    options = ["Fever", "Itch", "Rash", "Cough"]
    point = {"point_id": hash_text("point"), "is_negated": False} | list_triplets()[0]
    asked: list[tuple[str, str, list[str], str, str | None]] = [
        ("MCQ", "comparison", options, "A", None),
        ("RQ", "rectification", options, "T|A", "A"),
        ("RQ", "rectification", options, "F|A", "C"),
        ("MAQ", "discrimination", options, "A,D", None),
        ("TFQ", "verification", [], "T", None),
    ]
    names = ("type", "facet", "options", "answer", "offered")
    return [
        point
        | {"question_id": hash_text("question", str(n)), "text": f"Question {n}?"}
        | dict(zip(names, values, strict=True))
        for n, values in enumerate(asked)
    ]


ROWS: dict[str, Callable[[], list[Row]]] = {
    "triplets": list_triplets,
    "variants": list_statements,
    "statements": list_statements,
    "attempts": list_attempts,
    "samples": list_samples,
    "requests": list_requests,
    "responses": list_responses,
    "readings": list_readings,
    "predictions": list_predictions,
    "diversity": list_diversity,
    "guesses": list_guesses,
    "human_verdicts": list_verdicts,
    "questions": list_questions,
}
