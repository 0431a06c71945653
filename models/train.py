"""Train a reference model: ``python -m models.train NAME --share S`` writes models/NAME.

A Llama from scratch learns to verify the statements of the heads it is to know, in five-shot prompts
with the loss on all six answers (and a little on the words); negatives and wordings are drawn anew in
every epoch. Stop it at any time: it goes on from its last checkpoint.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from config import KnowledgeConfig
from knowledge.base import KnowledgeBase
from knowledge.read import read_knowledge_base
from models.curriculum import Lesson, choose_known_heads, draw_lessons
from models.tokenizer import train_tokenizer
from prototypes.pool import Pool, load_pool
from tasks.prompts import PromptForm

TEXT_LOSS = 0.1
BATCH = 16
IGNORED = -100


def build_tokenizer(base: KnowledgeBase, pool: Pool, vocabulary_size: int = 1500) -> Tokenizer:
    """One tokenizer for all reference models: it does not depend on what a model knows."""
    texts = [
        text
        for relation in sorted(pool.relations)
        for cell in pool.relations[relation].cells.values()
        for text in (cell.prototype, *cell.wordings)
    ]
    entities = base.triplets.select("head", "tail").unpivot()["value"].unique()
    return train_tokenizer(texts, entities.to_list(), vocabulary_size)


def build_model(tokenizer: Tokenizer, hidden: int, layers: int) -> LlamaForCausalLM:
    """A small Llama with tied embeddings."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=-(-tokenizer.get_vocab_size() // 64) * 64,
            hidden_size=hidden,
            intermediate_size=3 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=hidden // 32,
            num_key_value_heads=hidden // 32,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.token_to_id("<s>"),
            eos_token_id=tokenizer.token_to_id("</s>"),
            pad_token_id=tokenizer.token_to_id("<pad>"),
        )
    )


def encode_lessons(
    lessons: Sequence[Lesson], tokenizer: Tokenizer
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches of (token ids, which of them are answers), padded on the right, alike lengths together."""
    form = PromptForm()
    texts = [form.render(x.shots[:-1], x.shots[-1].text).text + f" {x.shots[-1].label}" for x in lessons]
    encoded = [torch.tensor(e.ids) for e in tokenizer.encode_batch(texts)]
    answers = torch.tensor([tokenizer.token_to_id(f" {label}") for label in (True, False)])
    padding = tokenizer.token_to_id("<pad>")
    for start in range(0, len(encoded), 8 * BATCH):
        bucket = sorted(encoded[start : start + 8 * BATCH], key=len)
        for at in range(0, len(bucket), BATCH):
            ids = torch.nn.utils.rnn.pad_sequence(
                bucket[at : at + BATCH], batch_first=True, padding_value=padding
            )
            yield ids, torch.isin(ids, answers)


def compute_loss(
    model: LlamaForCausalLM, ids: torch.Tensor, is_answer: torch.Tensor, padding: int
) -> tuple[torch.Tensor, float, float]:
    """(loss to minimise, loss on the answers in nats, share of answers predicted right)."""
    hidden = model.model(ids).last_hidden_state[:, :-1]
    targets, is_answer = ids[:, 1:], is_answer[:, 1:]
    logits = model.lm_head(hidden)
    losses = functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), reduction="none"
    ).view(targets.shape)
    answer_loss = losses[is_answer].mean()
    is_text = (targets != padding) & ~is_answer
    right = (logits[is_answer].argmax(-1) == targets[is_answer]).float().mean()
    return answer_loss + TEXT_LOSS * losses[is_text].mean(), answer_loss.item(), right.item()


def train(arguments: argparse.Namespace) -> None:
    """Train to the last epoch, keeping a checkpoint after each tenth."""
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    base = read_knowledge_base(KnowledgeConfig())
    pool = load_pool("revised")
    known = choose_known_heads(base, arguments.share, arguments.name)
    tokenizer = build_tokenizer(base, pool)
    model = build_model(tokenizer, arguments.hidden, arguments.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.rate, betas=(0.9, 0.98), weight_decay=0.01)
    folder = Path(arguments.checkpoints) / arguments.name
    folder.mkdir(parents=True, exist_ok=True)
    state_file = folder / "state.pt"
    curve: list[dict[str, float]] = []
    first = 0
    if state_file.exists():
        state = torch.load(state_file, weights_only=False)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        curve, first = state["curve"], state["epoch"] + 1
    padding = tokenizer.token_to_id("<pad>")
    for epoch in range(first, arguments.epochs):
        started = time.monotonic()
        lessons = draw_lessons(base, pool, known, epoch, with_negated=epoch >= arguments.positive_epochs)
        batches = list(encode_lessons(lessons, tokenizer))
        answer_losses, rights, n_tokens = [], [], 0
        for step, (ids, is_answer) in enumerate(batches):
            progress = (epoch + step / len(batches)) / arguments.epochs
            for group in optimizer.param_groups:
                group["lr"] = arguments.rate * schedule_rate(progress)
            loss, answer_loss, right = compute_loss(model, ids, is_answer, padding)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            answer_losses.append(answer_loss)
            rights.append(right)
            n_tokens += ids.numel()
        curve.append(
            {
                "epoch": epoch,
                "answer_loss": sum(answer_losses) / len(answer_losses),
                "share_right": sum(rights) / len(rights),
                "n_tokens": n_tokens,
                "duration_s": time.monotonic() - started,
            }
        )
        print(json.dumps(curve[-1]), flush=True)
        if epoch % 10 == 9 or epoch == arguments.epochs - 1:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "curve": curve, "epoch": epoch}
            torch.save(state, state_file.with_suffix(".next"))
            state_file.with_suffix(".next").replace(state_file)


def schedule_rate(progress: float, warm_up: float = 0.03) -> float:
    """Linear warm-up, level, then linearly down over the last half."""
    return min(progress / warm_up + 0.01, 1.0, 2 * (1 - progress) + 0.01)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--share", type=float, required=True)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--positive-epochs", type=int, default=0)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--checkpoints", default="data/training")
    train(parser.parse_args())
