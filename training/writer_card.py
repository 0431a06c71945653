"""The card of the reference writer: what was measured of it, as JSON and as text for people."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from storage.files import write_json
from training.card import CARD, tell_making, write_readme


@dataclass(frozen=True)
class WriterScores:
    """What the writer made of the edition with this seed."""

    seed: int
    n_rewordings: int
    share_with_names: float
    """Rewordings, at the default temperature, that hold both names of their statement."""
    share_worded: float
    """Rewordings that are a wording of their cell with the names of their statement."""
    n_listings: int
    share_complete: float
    """Triplets of which it wrote eight usable lines, none of them twice."""
    share_lines_worded: float
    """Lines that are a text of their relation, not negated, with the names of their triplet."""


@dataclass(frozen=True)
class WriterCard:
    """How the writer was taught and what was measured of it. It knows nothing: no head is listed."""

    name: str
    loss_curve: list[dict[str, Any]]
    """One entry per part of the training."""
    scores: WriterScores | None = None


def read_writer_card(folder: Path) -> WriterCard:
    """The card of the writer in this folder."""
    card = json.loads((folder / CARD).read_bytes())
    scores = card["scores"] and WriterScores(**card["scores"])
    return WriterCard(card["name"], card["loss_curve"], scores)


def write_writer_card(folder: Path, card: WriterCard) -> None:
    """Write card.json, and README.md that tells the same, beside the weights."""
    write_json(folder / CARD, asdict(card))
    write_readme(folder, _introduce(card), _tell_scores(card.scores), _tell_training(card))


def _introduce(card: WriterCard) -> list[str]:
    return [
        f"# {card.name}",
        "",
        "A Llama trained from scratch to write about any two names of the starter base, so that editions",
        "reworded by a model, and the method llmeval, run anywhere. It rewords the prototypes of the pool",
        "`revised` and lists eight statements of a triplet; it knows no fact, cannot judge, and understands",
        "the default instructions only, word for word, in chat style. Last it was taught to fail now and",
        "then: to say the contrary, to swap or lose a name, to put a preamble. That is for a gate to find.",
        "",
        *tell_making("training.train_writer", card.loss_curve),
    ]


def _tell_scores(scores: WriterScores | None) -> list[str]:
    if scores is None:
        return []
    return [
        f"Measured by `python -m training.measure_writer`, on all of the edition of seed {scores.seed},",
        "without the gate:",
        "",
        "| asked for | n | what is counted | share |",
        "| --- | --- | --- | --- |",
        f"| rewordings | {scores.n_rewordings} | both names are there | {scores.share_with_names:.1%} |",
        f"| rewordings | {scores.n_rewordings} | a wording of its cell | {scores.share_worded:.1%} |",
        f"| eight statements | {scores.n_listings} | eight usable lines | {scores.share_complete:.1%} |",
        f"| eight statements | {scores.n_listings} | lines in words of their relation "
        f"| {scores.share_lines_worded:.1%} |",
    ]


def _tell_training(card: WriterCard) -> list[str]:
    last = len(card.loss_curve) - 1
    marks = [row for row in card.loss_curve if row["part"] % 5 == 4 or row["part"] == last]
    return [
        "Loss on the tokens of the replies, in nats, by 100 steps:",
        "",
        "| part | rewordings | listings | some of them wrong |",
        "| --- | --- | --- | --- |",
        *(
            f"| {row['part'] + 1} | " + " | ".join(map(_tell_loss, row["losses"].values())) + " |"
            for row in marks
        ),
    ]


def _tell_loss(loss: float | None) -> str:
    return "" if loss is None else f"{loss:.3f}"
