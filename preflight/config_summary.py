"""What a configuration would do, found out without doing it."""

import polars as pl

from config.file import Config
from engines.identity import identify_model
from primitives.errors import InputError
from prototypes.pool import check_pool_wordings
from report.console import align
from schemas.stages import N_DEMONSTRATIONS
from tasks.edition.edition import Edition, plan_edition


def describe_plan(config: Config) -> str:
    """The edition's name, what each relation brings, what was left out, and who the models are.

    Raises:
        InputError: for everything that would stop the run.
    """
    edition = plan_edition(config)
    parts = [f"edition {edition.edition_id}", _describe_relations(edition)]
    problems = check_pool_wordings(edition.pool, edition.base.relations)
    if config.rephraser.kind == "reviewed" and problems:
        raise InputError("; ".join(problems))
    if edition.base.left_out:
        parts.append(_describe_left_out(edition))
    writers = [identify_model(writer) for writer in config.writers]
    parts += ["\n".join(f"writer {writer.model_id}" for writer in writers)] if writers else []
    models = [identify_model(model) for model in config.models]
    parts.append("\n".join(f"model {model.model_id}" for model in models) or "no models")
    return "\n\n".join(parts)


def _describe_relations(edition: Edition) -> str:
    rows = []
    cap = edition.sampling.heads_per_relation
    for relation in edition.base.relations:
        triplets = edition.base.select_relation(relation)
        tested = triplets.filter(~pl.col("also_true"))
        n_heads = min(tested["head"].n_unique(), cap or triplets.height)
        counts = (n_heads, n_heads - N_DEMONSTRATIONS, tested["tail"].n_unique(), triplets.height)
        rows.append([relation, *(f"{count:,}" for count in counts)])
    return align(["relation", "heads", "tested at most", "tails", "true triplets"], rows)


def _describe_left_out(edition: Edition) -> str:
    items = edition.base.left_out
    shown = [f"  {item.where}: {item.what}: {item.reason}" for item in items[:10]]
    more = [f"  … and {len(items) - 10:,} more"] if len(items) > 10 else []
    return "\n".join([f"left out of the knowledge base: {len(items):,}", *shown, *more])
