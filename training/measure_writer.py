"""Measure the reference writer, and write its card: ``python -m training.measure_writer``.

The command asks the writer in vLLM the prompts that the pipeline would ask for an edition, with a seed that
nothing else uses. It does not use the gate: a reply is right if it is one of the pool's own wordings with the
names filled in.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from config.engines import WriterConfig
from config.tables import KnowledgeConfig, LlmevalConfig, RephraserConfig
from engines.base import Engine
from engines.loading import load_engine
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from prototypes.pool import Pool, load_pool
from schemas.exchange import Sampling
from tasks.drawing.heads import TripletSampling
from tasks.edition.llmeval import N_STATEMENTS, list_statements
from tasks.edition.statements import fill_prototypes, join_entities
from tasks.edition.triplets import draw_triplets
from tasks.edition.variants import derive_variants
from training.card import MODELS
from training.writer_card import WriterScores, read_writer_card, write_writer_card
from training.writing import NAME, POSITIVE, build_default_instructions, fill_texts

SEED = 11
FOLDER = MODELS / NAME


def list_cases(base: KnowledgeBase, pool: Pool, seed: int) -> pl.DataFrame:
    """Return the statements of an edition, with the columns head, tail and is_positive of their triplets."""
    frames = []
    for relation in base.relations:
        prototypes = pool.select_relation(relation)
        sampling = TripletSampling(seed)
        triplets = draw_triplets(base, relation, sampling)
        statements = fill_prototypes(derive_variants(triplets, prototypes.instance), triplets, prototypes)
        frames.append(join_entities(statements, triplets))
    return pl.concat(frames)


def ask_rewordings(engine: Engine, cases: pl.DataFrame) -> list[str]:
    """Return the writer's first attempt at each statement, at the default temperature."""
    rephraser = build_default_instructions().rephraser
    prompts = [rephraser.build_prompt(statement, 1, "test").prompt for statement in cases["statement"]]
    config = RephraserConfig()
    replies = engine.generate(prompts, Sampling(config.max_tokens, config.temperature, SEED))
    return [(reply.response or "").strip() for reply in replies]


def find_wordings(pool: Pool, cases: pl.DataFrame, replies: Sequence[str]) -> list[bool]:
    """Return for each reply whether it is a wording of its cell with the names of its statement."""
    keys = list(cases.select("relation", "transformation").iter_rows())
    wordings = [pool.relations[relation].cells[name].wordings for relation, name in keys]
    return _find_texts(wordings, cases, replies)


def ask_listings(engine: Engine, triplets: pl.DataFrame) -> list[list[str]]:
    """Return the usable lines of the writer's reply to each triplet."""
    prompts = [ask.prompt for ask in build_default_instructions().llmeval.build_prompts(triplets)]
    replies = engine.generate(prompts, Sampling(LlmevalConfig().max_tokens))
    return [list_statements(reply.response or "") for reply in replies]


def find_positive_texts(pool: Pool, triplets: pl.DataFrame, listings: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each line whether it is a text of its relation, not negated, with its triplet's names."""
    lines = [line for listing in listings for line in listing]
    of_lines = triplets[[number for number, listing in enumerate(listings) for _ in listing]]
    texts = [
        [text for name in POSITIVE for text in pool.relations[relation].cells[name].texts]
        for relation in of_lines["relation"]
    ]
    return _find_texts(texts, of_lines, lines)


def _find_texts(
    templates: Sequence[Sequence[str]], named: pl.DataFrame, replies: Sequence[str]
) -> list[bool]:
    names = list(named.select("head", "tail").iter_rows())
    flat = [template for each in templates for template in each]
    filled = iter(fill_texts(flat, [n for n, each in zip(names, templates, strict=True) for _ in each]))
    return [reply in [next(filled) for _ in each] for reply, each in zip(replies, templates, strict=True)]


def measure_writer(engine: Engine, base: KnowledgeBase, pool: Pool) -> WriterScores:
    """Return the writer's scores on one edition."""
    cases = list_cases(base, pool, SEED)
    replies = ask_rewordings(engine, cases)
    names = zip(replies, cases["head"], cases["tail"], strict=True)
    triplets = cases.unique("triplet_id", maintain_order=True)
    listings = ask_listings(engine, triplets)
    return WriterScores(
        SEED,
        len(replies),
        _share([head in reply and tail in reply for reply, head, tail in names]),
        _share(find_wordings(pool, cases, replies)),
        len(listings),
        _share([len(listing) == N_STATEMENTS for listing in listings]),
        _share(find_positive_texts(pool, triplets, listings)),
    )


def _share(marks: Sequence[bool]) -> float:
    return round(sum(marks) / len(marks), 4)


def load_writer(folder: Path = FOLDER) -> Engine:
    """Load the writer into vLLM."""
    return load_engine(WriterConfig(name=NAME, model=str(folder), dtype="bfloat16", max_model_len=1024))


def main() -> None:
    """Measure the writer, and write its card again."""
    engine = load_writer()
    base, pool = read_knowledge_base(KnowledgeConfig()), load_pool("revised")
    scores = measure_writer(engine, base, pool)
    engine.close()
    write_writer_card(FOLDER, replace(read_writer_card(FOLDER), scores=scores))


if __name__ == "__main__":
    main()
