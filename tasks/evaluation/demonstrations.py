"""The demonstrations in front of every question: held-out samples with their labels (method, 2.2)."""

import polars as pl

from primitives.hashing import draw_order, hash_text
from schemas.stages import DEMONSTRATION_SALT, N_DEMONSTRATIONS
from tasks.asking.prompts import Demonstration

DemonstrationsOfGroup = dict[tuple[str, str | None], tuple[Demonstration, ...]]
"""(relation, transformation) -> its demonstrations."""


def draw_demonstrations_of_methods(samples: pl.DataFrame) -> dict[str, DemonstrationsOfGroup]:
    """Method -> the demonstrations of its groups, so that no method's prompts depend on another's."""
    methods = samples.partition_by("method", as_dict=True, maintain_order=True)
    return {str(method): draw_demonstrations(group) for (method,), group in methods.items()}


def draw_demonstrations(samples: pl.DataFrame) -> DemonstrationsOfGroup:
    """(relation, transformation) -> its demonstrations: one sample per held-out pair, 2 or 3 of them true.

    They depend on the pairs and their texts alone, never on the edition's seed. Samples without a
    transformation (llmeval) have one group per relation.

    Args:
        samples: of one method.
    """
    held_out = samples.filter(pl.col("split") == "demonstration")
    groups = held_out.partition_by("relation", "transformation", as_dict=True, maintain_order=True)
    return {
        (str(relation), transformation): _draw_group(group, str(relation), str(transformation))
        for (relation, transformation), group in groups.items()
    }


def _draw_group(group: pl.DataFrame, relation: str, transformation: str) -> tuple[Demonstration, ...]:
    key = (DEMONSTRATION_SALT, relation, transformation)
    texts: dict[tuple[str, bool], str] = {
        (pair_id, label): text
        for pair_id, label, text in group.select("pair_id", "label", "text")
        .sort("pair_id", "label", "text")
        .iter_rows()
    }
    pairs = draw_order({pair_id for pair_id, _ in texts}, *key)[:N_DEMONSTRATIONS]
    n_true = len(pairs) // 2 + int(hash_text(*key, "n_true"), 16) % 2
    true_ones = set(draw_order(pairs, *key, "true")[:n_true])
    # Of llmeval a triplet may have no usable text: then its pair shows the other.
    labels = {p: (p in true_ones) == ((p, p in true_ones) in texts) for p in pairs}
    return tuple(Demonstration(texts[p, labels[p]], labels[p]) for p in pairs)
