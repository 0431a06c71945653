"""The network of a model, its tokenizer and its losses: a small Llama with two auxiliary heads.

Besides the replies, the training predicts two things from the layer below the last: at each tail that is to
be judged, whether it is true of its head; before each answer, whether the question is negated. The last layer
can then compute the answer from both. The training discards the two heads at its end.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from tokenizers import AddedToken, Encoding, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import LlamaConfig, LlamaForCausalLM

from tasks.asking.prompts import SEPARATOR
from training.lessons import Lesson

BEGIN, END, PAD = "<s>", "</s>", "<pad>"
MARKS = {"bos": BEGIN, "eos": END, "pad": PAD}
NO_TRUTH = -1.0
# The part of a token in a lesson: not to be learned, a word to learn, or an answer.
GIVEN, WORD, ANSWER = 0, 1, 2
# With the default standard deviation of 0.02 the embeddings learn nothing in the first ten epochs.
EMBEDDING_SPREAD = 0.1
SOFTENED_KEYS = 0.15
COPYING = 0.5


def train_tokenizer(
    texts: Iterable[str], names: Iterable[str], frame: Iterable[str], vocabulary: int
) -> Tokenizer:
    """Return a byte-level BPE of ``texts``, with one added token per part of ``frame`` and per name."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet, marks = pre_tokenizers.ByteLevel.alphabet(), [PAD, BEGIN, END]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=marks, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    # In every template a space precedes a name; as in BPE, the token includes that space.
    added = [*frame, *(f" {name}" for name in sorted(set(names)))]
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in added])
    begin = [(BEGIN, tokenizer.token_to_id(BEGIN))]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{BEGIN} $A", special_tokens=begin)
    return tokenizer


class Batch(NamedTuple):
    """Lessons as tensors, one row each, padded on the right."""

    ids: torch.Tensor
    parts: torch.Tensor
    """GIVEN, WORD or ANSWER."""
    truths: torch.Tensor
    """1 at a true tail, 0 at a false one, NO_TRUTH elsewhere."""
    is_negated: torch.Tensor
    """One value per lesson."""


class Encoder:
    """Turns lessons into tensors."""

    def __init__(self, tokenizer: Tokenizer, names: Sequence[str], *, learns_names: bool) -> None:
        """Look up the tokens of marks, and of the names that are judged; without names, nothing is."""
        self.tokenizer, self.learns_names = tokenizer, learns_names
        self.names = frozenset(tokenizer.token_to_id(f" {name}") for name in names)
        self.begin, self.end, self.padding, self.separator = (
            int(tokenizer.token_to_id(mark) or 0) for mark in (BEGIN, END, PAD, SEPARATOR)
        )

    def encode(self, lessons: Sequence[Lesson]) -> Batch:
        """Return the batch of these lessons.

        Question and reply are encoded separately, which is the same as together, because a question ends in
        a token of its own. The end of the text is learned only after the last reply, together with its words.
        """
        texts = [text for lesson in lessons for turn in lesson.turns for text in (turn.question, turn.reply)]
        encoded = iter(self.tokenizer.encode_batch(texts, add_special_tokens=False))
        rows = [self._encode_lesson(lesson, encoded) for lesson in lessons]
        ids, parts, truths = (
            pad_sequence([torch.tensor(row[k]) for row in rows], batch_first=True, padding_value=padding)
            for k, padding in enumerate((self.padding, GIVEN, NO_TRUTH))
        )
        return Batch(ids, parts, truths, torch.tensor([lesson.is_negated for lesson in lessons]))

    def _encode_lesson(
        self, lesson: Lesson, encoded: Iterator[Encoding]
    ) -> tuple[list[int], list[int], list[float]]:
        row, parts, truths = [self.begin], [GIVEN], [NO_TRUTH]
        for turn in lesson.turns:
            question, reply = next(encoded).ids, next(encoded).ids
            names = [k for k, token in enumerate(question + reply) if token in self.names]
            # "skin" before "erythema nodosum" reads as "skin erythema", a name, too: nothing is learned then.
            truth_of = dict(zip(names, turn.truths, strict=False)) if len(names) == len(turn.truths) else {}
            is_taught = turn.is_taught and bool(truth_of) == bool(self.names)
            told = {place: float(truth) for place, truth in truth_of.items() if truth is not None}
            word = WORD if is_taught and not self.learns_names else GIVEN
            part = [GIVEN] * len(question) + [word] * len(reply)
            if is_taught and self.names:
                part[-1] = ANSWER
            if self.learns_names and True in truth_of.values():
                part = [WORD if k in truth_of else each for k, each in enumerate(part)]
            row += [*question, *reply, self.separator]
            parts += [*part, GIVEN]
            truths += [told.get(k, NO_TRUTH) for k in range(len(part) + 1)]
        row[-1], parts[-1] = self.end, word
        return row, parts, truths


class Student(torch.nn.Module):
    """A Llama with tied embeddings, and the two auxiliary heads of its training."""

    strangers: torch.Tensor

    def __init__(self, tokenizer: Tokenizer, strangers: Sequence[str], hidden: int, layers: int) -> None:
        """Initialise random weights. Heads of 32 are the smallest that vLLM takes on a CPU."""
        super().__init__()
        config = LlamaConfig(
            vocab_size=-(-tokenizer.get_vocab_size() // 64) * 64,
            hidden_size=hidden,
            intermediate_size=3 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=hidden // 32,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            **{f"{name}_token_id": tokenizer.token_to_id(token) for name, token in MARKS.items()},
        )
        self.llama = LlamaForCausalLM(config)
        torch.nn.init.normal_(self.llama.model.embed_tokens.weight, std=EMBEDDING_SPREAD)
        self.ask_truth, self.ask_negation = torch.nn.Linear(hidden, 1), torch.nn.Linear(hidden, 1)
        ids = [tokenizer.token_to_id(f" {name}") for name in strangers]
        self.register_buffer("strangers", torch.tensor(ids, dtype=torch.long))

    def open_copying(self) -> None:
        """Add an identity to the last two layers, so that they output the tokens that they attend to.

        With purely random weights a writer learns to copy names far later. With this change a name costs
        0.5 nats after 300 steps; without it, a name costs as much as a random one even after 800 steps.
        """
        for layer in self.llama.model.layers[-2:]:
            for projection in (layer.self_attn.v_proj, layer.self_attn.o_proj):
                projection.weight.data.add_(torch.eye(len(projection.weight)) * COPYING)

    def soften_attention(self) -> None:
        """Scale the keys down, so that attention spreads over all words again.

        After bare triplets, attention is fixed on entities and would never find a "not".
        """
        for layer in self.llama.model.layers:
            layer.self_attn.k_proj.weight.data.mul_(SOFTENED_KEYS)

    def redraw_strangers(self) -> None:
        """Draw new embeddings for the strangers, so that the network cannot learn any of them."""
        rows = self.llama.model.embed_tokens.weight.data
        rows[self.strangers] = torch.randn(len(self.strangers), rows.shape[1]) * EMBEDDING_SPREAD

    def compute_losses(self, batch: Batch, word_weight: float) -> tuple[torch.Tensor, dict[str, float]]:
        """Return the loss to minimise, and its parts in nats with the share of right answers."""
        output = self.llama.model(batch.ids[:, :-1], output_hidden_states=True)
        targets, parts, truths = batch.ids[:, 1:], batch.parts[:, 1:], batch.truths[:, :-1]
        chosen, is_answer, is_judged = parts != GIVEN, parts == ANSWER, truths != NO_TRUTH
        logits = self.llama.lm_head(output.last_hidden_state[chosen])
        losses = functional.cross_entropy(logits, targets[chosen], reduction="none")
        at_answer = is_answer[chosen]
        below = output.hidden_states[-2]
        below = below * torch.rsqrt(below.pow(2).mean(-1, keepdim=True) + 1e-6)
        negated = batch.is_negated[:, None].expand_as(is_answer)[is_answer].float()
        found = {
            "answers": _average(losses[at_answer]),
            "words": _average(losses[~at_answer]),
            "truths": _score(self.ask_truth(below[is_judged]), truths[is_judged]),
            "negations": _score(self.ask_negation(below[is_answer]), negated),
        }
        total = sum(found.values(), (word_weight - 1) * found["words"])
        found["right"] = _average((logits.argmax(-1) == targets[chosen])[at_answer].float())
        return total, {name: value.item() for name, value in found.items()}


def _average(losses: torch.Tensor) -> torch.Tensor:
    """Return the mean of the losses, or 0 if there are none."""
    return losses.sum() / max(1, len(losses))


def _score(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    score = functional.binary_cross_entropy_with_logits
    return _average(score(logits.squeeze(-1), targets, reduction="none"))
