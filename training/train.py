"""Train a reference model: ``python -m training.train reference-large --share 0.667`` writes models/NAME.

A Llama from scratch learns to verify the statements of the heads that it is to know; negatives and
wordings are drawn anew in every epoch. Stop it at any time: it goes on after its last whole epoch.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from config.tables import KnowledgeConfig
from knowledge.base import KnowledgeBase
from knowledge.read import read_knowledge_base
from prototypes.pool import Pool, load_pool
from training.card import MODELS, Card, write_card
from training.curriculum import (
    Lesson,
    choose_known_heads,
    draw_bare_triplets,
    draw_statements,
    list_demonstrating,
)
from training.network import Student, encode_lessons
from training.strangers import STRANGERS, Unit, list_never_met
from training.tokenizer import save_tokenizer, train_tokenizer

WARM_UP_STEPS = 40
VOCABULARY = 1500


@dataclass(frozen=True)
class Phase:
    """A part of the curriculum: what is drawn, for how many epochs, and how it is learned."""

    name: str
    epochs: int
    rate: float
    entity_weight: float
    batch_size: int


PHASES = (
    Phase("bare", 100, 3e-3, 0.5, 64),
    Phase("mixed", 20, 2e-3, 0.5, 64),
    Phase("alone", 8, 1e-3, 0.3, 48),
    Phase("prompts", 24, 1e-3, 0.1, 16),
)


@dataclass(frozen=True)
class Course:
    """Who is taught, and what."""

    base: KnowledgeBase
    pool: Pool
    known: frozenset[Unit]
    tokenizer: Tokenizer

    def draw_batches(self, phase: Phase, epoch: int) -> list[list[Lesson]]:
        """The lessons of one epoch, batch by batch."""
        if phase.name == "mixed":
            bare = self._draw(Phase("framed", 0, 0, 0, 64), epoch)
            alone = self._draw(Phase("alone", 0, 0, 0, 32), epoch)
            turns = zip(bare, alone, strict=False)
            return [batch for pair in turns for batch in pair]
        return self._draw(phase, epoch)

    def _draw(self, phase: Phase, epoch: int) -> list[list[Lesson]]:
        if phase.name in ("bare", "framed"):
            is_framed = phase.name == "framed"
            lessons = draw_bare_triplets(self.base, self.known, epoch, is_framed=is_framed)
        else:
            is_alone = phase.name == "alone"
            lessons = draw_statements(self.base, self.pool, self.known, epoch, is_alone=is_alone)
        size = phase.batch_size
        return [lessons[start : start + size] for start in range(0, len(lessons), size)]


def build_tokenizer(base: KnowledgeBase, pool: Pool) -> Tokenizer:
    """One tokenizer for all reference models: it does not depend on what a model knows."""
    texts = [
        text
        for relation in sorted(pool.relations)
        for cell in pool.relations[relation].cells.values()
        for text in cell.texts
    ]
    return train_tokenizer(texts, list_entities(base) + list(STRANGERS), VOCABULARY)


def list_entities(base: KnowledgeBase) -> list[str]:
    """The names of the base, sorted."""
    return sorted(base.triplets.select("head", "tail").unpivot()["value"].unique())


def train_epochs(course: Course, student: Student, state_file: Path) -> list[dict[str, Any]]:
    """The loss curve, one entry per epoch; the state is kept after each."""
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.01)
    curve = _resume(student, optimizer, state_file)
    for number, (phase, epoch) in enumerate(_list_epochs()):
        if number < len(curve):
            continue
        if epoch == 0:
            optimizer = torch.optim.AdamW(student.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
            if phase.name == "mixed":
                student.soften_attention()
        curve.append(_train_epoch(course, student, optimizer, phase, epoch, number))
        print(json.dumps(curve[-1]), flush=True)
        state = {"student": student.state_dict(), "optimizer": optimizer.state_dict(), "curve": curve}
        torch.save(state, state_file.with_suffix(".next"))
        state_file.with_suffix(".next").replace(state_file)
    return curve


def _list_epochs() -> Iterator[tuple[Phase, int]]:
    for phase in PHASES:
        for epoch in range(phase.epochs):
            yield phase, epoch


def _resume(student: Student, optimizer: torch.optim.Optimizer, state_file: Path) -> list[dict[str, Any]]:
    if not state_file.exists():
        return []
    state = torch.load(state_file, weights_only=False)
    student.load_state_dict(state["student"])
    optimizer.load_state_dict(state["optimizer"])
    curve: list[dict[str, Any]] = state["curve"]
    return curve


def _train_epoch(
    course: Course,
    student: Student,
    optimizer: torch.optim.Optimizer,
    phase: Phase,
    epoch: int,
    number: int,
) -> dict[str, Any]:
    started = time.monotonic()
    batches = course.draw_batches(phase, number)
    n_right = n_answers = n_tokens = 0
    answer_loss = 0.0
    for step, lessons in enumerate(batches):
        (batch,) = encode_lessons(lessons, course.tokenizer, len(lessons))
        rate = phase.rate * schedule_rate(epoch * len(batches) + step, phase.epochs * len(batches))
        for group in optimizer.param_groups:
            group["lr"] = rate
        student.renew_strangers()
        losses = student.compute_losses(batch, phase.entity_weight)
        optimizer.zero_grad()
        torch.autograd.backward(losses.total)
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        answer_loss += losses.answers / len(batches)
        n_right += losses.n_right
        n_answers += losses.n_answers
        n_tokens += batch.ids.numel()
    return {
        "phase": phase.name,
        "epoch": epoch,
        "answer_loss": round(answer_loss, 4),
        "share_right": round(n_right / n_answers, 4),
        "n_tokens": n_tokens,
        "duration_s": round(time.monotonic() - started, 1),
    }


def schedule_rate(step: int, n_steps: int) -> float:
    """Share of the full rate: linear warm-up, level, linearly down over the last 60 %."""
    return min((step + 1) / WARM_UP_STEPS, 1.0, max(0.02, 1.7 * (1 - step / n_steps)))


def main() -> None:
    """Train, and write the model with its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the folder under models/ that is written")
    parser.add_argument("--share", type=float, required=True, help="share of the base's heads to learn")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--states", type=Path, default=Path("data/training"), help="where states are kept")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    base, pool = read_knowledge_base(KnowledgeConfig()), load_pool("revised")
    known = choose_known_heads(base, options.share, options.name)
    course = Course(base, pool, known, build_tokenizer(base, pool))
    entities = [*list_entities(base), *STRANGERS]
    strangers = [*STRANGERS, *list_never_met(base, known, list_demonstrating(base))]
    student = Student(course.tokenizer, entities, strangers, options.hidden, options.layers)
    options.states.mkdir(parents=True, exist_ok=True)
    curve = train_epochs(course, student, options.states / f"{options.name}.pt")
    folder = MODELS / options.name
    student.llama.to(torch.bfloat16).save_pretrained(folder)
    save_tokenizer(course.tokenizer, folder)
    heads = [{"relation": relation, "head": head} for relation, head in sorted(known)]
    write_card(folder, Card(options.name, heads, curve), base)


if __name__ == "__main__":
    main()
