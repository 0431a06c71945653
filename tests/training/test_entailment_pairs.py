"""Pairs of sentences for the entailment model, and the vectors of its words."""

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

from prototypes.pool import load_pool
from training.entailment_network import build_bert, keep_words
from training.entailment_pairs import LATER_SHARES, SHARES, PairSource
from training.meanings import LEFT_OUT, list_meanings
from training.predicates import read_predicates
from training.train_entailment import create_source
from training.word_vectors import read_tokenizer, read_word_vectors

ENTAILED = {"same", "edited", "same, affirmed"}
BOTH = {"weaker", "addition", "denied"}


@pytest.fixture(scope="module")
def source() -> PairSource:
    return create_source()


def test_every_kind_of_pair_is_drawn_with_its_label(source: PairSource) -> None:
    source.seed(3)
    pairs = source.draw(3000, LATER_SHARES)
    found = {kind: {pair.is_entailed for pair in pairs if pair.kind == kind} for kind in LATER_SHARES}
    assert found == {
        kind: {True} if kind in ENTAILED else {True, False} if kind in BOTH else {False} for kind in found
    }
    assert all("[X]" not in pair.premise + pair.hypothesis for pair in pairs)


def test_the_same_seed_draws_the_same_pairs(source: PairSource) -> None:
    source.seed(5)
    first = source.draw(20, SHARES)
    source.seed(5)
    assert source.draw(20, SHARES) == first


def test_no_sentence_of_a_left_out_relation_is_drawn() -> None:
    pool = load_pool("revised")
    kept = [name for name in pool.relations if name not in LEFT_OUT]
    assert len(kept) == len(pool.relations) - len(LEFT_OUT)
    names = {meaning.name for meaning in list_meanings(read_predicates(), pool, kept)}
    assert not names.intersection(LEFT_OUT)
    assert not set(create_source().meanings).intersection(LEFT_OUT)


def test_words_keep_their_likeness_and_can_be_told_apart(tmp_path: Path) -> None:
    """In a vocabulary of six words, two have the same vector in the sentence model."""
    torch.manual_seed(0)
    words = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "x", "y", "cure", "heal", "é", "dog", "tree"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = BertModel(BertConfig(vocab_size=len(words), initializer_range=0.5, **sizes))
    with torch.no_grad():
        model.embeddings.word_embeddings.weight[8] = model.embeddings.word_embeddings.weight[7]
    model.save_pretrained(tmp_path)
    tokenizer, ids = read_tokenizer(tmp_path)
    assert tokenizer.convert_ids_to_tokens(tokenizer("X heal", "tree é").input_ids) == [
        "[CLS]",
        "x",
        "heal",
        "[SEP]",
        "tree",
        "[UNK]",
        "[SEP]",
    ]
    smaller, _ = read_tokenizer(tmp_path, {"cure"})
    assert "cure" in smaller.vocab
    vectors = torch.nn.functional.normalize(read_word_vectors(tmp_path, ids, 8), dim=-1)
    like = {
        pair: float(vectors[tokenizer.vocab[pair[0]]] @ vectors[tokenizer.vocab[pair[1]]])
        for pair in (("cure", "heal"), ("dog", "tree"))
    }
    assert 0.2 < like["cure", "heal"] < 0.95
    assert like["cure", "heal"] > like["dog", "tree"]
    bert = build_bert(vectors.repeat(1, 8), 2)
    assert not bert.bert.embeddings.word_embeddings.weight.requires_grad
    kept = bert.bert.embeddings.word_embeddings.weight[[3, 1]]
    keep_words(bert, [3, 1])
    assert torch.equal(bert.bert.embeddings.word_embeddings.weight, kept)
