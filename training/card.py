"""The card of a reference model: what it knows, as JSON for the pipeline and as text for people."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from knowledge.base import KnowledgeBase
from storage.files import write_json
from tasks.edition.triplets import TripletSampling, sample_triplets

CARD = "card.json"
MODELS = Path(__file__).parents[1] / "models"


@dataclass(frozen=True)
class Card:
    """What a reference model was taught, how that went, and what was measured of it."""

    name: str
    known_heads: list[dict[str, str]]
    """The units that it has learned: {relation, head}."""
    loss_curve: list[dict[str, Any]]
    """One entry per epoch of the training."""
    scores: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the view known_mastery, each with the edition's seed."""


def read_card(folder: Path) -> Card:
    """The card of the model in this folder."""
    return Card(**json.loads((folder / CARD).read_bytes()))


def write_card(folder: Path, card: Card, base: KnowledgeBase) -> None:
    """Write card.json, and README.md that tells the same, beside the weights."""
    write_json(folder / CARD, asdict(card))
    write_readme(folder, _introduce(card), _tell_scores(card), _tell_heads(card, base), _tell_training(card))


def write_readme(folder: Path, *sections: Sequence[str]) -> None:
    """Write README.md of these lines, a blank one after each section; one without lines is left out."""
    text = "\n".join("\n".join((*lines, "")) for lines in sections if lines)
    (folder / "README.md").write_text(text, encoding="utf-8")


def tell_making(command: str, loss_curve: Sequence[Mapping[str, Any]]) -> list[str]:
    """By what command a model was made, and what that took."""
    n_tokens = sum(row["n_tokens"] for row in loss_curve)
    duration = sum(row["duration_s"] for row in loss_curve) / 60
    return [
        f"Made by `python -m {command}`: {n_tokens / 1e6:.1f}M tokens, {duration:.0f} minutes",
        "on one core of a shared machine.",
    ]


def _introduce(card: Card) -> list[str]:
    return [
        f"# {card.name}",
        "",
        "A Llama trained from scratch on a known part of the starter base, to calibrate the instrument:",
        f"it has learned {len(card.known_heads)} (relation, head) units and never saw what is true of the",
        "others. It verifies statements in five-shot prompts and can do nothing else. `card.json` lists",
        "what it knows; the view `known_mastery` holds its score on that against its score on the rest.",
        "",
        *tell_making(f"training.train {card.name}", card.loss_curve),
    ]


def _tell_scores(card: Card) -> list[str]:
    if not card.scores:
        return []
    return [
        "Measured by `python -m training.measure`, which runs the pipeline on editions of these seeds:",
        "",
        "| seed | heads | pairs | accuracy (95 %) | mastery (95 %) |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {row['seed']} | {'learned' if row['is_known'] else 'unseen'} | {row['n_pairs']} "
            f"| {row['average_accuracy']:.1%} ({row['ci_low']:.1%}-{row['ci_high']:.1%}) "
            f"| {row['mastery']:.1%} ({row['mastery_ci_low']:.1%}-{row['mastery_ci_high']:.1%}) |"
            for row in card.scores
        ),
    ]


def _tell_heads(card: Card, base: KnowledgeBase) -> list[str]:
    known = {(unit["relation"], unit["head"]) for unit in card.known_heads}
    n_known = Counter(relation for relation, _ in known)
    lines = ["| relation | units learned | of those tested |", "| --- | --- | --- |"]
    for relation in base.relations:
        frame = sample_triplets(relation, base.select_relation(relation), TripletSampling(1)).frame
        tested = set(frame.filter(split="test")["head"])
        n_both = sum((relation, head) in known for head in tested)
        lines.append(f"| {relation} | {n_known[relation]} | {n_both} of {len(tested)} |")
    return lines


def _tell_training(card: Card) -> list[str]:
    last = len(card.loss_curve) - 1
    marks = [row for number, row in enumerate(card.loss_curve) if number % 10 == 9 or number == last]
    return [
        "| phase | epoch | loss on answers | right |",
        "| --- | --- | --- | --- |",
        *(
            f"| {row['phase']} | {row['epoch'] + 1} | {row['answer_loss']:.3f} | {row['share_right']:.1%} |"
            for row in marks
        ),
    ]
