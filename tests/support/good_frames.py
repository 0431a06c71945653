"""A frame of every stage that meets all expectations: one pair to test, and one for demonstrations."""

from typing import Any

import polars as pl

from pretexeval.primitives.hashing import hash_text
from schemas.stages import STAGES
from schemas.transformations import TRANSFORMATIONS

Row = dict[str, Any]
PAIRS = (
    ("Influenza", "Fever", "Itch", "test"),
    ("Scabies", "Itch", "Fever", "demonstration"),
)


def make_frame(name: str) -> pl.DataFrame:
    """Return the valid rows of a stage."""
    rows = {
        "triplets": list_triplets,
        "variants": list_variants,
        "statements": list_statements,
        "attempts": list_attempts,
        "samples": list_samples,
        "requests": list_requests,
        "responses": list_responses,
        "readings": list_readings,
        "predictions": list_predictions,
        "diversity": list_diversity,
        "guesses": list_guesses,
        "human_grades": list_grades,
        "questions": list_questions,
    }[name]()
    stage = STAGES[name]
    schema = stage.empty.schema
    empty = {column.name: None for column in stage.columns if column.is_nullable}
    return pl.DataFrame([[(empty | row)[c] for c in stage.names] for row in rows], schema, orient="row")


def list_triplets() -> list[Row]:
    return [
        {
            "triplet_id": hash_text(head, tail),
            "pair_id": hash_text(head),
            "relation": "symptoms",
            "head": head,
            "tail": tail,
            "head_id": None,
            "tail_id": None,
            "is_positive": is_positive,
            "split": split,
        }
        for head, positive, negative, split in PAIRS
        for tail, is_positive in ((positive, True), (negative, False))
    ]


def list_variants() -> list[Row]:
    return [
        triplet
        | {
            "variant_id": hash_text(triplet["triplet_id"], t.name),
            "transformation": t.name,
            "predicate": f"{t.name}({triplet['head']}, {triplet['tail']})",
            "label": triplet["is_positive"] != t.is_negated,
        }
        for triplet in list_triplets()
        for t in TRANSFORMATIONS
    ]


def list_statements() -> list[Row]:
    return [
        variant
        | {
            "prototype_id": hash_text(variant["transformation"]),
            "statement": f"As {variant['predicate']} says.",
        }
        for variant in list_variants()
    ]


def list_attempts() -> list[Row]:
    """Return the attempts of two variants: one accepted at the second attempt, one at the first."""
    variants = [variant["variant_id"] for variant in list_variants()[:2]]
    tries: tuple[tuple[str, int, list[str]], ...] = (
        (variants[0], 1, ["polarity"]),
        (variants[0], 2, []),
        (variants[1], 1, []),
    )
    return [
        {
            "variant_id": variant_id,
            "relation": "symptoms",
            "attempt": attempt,
            "rephraser": "writer-0123abcd",
            "prompt_key": hash_text(variant_id, str(attempt), digits=32),
            "text": "Fever is a sign of influenza.",
            "is_accepted": not reasons,
            "reasons": reasons,
            "is_judged_implied": None if reasons else True,
            "is_judged_implying": None,
        }
        for variant_id, attempt, reasons in tries
    ]


def list_diversity() -> list[Row]:
    columns = ("sample_id", "triplet_id", "relation", "method")
    measures = ("lexical_distance", "structural_distance", "lexical_spread", "structural_spread")
    return [
        {name: sample[name] for name in columns} | dict.fromkeys(measures, 0.25)
        for sample in list_samples()[:4]
    ]


def list_guesses() -> list[Row]:
    return [
        {"triplet_id": row["triplet_id"], "relation": row["relation"], "guesser": "overlap", "guess": True}
        for row in list_triplets()
        if row["split"] == "test"
    ]


def list_grades() -> list[Row]:
    return [
        {
            "edition_id": "starter-seed1-0123abcd",
            "triplet_id": triplet["triplet_id"],
            "method": "pretexeval",
            "grader": grader,
            "reliability": 5,
            "lexical_diversity": 3,
            "structural_diversity": 0,
            "comment": None,
        }
        for triplet in list_triplets()[:2]
        for grader in ("one", "two")
    ]


def list_samples() -> list[Row]:
    """Return samples: per triplet eight reworded, eight not, and one `direct`; three of `llmeval`."""
    statements = list_statements()
    by_method = {
        "pretexeval": ("reviewed", "accepted", 1),
        "prototype": ("none", "as_is", 0),
    }
    samples = [
        statement
        | {
            "sample_id": hash_text(method, statement["variant_id"]),
            "method": method,
            "sample_index": [t.name for t in TRANSFORMATIONS].index(statement["transformation"]),
            "text": f"{statement['statement'][:-1]}, by {method}.",
            "rephraser": rephraser,
            "status": status,
            "attempts": attempts,
            "reasons": [],
        }
        for method, (rephraser, status, attempts) in by_method.items()
        for statement in statements
    ]
    direct = [s for s in samples if (s["method"], s["transformation"]) == ("prototype", "none")]
    samples += [s | {"method": "direct", "sample_id": hash_text("direct", s["sample_id"])} for s in direct]
    written = {"method": "llmeval", "variant_id": None, "transformation": None}
    return samples + [
        direct[0]
        | written
        | {"sample_id": hash_text("llmeval", str(n)), "sample_index": n, "text": f"Line {n}."}
        for n in range(3)
    ]


def list_requests() -> list[Row]:
    return [
        {
            "item_id": hash_text("sample", str(n)),
            "model_id": "tiny-0123abcd",
            "prompt_key": hash_text("prompt", str(n), digits=32),
            "repeat": repeat,
            "relation": "symptoms",
            "n_demonstrations_dropped": n,
            "prompt_style": "completion",
            "sampling": '{"max_tokens":8}',
        }
        for n in range(3)
        for repeat in range(2)
    ]


def list_responses() -> list[Row]:
    answered = {
        "model_id": "tiny-0123abcd",
        "repeat": 0,
        "prompt": "Statement: …",
        "response": " True",
        "status": "ok",
        "error": None,
        "finish_reason": "stop",
        "n_prompt_tokens": 9,
        "n_completion_tokens": 1,
        "logprob_true": -0.5,
        "logprob_false": None,
        "reasoning": None,
        "served": "tiny",
    }
    failed = {"response": None, "status": "error", "error": "timed out", "n_prompt_tokens": None}
    keys = [hash_text("prompt", str(n), digits=32) for n in range(3)]
    changes: list[Row] = [{}, {"response": ""}, failed]
    return [answered | {"prompt_key": k} | c for k, c in zip(keys, changes, strict=True)]


def list_readings() -> list[Row]:
    read = [("A", "leading_letter", None), (None, None, None), (None, None, "timed out")]
    return [
        list_requests()[2 * n] | {"answer": answer, "rule": rule, "error": error}
        for n, (answer, rule, error) in enumerate(read)
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
    return [
        list_requests()[0]
        | {
            "item_id": hash_text("item", str(n)),
            "scoring_policy": policy,
            "prediction": prediction,
            "is_correct": is_correct,
            "n_answers": n_answers,
            "n_agreeing": n_agreeing,
            "error": error,
        }
        for n, policy, prediction, is_correct, n_answers, n_agreeing, error in judged
    ]


def list_questions() -> list[Row]:
    """Return one question of each type about one point, and the revision of a right and a wrong offer."""
    options = ["Fever", "Itch", "Rash", "Cough"]
    point = {
        "point_id": hash_text("point"),
        "pair_id": hash_text("Influenza"),
        "relation": "symptoms",
        "head": "Influenza",
        "split": "test",
        "is_negated": False,
        "source": None,
    }
    asked: list[tuple[str, str, list[str], str, str | None]] = [
        ("MCQ", "comparison", options, "A", None),
        ("RQ", "rectification", options, "T|A", "A"),
        ("RQ", "rectification", options, "F|A", "C"),
        ("MAQ", "discrimination", options, "A,D", None),
        ("TFQ", "verification", [], "T", None),
    ]
    return [
        point
        | {
            "question_id": hash_text("question", str(n)),
            "type": kind,
            "facet": facet,
            "text": f"Question {n}?",
            "options": choices,
            "answer": answer,
            "offered": offered,
        }
        for n, (kind, facet, choices, answer, offered) in enumerate(asked)
    ]
