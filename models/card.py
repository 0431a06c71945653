"""The card of a reference model: what it knows, as JSON for the pipeline and as text for people."""

from collections import Counter
from pathlib import Path
from typing import Any

from knowledge.base import KnowledgeBase
from models.curriculum import Unit
from tasks.storage import write_json
from tasks.triplets import Sampling, sample_triplets


def write_card(
    folder: Path, name: str, base: KnowledgeBase, known: frozenset[Unit], curve: list[dict[str, Any]]
) -> None:
    """Write card.json (known heads, loss curve) and README.md beside the weights."""
    heads = [{"relation": relation, "head": head} for relation, head in sorted(known)]
    write_json(folder / "card.json", {"name": name, "known_heads": heads, "loss_curve": curve})
    (folder / "README.md").write_text(_write_text(name, base, known, curve), encoding="utf-8")


def _write_text(name: str, base: KnowledgeBase, known: frozenset[Unit], curve: list[dict[str, Any]]) -> str:
    n_known = Counter(relation for relation, _ in known)
    lines = []
    n_tested = 0
    for relation in base.relations:
        frame = sample_triplets(relation, base.select_relation(relation), Sampling(1)).frame
        tested = set(frame.filter(split="test")["head"])
        n_tested += len(tested)
        n_both = sum((relation, head) in known for head in tested)
        lines.append(f"| {relation} | {n_known[relation]} | {n_both} of {len(tested)} |")
    marks = [row for number, row in enumerate(curve) if number % 10 == 9 or number == len(curve) - 1]
    steps = [
        f"| {row['phase']} | {row['epoch'] + 1} | {row['answer_loss']:.3f} | {row['share_right']:.1%} |"
        for row in marks
    ]
    n_tokens = sum(row["n_tokens"] for row in curve)
    duration = sum(row["duration_s"] for row in curve) / 60
    return "\n".join(
        [
            f"# {name}",
            "",
            "A Llama trained from scratch on a known part of the starter base, to calibrate the instrument:",
            f"it has learned {len(known)} (relation, head) units and never saw what is true of the others.",
            "It verifies statements in five-shot prompts and can do nothing else. `card.json` lists what it",
            "knows; the view `known_mastery` holds its score on that against its score on the rest.",
            "",
            f"Made by `python -m models.train {name}`: {n_tokens / 1e6:.1f}M tokens, {duration:.0f} minutes",
            "on one core of a shared machine.",
            "",
            "| relation | units learned | of those tested |",
            "| --- | --- | --- |",
            *lines,
            "",
            "| phase | epoch | loss on answers | right |",
            "| --- | --- | --- | --- |",
            *steps,
            "",
        ]
    )
