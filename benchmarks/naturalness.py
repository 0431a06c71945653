"""The naturalness of the wordings of a pool: ``python -m benchmarks --only naturalness MODEL``.

Every wording is filled with facts of the bundled base, and a small language model reads it (`make real-model`
converts SmolLM2-135M-Instruct). A word that the model does not expect has a high surprisal, the negative
logarithm of its probability. The wordings are ranked by their excess: the mean surprisal of their words,
without those of the names, minus that of the relation's plain statement. The excess orders the wordings of a
pool, and says nothing of what they mean.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.measuring import build_parser
from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.hashing import draw_order
from prototypes.pool import Pool, load_pool
from report.console import align
from tasks.edition.statements import write_sentences

N_FACTS = 4
BATCH = 16
PLAIN = "none"
SCHEMA = ["relation", "transformation", "entry", "template", "head", "tail"]


def list_filled(pool: Pool) -> pl.DataFrame:
    """Return each wording of the relations of the bundled base, filled with the names of N_FACTS facts."""
    base = read_knowledge_base(KnowledgeConfig())
    rows: list[tuple[Any, ...]] = []
    for relation in base.relations:
        facts = base.triplets.filter(relation=relation).select("head", "tail").unique().sort("head", "tail")
        chosen = draw_order(map("\t".join, facts.iter_rows()), "naturalness", relation)[:N_FACTS]
        for name, cell in pool.relations[relation].cells.items():
            for entry, text in enumerate(cell.texts):
                rows += [(relation, name, entry, text, *fact.split("\t")) for fact in chosen]
    frame = pl.DataFrame(rows, SCHEMA, orient="row")
    return frame.with_columns(text=write_sentences(frame))


def measure_surprisal(model: Path, rows: pl.DataFrame) -> pl.Series:
    """Return the mean surprisal, in nats per token, of each text outside its two names."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.pad_token = tokenizer.eos_token
    reader = AutoModelForCausalLM.from_pretrained(model).eval()
    texts, names = rows["text"].to_list(), rows.select("head", "tail").rows()
    found = [
        value
        for start in range(0, len(texts), BATCH)
        for value in _read_batch(reader, tokenizer, texts[start:][:BATCH], names[start:][:BATCH])
    ]
    return pl.Series("surprisal", found, pl.Float64)


def _read_batch(
    reader: Any,  # noqa: ANN401
    tokenizer: Any,  # noqa: ANN401
    texts: Sequence[str],
    names: Sequence[tuple[str, str]],
) -> Iterator[float]:
    import torch

    # Every text follows the same mark, so that its first word has a surprisal as well.
    prefix = tokenizer.eos_token
    encoded = tokenizer(
        [prefix + text for text in texts], return_tensors="pt", padding=True, return_offsets_mapping=True
    )
    offsets = encoded.pop("offset_mapping").numpy() - len(prefix)
    with torch.inference_mode():
        chances = reader(**encoded).logits[:, :-1].float().log_softmax(-1)
    told = chances.gather(-1, encoded["input_ids"][:, 1:, None])[..., 0].numpy()
    for row, text in enumerate(texts):
        places = offsets[row][1:]
        is_word = encoded["attention_mask"][row][1:].numpy().astype(bool)
        for name in names[row]:
            start = text.lower().find(name.lower())
            is_word &= (places[:, 1] <= start) | (places[:, 0] >= start + len(name))
        yield float(-np.mean(told[row][is_word]))


def rank_wordings(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per wording, with its excess surprisal; the least natural ones first."""
    wording = ["relation", "transformation", "entry", "template"]
    means = rows.group_by(wording).agg(pl.col("surprisal").mean())
    plain = means.filter(transformation=PLAIN, entry=0).select("relation", plain="surprisal")
    excess = pl.col("surprisal") - pl.col("plain")
    return means.join(plain, on="relation").select(*wording, excess=excess).sort("excess", descending=True)


def main(arguments: Sequence[str]) -> None:
    """Print the least natural wordings of a pool, and the mean excess of each transformation."""
    parser = build_parser("naturalness", __doc__)
    parser.add_argument("model", type=Path, help="the folder of a language model")
    parser.add_argument("--pool", default="revised", help="a bundled pool, or a file")
    parser.add_argument("--worst", type=int, default=50, help="how many wordings to print")
    options = parser.parse_args(arguments)
    pool = load_pool(options.pool)
    rows = list_filled(pool)
    ranked = rank_wordings(rows.with_columns(measure_surprisal(options.model, rows)))
    means = ranked.group_by("transformation", maintain_order=True).agg(pl.col("excess").mean())
    print(
        align(["transformation", "excess"], [[name, f"{x:.2f}"] for name, x in means.sort("excess").rows()])
    )
    cells = [[f"{x:.2f}", *map(str, rest)] for *rest, x in ranked.head(options.worst).rows()]
    print(align(["excess", "relation", "transformation", "entry", "wording"], cells))
