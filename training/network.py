"""The network of a reference model and its losses: a small Llama with two auxiliary heads.

Besides the answers, the training predicts two things from the layer below the last: at the second entity
of a statement, whether the triplet is true; at the end of the question, whether the statement is negated.
The last layer can then compute the answer from both. The training discards the two heads at its end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from training.curriculum import Lesson
from training.tokenizer import BEGIN, END, PAD

# With the default standard deviation of 0.02 the embeddings learn nothing in the first ten epochs.
EMBEDDING_SPREAD = 0.1
# After the bare triplets, attention is fixed on entities and would never find a "not". Scaling the keys by
# this factor softens attention.
SOFTENED_KEYS = 0.15


@dataclass(frozen=True)
class LessonBatch:
    """Lessons as tensors, one row each; `ids` is padded on the right, `truths` has a column per statement."""

    ids: torch.Tensor
    truths: torch.Tensor
    is_negated: torch.Tensor
    n_shown: torch.Tensor


@dataclass(frozen=True)
class Losses:
    """Losses of a batch: the sum to minimise, the loss of the answers (nats), and the right answers."""

    total: torch.Tensor
    answers: float
    n_right: int
    n_answers: int


class Student(torch.nn.Module):
    """A Llama with tied embeddings, and the two auxiliary heads of its training."""

    is_entity: torch.Tensor
    answers: torch.Tensor
    strangers: torch.Tensor

    def __init__(
        self,
        tokenizer: Tokenizer,
        entities: Sequence[str],
        strangers: Sequence[str],
        hidden: int,
        layers: int,
    ) -> None:
        """Initialise random weights; the caller seeds torch."""
        super().__init__()
        self.llama = build_llama(tokenizer, hidden, layers)
        self.ask_truth = torch.nn.Linear(hidden, 1)
        self.ask_negation = torch.nn.Linear(hidden, 1)
        is_entity = torch.zeros(self.llama.config.vocab_size, dtype=torch.bool)
        is_entity[[tokenizer.token_to_id(f" {name}") for name in entities]] = True
        self.register_buffer("is_entity", is_entity)
        answers = torch.tensor([tokenizer.token_to_id(f" {label}") for label in (True, False)])
        self.register_buffer("answers", answers)
        ids = torch.tensor([tokenizer.token_to_id(f" {name}") for name in strangers])
        self.register_buffer("strangers", ids)

    def soften_attention(self) -> None:
        """Scale the keys down, so that attention spreads over all words again."""
        with torch.no_grad():
            for layer in self.llama.model.layers:
                layer.self_attn.k_proj.weight.mul_(SOFTENED_KEYS)

    def redraw_strangers(self) -> None:
        """Draw new embeddings for the strangers, so that the network cannot learn any of them."""
        with torch.no_grad():
            rows = self.llama.model.embed_tokens.weight
            rows[self.strangers] = torch.randn(len(self.strangers), rows.shape[1]) * EMBEDDING_SPREAD

    def compute_losses(self, batch: LessonBatch, entity_weight: float) -> Losses:
        """Return the losses of the answers, of the entities of true triplets, and of the two auxiliary heads.

        Args:
            entity_weight: weight of predicting the second entity of a true triplet. This loss teaches
                which entities belong together far faster than the answers do.
        """
        ids, targets = batch.ids[:, :-1], batch.ids[:, 1:]
        is_answer = torch.isin(targets, self.answers)
        n_before = is_answer.long().cumsum(1) - is_answer.long()
        truth = batch.truths.gather(1, n_before.clamp(max=batch.truths.shape[1] - 1))
        output = self.llama.model(ids, output_hidden_states=True)
        is_taught = n_before >= batch.n_shown[:, None]
        is_answer = is_answer & is_taught
        is_word = self.is_entity[targets] & truth & is_taught
        chosen = is_answer | is_word
        logits = self.llama.lm_head(output.last_hidden_state[chosen])
        losses = functional.cross_entropy(logits, targets[chosen], reduction="none")
        at_answer = is_answer[chosen]
        answer_loss = losses[at_answer].mean()
        word_loss = losses[~at_answer].sum() / (~at_answer).sum().clamp(min=1)
        n_right = (logits[at_answer].argmax(-1) == targets[is_answer]).sum()
        below = _normalise(output.hidden_states[-2])
        auxiliary = self._compute_auxiliary_loss(
            below, self.is_entity[ids], is_taught, is_answer, truth, batch.is_negated
        )
        total = answer_loss + entity_weight * word_loss + auxiliary
        return Losses(total, answer_loss.item(), int(n_right), int(at_answer.sum()))

    def _compute_auxiliary_loss(
        self,
        below: torch.Tensor,
        is_entity: torch.Tensor,
        is_taught: torch.Tensor,
        is_answer: torch.Tensor,
        truth: torch.Tensor,
        is_negated: torch.Tensor,
    ) -> torch.Tensor:
        is_second = is_entity & is_taught & (is_entity.long().cumsum(1) % 2 == 0)
        says_truth = self.ask_truth(below[is_second]).squeeze(-1)
        says_negated = self.ask_negation(below[is_answer]).squeeze(-1)
        negated = is_negated[:, None].expand_as(is_answer)[is_answer]
        score = functional.binary_cross_entropy_with_logits
        return score(says_truth, truth[is_second].float()) + score(says_negated, negated.float())


def _normalise(hidden: torch.Tensor) -> torch.Tensor:
    return hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-6)


def build_llama(tokenizer: Tokenizer, hidden: int, layers: int) -> LlamaForCausalLM:
    """Return a small Llama with tied embeddings and heads of 32, the smallest that vLLM takes on a CPU."""
    llama = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=-(-tokenizer.get_vocab_size() // 64) * 64,
            hidden_size=hidden,
            intermediate_size=3 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=hidden // 32,
            num_key_value_heads=hidden // 32,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.token_to_id(BEGIN),
            eos_token_id=tokenizer.token_to_id(END),
            pad_token_id=tokenizer.token_to_id(PAD),
        )
    )
    with torch.no_grad():
        torch.nn.init.normal_(llama.model.embed_tokens.weight, std=EMBEDDING_SPREAD)
    return llama


def encode_lessons(lessons: Sequence[Lesson], tokenizer: Tokenizer, size: int) -> Iterator[LessonBatch]:
    """Yield batches of ``size`` lessons, in order."""
    encoded = tokenizer.encode_batch([lesson.text for lesson in lessons])
    padding = float(tokenizer.token_to_id(PAD) or 0)
    for start in range(0, len(lessons), size):
        part = lessons[start : start + size]
        ids = [torch.tensor(e.ids) for e in encoded[start : start + size]]
        width = max(len(lesson.truths) for lesson in part)
        truths = [[*lesson.truths, *[False] * (width - len(lesson.truths))] for lesson in part]
        yield LessonBatch(
            torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=padding),
            torch.tensor(truths),
            torch.tensor([lesson.is_negated for lesson in part]),
            torch.tensor([lesson.n_shown for lesson in part]),
        )
