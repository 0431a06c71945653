"""A text-classification model with random weights, which tests make themselves."""

from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

LABELS = ("contradiction", "neutral", "entailment")
WORDS = ("x", "y", "may", "treat", "be", "treated", "by", "cannot", "salbutamol", "asthma", "eczema", ".")


def write_tiny_model(
    folder: Path, labels: Sequence[str] = LABELS, seed: int = 0, max_tokens: int = 32
) -> Path:
    """Write the model with its tokenizer into the folder, and return the folder."""
    torch.manual_seed(seed)
    vocabulary = {word: number for number, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=max_tokens,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
        initializer_range=1.0,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    ).save_pretrained(folder)
    return folder
