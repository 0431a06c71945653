"""Train the reference writer: ``python -m training.train_writer`` writes models/reference-writer.

The training teaches a Llama with random weights to reword statements and to list eight statements of a
triplet. Every step draws new exercises. You can stop the training at any time: the next start continues
after the last complete part.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from config.tables import KnowledgeConfig
from engines.prompts import render_prompt
from knowledge.reader import read_knowledge_base
from prototypes.pool import load_pool
from training.card import MODELS
from training.loop import (
    create_optimizer,
    prepare_training,
    read_options,
    schedule_rate,
    take_step,
    train_parts,
)
from training.network import build_llama
from training.tokenizer import END, PAD, save_tokenizer, train_tokenizer, wrap_tokenizer
from training.writer_card import WriterCard, write_writer_card
from training.writing import NAME, Exercise, ExerciseSource, list_fixed_texts

VOCABULARY = 1500
RATE = 2e-3
STEPS_PER_PART = 100
SIZES = {"reword": 32, "list": 8, "err": 32}
"""Exercises of each kind in a batch."""
COPYING = 0.5
"""What `open_copying` adds to the diagonal of a projection."""
USER, ASSISTANT = "<|user|>", "<|assistant|>"
# The token of a name includes the space before it, so the template puts a space before a triplet's head.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'user' %}<|user|>{% endif %}"
    "{{ message['content'] | replace('triplet: (', 'triplet: ( ') }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@dataclass(frozen=True)
class ExercisePhase:
    """A phase of the writer's curriculum: how many parts it has, and the share of each kind of exercise."""

    n_parts: int
    shares: dict[str, float]
    rate: float | None = None
    """Constant share of the full learning rate; without it, the schedule of `schedule_rate`."""


# Short exercises teach copying. After the second phase every rewording is right, and a gate would have
# nothing to reject, so the third phase teaches the writer to fail now and then.
PHASES = (
    ExercisePhase(6, {"reword": 1.0}),
    ExercisePhase(22, {"reword": 0.6, "list": 0.4}),
    ExercisePhase(5, {"err": 0.8, "list": 0.2}, 0.15),
)


@dataclass(frozen=True)
class ExerciseBatch:
    """Token ids, padded on the right, and a mask of the tokens that belong to a reply."""

    ids: torch.Tensor
    is_reply: torch.Tensor


def build_tokenizer(source: ExerciseSource) -> Tokenizer:
    """Return a tokenizer with one token per name, instruction and relation; byte-level BPE for all else."""
    texts = [t for each in source.relations for cell in each.cells.values() for t in cell.texts]
    fixed = list_fixed_texts([each.relation for each in source.relations])
    return train_tokenizer(texts, source.entities, VOCABULARY, [USER, ASSISTANT, *fixed])


def open_copying(llama: LlamaForCausalLM) -> None:
    """Add an identity to the last two layers, so that they output the tokens that they attend to.

    With purely random weights the writer learns to copy names far later. With this change a name costs
    0.5 nats after 300 steps; without it, a name costs as much as a random one even after 800 steps.
    """
    with torch.no_grad():
        for layer in llama.model.layers[-2:]:
            for projection in (layer.self_attn.v_proj, layer.self_attn.o_proj):
                projection.weight.add_(torch.eye(len(projection.weight)) * COPYING)


def encode_exercises(
    exercises: Sequence[Exercise], tokenizer: Tokenizer, chat: PreTrainedTokenizerFast
) -> ExerciseBatch:
    """Return the exercises as one batch, with the end token after each reply."""
    prompts = [render_prompt(chat, exercise.prompt) for exercise in exercises]
    texts = [p + e.reply + END for p, e in zip(prompts, exercises, strict=True)]
    ids = [torch.tensor(e.ids) for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
    padding, assistant = (tokenizer.token_to_id(token) or 0 for token in (PAD, ASSISTANT))
    padded = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=float(padding))
    is_after = padded.eq(assistant).cumsum(1) > 0
    return ExerciseBatch(padded, is_after & padded.ne(assistant) & padded.ne(padding))


def compute_loss(llama: LlamaForCausalLM, batch: ExerciseBatch) -> torch.Tensor:
    """Return the mean cross-entropy (nats) over the tokens of the replies."""
    chosen = batch.is_reply[:, 1:]
    hidden = llama.model(batch.ids[:, :-1]).last_hidden_state[chosen]
    return functional.cross_entropy(llama.lm_head(hidden), batch.ids[:, 1:][chosen])


class WriterTraining:
    """The training of a writer: its network, its optimizer, and the loss curve so far."""

    def __init__(self, llama: LlamaForCausalLM, tokenizer: Tokenizer, source: ExerciseSource) -> None:
        """Prepare a training that has learned nothing yet."""
        self.llama, self.tokenizer, self.source = llama, tokenizer, source
        self.chat = wrap_tokenizer(tokenizer, CHAT_TEMPLATE)
        self.optimizer = create_optimizer(llama)

    def train(self, state_file: Path) -> list[dict[str, Any]]:
        """Train the remaining parts, and return the loss curve (a row per part)."""
        parts = [phase for phase in PHASES for _ in range(phase.n_parts)]
        return train_parts(self.llama, self.optimizer, parts, self._train_part, state_file)

    def _train_part(self, phase: ExercisePhase, number: int) -> dict[str, Any]:
        started = time.monotonic()
        random = Random(number)
        self.source.seed(number)
        losses: dict[str, list[float]] = {kind: [] for kind in SIZES}
        n_scheduled = STEPS_PER_PART * sum(each.n_parts for each in PHASES if each.rate is None)
        n_tokens = 0
        kinds = random.choices(list(phase.shares), list(phase.shares.values()), k=STEPS_PER_PART)
        for step, kind in enumerate(kinds, number * STEPS_PER_PART):
            batch = encode_exercises(self.source.draw(kind, SIZES[kind]), self.tokenizer, self.chat)
            loss = compute_loss(self.llama, batch)
            rate = RATE * (phase.rate or schedule_rate(step, n_scheduled))
            take_step(self.llama, self.optimizer, loss, rate)
            losses[kind].append(loss.item())
            n_tokens += batch.ids.numel()
        means = {kind: round(sum(each) / len(each), 4) if each else None for kind, each in losses.items()}
        duration = round(time.monotonic() - started, 1)
        return {"part": number, "losses": means, "n_tokens": n_tokens, "duration_s": duration}


def main() -> None:
    """Train, and write the model with its card."""
    options = read_options(argparse.ArgumentParser(description=__doc__), n_layers=4, n_threads=1)
    prepare_training(options)
    source = ExerciseSource(read_knowledge_base(KnowledgeConfig()), load_pool("revised"))
    tokenizer = build_tokenizer(source)
    llama = build_llama(tokenizer, options.hidden, options.layers)
    open_copying(llama)
    training = WriterTraining(llama, tokenizer, source)
    curve = training.train(options.states / f"{NAME}.pt")
    folder = MODELS / NAME
    training.llama.to(torch.bfloat16).save_pretrained(folder)
    save_tokenizer(tokenizer, folder, CHAT_TEMPLATE)
    write_writer_card(folder, WriterCard(NAME, curve))


if __name__ == "__main__":
    main()
