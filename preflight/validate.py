"""`pretexeval validate`: the edition and the models that a configuration describes, and what is wrong."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from config.file import Config
from engines.identity import identify_model
from engines.model_files import require_readable, require_some_usable
from knowledge.left_out import LeftOut
from knowledge.question_bank import QuestionBank
from preflight.reading import (
    DoubtfulWording,
    FactCounts,
    count_facts,
    find_doubtful_wordings,
    read_edition,
    render_doubtful_wordings,
)
from report.console import align
from schemas.question_stages import TYPES
from schemas.stages import N_DEMONSTRATIONS, SINGLE_METHODS, TRIPLETS
from schemas.transformations import NAMES
from tasks.edition.edition import Edition
from tasks.edition.manifest import list_left_out
from tasks.edition.preview import preview_questions
from tasks.edition.recipes import find_recipe, select_facts
from tasks.questions.missing import Form, count_carriers, find_points, group_missing

MAX_LEFT_OUT_SHOWN = 10
MAX_NAMES_SHOWN = 3
# How many questions of each type, in each form, are asked about a point. One RQ offers the right option, the
# other a wrong one.
N_QUESTIONS = {"MCQ": 1, "RQ": 2, "MAQ": 1, "TFQ": 1}


@dataclass(frozen=True)
class CheckedModel:
    """A model of the configuration."""

    model: str
    """Its name."""
    model_id: str | None
    """None if it cannot be evaluated."""
    problem: str | None
    """Why it cannot be evaluated."""


@dataclass(frozen=True)
class Validation:
    """The edition and the models that a configuration describes."""

    edition_id: str
    pool: str
    """The name of the pool, or the file of the user's own pool."""
    n_bank_questions: int | None
    """The questions of a bank; None for a base of triplets."""
    relations: list[dict[str, Any]]
    """Of each relation: the heads that the edition may use, those of the demonstrations included; the pairs
    and test samples at most, since heads may lack a negative; the tails; the rows of the base."""
    n_points: int
    """The heads, or the questions of a bank, that questions are asked about."""
    questions: list[dict[str, Any]]
    """The number of test questions of each type and form."""
    missing_questions: list[str]
    """A line per kind of question that cannot be asked, with the reason."""
    facts: FactCounts
    n_left_out: int
    left_out: tuple[LeftOut, ...]
    """What the base's source has and the base lacks; the first parts of every reason."""
    doubtful_wordings: tuple[DoubtfulWording, ...]
    """Texts of the user's own pool that the gate would reject."""
    warnings: tuple[str, ...]
    writers: tuple[str, ...]
    """The ids of the writers."""
    models: tuple[CheckedModel, ...]


def validate_config(config: Config) -> Validation:
    """Check a configuration and everything that it names.

    Raises:
        InputError: for everything that would stop the run; a model that cannot be used does not, as long as
            another one can.
    """
    problems = require_some_usable(config.models)
    edition = read_edition(config)
    for writer in config.list_writers():
        require_readable(writer)
    base, counts, n_points, missing = edition.base, Counter[Form](), 0, list[str]()
    if edition.has_questions:
        count = _count_questions if edition.has_triplets else _count_bank
        n_points, missing = count(edition, counts)
    return Validation(
        edition.edition_id,
        str(edition.pool.path or edition.pool.name),
        len(base.items) if isinstance(base, QuestionBank) else None,
        _count_relations(edition) if edition.has_triplets else [],
        n_points,
        [
            {"type": kind, "is_negated": is_negated, "n_questions": counts[kind, is_negated]}
            for kind in TYPES
            for is_negated in (False, True)
            if counts[kind, is_negated]
        ],
        missing,
        count_facts(edition),
        len(base.left_out) + sum(base.not_listed.values()),
        base.left_out,
        find_doubtful_wordings(edition),
        tuple(_list_warnings(edition)),
        tuple(identify_model(writer).model_id for writer in config.list_writers()),
        tuple(
            CheckedModel(model.name, None if problem else identify_model(model).model_id, problem)
            for model in config.models
            for problem in [problems.get(model.name)]
        ),
    )


def _count_relations(edition: Edition) -> list[dict[str, Any]]:
    is_tested, methods = ~pl.col("also_true"), edition.config.edition.methods
    per_pair = sum(2 if method in SINGLE_METHODS else 2 * len(NAMES) for method in methods)
    counted = edition.base.triplets.group_by("relation").agg(
        pl.col("head")
        .filter(is_tested)
        .n_unique()
        .clip(upper_bound=edition.sampling.heads_per_relation)
        .alias("n_heads"),
        pl.col("tail").filter(is_tested).n_unique().alias("n_tails"),
        pl.len().alias("n_true_triplets"),
    )
    n_pairs = pl.col("n_heads").cast(pl.Int64) - N_DEMONSTRATIONS
    return (
        counted.sort("relation")
        .select(
            "relation",
            "n_heads",
            n_pairs.alias("n_tested_at_most"),
            (n_pairs * per_pair).alias("n_samples_at_most"),
            "n_tails",
            "n_true_triplets",
        )
        .to_dicts()
    )


def _list_warnings(edition: Edition) -> Iterator[str]:
    if edition.drafts:
        yield f"Drafts that nobody has reviewed: the prototypes of {', '.join(edition.drafts)}."
    if edition.config.rephraser.gate == "off":
        yield "The gate is off: nothing checks that the rewordings say what their statements say."


def _count_bank(edition: Edition, counts: Counter[Form]) -> tuple[int, list[str]]:
    """Add the questions of a bank; return how many are turned into some, and lines about the others."""
    tested = pl.concat(preview_questions(edition)).filter(split="test")
    for kind, is_negated, n in tested.group_by("type", "is_negated").len().iter_rows():
        counts[kind, is_negated] += n
    reasons = Counter(item.reason for item in list_left_out(edition, None))
    lines = [f"left out of the bank, {n:,} times: {reason}" for reason, n in reasons.most_common()]
    return tested["point_id"].n_unique(), lines


def _count_questions(edition: Edition, counts: Counter[Form]) -> tuple[int, list[str]]:
    """Add the questions that heads carry; return how many heads are tested, and lines about the others.

    Piece by piece, and without drawing the options, which takes most of the time.
    """
    n_points, heads = 0, dict[tuple[str, str, bool, str], tuple[int, list[str]]]()
    for name, piece in edition.pieces.items():
        triplets = find_recipe(edition, TRIPLETS.name).build(edition, name, {})
        points = find_points(select_facts(edition, piece, triplets), edition.sampling)
        n_points += len(points.tested)
        counts.update({form: n * N_QUESTIONS[form[0]] for form, n in count_carriers(points).items()})
        for item in group_missing(points):
            key = (points.relation, item["type"], item["is_negated"], item["reason"])
            n_heads, names = heads.get(key, (0, []))
            heads[key] = n_heads + item["n_heads"], (names + item["heads"])[: MAX_NAMES_SHOWN + 1]
    lines = [
        f"{relation}: no {'negated ' * is_negated}{kind} about {n:,} heads "
        f"({', '.join(names[:MAX_NAMES_SHOWN])}{', …' * (n > MAX_NAMES_SHOWN)}): {reason}"
        for (relation, kind, is_negated, reason), (n, names) in heads.items()
    ]
    return n_points, lines


def render_validation(found: Validation) -> str:
    """Return the edition's name, tables of its relations and questions, the rows left out, and the models."""
    parts = [f"edition {found.edition_id}"]
    if found.n_bank_questions is not None:
        parts.append(f"{found.n_bank_questions:,} questions in the bank")
    parts += [_render_rows(found.relations)] if found.relations else []
    if found.questions:
        lines = [f"questions about {found.n_points:,} points", _render_rows(found.questions)]
        parts.append("\n".join([*lines, *(f"  {line}" for line in found.missing_questions)]))
    parts += found.facts.render()
    if found.left_out:
        shown = found.left_out[:MAX_LEFT_OUT_SHOWN]
        lines = [f"  {item.where}: {item.what}: {item.reason}" for item in shown]
        if n_more := found.n_left_out - len(lines):
            lines.append(f"  … and {n_more:,} more")
        parts.append("\n".join([f"left out of the knowledge base: {found.n_left_out:,}", *lines]))
    if found.doubtful_wordings:
        parts.append(render_doubtful_wordings(found.pool, found.doubtful_wordings))
    models = [f"model {each.model_id or f'{each.model}: cannot be evaluated'}" for each in found.models]
    writers = ["\n".join(f"writer {model_id}" for model_id in found.writers)] if found.writers else []
    return "\n\n".join([*parts, *writers, *found.warnings, "\n".join(models) or "no models"])


def _render_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table; its columns have the names of the keys."""
    names = [name.removeprefix("n_").removeprefix("is_").replace("_", " ") for name in rows[0]]
    cells = [[f"{value:,}" if type(value) is int else str(value) for value in row.values()] for row in rows]
    return align(names, cells)
