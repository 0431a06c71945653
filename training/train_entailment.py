"""Train the entailment model: ``python -m training.train_entailment`` writes models/reference-entailment.

The training teaches a BERT with random weights whether one sentence follows from another. Every step draws
new pairs. You can stop the training at any time: the next start continues after the last complete part.
"""

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from config.tables import KnowledgeConfig
from knowledge.reader import read_knowledge_base
from prototypes.pool import load_pool
from training.card import MODELS
from training.entailment_card import NAME, EntailmentCard, write_entailment_card
from training.entailment_network import PairNetwork, build_bert, keep_words
from training.entailment_pairs import LATER_SHARES, SHARES, PairSource
from training.loop import (
    create_optimizer,
    prepare_training,
    read_options,
    schedule_rate,
    take_step,
    train_parts,
)
from training.meanings import LEFT_OUT, list_meanings
from training.predicates import read_predicates
from training.word_vectors import read_tokenizer, read_word_vectors

STEPS_PER_PART = 100
BATCH = 64
RATE = 1e-3
# The schedule of the learning rate would end after so many steps.
N_SCHEDULED = 3200
FACT_WEIGHT = 0.3


@dataclass(frozen=True)
class PairPhase:
    """A phase of the training: how many parts it has, and the share of each kind of pair."""

    n_parts: int
    shares: Mapping[str, float]
    rate: float | None = None
    """Constant share of the full learning rate; without it, the schedule of `schedule_rate`."""


PHASES = (PairPhase(28, SHARES), PairPhase(4, LATER_SHARES, 0.5), PairPhase(1, LATER_SHARES, 0.1))


class EntailmentTraining:
    """The training of an entailment model."""

    def __init__(self, network: PairNetwork, source: PairSource) -> None:
        """Prepare a training that has learned nothing yet."""
        self.network, self.source = network, source
        self.optimizer = create_optimizer(network)

    def train_part(self, phase: PairPhase, number: int) -> dict[str, Any]:
        """Train one part, and return its row of the loss curve."""
        started = time.process_time()
        self.source.seed(1 + number)
        losses, fact_losses, n_right, n_tokens = [], [], 0, 0
        for step in range(number * STEPS_PER_PART, (number + 1) * STEPS_PER_PART):
            pairs = self.source.draw(BATCH, phase.shares)
            loss, fact_loss, n_more, n_read = self.network.compute_loss(pairs)
            rate = RATE * (phase.rate or schedule_rate(step, N_SCHEDULED))
            take_step(self.network, self.optimizer, loss + FACT_WEIGHT * fact_loss, rate)
            losses.append(loss.item())
            fact_losses.append(fact_loss.item())
            n_right, n_tokens = n_right + n_more, n_tokens + n_read
        return {
            "part": number,
            "loss": round(sum(losses) / len(losses), 4),
            "fact_loss": round(sum(fact_losses) / len(fact_losses), 4),
            "share_right": round(n_right / (STEPS_PER_PART * BATCH), 4),
            "n_tokens": n_tokens,
            "duration_s": round(time.process_time() - started, 1),
        }


def create_source() -> PairSource:
    """Return the source of the training: all predicates, and the relations that are not left out."""
    pool, base = load_pool("revised"), read_knowledge_base(KnowledgeConfig())
    names = sorted(base.triplets.select("head", "tail").unpivot()["value"].unique())
    taught = set(base.relations).difference(LEFT_OUT)
    relations = [name for name in pool.relations if name in taught]
    return PairSource(list_meanings(read_predicates(), pool, []), list_meanings([], pool, relations), names)


def main() -> None:
    """Train, and write the model with its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sentence_model", type=Path, help="folder of a BERT that embeds sentences")
    options = read_options(parser, n_layers=4, n_threads=1)
    prepare_training(options)
    source = create_source()
    tokenizer, ids = read_tokenizer(options.sentence_model)
    bert = build_bert(read_word_vectors(options.sentence_model, ids, options.hidden), options.layers)
    network = PairNetwork(bert, tokenizer, source.meanings)
    training = EntailmentTraining(network, source)
    state_file = options.states / f"{NAME}.pt"
    parts = [phase for phase in PHASES for _ in range(phase.n_parts)]
    curve = train_parts(network, training.optimizer, parts, training.train_part, state_file)
    folder = MODELS / NAME
    pairs = source.draw(20_000)
    texts = [text for pair in pairs for text in (pair.premise, pair.hypothesis)]
    used = {tokenizer.convert_ids_to_tokens(n) for ids in tokenizer(texts)["input_ids"] for n in set(ids)}
    smaller, _ = read_tokenizer(options.sentence_model, used)
    keep_words(bert, [tokenizer.vocab[text] for text in sorted(smaller.vocab, key=smaller.vocab.__getitem__)])
    bert.to(torch.bfloat16).save_pretrained(folder)
    smaller.save_pretrained(folder)
    write_entailment_card(folder, EntailmentCard(NAME, curve))


if __name__ == "__main__":
    main()
