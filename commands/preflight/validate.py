"""`pretexeval validate`: the edition and the models that a configuration describes, and what is wrong."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from commands.preflight.reading import (
    RISKS,
    DoubtfulWording,
    FactCounts,
    count_facts,
    find_doubtful_wordings,
    read_edition,
    render_doubtful_wordings,
    tabulate_risks,
)
from pretexeval.config.file import Config
from pretexeval.engines.identity import identify_model
from pretexeval.engines.model_files import require_readable, require_some_usable
from pretexeval.knowledge.base import LeftOut
from pretexeval.knowledge.doubtful_names import NameTrouble, list_name_troubles, render_name_troubles
from pretexeval.knowledge.medqa import QuestionBank
from prototypes.templates import check_slot_order
from report.console import align
from schemas.stages import N_DEMONSTRATIONS, SINGLE_METHODS, TRIPLETS
from schemas.transformations import NAMES
from tasks.drawing.shapes import ask_for_shapes
from tasks.edition.edition import Edition
from tasks.edition.manifest import list_left_out
from tasks.edition.profile import describe_profile
from tasks.edition.recipes import find_recipe
from tasks.edition.risks import Balance, list_risks, measure_wrong_twins
from tasks.questions.points import collect_points, describe_missing

MAX_NAMES_SHOWN = 3


MIN_PREDICATE = 3
"""A shorter name of a predicate, such as P, says nothing."""


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
    and test samples (of anchors, which are few, at most); the tails; the rows of the base."""
    lost_heads: list[dict[str, Any]]
    """How many heads of a relation are not tested, by reason."""
    risks: Balance
    """The risks of the negatives of each relation; empty for a question bank."""
    missing_questions: list[str]
    """A line per kind of question that cannot be asked, with the reason."""
    facts: FactCounts
    n_left_out: int
    left_out: tuple[LeftOut, ...]
    """What the base's source has and the base lacks; the first parts of every reason."""
    left_out_reasons: list[dict[str, Any]]
    """The reasons with the number of these parts, and the first of them."""
    doubtful_names: tuple[NameTrouble, ...]
    """The names that look wrong, by what is wrong with them."""
    doubtful_wordings: tuple[DoubtfulWording, ...]
    """Texts of the user's own pool that the gate would reject."""
    warnings: tuple[str, ...]
    writers: tuple[str, ...]
    """The ids of the writers."""
    models: tuple[CheckedModel, ...]


def validate_config(config: Config, *, is_deep: bool = False) -> Validation:
    """Check a configuration and everything that it names.

    Args:
        is_deep: whether to hide facts of the base, and to count how many of them become false twins.

    Raises:
        InputError: for everything that would stop the run; a model that cannot be used does not, as long as
            another one can.
    """
    problems = require_some_usable(config.models)
    edition, balance = read_edition(config)
    for relation, found in balance.items() if is_deep else ():
        if "n_tried" not in found:
            found.update(measure_wrong_twins(edition, relation))
    for writer in config.writers:
        require_readable(writer)
    base, profile = edition.base, describe_profile(edition, balance)
    return Validation(
        edition.edition_id,
        str(edition.pool.path or edition.pool.name),
        len(base.items) if isinstance(base, QuestionBank) else None,
        _count_relations(edition, balance, profile["relations"]) if edition.has_triplets else [],
        [
            {"relation": relation, **lost}
            for relation, found in profile["relations"].items()
            for lost in found["lost_heads"]
        ],
        balance,
        list(_list_missing_questions(edition)) if edition.has_questions else [],
        count_facts(edition),
        len(base.left_out) + sum(base.not_listed.values()),
        base.left_out,
        profile["left_out"],
        list_name_troubles(base.triplets),
        find_doubtful_wordings(edition),
        (*_list_warnings(edition), *list_risks(balance)),
        tuple(identify_model(writer).model_id for writer in config.writers),
        tuple(
            CheckedModel(model.name, None if problem else identify_model(model).model_id, problem)
            for model in config.models
            for problem in [problems.get(model.name)]
        ),
    )


def _count_relations(edition: Edition, balance: Balance, profiles: Mapping[str, Any]) -> list[dict[str, Any]]:
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
    drawn = {relation: found["n_pairs"] for relation, found in balance.items()}
    n_pairs = pl.col("relation").replace_strict(
        drawn, default=pl.col("n_heads").cast(pl.Int64) - N_DEMONSTRATIONS, return_dtype=pl.Int64
    )
    rows = (
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
    added = ("n_base_heads", "n_base_facts", "n_tested_facts")
    return [row | {name: profiles[row["relation"]][name] for name in added} for row in rows]


def _list_warnings(edition: Edition) -> Iterator[str]:
    if edition.config.rephraser.gate == "off":
        yield "The gate is off: nothing checks that the rewordings say what their statements say."
    # Faults of the authors' pool are kept; pools of other formats were refused for this one.
    relations = edition.base.relations if edition.has_triplets else []
    prototypes = {relation: edition.pool.relations[relation] for relation in relations}
    for relation in relations:
        cells = {name: cell.texts for name, cell in prototypes[relation].cells.items()}
        where = f"{edition.pool.path}, [{relation}]"
        yield from (f"{where} {problem}" for problem in check_slot_order(cells))
        instance = prototypes[relation].instance
        # The authors' pools name no predicates.
        is_own = edition.pool.path is not None and edition.pool.path.suffix == ".toml"
        if is_own and min(map(len, instance)) < MIN_PREDICATE:
            yield (
                f"{where} instance is {list(instance)}, and the column predicate of the variants would say "
                'nothing: write two names as in ["TakesDrug", "IsTreatedFor"]'
            )
    if relations:
        possible = [relation for relation in relations if prototypes[relation].is_possibility]
        yield from ask_for_shapes(edition.base, possible)


def _list_missing_questions(edition: Edition) -> Iterator[str]:
    """Yield a line per kind of question that heads cannot carry, or reason why a bank has fewer questions.

    Piece by piece, and without drawing the options, which takes most of the time.
    """
    if not edition.has_triplets:
        reasons = Counter(item.reason for item in list_left_out(edition, None))
        yield from (f"left out of the bank, {n:,} times: {reason}" for reason, n in reasons.most_common())
        return
    heads: dict[tuple[str, str, str], list[str]] = {}
    for name, piece in edition.pieces.items():
        triplets = find_recipe(edition, TRIPLETS.name).build(edition, name, {})
        facts, sampling = edition.find_facts(piece.relation), edition.sample_relation(piece.relation)
        for item in describe_missing(collect_points(facts, piece, triplets, sampling)):
            kind = f"{'negated ' * item['is_negated']}{item['type']}"
            heads.setdefault((piece.relation, kind, item["reason"]), []).extend(item["heads"])
    for (relation, kind, reason), names in heads.items():
        shown = ", ".join(names[:MAX_NAMES_SHOWN]) + ", …" * (len(names) > MAX_NAMES_SHOWN)
        yield f"{relation}: no {kind} about {len(names):,} heads ({shown}): {reason}"


def render_validation(found: Validation) -> str:
    """Return the edition's name, tables of its relations and questions, the rows left out, and the models."""
    parts = [f"edition {found.edition_id}"]
    if found.n_bank_questions is not None:
        parts.append(f"{found.n_bank_questions:,} questions in the bank")
    if found.relations:
        names = [
            name.removeprefix("n_").removesuffix("_at_most").replace("_", " ") for name in found.relations[0]
        ]
        rows = [[n if isinstance(n, str) else f"{n:,}" for n in row.values()] for row in found.relations]
        parts.append(align(names, rows))
    if found.lost_heads:
        lines = [f"  {lost['relation']}: {lost['n_heads']:,} × {lost['reason']}" for lost in found.lost_heads]
        parts.append("\n".join(["heads of the base that are not tested:", *lines]))
    if any("n_tried" in of_relation for of_relation in found.risks.values()):
        parts.append(align(RISKS, tabulate_risks(found.risks)))
    if found.missing_questions:
        lines = [f"  {line}" for line in found.missing_questions]
        parts.append("\n".join(["questions that cannot be asked:", *lines]))
    parts += found.facts.render()
    if found.left_out:
        lines = [f"  {each['n']:,} × {each['reason']}: {each['example']}" for each in found.left_out_reasons]
        parts.append("\n".join([f"left out of the knowledge base: {found.n_left_out:,}", *lines]))
    parts += render_name_troubles(found.doubtful_names)
    if found.doubtful_wordings:
        parts.append(render_doubtful_wordings(found.pool, found.doubtful_wordings))
    models = [f"model {each.model_id or f'{each.model}: cannot be evaluated'}" for each in found.models]
    writers = ["\n".join(f"writer {model_id}" for model_id in found.writers)] if found.writers else []
    warnings = ["\n".join(found.warnings)] if found.warnings else []
    return "\n\n".join([*parts, *writers, *warnings, "\n".join(models) or "no models"])
