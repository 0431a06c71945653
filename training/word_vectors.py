"""Vectors of words, taken from a sentence-embedding model: words of like meaning have like vectors.

Every word of the model's vocabulary is embedded as a sentence of its own. The vectors are reduced to their
principal components, as in model2vec (Tulkens and van Dongen, 2024).
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import AutoModel, PreTrainedTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
MAX_TOKENS = 256
N_FREQUENT = 8000
BATCH = 512
STANDARD_DEVIATION = 0.06
SHARE_OWN = 0.4
"""Share of a vector that no other word has. Without it, words of like meaning can hardly be told apart."""
PLACEHOLDERS = ("x", "y")


def read_tokenizer(
    folder: Path, used: Collection[str] | None = None
) -> tuple[PreTrainedTokenizerFast, list[int]]:
    """Return the model's WordPiece tokenizer with its ASCII words, and their ids in the model.

    Args:
        used: words that are kept beside letters and the N_FREQUENT first words; by default all.
    """
    spec = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    ids: dict[str, int] = spec["model"]["vocab"]
    words = [text for text in sorted(ids, key=ids.__getitem__) if text.isascii() and text[0] != "["]
    if used is not None:
        # The vocabulary of a BERT is sorted by frequency.
        frequent = set(words[:N_FREQUENT]).union(used)
        words = [text for text in words if text in frequent or len(text.removeprefix("##")) == 1]
    kept = [*SPECIAL, *words]
    numbers = {text: number for number, text in enumerate(kept)}
    spec["model"]["vocab"], spec["padding"], spec["truncation"] = numbers, None, None
    spec["added_tokens"] = [
        {**each, "id": numbers[each["content"]]}
        for each in spec["added_tokens"]
        if each["content"] in SPECIAL
    ]
    spec["post_processor"] = _describe_pairs(numbers)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(spec)),
        pad_token=SPECIAL[0],
        unk_token=SPECIAL[1],
        cls_token=SPECIAL[2],
        sep_token=SPECIAL[3],
        model_max_length=MAX_TOKENS,
    )
    return tokenizer, [ids[text] for text in kept]


def _describe_pairs(numbers: dict[str, int]) -> dict[str, Any]:
    return {
        "type": "BertProcessing",
        "cls": ["[CLS]", numbers["[CLS]"]],
        "sep": ["[SEP]", numbers["[SEP]"]],
    }


def read_word_vectors(folder: Path, ids: list[int], n_dimensions: int) -> torch.Tensor:
    """Return a vector per word: the components of largest variance, and a random part of its own.

    Args:
        ids: ids of the words in the vocabulary of the model.
    """
    model = AutoModel.from_pretrained(folder).eval()
    spec = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    begin, end = spec["[CLS]"], spec["[SEP]"]
    parts = []
    for start in range(0, len(ids), BATCH):
        batch = torch.tensor([[begin, number, end] for number in ids[start : start + BATCH]])
        with torch.inference_mode():
            parts.append(functional.normalize(model(input_ids=batch).last_hidden_state.mean(1), dim=-1))
    vectors = torch.cat(parts).clone()
    centred = vectors - vectors.mean(0)
    _, _, components = torch.pca_lowrank(centred, n_dimensions, center=False, niter=4)
    # Each head of the attention sees a part of the dimensions, so no part may hold the largest components.
    basis, _ = torch.linalg.qr(torch.randn(n_dimensions, n_dimensions))
    reduced = functional.normalize(centred @ components, dim=-1) @ basis
    own = functional.normalize(torch.randn(reduced.shape), dim=-1)
    shares = torch.full((len(ids), 1), SHARE_OWN)
    shares[[ids.index(spec[word]) for word in PLACEHOLDERS]] = 1.0
    mixed = (1 - shares).sqrt() * reduced + shares.sqrt() * own
    scaled: torch.Tensor = mixed * (STANDARD_DEVIATION / mixed.std())
    return scaled
