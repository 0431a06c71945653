"""Train the reference writer: ``python -m training.train_writer`` writes models/reference-writer.

A Llama from scratch learns to reword statements and to list eight of a triplet; lessons are drawn anew
in every step. Stop it at any time: it goes on after its last whole part.
"""

import argparse
import json
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
from knowledge.read import read_knowledge_base
from prototypes.pool import load_pool
from training.card import MODELS
from training.network import build_llama
from training.tokenizer import BEGIN, END, PAD, save_tokenizer, train_tokenizer
from training.train import schedule_rate
from training.writer_card import WriterCard, write_writer_card
from training.writing import NAME, Exercise, Lecturer, list_fixed_texts

VOCABULARY = 1500
RATE = 2e-3
STEPS_PER_PART = 100
SIZES = {"reword": 32, "list": 8, "err": 32}
COPYING = 0.5
USER, ASSISTANT = "<|user|>", "<|assistant|>"
# The names are tokens with the space before them: a triplet's head gets one.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'user' %}<|user|>{% endif %}"
    "{{ message['content'] | replace('triplet: (', 'triplet: ( ') }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@dataclass(frozen=True)
class Phase:
    """A part of the curriculum: how many parts it has, and what is drawn how often."""

    n_parts: int
    shares: dict[str, float]
    rate: float | None = None
    """Share of the full learning rate; up, level and down if not given."""


# Copying is learned from short lessons. After the second phase every rewording is right, and a gate would
# have nothing to do: the third teaches to fail now and then.
PHASES = (
    Phase(6, {"reword": 1.0}),
    Phase(22, {"reword": 0.6, "list": 0.4}),
    Phase(5, {"err": 0.8, "list": 0.2}, 0.15),
)


@dataclass(frozen=True)
class Batch:
    """Token ids, padded on the right, and where a token of a reply is."""

    ids: torch.Tensor
    is_reply: torch.Tensor


def build_tokenizer(lecturer: Lecturer) -> Tokenizer:
    """Names, instructions and relations as tokens of their own; byte-level BPE for all else."""
    texts = [t for each in lecturer.relations for cell in each.cells.values() for t in cell.texts]
    fixed = list_fixed_texts([each.relation for each in lecturer.relations])
    return train_tokenizer(texts, lecturer.entities, VOCABULARY, [USER, ASSISTANT, *fixed])


def open_copying(llama: LlamaForCausalLM) -> None:
    """Let the last two layers say what they look at: random weights learn to copy names far later.

    After 300 steps a name costs 0.5 nats; without, it costs as much as any of the names after 800.
    """
    with torch.no_grad():
        for layer in llama.model.layers[-2:]:
            for projection in (layer.self_attn.v_proj, layer.self_attn.o_proj):
                projection.weight.add_(torch.eye(len(projection.weight)) * COPYING)


def encode_exercises(
    exercises: Sequence[Exercise], tokenizer: Tokenizer, chat: PreTrainedTokenizerFast
) -> Batch:
    """One batch, each reply followed by the end."""
    prompts = [render_prompt(chat, exercise.prompt) for exercise in exercises]
    texts = [p + e.reply + END for p, e in zip(prompts, exercises, strict=True)]
    ids = [torch.tensor(e.ids) for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
    padding, assistant = (tokenizer.token_to_id(token) or 0 for token in (PAD, ASSISTANT))
    padded = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=float(padding))
    is_after = padded.eq(assistant).cumsum(1) > 0
    return Batch(padded, is_after & padded.ne(assistant) & padded.ne(padding))


def compute_loss(llama: LlamaForCausalLM, batch: Batch) -> torch.Tensor:
    """Mean cross-entropy (nats) of the tokens of the replies."""
    chosen = batch.is_reply[:, 1:]
    hidden = llama.model(batch.ids[:, :-1]).last_hidden_state[chosen]
    return functional.cross_entropy(llama.lm_head(hidden), batch.ids[:, 1:][chosen])


class Course:
    """A writer being taught."""

    def __init__(self, llama: LlamaForCausalLM, tokenizer: Tokenizer, lecturer: Lecturer) -> None:
        """Nothing is learned yet."""
        self.llama, self.tokenizer, self.lecturer = llama, tokenizer, lecturer
        self.chat = wrap_tokenizer(tokenizer)
        self.optimizer = torch.optim.AdamW(llama.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
        self.curve: list[dict[str, Any]] = []

    def teach(self, state_file: Path) -> None:
        """Every part that is still to come; the state is kept after each."""
        if state_file.exists():
            self._resume(state_file)
        parts = [phase for phase in PHASES for _ in range(phase.n_parts)]
        for number in range(len(self.curve), len(parts)):
            self.curve.append(self._teach_part(parts[number], number))
            print(json.dumps(self.curve[-1]), flush=True)
            learned = {"llama": self.llama.state_dict(), "optimizer": self.optimizer.state_dict()}
            torch.save({**learned, "curve": self.curve}, state_file.with_suffix(".next"))
            state_file.with_suffix(".next").replace(state_file)

    def _resume(self, state_file: Path) -> None:
        state = torch.load(state_file, weights_only=False)
        self.llama.load_state_dict(state["llama"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.curve = state["curve"]

    def _teach_part(self, phase: Phase, number: int) -> dict[str, Any]:
        started = time.monotonic()
        random = Random(number)
        self.lecturer.seed(number)
        losses: dict[str, list[float]] = {kind: [] for kind in SIZES}
        n_scheduled = STEPS_PER_PART * sum(each.n_parts for each in PHASES if each.rate is None)
        n_tokens = 0
        kinds = random.choices(list(phase.shares), list(phase.shares.values()), k=STEPS_PER_PART)
        for step, kind in enumerate(kinds, number * STEPS_PER_PART):
            batch = encode_exercises(self.lecturer.draw(kind, SIZES[kind]), self.tokenizer, self.chat)
            losses[kind].append(self._step(batch, phase.rate or schedule_rate(step, n_scheduled)))
            n_tokens += batch.ids.numel()
        means = {kind: round(sum(each) / len(each), 4) if each else None for kind, each in losses.items()}
        duration = round(time.monotonic() - started, 1)
        return {"part": number, "losses": means, "n_tokens": n_tokens, "duration_s": duration}

    def _step(self, batch: Batch, share: float) -> float:
        for group in self.optimizer.param_groups:
            group["lr"] = RATE * share
        loss = compute_loss(self.llama, batch)
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.llama.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()


def wrap_tokenizer(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The tokenizer as vLLM has it, with the chat template."""
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BEGIN, eos_token=END, pad_token=PAD, chat_template=CHAT_TEMPLATE
    )


def main() -> None:
    """Train, and write the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--states", type=Path, default=Path("data/training"), help="where states are kept")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    lecturer = Lecturer(read_knowledge_base(KnowledgeConfig()), load_pool("revised"))
    tokenizer = build_tokenizer(lecturer)
    llama = build_llama(tokenizer, options.hidden, options.layers)
    open_copying(llama)
    course = Course(llama, tokenizer, lecturer)
    options.states.mkdir(parents=True, exist_ok=True)
    course.teach(options.states / f"{NAME}.pt")
    folder = MODELS / NAME
    course.llama.to(torch.bfloat16).save_pretrained(folder)
    save_tokenizer(tokenizer, folder, CHAT_TEMPLATE)
    write_writer_card(folder, WriterCard(NAME, course.curve))


if __name__ == "__main__":
    main()
