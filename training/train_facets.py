"""Train a facet model: ``python -m training.train_facets NAME --share SHARE``.

The command writes models/NAME; docs/calibration.md has the options of the bundled models. The training
teaches a Llama with random weights to answer questions of all types, and to verify statements, about the
heads that it is to know in the four relations of DiseK. You can stop the training at any time: the next
start continues after the last complete part.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import torch

from config.tables import KnowledgeConfig
from engines.model_card import KnownHead
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from prototypes.pool import load_pool
from prototypes.question_wording import load_question_wording
from training.card import MODELS, describe_base
from training.curriculum import list_demonstrating
from training.facet_card import FacetCard, write_facet_card
from training.facet_lessons import PHASES, SIZES, STEPS_PER_PART, FacetLessons, FacetPhase
from training.facet_network import FacetStudent, TurnEncoder, TurnLosses
from training.facet_points import collect_taught
from training.facet_tokens import build_facet_tokenizer
from training.known_heads import choose_known_heads
from training.loop import (
    create_optimizer,
    prepare_training,
    read_options,
    schedule_rate,
    take_step,
    train_parts,
)
from training.strangers import STRANGERS, Unit, list_never_met
from training.tokenizer import save_tokenizer
from training.train import list_entities

RELATIONS = ("affected_sites", "surgical_procedures", "symptoms", "therapeutic_drugs")
N_STEPS = STEPS_PER_PART * sum(phase.n_parts for phase in PHASES)


def read_base() -> KnowledgeBase:
    """Return the relations of DiseK in the starter base."""
    return read_knowledge_base(KnowledgeConfig(relations=RELATIONS))


class FacetTraining:
    """Trains a student part by part and saves its state after each part."""

    def __init__(self, student: FacetStudent, encoder: TurnEncoder, lessons: FacetLessons) -> None:
        """Start with the random weights of the student."""
        self.student = student
        self.encoder = encoder
        self.lessons = lessons
        self.optimizer = create_optimizer(student)

    def train(self, state_file: Path) -> list[dict[str, Any]]:
        """Train the remaining parts, and return the loss curve (a row per part)."""
        parts = [phase for phase in PHASES for _ in range(phase.n_parts)]
        return train_parts(self.student, self.optimizer, parts, self._train_part, state_file)

    def _train_part(self, phase: FacetPhase, number: int) -> dict[str, Any]:
        started = time.process_time()
        self.lessons.seed(number)
        losses: dict[str, list[TurnLosses]] = defaultdict(list)
        n_tokens = 0
        kinds = self.lessons.random.choices(list(phase.shares), list(phase.shares.values()), k=STEPS_PER_PART)
        for step, kind in enumerate(kinds, number * STEPS_PER_PART):
            batch = self.encoder.encode(self.lessons.draw(kind, phase))
            self.student.redraw_strangers()
            found = self.student.compute_losses(batch)
            rate = phase.rate * schedule_rate(step, N_STEPS)
            take_step(self.student, self.optimizer, found.total, rate)
            losses[kind].append(found)
            n_tokens += batch.ids.numel()
        return {
            "part": number,
            "phase": phase.name,
            "kinds": {kind: summarise_losses(losses[kind]) for kind in SIZES if losses[kind]},
            "n_tokens": n_tokens,
            "duration_s": round(time.process_time() - started, 1),
        }


def summarise_losses(losses: list[TurnLosses]) -> Mapping[str, float]:
    """Return the mean losses of answers, other words and truths, and the share of right answers."""
    return {
        "answer_loss": round(sum(each.answers for each in losses) / len(losses), 4),
        "word_loss": round(sum(each.words for each in losses) / len(losses), 4),
        "truth_loss": round(sum(each.truths for each in losses) / len(losses), 4),
        "share_right": round(
            sum(each.n_right for each in losses) / sum(each.n_answers for each in losses), 4
        ),
    }


def build_lessons(base: KnowledgeBase, known: frozenset[Unit]) -> FacetLessons:
    """Return what draws the lessons about these units of the base."""
    random = Random(0)
    taught = collect_taught(base, load_question_wording(), known, random)
    questions, shown = zip(*taught, strict=True)
    return FacetLessons(base, load_pool("revised"), known, questions, shown, random)


def main() -> None:
    """Train, and write the model with its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="name of the model, and of its folder under models/")
    parser.add_argument("--share", type=float, required=True, help="share of the base's heads to learn")
    parser.add_argument("--models", type=Path, default=MODELS, help="where to write the model's folder")
    options = read_options(parser, n_layers=3, n_threads=1)
    prepare_training(options)
    base = read_base()
    known = choose_known_heads(base, options.share, options.name)
    names = [*list_entities(base), *STRANGERS]
    tokenizer = build_facet_tokenizer(load_question_wording(), load_pool("revised"), base.relations, names)
    strangers = [*STRANGERS, *list_never_met(base, known, list_demonstrating(base))]
    student = FacetStudent(tokenizer, strangers, options.hidden, options.layers)
    training = FacetTraining(student, TurnEncoder(tokenizer, names), build_lessons(base, known))
    curve = training.train(options.states / f"{options.name}.pt")
    folder = options.models / options.name
    student.llama.to(torch.bfloat16).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    heads = [KnownHead(relation, head) for relation, head in sorted(known)]
    write_facet_card(folder, FacetCard(options.name, heads, describe_base(base), curve), base)


if __name__ == "__main__":
    main()
