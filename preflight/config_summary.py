"""The report of `pretexeval validate`: the edition and the models that a configuration describes."""

from collections.abc import Mapping

import polars as pl

from config.file import Config
from engines.identity import identify_model
from engines.model_files import require_readable
from knowledge.question_bank import QuestionBank
from preflight.question_summary import render_questions
from preflight.wording_checks import render_wording_warnings
from report.console import align
from schemas.stages import N_DEMONSTRATIONS
from tasks.edition.buildable import require_buildable
from tasks.edition.edition import Edition, plan_edition

MAX_LEFT_OUT_SHOWN = 10


def render_summary(config: Config, problems_of_models: Mapping[str, str]) -> str:
    """Return the edition's name, tables of its relations and questions, the rows left out, and the models.

    Args:
        problems_of_models: model -> why it cannot be evaluated.

    Raises:
        InputError: for everything that would stop the run.
    """
    edition = plan_edition(config)
    parts = [f"edition {edition.edition_id}", _render_relations(edition)]
    require_buildable(edition)
    if edition.has_questions:
        parts.append(render_questions(edition))
    if edition.base.left_out:
        parts.append(_render_left_out(edition))
    if warnings := render_wording_warnings(edition):
        parts.append(warnings)
    for writer in config.list_writers():
        require_readable(writer)
    writers = [identify_model(writer) for writer in config.list_writers()]
    parts += ["\n".join(f"writer {writer.model_id}" for writer in writers)] if writers else []
    models = [
        f"model {model.name}: cannot be evaluated"
        if model.name in problems_of_models
        else f"model {identify_model(model).model_id}"
        for model in config.models
    ]
    parts.append("\n".join(models) or "no models")
    return "\n\n".join(parts)


def _render_relations(edition: Edition) -> str:
    if isinstance(edition.base, QuestionBank):
        return f"{len(edition.base.items):,} questions in the bank"
    rows = []
    cap = edition.sampling.heads_per_relation
    for relation in edition.base.relations:
        triplets = edition.base.select_relation(relation)
        tested = triplets.filter(~pl.col("also_true"))
        n_heads = min(tested["head"].n_unique(), cap or triplets.height)
        counts = (n_heads, n_heads - N_DEMONSTRATIONS, tested["tail"].n_unique(), triplets.height)
        rows.append([relation, *(f"{count:,}" for count in counts)])
    return align(["relation", "heads", "tested at most", "tails", "true triplets"], rows)


def _render_left_out(edition: Edition) -> str:
    items = edition.base.left_out
    shown = [f"  {item.where}: {item.what}: {item.reason}" for item in items[:MAX_LEFT_OUT_SHOWN]]
    n_items = len(items) + sum(edition.base.not_listed.values())
    n_more = n_items - len(shown)
    more = [f"  … and {n_more:,} more"] if n_more else []
    return "\n".join([f"left out of the knowledge base: {n_items:,}", *shown, *more])
