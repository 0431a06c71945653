"""The card of a facet model: card.json for the pipeline, README.md for people."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter

from engines.model_card import CARD, KnownHead, TaughtBase
from knowledge.base import KnowledgeBase
from storage.files import write_json
from training.card import write_readme


@dataclass(frozen=True)
class TaughtScores:
    """What a model answered to one edition about the heads that it learned, or about the others."""

    seed: int
    setting: str
    """How the questions were asked."""
    is_known: bool
    n_points: int
    """Points that have questions of all types with their negations."""
    mastered_rate: float
    """p(M): share of these points of which all ten questions were answered right."""
    ci_low: float
    ci_high: float
    n_pairs: int
    pair_mastery: float
    """Mastery of the first method: share of pairs of which all sixteen statements were judged right."""
    pair_accuracy: float
    """Average accuracy of the first method."""
    accuracy: dict[str, float]
    """Share of right answers by form, such as `MCQ` or `MCQ negated`."""


@dataclass(frozen=True)
class FacetCard:
    """What a facet model learned, how its training went, and its measured scores."""

    name: str
    known_heads: list[KnownHead]
    taught_base: TaughtBase
    loss_curve: list[dict[str, Any]]
    """One entry per part of the training."""
    scores: list[TaughtScores] = field(default_factory=list)


def read_facet_card(folder: Path) -> FacetCard:
    """Return the card of the model in this folder."""
    return TypeAdapter(FacetCard).validate_json((folder / CARD).read_bytes())


def write_facet_card(folder: Path, card: FacetCard, base: KnowledgeBase) -> None:
    """Write card.json, and README.md with the same content, beside the weights."""
    write_json(folder / CARD, asdict(card))
    sections = (_render_scores(card.scores), _render_heads(card, base), _render_training(card))
    write_readme(folder, _render_introduction(card), *sections)


def _render_introduction(card: FacetCard) -> list[str]:
    n_tokens = sum(row["n_tokens"] for row in card.loss_curve)
    minutes = sum(row["duration_s"] for row in card.loss_curve) / 60
    return [
        f"# {card.name}",
        "",
        "A Llama trained from scratch on a known part of the four relations of DiseK in the starter base. It",
        f"serves to calibrate the questions: it has learned {len(card.known_heads)} (relation, head) units",
        "and never saw the true tails of the others. It answers questions of all four types and their",
        "negations, at once or after a chain of thought that judges every option, in prompts with up to five",
        "demonstrations, and it verifies the statements of the first method. It knows no other relation.",
        "`card.json` lists the learned units; the views `known_facets` and `known_mastery` compare its",
        "scores on them with those on the rest. `docs/calibration.md` explains what this proves.",
        "",
        f"`python -m training.train_facets {card.name}` trained it on {n_tokens / 1e6:.1f}M tokens in",
        f"{minutes:.0f} minutes of processor time.",
    ]


def _render_scores(scores: Sequence[TaughtScores]) -> list[str]:
    if not scores:
        return []
    forms = list(scores[0].accuracy)
    return [
        "`python -m training.measure_facets` ran the pipeline on editions with these seeds. p(M) is the",
        "share of points of which the model answered all ten questions right. Accuracy and mastery of pairs",
        "are those of the first method.",
        "",
        "| setting | seed | facts | points | p(M) (95 %) | pairs | accuracy | mastery |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *(
            f"| {row.setting} | {row.seed} | {_name_facts(row)} | {row.n_points} "
            f"| {row.mastered_rate:.1%} ({row.ci_low:.1%}-{row.ci_high:.1%}) "
            f"| {row.n_pairs} | {row.pair_accuracy:.1%} | {row.pair_mastery:.1%} |"
            for row in scores
        ),
        "",
        "Share of right answers, over all points:",
        "",
        f"| setting | seed | facts | {' | '.join(forms)} |",
        f"| --- | --- | --- |{' --- |' * len(forms)}",
        *(
            f"| {row.setting} | {row.seed} | {_name_facts(row)} | "
            + " | ".join(f"{row.accuracy[form]:.1%}" for form in forms)
            + " |"
            for row in scores
        ),
    ]


def _name_facts(row: TaughtScores) -> str:
    return "learned" if row.is_known else "unseen"


def _render_heads(card: FacetCard, base: KnowledgeBase) -> list[str]:
    n_known = Counter(unit.relation for unit in card.known_heads)
    n_heads = Counter(dict(base.triplets.group_by("relation").agg(pl.col("head").n_unique()).iter_rows()))
    return [
        "| relation | units learned |",
        "| --- | --- |",
        *(f"| {relation} | {n_known[relation]} of {n_heads[relation]} |" for relation in base.relations),
    ]


def _render_training(card: FacetCard) -> list[str]:
    return [
        "Loss of the answers in nats, and the share of right ones, by parts of 50 steps. The last column is",
        "the loss of the other words of the chains of thought:",
        "",
        "| part | lessons | questions | statements | after a chain of thought | its words |",
        "| --- | --- | --- | --- | --- | --- |",
        *_render_parts(card.loss_curve),
    ]


def _render_parts(curve: Sequence[dict[str, Any]]) -> Iterator[str]:
    for row in curve:
        if row["part"] % 4 == 3 or row["part"] == len(curve) - 1:
            kinds = row["kinds"]
            cells = [_render_kind(kinds.get(kind)) for kind in ("question", "statement", "reasoned")]
            words = f"{kinds['reasoned']['word_loss']:.3f}" if "reasoned" in kinds else ""
            yield f"| {row['part'] + 1} | {row['phase']} | {' | '.join(cells)} | {words} |"


def _render_kind(losses: dict[str, float] | None) -> str:
    return "" if losses is None else f"{losses['answer_loss']:.3f}, {losses['share_right']:.1%}"
