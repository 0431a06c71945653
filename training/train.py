"""Train a reference model: ``python -m training.train NAME --share SHARE --other BEGIN END``.

The command writes models/NAME; docs/calibration.md has the options of the bundled models.
The training teaches a Llama with random weights to verify the statements of the heads that it is to know.
Every epoch draws new negatives and wordings. You can stop the training at any time: the next start
continues after the last complete epoch.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from config.tables import KnowledgeConfig
from engines.model_card import KnownHead
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from prototypes.pool import Pool, load_pool
from training.card import MODELS, Card, describe_base, write_card
from training.curriculum import list_demonstrating
from training.known_heads import choose_known_heads
from training.lessons import PHASES, LessonPhase, LessonSource
from training.loop import (
    create_optimizer,
    prepare_training,
    read_options,
    schedule_rate,
    take_step,
    train_parts,
)
from training.network import Student, encode_lessons
from training.other_wordings import choose_other_relations, read_other_wordings
from training.strangers import STRANGERS, list_never_met
from training.tokenizer import save_tokenizer, train_tokenizer

VOCABULARY = 1500


def build_tokenizer(base: KnowledgeBase, pool: Pool) -> Tokenizer:
    """Return the tokenizer of all reference models; it does not depend on what a model knows."""
    texts = pool.list_texts(base.relations)
    for wordings in read_other_wordings().values():
        texts += wordings.list_templates()
    return train_tokenizer(texts, list_entities(base) + list(STRANGERS), VOCABULARY)


def list_entities(base: KnowledgeBase) -> list[str]:
    """Return the sorted names of all heads and tails of the base."""
    return sorted(base.triplets.select("head", "tail").unpivot()["value"].unique())


class ReferenceTraining:
    """Trains a student epoch by epoch and saves its state after each epoch."""

    def __init__(self, student: Student, source: LessonSource) -> None:
        """Start with the random weights of the student."""
        self.student = student
        self.source = source
        self.optimizer = create_optimizer(student)

    def train(self, phases: Sequence[LessonPhase], state_file: Path) -> list[dict[str, Any]]:
        """Train the remaining epochs of these phases, and return the loss curve (a row per epoch)."""
        epochs = [(phase, epoch) for phase in phases for epoch in range(phase.epochs)]
        return train_parts(self.student, self.optimizer, epochs, self._train_epoch, state_file)

    def _train_epoch(self, part: tuple[LessonPhase, int], number: int) -> dict[str, Any]:
        phase, epoch = part
        if epoch == 0:
            # A phase starts with a new optimizer: an AdamW without its averages of gradients is a new one.
            self.optimizer.state.clear()
            if phase.name == "mixed":
                self.student.soften_attention()
        started = time.monotonic()
        batches = self.source.draw_batches(phase, number)
        n_right = n_answers = n_tokens = 0
        answer_loss = 0.0
        for step, lessons in enumerate(batches):
            (batch,) = encode_lessons(lessons, self.source.tokenizer, len(lessons))
            self.student.redraw_strangers()
            losses = self.student.compute_losses(batch, phase.entity_weight)
            rate = phase.rate * schedule_rate(epoch * len(batches) + step, phase.epochs * len(batches))
            take_step(self.student, self.optimizer, losses.total, rate)
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


def main() -> None:
    """Train, and write the model with its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="name of the model, and of its folder under models/")
    parser.add_argument("--share", type=float, required=True, help="share of the base's heads to learn")
    parser.add_argument(
        "--other",
        type=float,
        nargs=2,
        required=True,
        metavar=("BEGIN", "END"),
        help="the part of the relations to learn from other wordings than the pool's, as shares of all",
    )
    parser.add_argument(
        "--prompt-epochs",
        type=int,
        default=PHASES[-1].epochs,
        help="epochs of the last phase; a model that learns more needs fewer (default: %(default)s)",
    )
    parser.add_argument("--pool", default="revised", help="pool of prototypes (default: %(default)s)")
    parser.add_argument("--models", type=Path, default=MODELS, help="where to write the model's folder")
    options = read_options(parser, n_layers=3, n_threads=2)
    prepare_training(options)
    base, pool = read_knowledge_base(KnowledgeConfig()), load_pool(options.pool)
    known = choose_known_heads(base, options.share, options.name)
    others = choose_other_relations(base.relations, options.other)
    source = LessonSource(base, pool, known, others, build_tokenizer(base, pool))
    entities = [*list_entities(base), *STRANGERS]
    strangers = [*STRANGERS, *list_never_met(base, known, list_demonstrating(base))]
    student = Student(source.tokenizer, entities, strangers, options.hidden, options.layers)
    phases = (*PHASES[:-1], replace(PHASES[-1], epochs=options.prompt_epochs))
    training = ReferenceTraining(student, source)
    curve = training.train(phases, options.states / f"{options.name}.pt")
    folder = options.models / options.name
    student.llama.to(torch.bfloat16).save_pretrained(folder)
    save_tokenizer(source.tokenizer, folder)
    heads = [
        KnownHead(relation, head, "other" if relation in others else "pool")
        for relation, head in sorted(known)
    ]
    write_card(folder, Card(options.name, heads, describe_base(base), curve), base)


if __name__ == "__main__":
    main()
