"""What each expectation must catch: a change to one row of a good frame, and who has to object."""

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tests.support.good_frames import PAIRS, make_frame


@dataclass(frozen=True)
class Broken:
    """A stage, what one of its rows is changed to, and the column and name that must object."""

    stage: str
    values: dict[str, Any]
    column: str
    name: str
    row: int = 1
    is_warning: bool = field(default=False)

    def make_frame(self) -> pl.DataFrame:
        """The good frame with the one row changed."""
        rows = make_frame(self.stage)
        changed = rows.to_dicts()
        changed[self.row] |= self.values
        return pl.DataFrame(changed, schema=rows.schema)

    def __str__(self) -> str:
        return f"{self.stage}-{self.name}-{self.column}-{next(iter(self.values.values()))!r:.20}"


def warn(stage: str, text: str, name: str) -> Broken:
    column = "text" if stage == "samples" else "statement"
    return Broken(stage, {column: text}, column, name, is_warning=True)


def spoil(stage: str, text: str, name: str) -> Broken:
    column = "text" if stage == "samples" else "statement"
    return Broken(stage, {column: text}, column, name)


TRIPLETS = make_frame("triplets")
VARIANTS = make_frame("variants")
SAMPLES = make_frame("samples")
DIRECT, LLMEVAL = 64, 68
FALLBACK = {"status": "fallback", "attempts": 3}

BROKEN = (
    Broken("triplets", {"triplet_id": "xyz"}, "triplet_id", "matches_pattern"),
    Broken("triplets", {"triplet_id": TRIPLETS["triplet_id"][0]}, "triplet_id", "is_unique"),
    Broken("triplets", {"relation": None}, "relation", "is_not_null"),
    Broken("triplets", {"is_positive": None}, "is_positive", "is_not_null"),
    Broken("triplets", {"split": "train"}, "split", "is_one_of"),
    Broken("triplets", {"is_positive": True}, "pair_id", "pair_is_one_positive_one_negative"),
    Broken("triplets", {"head": "Angina"}, "pair_id", "pair_shares_head"),
    Broken("triplets", {"tail": PAIRS[0][1]}, "pair_id", "pair_differs_in_tail"),
    Broken("triplets", {"relation": "drugs"}, "relation", "relation_has_both_splits"),
    Broken("triplets", {"head": PAIRS[0][0]}, "relation, head, is_positive", "is_unique", row=2),
    Broken("variants", {"transformation": "none"}, "triplet_id", "triplet_has_all_transformations"),
    Broken("variants", {"label": False}, "triplet_id", "triplet_has_four_true_four_false"),
    Broken("variants", {"label": False}, "triplet_id", "label_flips_under_negation"),
    Broken("variants", {"split": "demonstration"}, "triplet_id", "triplet_is_in_one_place"),
    Broken("variants", {"triplet_id": "0" * 16}, "pair_id", "pair_has_two_triplets"),
    Broken("statements", {"prototype_id": "0" * 16}, "relation", "prototype_is_one_per_cell"),
    Broken("statements", {"statement": None}, "statement", "is_not_null"),
    spoil("statements", "  ", "is_not_blank"),
    spoil("statements", "", "is_not_blank"),
    spoil("statements", "One\x00line.", "is_one_line"),
    spoil("samples", "One\nline.", "is_one_line"),
    spoil("samples", "One\u2028line.", "is_one_line"),
    spoil("samples", " Not trimmed.", "is_trimmed"),
    warn("statements", "Fever of [X].", "has_no_slot"),
    warn("samples", "Two  spaces.", "is_single_spaced"),
    warn("samples", "No full stop", "ends_in_one_full_stop"),
    warn("statements", "Due to Shigella sp..", "ends_in_one_full_stop"),
    Broken(
        "samples",
        {"text": SAMPLES["text"][4]},
        "relation",
        "text_has_one_label",
        is_warning=True,
    ),
    Broken("samples", {"sample_index": 0}, "method, triplet_id, sample_index", "is_unique"),
    Broken("samples", {"sample_index": -1}, "sample_index", "is_in_bounds"),
    Broken("samples", {"transformation": "dn"}, "method", "triplet_has_all_transformations"),
    Broken("samples", {"transformation": "dn"}, "method", "direct_is_asked_once", row=DIRECT),
    Broken("samples", {"variant_id": None}, "method", "variant_fits_method"),
    Broken("samples", {"transformation": "inv"}, "method", "variant_fits_method", row=LLMEVAL),
    Broken("samples", {"attempts": 0}, "status", "status_fits_attempts"),
    Broken("samples", {"status": "as_is"}, "status", "status_fits_attempts"),
    Broken("samples", FALLBACK, "status", "status_fits_reasons"),
    Broken("samples", {"reasons": ["polarity"]}, "status", "status_fits_reasons", row=DIRECT),
    Broken("samples", {"reasons": None}, "reasons", "is_not_null"),
    Broken("attempts", {"attempt": 3}, "variant_id", "attempts_are_counted"),
    Broken("attempts", {"attempt": 0}, "attempt", "is_in_bounds"),
    Broken("attempts", {"is_accepted": False}, "is_accepted", "reasons_fit_verdict"),
    Broken("attempts", {"text": None}, "is_accepted", "reasons_fit_verdict"),
    Broken("attempts", {"is_accepted": True}, "variant_id", "acceptance_ends_attempts", row=0),
    Broken("diversity", {"lexical_distance": 1.5}, "lexical_distance", "is_in_bounds"),
    Broken("human_grades", {"reliability": 6}, "reliability", "is_in_bounds"),
    Broken("human_grades", {"grader": "one"}, "edition_id, triplet_id, method, grader", "is_unique"),
    Broken("requests", {"repeat": 0}, "sample_id, repeat", "is_unique"),
    Broken("requests", {"model_id": "org/tiny"}, "model_id", "matches_pattern"),
    Broken("requests", {"prompt_key": "a" * 32}, "sample_id", "prompt_is_one_per_sample"),
    Broken("requests", {"sampling": '{"max'}, "sampling", "sampling_is_json"),
    Broken("requests", {"sampling": "[1]"}, "sampling", "sampling_is_json"),
    Broken("requests", {"n_demonstrations_dropped": -1}, "n_demonstrations_dropped", "is_in_bounds"),
    Broken("responses", {"response": None}, "status", "status_fits_response"),
    Broken("responses", {"status": "error"}, "status", "status_fits_response"),
    Broken("responses", {"error": "refused"}, "status", "status_fits_error"),
    Broken("responses", {"error": None}, "status", "status_fits_error", row=2),
    Broken("responses", {"logprob_false": 0.5}, "logprob_false", "is_in_bounds"),
    Broken("responses", {"logprob_true": float("nan")}, "logprob_true", "is_in_bounds"),
    Broken("responses", {"n_prompt_tokens": -1}, "n_prompt_tokens", "is_in_bounds"),
    Broken("predictions", {"is_correct": None}, "scoring_policy", "is_correct_fits_policy"),
    Broken("predictions", {"is_correct": True}, "scoring_policy", "is_correct_fits_policy", row=4),
    Broken("predictions", {"is_correct": True}, "scoring_policy", "no_answer_is_wrong", row=2),
    Broken("predictions", {"is_correct": False}, "sample_id", "sample_has_one_label", row=3),
    Broken("predictions", {"scoring_policy": "lenient"}, "scoring_policy", "is_one_of"),
)
