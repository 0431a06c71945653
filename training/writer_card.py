"""The card of the reference writer: card.json for the measuring command, README.md for people."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engines.model_card import CARD
from storage.files import write_json
from training.card import list_marks, render_origin, write_readme


@dataclass(frozen=True)
class WriterScores:
    """How well the writer wrote the texts of the edition with this seed."""

    seed: int
    n_rewordings: int
    share_with_names: float
    """Share of rewordings, at the default temperature, that contain both names of their statement."""
    share_worded: float
    """Share of rewordings that are a wording of their cell, filled with the names of their statement."""
    n_listings: int
    share_complete: float
    """Share of triplets for which the writer wrote eight different usable lines."""
    share_lines_worded: float
    """Share of lines that are a text of their relation, not negated, with the names of their triplet."""


@dataclass(frozen=True)
class WriterCard:
    """The training and the measured scores of the writer. It knows no facts, so the card lists no heads."""

    name: str
    loss_curve: list[dict[str, Any]]
    """One entry per part of the training."""
    scores: WriterScores | None = None


def read_writer_card(folder: Path) -> WriterCard:
    """Return the card of the writer in this folder."""
    card = json.loads((folder / CARD).read_bytes())
    scores = card["scores"] and WriterScores(**card["scores"])
    return WriterCard(card["name"], card["loss_curve"], scores)


def write_writer_card(folder: Path, card: WriterCard) -> None:
    """Write card.json, and README.md with the same content, beside the weights."""
    write_json(folder / CARD, asdict(card))
    write_readme(folder, _render_introduction(card), _render_scores(card.scores), _render_training(card))


def _render_introduction(card: WriterCard) -> list[str]:
    return [
        f"# {card.name}",
        "",
        "A Llama trained from scratch to write about any two names of the starter base. With it, the",
        "rephraser and the method llmeval run on any machine. It rewords the prototypes of the pool",
        "`revised` and lists eight statements about a triplet. It knows no facts and cannot act as a judge.",
        "It understands only the default instructions, word for word, in chat style. The last phase of the",
        "training taught it to fail now and then: to state the contrary, to swap or lose a name, or to add a",
        "preamble. The gate has to find these failures.",
        "",
        *render_origin("training.train_writer", card.loss_curve),
    ]


def _render_scores(scores: WriterScores | None) -> list[str]:
    if scores is None:
        return []
    return [
        f"`python -m training.measure_writer` measured it on the whole edition of seed {scores.seed},",
        "without the gate:",
        "",
        "| task | n | property | share |",
        "| --- | --- | --- | --- |",
        f"| rewordings | {scores.n_rewordings} | contains both names | {scores.share_with_names:.1%} |",
        f"| rewordings | {scores.n_rewordings} | a wording of its cell | {scores.share_worded:.1%} |",
        f"| eight statements | {scores.n_listings} | eight usable lines | {scores.share_complete:.1%} |",
        f"| eight statements | {scores.n_listings} | lines that are texts of their relation "
        f"| {scores.share_lines_worded:.1%} |",
    ]


def _render_training(card: WriterCard) -> list[str]:
    return [
        "Mean loss on the tokens of the replies, in nats, by parts of 100 steps:",
        "",
        "| part | rewordings | listings | rewordings, some of them wrong |",
        "| --- | --- | --- | --- |",
        *(
            f"| {row['part'] + 1} | " + " | ".join(map(_render_loss, row["losses"].values())) + " |"
            for row in list_marks(card.loss_curve)
        ),
    ]


def _render_loss(loss: float | None) -> str:
    return "" if loss is None else f"{loss:.3f}"
