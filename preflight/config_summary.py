"""The report of `pretexeval validate`: the edition and the models that a configuration describes."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from config.engines import EngineConfig
from config.file import Config
from engines.identity import identify_model
from engines.model_files import require_readable
from knowledge.left_out import LeftOut
from knowledge.question_bank import QuestionBank
from preflight.new_facts import FactAge, count_ages, count_new_facts, render_ages, render_new_facts
from preflight.question_summary import QuestionSummary, render_questions, summarize_questions
from preflight.wording_checks import DoubtfulWording, find_doubtful_wordings, render_wording_warnings
from report.console import align
from schemas.stages import N_DEMONSTRATIONS
from tasks.edition.buildable import require_buildable
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition

MAX_LEFT_OUT_SHOWN = 10


@dataclass(frozen=True)
class RelationCounts:
    """The size of one relation in the base."""

    relation: str
    n_heads: int
    """Heads that the edition may use, those of the demonstrations included."""
    n_tested_at_most: int
    """Pairs that are tested at most: heads may lack a negative."""
    n_tails: int
    n_true_triplets: int


@dataclass(frozen=True)
class DescribedModel:
    """A model of the configuration."""

    model: str
    """Its name."""
    model_id: str | None
    """None if it cannot be evaluated."""
    problem: str | None
    """Why it cannot be evaluated."""


@dataclass(frozen=True)
class ConfigSummary:
    """The edition and the models that a configuration describes."""

    edition_id: str
    n_bank_questions: int | None
    """The questions of a bank; None for a base of triplets."""
    relations: tuple[RelationCounts, ...]
    questions: QuestionSummary | None
    """None if no questions are asked."""
    n_new_facts: int | None
    """Facts that may be tested because the older release lacks them; None if no such release is given."""
    n_known_facts: int | None
    """Facts that are not tested because the older release holds them; None likewise."""
    ages: tuple[FactAge, ...]
    """Empty unless releases of the base are given."""
    n_left_out: int
    left_out: tuple[LeftOut, ...]
    """What the base's source has and the base lacks; the first parts of every reason."""
    doubtful_wordings: tuple[DoubtfulWording, ...]
    """Texts of the user's own pool that the gate would reject."""
    writers: tuple[str, ...]
    """The ids of the writers."""
    models: tuple[DescribedModel, ...]


def summarize_config(config: Config, problems_of_models: Mapping[str, str]) -> tuple[Edition, ConfigSummary]:
    """Return the edition of a configuration, and what it and the models are.

    Args:
        problems_of_models: model -> why it cannot be evaluated.

    Raises:
        InputError: for everything that would stop the run.
    """
    edition = plan_edition(config)
    relations = _count_relations(edition)
    require_buildable(edition)
    questions = summarize_questions(edition) if edition.has_questions else None
    doubtful = find_doubtful_wordings(edition)
    for writer in config.list_writers():
        require_readable(writer)
    return edition, ConfigSummary(
        edition.edition_id,
        len(edition.base.items) if isinstance(edition.base, QuestionBank) else None,
        relations,
        questions,
        count_new_facts(edition),
        edition.base.n_known,
        count_ages(edition),
        len(edition.base.left_out) + sum(edition.base.not_listed.values()),
        edition.base.left_out,
        tuple(doubtful),
        tuple(identify_model(writer).model_id for writer in config.list_writers()),
        tuple(_describe_model(model, problems_of_models.get(model.name)) for model in config.models),
    )


def _describe_model(model: EngineConfig, problem: str | None) -> DescribedModel:
    return DescribedModel(model.name, None if problem else identify_model(model).model_id, problem)


def _count_relations(edition: Edition) -> tuple[RelationCounts, ...]:
    if isinstance(edition.base, QuestionBank):
        return ()
    counts = []
    cap = edition.sampling.heads_per_relation
    for relation in edition.base.relations:
        triplets = edition.base.select_relation(relation)
        tested = triplets.filter(~pl.col("also_true"))
        n_heads = min(tested["head"].n_unique(), cap or triplets.height)
        n_tested = n_heads - N_DEMONSTRATIONS
        counts.append(RelationCounts(relation, n_heads, n_tested, tested["tail"].n_unique(), triplets.height))
    return tuple(counts)


def render_summary(edition: Edition, summary: ConfigSummary) -> str:
    """Return the edition's name, tables of its relations and questions, the rows left out, and the models."""
    parts = [f"edition {summary.edition_id}", _render_relations(summary)]
    if summary.questions is not None:
        parts.append(render_questions(summary.questions))
    if summary.n_new_facts is not None and summary.n_known_facts is not None:
        parts.append(render_new_facts(summary.n_new_facts, summary.n_known_facts))
    if summary.ages:
        parts.append(render_ages(summary.ages))
    if summary.left_out:
        parts.append(_render_left_out(summary))
    if warnings := render_wording_warnings(edition, summary.doubtful_wordings):
        parts.append(warnings)
    if summary.writers:
        parts.append("\n".join(f"writer {model_id}" for model_id in summary.writers))
    if edition.drafts:
        parts.append(f"Drafts that nobody has reviewed: the prototypes of {', '.join(edition.drafts)}.")
    if edition.config.rephraser.gate == "off":
        parts.append("The gate is off: nothing checks that the rewordings say what their statements say.")
    models = [
        f"model {each.model}: cannot be evaluated" if each.problem else f"model {each.model_id}"
        for each in summary.models
    ]
    parts.append("\n".join(models) or "no models")
    return "\n\n".join(parts)


def _render_relations(summary: ConfigSummary) -> str:
    if summary.n_bank_questions is not None:
        return f"{summary.n_bank_questions:,} questions in the bank"
    rows = [
        [
            each.relation,
            *(f"{n:,}" for n in (each.n_heads, each.n_tested_at_most, each.n_tails, each.n_true_triplets)),
        ]
        for each in summary.relations
    ]
    return align(["relation", "heads", "tested at most", "tails", "true triplets"], rows)


def _render_left_out(summary: ConfigSummary) -> str:
    shown = [f"  {item.where}: {item.what}: {item.reason}" for item in summary.left_out[:MAX_LEFT_OUT_SHOWN]]
    n_more = summary.n_left_out - len(shown)
    more = [f"  … and {n_more:,} more"] if n_more else []
    return "\n".join([f"left out of the knowledge base: {summary.n_left_out:,}", *shown, *more])
