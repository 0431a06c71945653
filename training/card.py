"""The card of a reference model: card.json for the pipeline, README.md for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from engines.model_card import CARD, KnownHead, TaughtBase
from knowledge.base import KnowledgeBase
from storage.files import write_json
from tasks.drawing.heads import TripletSampling
from tasks.edition.triplets import draw_triplets

FACTS = {"pool": "learned", "other": "learned in other wordings", "nothing": "unseen"}
MODELS = Path(__file__).parents[1] / "models"


@dataclass(frozen=True)
class Card:
    """What a reference model learned, how its training went, and its measured scores."""

    name: str
    known_heads: list[KnownHead]
    """The units that the model has learned."""
    taught_base: TaughtBase
    """The base of these units."""
    loss_curve: list[dict[str, Any]]
    """One entry per epoch of the training."""
    scores: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the view known_mastery, each with the seed of its edition."""


def describe_base(base: KnowledgeBase) -> TaughtBase:
    """Return the name of the base, and the checksum of each of its relations."""
    return TaughtBase(base.name, {name: base.checksum_relation(name) for name in base.relations})


def read_card(folder: Path) -> Card:
    """Return the card of the model in this folder."""
    return TypeAdapter(Card).validate_json((folder / CARD).read_bytes())


def write_card(folder: Path, card: Card, base: KnowledgeBase) -> None:
    """Write card.json, and README.md with the same content, beside the weights."""
    write_json(folder / CARD, asdict(card))
    sections = (_render_scores(card), _render_heads(card, base), _render_training(card))
    write_readme(folder, _render_introduction(card), *sections)


def write_readme(folder: Path, *sections: Sequence[str]) -> None:
    """Write README.md from these sections, which are lists of lines; empty sections are left out."""
    text = "\n".join("\n".join((*lines, "")) for lines in sections if lines)
    (folder / "README.md").write_text(text, encoding="utf-8")


def render_origin(command: str, loss_curve: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines that name the command that trained the model, its tokens, and its time."""
    n_tokens = sum(row["n_tokens"] for row in loss_curve)
    duration = sum(row["duration_s"] for row in loss_curve) / 60
    return [
        f"`python -m {command}` trained it on {n_tokens / 1e6:.1f}M tokens in {duration:.0f} minutes",
        "on one core of a shared machine.",
    ]


def list_marks(loss_curve: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return every fifth part of a training and the last one, for the table of its card."""
    return [row for row in loss_curve if row["part"] % 5 == 4 or row is loss_curve[-1]]


def _render_introduction(card: Card) -> list[str]:
    n_known = len(card.known_heads)
    n_other = sum(unit.wordings == "other" for unit in card.known_heads)
    return [
        f"# {card.name}",
        "",
        "A Llama trained from scratch on a known part of the starter base. It serves to calibrate the",
        f"pipeline: it has learned {n_known} (relation, head) units and never saw the true tails of the",
        f"others. It learned {n_other} of these units from sentences that are in no pool of prototypes",
        "(`training/other_wordings.toml`): in their relations it never saw a sentence of the pool with its",
        "label. It can verify statements in five-shot prompts, and nothing else. `card.json` lists the",
        "learned units; the view `known_mastery` compares the model's score on them with its score on the",
        "rest. `docs/calibration.md` explains what this proves.",
        "",
        *render_origin(f"training.train {card.name}", card.loss_curve),
    ]


def _render_scores(card: Card) -> list[str]:
    if not card.scores:
        return []
    return [
        "`python -m training.measure` ran the pipeline on editions with these seeds and measured:",
        "",
        "| seed | facts | pairs | accuracy (95 %) | mastery (95 %) |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {row['seed']} | {FACTS[row['taught_with']]} | {row['n_pairs']} "
            f"| {row['average_accuracy']:.1%} ({row['ci_low']:.1%}-{row['ci_high']:.1%}) "
            f"| {row['mastery']:.1%} ({row['mastery_ci_low']:.1%}-{row['mastery_ci_high']:.1%}) |"
            for row in card.scores
        ),
    ]


def _render_heads(card: Card, base: KnowledgeBase) -> list[str]:
    known = {(unit.relation, unit.head) for unit in card.known_heads}
    wordings = {unit.relation: unit.wordings for unit in card.known_heads}
    n_known = Counter(relation for relation, _ in known)
    lines = [
        "| relation | wordings | units learned | learned among tested |",
        "| --- | --- | --- | --- |",
    ]
    for relation in base.relations:
        frame = draw_triplets(base, relation, TripletSampling(1))
        tested = set(frame.filter(split="test")["head"])
        n_both = sum((relation, head) in known for head in tested)
        wording = wordings.get(relation, "")
        lines.append(f"| {relation} | {wording} | {n_known[relation]} | {n_both} of {len(tested)} |")
    return lines


def _render_training(card: Card) -> list[str]:
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
