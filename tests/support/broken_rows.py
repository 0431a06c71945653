"""What each expectation must catch: a change to one row of a valid frame, and the expectation that fails."""

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from schemas.stages import GATE_OFF
from tests.support.good_frames import PAIRS, make_frame


@dataclass(frozen=True)
class BrokenRow:
    """A change to one row of a stage, and the column and name of the expectation that must fail."""

    stage: str
    values: dict[str, Any]
    column: str
    name: str
    row: int = 1
    is_warning: bool = field(default=False)

    def make_frame(self) -> pl.DataFrame:
        """Return the valid frame with one row changed."""
        rows = make_frame(self.stage)
        changed = rows.to_dicts()
        changed[self.row] |= self.values
        return pl.DataFrame(changed, schema=rows.schema)

    def __str__(self) -> str:
        return f"{self.stage}-{self.name}-{self.column}-{next(iter(self.values.values()))!r:.20}"


def break_text_slightly(stage: str, text: str, name: str) -> BrokenRow:
    """Return a row with this text, for which the expectation only warns."""
    column = "text" if stage == "samples" else "statement"
    return BrokenRow(stage, {column: text}, column, name, is_warning=True)


def break_text(stage: str, text: str, name: str) -> BrokenRow:
    """Return a row with this text, for which the expectation fails."""
    column = "text" if stage == "samples" else "statement"
    return BrokenRow(stage, {column: text}, column, name)


TRIPLETS = make_frame("triplets")
VARIANTS = make_frame("variants")
SAMPLES = make_frame("samples")
DIRECT, LLMEVAL = 64, 68
FALLBACK = {"status": "fallback", "attempts": 3}

BROKEN = (
    BrokenRow("triplets", {"triplet_id": "xyz"}, "triplet_id", "matches_pattern"),
    BrokenRow("triplets", {"triplet_id": TRIPLETS["triplet_id"][0]}, "triplet_id", "is_unique"),
    BrokenRow("triplets", {"relation": None}, "relation", "is_not_null"),
    BrokenRow("triplets", {"is_positive": None}, "is_positive", "is_not_null"),
    BrokenRow("triplets", {"split": "train"}, "split", "is_one_of"),
    BrokenRow("triplets", {"is_positive": True}, "pair_id", "pair_is_one_positive_one_negative"),
    BrokenRow("triplets", {"head": "Angina"}, "pair_id", "pair_shares_head"),
    BrokenRow("triplets", {"tail": PAIRS[0][1]}, "pair_id", "pair_differs_in_tail"),
    BrokenRow("triplets", {"is_asserted": True}, "is_asserted, is_positive", "asserted_is_negative", row=0),
    BrokenRow("triplets", {"first_release": "new"}, "first_release, is_positive", "age_is_of_positive"),
    BrokenRow("triplets", {"relation": "drugs"}, "relation", "relation_has_both_splits"),
    BrokenRow("triplets", {"head": PAIRS[0][0]}, "relation, head, is_positive", "is_unique", row=2),
    BrokenRow("variants", {"transformation": "none"}, "triplet_id", "triplet_has_all_transformations"),
    BrokenRow("variants", {"label": False}, "triplet_id", "triplet_has_four_true_four_false"),
    BrokenRow("variants", {"label": False}, "triplet_id", "label_flips_under_negation"),
    BrokenRow("variants", {"split": "demonstration"}, "triplet_id", "triplet_is_in_one_place"),
    BrokenRow("variants", {"triplet_id": "0" * 16}, "pair_id", "pair_has_two_triplets"),
    BrokenRow("statements", {"prototype_id": "0" * 16}, "relation", "prototype_is_one_per_cell"),
    BrokenRow("statements", {"statement": None}, "statement", "is_not_null"),
    break_text("statements", "  ", "is_not_blank"),
    break_text("statements", "", "is_not_blank"),
    break_text("statements", "One\x00line.", "is_one_line"),
    break_text("samples", "One\nline.", "is_one_line"),
    break_text("samples", "One\u2028line.", "is_one_line"),
    break_text("samples", " Not trimmed.", "is_trimmed"),
    break_text_slightly("statements", "Fever of [X].", "has_no_slot"),
    break_text_slightly("samples", "Two  spaces.", "is_single_spaced"),
    break_text_slightly("samples", "No full stop", "ends_in_one_full_stop"),
    break_text_slightly("statements", "Due to Shigella sp..", "ends_in_one_full_stop"),
    BrokenRow("samples", {"text": SAMPLES["text"][4]}, "relation", "text_has_one_label", is_warning=True),
    BrokenRow("samples", {"sample_index": 0}, "method, triplet_id, sample_index", "is_unique"),
    BrokenRow("samples", {"sample_index": -1}, "sample_index", "is_in_bounds"),
    BrokenRow("samples", {"transformation": "dn"}, "method", "triplet_has_all_transformations"),
    BrokenRow("samples", {"transformation": "dn"}, "method", "direct_is_asked_once", row=DIRECT),
    BrokenRow("samples", {"variant_id": None}, "method", "variant_fits_method"),
    BrokenRow("samples", {"transformation": "inv"}, "method", "variant_fits_method", row=LLMEVAL),
    BrokenRow("samples", {"attempts": 0}, "status", "status_fits_attempts"),
    BrokenRow("samples", {"status": "as_is"}, "status", "status_fits_attempts"),
    BrokenRow("samples", {"reasons": [GATE_OFF]}, "status", "status_fits_attempts"),
    BrokenRow("samples", FALLBACK, "status", "status_fits_reasons"),
    BrokenRow("samples", {"reasons": ["polarity"]}, "status", "status_fits_reasons", row=DIRECT),
    BrokenRow("samples", {"reasons": None}, "reasons", "is_not_null"),
    BrokenRow("attempts", {"attempt": 3}, "variant_id", "attempts_are_counted"),
    BrokenRow("attempts", {"attempt": 0}, "attempt", "is_in_bounds"),
    BrokenRow("attempts", {"is_accepted": False}, "is_accepted", "reasons_fit_verdict"),
    BrokenRow("attempts", {"text": None}, "is_accepted", "reasons_fit_verdict"),
    BrokenRow("attempts", {"is_accepted": True}, "variant_id", "acceptance_ends_attempts", row=0),
    BrokenRow("diversity", {"lexical_distance": 1.5}, "lexical_distance", "is_in_bounds"),
    BrokenRow("guesses", {"overlap_guess": None}, "overlap_guess", "is_not_null"),
    BrokenRow("human_verdicts", {"question": "taste"}, "question", "is_one_of"),
    BrokenRow("human_verdicts", {"reviewer": "one"}, "edition_id, question, item_id, reviewer", "is_unique"),
    BrokenRow("requests", {"repeat": 0}, "item_id, repeat", "is_unique"),
    BrokenRow("requests", {"model_id": "org/tiny"}, "model_id", "matches_pattern"),
    BrokenRow("requests", {"prompt_key": "a" * 32}, "item_id", "prompt_is_one_per_item"),
    BrokenRow("requests", {"sampling": '{"max'}, "sampling", "sampling_is_json"),
    BrokenRow("requests", {"sampling": "[1]"}, "sampling", "sampling_is_json"),
    BrokenRow("requests", {"n_demonstrations_dropped": -1}, "n_demonstrations_dropped", "is_in_bounds"),
    BrokenRow("responses", {"response": None}, "status", "status_fits_response"),
    BrokenRow("responses", {"status": "error"}, "status", "status_fits_response"),
    BrokenRow("responses", {"error": "refused"}, "status", "status_fits_error"),
    BrokenRow("responses", {"error": None}, "status", "status_fits_error", row=2),
    BrokenRow("responses", {"logprob_false": 0.5}, "logprob_false", "is_in_bounds"),
    BrokenRow("responses", {"logprob_true": float("nan")}, "logprob_true", "is_in_bounds"),
    BrokenRow("responses", {"n_prompt_tokens": -1}, "n_prompt_tokens", "is_in_bounds"),
    BrokenRow("readings", {"rule": None}, "answer", "rule_fits_answer", row=0),
    BrokenRow("readings", {"answer": "A"}, "answer", "failed_prompt_has_no_answer", row=2),
    BrokenRow("predictions", {"is_correct": None}, "scoring_policy", "is_correct_fits_policy"),
    BrokenRow("predictions", {"is_correct": True}, "scoring_policy", "is_correct_fits_policy", row=4),
    BrokenRow("predictions", {"is_correct": False}, "scoring_policy", "is_correct_fits_policy", row=6),
    BrokenRow("predictions", {"is_correct": True}, "scoring_policy", "no_answer_is_wrong", row=2),
    BrokenRow("predictions", {"prediction": "U"}, "prediction", "unsure_is_never_right", row=0),
    BrokenRow("predictions", {"prediction": "T"}, "prediction", "failed_prompt_has_no_prediction", row=6),
    BrokenRow("predictions", {"is_correct": False}, "item_id", "answer_has_one_grade", row=3),
    BrokenRow("predictions", {"n_agreeing": 4}, "prediction", "votes_fit_prediction", row=0),
    BrokenRow("predictions", {"n_answers": 0}, "prediction", "votes_fit_prediction", row=0),
    BrokenRow("predictions", {"n_answers": -1}, "n_answers", "is_in_bounds"),
    BrokenRow("predictions", {"scoring_policy": "lenient"}, "scoring_policy", "is_one_of"),
    BrokenRow("questions", {"text": " "}, "text", "is_not_blank"),
    BrokenRow("questions", {"facet": "comparison"}, "facet", "facet_fits_type"),
    BrokenRow("questions", {"answer": "A"}, "answer", "answer_fits_type"),
    BrokenRow("questions", {"answer": "yes"}, "answer", "matches_pattern"),
    BrokenRow("questions", {"options": ["Fever"]}, "options", "options_fit_type"),
    BrokenRow("questions", {"options": ["Fever"]}, "options", "options_fit_type", row=4),
    BrokenRow("questions", {"answer": "E"}, "answer", "answer_is_an_option", row=0),
    BrokenRow("questions", {"answer": "A,J"}, "answer", "answer_is_an_option", row=3),
    BrokenRow("questions", {"offered": None}, "offered", "offered_fits_type"),
    BrokenRow("questions", {"offered": "A"}, "offered", "offered_fits_type", row=0),
    BrokenRow("questions", {"offered": "B"}, "answer", "judgement_fits_offer"),
    BrokenRow("questions", {"answer": "D,A"}, "answer", "letters_are_sorted", row=3),
    BrokenRow("questions", {"head": "Scabies"}, "point_id", "point_is_one"),
)
