"""The network of a facet model and its losses: a small Llama with two auxiliary heads.

Besides the replies, the training predicts two things from the layer below the last: at each tail, whether it
is true of the head of its question; before each answer, whether the question is negated. The last layer can
then find the letters of the right options. The training discards the two heads at its end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from tasks.asking.prompts import SEPARATOR
from training.network import EMBEDDING_SPREAD, build_llama
from training.tokenizer import BEGIN, END, PAD
from training.turns import TurnLesson

NO_TRUTH = -1.0


@dataclass(frozen=True)
class TurnBatch:
    """Lessons as tensors, one row each, padded on the right."""

    ids: torch.Tensor
    truths: torch.Tensor
    """1 at a true tail, 0 at a false one, NO_TRUTH elsewhere."""
    is_answer: torch.Tensor
    """The tokens that are answers to learn."""
    is_word: torch.Tensor
    """The other tokens to learn: the rest of a reply, and the end of the text after the last one."""
    is_negated: torch.Tensor
    """For each lesson, whether it is negated."""


@dataclass(frozen=True)
class TurnLosses:
    """Losses of a batch: the sum to minimise, its parts (nats), and the right answers."""

    total: torch.Tensor
    answers: float
    words: float
    truths: float
    n_right: int
    n_answers: int


class TurnEncoder:
    """Turns lessons into tensors."""

    def __init__(self, tokenizer: Tokenizer, names: Sequence[str]) -> None:
        """Look up the tokens of the names and of the marks of a text."""
        self.tokenizer = tokenizer
        self.names = torch.tensor([tokenizer.token_to_id(f" {name}") for name in names])
        self.begin, self.end, self.padding, self.separator = (
            int(tokenizer.token_to_id(mark) or 0) for mark in (BEGIN, END, PAD, SEPARATOR)
        )

    def encode(self, lessons: Sequence[TurnLesson]) -> TurnBatch:
        """Return the batch of these lessons.

        Question and reply are encoded separately, which is the same as together, because a question ends in
        a token of its own. The end of the text is learned only after the last reply.
        """
        texts = [text for lesson in lessons for turn in lesson.turns for text in (turn.question, turn.reply)]
        encoded = iter(self.tokenizer.encode_batch(texts, add_special_tokens=False))
        rows, roles = [], []
        for lesson in lessons:
            row, role = [self.begin], [0]
            for turn in lesson.turns:
                question, reply = next(encoded).ids, next(encoded).ids
                row += [*question, *reply, self.separator]
                words = [1] * (len(reply) - 1) + [2] if turn.is_taught else [0] * len(reply)
                role += [*([0] * len(question)), *words, 0]
            row[-1], role[-1] = self.end, int(lesson.turns[-1].is_taught)
            rows.append(torch.tensor(row))
            roles.append(torch.tensor(role))
        ids = pad_sequence(rows, batch_first=True, padding_value=float(self.padding))
        parts = pad_sequence(roles, batch_first=True)
        truths = torch.full(ids.shape, NO_TRUTH)
        told = [truth for lesson in lessons for turn in lesson.turns for truth in turn.truths]
        truths[torch.isin(ids, self.names)] = torch.tensor(
            [NO_TRUTH if truth is None else float(truth) for truth in told]
        )
        is_negated = torch.tensor([lesson.is_negated for lesson in lessons])
        return TurnBatch(ids, truths, parts == 2, parts == 1, is_negated)


class FacetStudent(torch.nn.Module):
    """A Llama with tied embeddings, and the two auxiliary heads of its training."""

    strangers: torch.Tensor

    def __init__(self, tokenizer: Tokenizer, strangers: Sequence[str], hidden: int, layers: int) -> None:
        """Initialise random weights; the caller seeds torch."""
        super().__init__()
        self.llama = build_llama(tokenizer, hidden, layers)
        self.ask_truth = torch.nn.Linear(hidden, 1)
        self.ask_negation = torch.nn.Linear(hidden, 1)
        ids = torch.tensor([tokenizer.token_to_id(f" {name}") for name in strangers])
        self.register_buffer("strangers", ids)

    def redraw_strangers(self) -> None:
        """Draw new embeddings for the strangers, so that the network cannot learn any of them."""
        with torch.no_grad():
            rows = self.llama.model.embed_tokens.weight
            rows[self.strangers] = torch.randn(len(self.strangers), rows.shape[1]) * EMBEDDING_SPREAD

    def compute_losses(self, batch: TurnBatch) -> TurnLosses:
        """Return the losses of the answers, of the other words of replies, and of the two auxiliary heads."""
        output = self.llama.model(batch.ids[:, :-1], output_hidden_states=True)
        targets, is_answer = batch.ids[:, 1:], batch.is_answer[:, 1:]
        chosen = is_answer | batch.is_word[:, 1:]
        logits = self.llama.lm_head(output.last_hidden_state[chosen])
        losses = functional.cross_entropy(logits, targets[chosen], reduction="none")
        at_answer = is_answer[chosen]
        answer_loss = losses[at_answer].mean()
        word_loss = losses[~at_answer].sum() / (~at_answer).sum().clamp(min=1)
        below = output.hidden_states[-2]
        below = below * torch.rsqrt(below.pow(2).mean(-1, keepdim=True) + 1e-6)
        truths = batch.truths[:, :-1]
        is_tail = truths != NO_TRUTH
        score = functional.binary_cross_entropy_with_logits
        truth_loss = score(self.ask_truth(below[is_tail]).squeeze(-1), truths[is_tail])
        negated = batch.is_negated[:, None].expand_as(is_answer)[is_answer]
        negation_loss = score(self.ask_negation(below[is_answer]).squeeze(-1), negated.float())
        n_right = (logits[at_answer].argmax(-1) == targets[is_answer]).sum()
        return TurnLosses(
            answer_loss + word_loss + truth_loss + negation_loss,
            answer_loss.item(),
            word_loss.item(),
            truth_loss.item(),
            int(n_right),
            int(at_answer.sum()),
        )
