"""The reference entailment model: its network and its losses."""

from collections.abc import Sequence

import torch
from torch.nn import functional
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from training.entailment_pairs import SentencePair
from training.word_vectors import MAX_TOKENS

LABELS = ("not_entailment", "entailment")
FLAGS = ("is_negated", "is_possible", "is_case", "is_swapped", "is_changed")
UNKNOWN_FACT = -100
# What `open_matching` adds to the diagonal of a projection.
MATCHING = 1.0


def build_bert(vectors: torch.Tensor, layers: int) -> BertForSequenceClassification:
    """Return a small BERT with these word vectors, which stay as they are, and otherwise random weights.

    Its first layers match words that are equal or alike.
    """
    n_tokens, hidden = vectors.shape
    config = BertConfig(
        vocab_size=n_tokens,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 32,
        intermediate_size=2 * hidden,
        max_position_embeddings=MAX_TOKENS,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=0,
        id2label=dict(enumerate(LABELS)),
        label2id={label: number for number, label in enumerate(LABELS)},
    )
    bert = BertForSequenceClassification(config)
    embeddings = bert.bert.embeddings.word_embeddings
    embeddings.load_state_dict({"weight": vectors})
    embeddings.requires_grad_(False)
    open_matching(bert)
    return bert


def open_matching(bert: BertForSequenceClassification) -> None:
    """Let each word of the first two layers attend to words with like vectors, in both texts."""
    with torch.no_grad():
        for layer in bert.bert.encoder.layer[:2]:
            for projection in (layer.attention.self.query, layer.attention.self.key):
                projection.weight.add_(torch.eye(len(projection.weight)) * MATCHING)


def keep_words(bert: BertForSequenceClassification, ids: Sequence[int]) -> None:
    """Keep only these words, in this order. Rare words are then spelled by their pieces."""
    vectors = bert.bert.embeddings.word_embeddings.weight[list(ids)].detach().clone()
    embedding = torch.nn.Embedding(len(vectors), vectors.shape[1], padding_idx=0)
    embedding.load_state_dict({"weight": vectors})
    bert.bert.embeddings.word_embeddings = embedding
    bert.config.vocab_size = len(vectors)


class PairNetwork(torch.nn.Module):
    """The model, and a linear layer that reads the facts of each sentence below its upper half.

    Without the facts, the loss of a model with random weights does not fall in the first 500 steps. The saved
    model does not contain the layer.
    """

    def __init__(
        self, bert: BertForSequenceClassification, tokenizer: PreTrainedTokenizerFast, meanings: Sequence[str]
    ) -> None:
        """Prepare the layer for the facts; each flag has two values, and each meaning is one."""
        super().__init__()
        self.bert, self.tokenizer = bert, tokenizer
        self._numbers = {meaning: number for number, meaning in enumerate(meanings)}
        self._sizes = [len(meanings), *[2] * len(FLAGS)]
        self.read_facts = torch.nn.Linear(bert.config.hidden_size, sum(self._sizes))

    def compute_loss(self, pairs: Sequence[SentencePair]) -> tuple[torch.Tensor, torch.Tensor, int, int]:
        """Return the losses of labels and of facts (nats), the number of right pairs, and that of tokens."""
        batch = self.tokenizer(
            [pair.premise for pair in pairs],
            [pair.hypothesis for pair in pairs],
            padding=True,
            truncation=True,
            return_tensors="pt",
        )
        labels = torch.tensor([int(pair.is_entailed) for pair in pairs])
        output = self.bert(**batch, output_hidden_states=True)
        n_right = int((output.logits.argmax(-1) == labels).sum())
        # Each sentence is read at the separator that follows it.
        is_end = batch["input_ids"] == self.tokenizer.sep_token_id
        ends = output.hidden_states[len(self.bert.bert.encoder.layer) // 2][is_end]
        loss = functional.cross_entropy(output.logits, labels)
        return loss, self._compute_fact_loss(ends, pairs), n_right, batch["input_ids"].numel()

    def _compute_fact_loss(self, ends: torch.Tensor, pairs: Sequence[SentencePair]) -> torch.Tensor:
        facts = [each for pair in pairs for each in pair.facts]
        columns = [[self._numbers.get(str(each.meaning), UNKNOWN_FACT) for each in facts]]
        for flag in FLAGS:
            values = (getattr(each, flag) for each in facts)
            columns.append([UNKNOWN_FACT if value is None else int(value) for value in values])
        parts = self.read_facts(ends).split(self._sizes, dim=-1)
        losses = [
            functional.cross_entropy(part, torch.tensor(column), ignore_index=UNKNOWN_FACT)
            for part, column in zip(parts, columns, strict=True)
        ]
        return torch.stack(losses).sum()
