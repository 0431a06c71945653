"""`pretexeval validate`: checks of a configuration, and of the facts, negatives and texts of its edition."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from commands.preflight.findings import Finding, run_check
from pretexeval.config.file import Config
from pretexeval.config.tables import NEW
from pretexeval.engines.identity import find_problem, identify_model
from pretexeval.gate import check_rewordings
from pretexeval.knowledge.doubtful_names import REMEDIES, list_name_troubles
from pretexeval.knowledge.medqa import QuestionBank
from pretexeval.primitives.errors import count_noun
from prototypes.templates import RelationPrototypes, check_slot_order
from schemas.stages import SINGLE_METHODS, TRIPLETS
from schemas.transformations import NAMES, POSITIVE_OF
from tasks.drawing.shapes import ask_for_shapes
from tasks.edition.edition import Edition
from tasks.edition.manifest import describe_profile, list_left_out
from tasks.edition.planning import plan_edition
from tasks.edition.preview import preview_relations, require_buildable
from tasks.edition.recipes import find_recipe
from tasks.edition.risks import Balance, list_risks, measure_wrong_twins
from tasks.edition.statements import write_sentences
from tasks.evaluation.items import select_items
from tasks.questions.points import collect_points, describe_missing

EditionCheck = Callable[[Edition, Balance], Iterator[Finding]]
N_EXAMPLES = 3
MIN_PREDICATE = 3
"""A shorter name of a predicate, such as P, says nothing."""
RISKS = (
    "n_pairs",
    "n_left_out",
    "tail_rate",
    "guessable_rate",
    "n_tried",
    "n_wrong",
    "wrong_rate",
    "wrong_rate_ci_low",
    "wrong_rate_ci_high",
)
"""The figures of the negatives that are shown (docs/negatives.md); the manifest has more."""


def read_edition(config: Config) -> tuple[Edition, Balance]:
    """Return the edition of a configuration, and the risks of its negatives, after a dry run of its build.

    Nothing is written or asked.

    Raises:
        InputError: for everything that would stop the build.
    """
    edition = plan_edition(config)
    return edition, require_buildable(edition)


def check_edition(edition: Edition, _: Balance) -> Iterator[Finding]:
    """Name the edition, and its pool or the size of its bank."""
    yield Finding("edition", "ok", edition.edition_id)
    if isinstance(edition.base, QuestionBank):
        yield Finding("bank", "ok", count_noun(len(edition.base.items), "question"))
    else:
        yield Finding("pool", "ok", str(edition.pool.path or edition.pool.name))


def check_profile(edition: Edition, balance: Balance) -> Iterator[Finding]:
    """Show the size of each relation, the heads that are lost, and what the base lacks of its source."""
    profile, methods = describe_profile(edition, balance), edition.config.edition.methods
    n_per_pair = sum(2 if method in SINGLE_METHODS else 2 * len(NAMES) for method in methods)
    if relations := profile["relations"]:
        rows, lost = list[dict[str, Any]](), list[dict[str, Any]]()
        for relation, found in relations.items():
            lost += ({"relation": relation, **heads} for heads in found.pop("lost_heads"))
            n_samples = found["n_tested_heads"] and found["n_tested_heads"] * n_per_pair
            rows.append({"relation": relation, **found, "n_samples_at_most": n_samples})
        yield Finding("relations", "ok", f"tested: {len(rows):,}", rows=rows)
        if lost:
            n = sum(each["n_heads"] for each in lost)
            found = f"{count_noun(n, 'head')} of the base {'is' if n == 1 else 'are'} not tested"
            yield Finding("lost heads", "ok", found, rows=lost)
    if left_out := profile["left_out"]:
        n = sum(each["n"] for each in left_out)
        found = f"{count_noun(n, 'part')} of the source {'is' if n == 1 else 'are'} not used, or never asked"
        yield Finding("left out", "ok", found, rows=left_out)


def check_tables(edition: Edition, _: Balance) -> Iterator[Finding]:
    """Warn of a hierarchy, and of aliases, that have few names of the base."""
    yield from (Finding("tables", "warning", line) for line in edition.base.list_unused())


def check_facts(edition: Edition, _: Balance) -> Iterator[Finding]:
    """Compare the facts that may be tested with the older releases, if any are given."""
    base = edition.base
    tested = base.triplets.filter(~pl.col("also_true")).unique(("relation", "head", "tail"))
    if base.n_known is not None:
        found = (
            f"facts that the older release lacks, which may be tested: {tested.height:,}; facts that it "
            f"holds, which are not tested: {base.n_known:,}"
        )
        yield Finding("new facts", "ok", found)
    if base.releases:
        counts = dict(tested.group_by("first_release").len().iter_rows())
        rows = [{"release": name, "n_facts": counts.get(name, 0)} for name in (*base.releases, NEW)]
        yield Finding("ages of facts", "ok", "by the oldest release that has them", rows=rows)


def check_negatives(_: Edition, balance: Balance) -> Iterator[Finding]:
    """Warn of labels that can be guessed, and of false twins that may be true."""
    yield from (Finding("negatives", "warning", risk) for risk in list_risks(balance))


def show_risks(_: Edition, balance: Balance) -> Iterator[Finding]:
    """Show the figures of the negatives."""
    if balance:
        shown = [name for name in RISKS if any(name in found for found in balance.values())]
        rows = [{"relation": r, **{name: found.get(name) for name in shown}} for r, found in balance.items()]
        yield Finding("risks", "ok", "how guessable labels are, and how many false twins are true", rows=rows)


def check_questions(edition: Edition, _: Balance) -> Iterator[Finding]:
    """Name the kinds of questions that heads cannot carry, or why a bank has fewer questions.

    Piece by piece, and without drawing the options, which takes most of the time.
    """
    if not edition.has_questions:
        return
    rows: list[dict[str, Any]]
    if edition.has_triplets:
        heads: dict[tuple[str, str, str], list[str]] = {}
        for name, piece in edition.pieces.items():
            triplets = find_recipe(edition, TRIPLETS.name).build(edition, name, {})
            facts, sampling = edition.find_facts(piece.relation), edition.sample_relation(piece.relation)
            for item in describe_missing(collect_points(facts, piece, triplets, sampling)):
                kind = f"{'negated ' * item['is_negated']}{item['type']}"
                heads.setdefault((piece.relation, kind, item["reason"]), []).extend(item["heads"])
        rows = [
            {
                "relation": relation,
                "kind": kind,
                "n_heads": len(names),
                "examples": names[:N_EXAMPLES],
                "reason": reason,
            }
            for (relation, kind, reason), names in heads.items()
        ]
    else:
        reasons = Counter(item.reason for item in list_left_out(edition, None))
        rows = [{"n": n, "reason": reason} for reason, n in reasons.most_common()]
    if rows:
        yield Finding("questions", "warning", "some cannot be asked", rows=rows)


def check_names(edition: Edition, _: Balance) -> Iterator[Finding]:
    """Warn of names that are probably no names."""
    troubles = list_name_troubles(edition.base.triplets, edition.base.aliases)
    rows = [vars(each) | {"remedy": REMEDIES.get(each.kind)} for each in troubles]
    if rows:
        yield Finding("names", "warning", "some look wrong: correct them in the base", rows=rows)


def check_pool(edition: Edition, _: Balance) -> Iterator[Finding]:
    """Warn of a gate that is off, of prototypes that contradict each other, and of guessed shapes."""
    if edition.config.rephraser.gate == "off":
        off = "The gate is off: nothing checks that the rewordings say what their statements say."
        yield Finding("gate", "warning", off)
    # Faults of the authors' pool are kept; pools of other formats were refused for this one.
    relations = edition.base.relations if edition.has_triplets else []
    for relation in relations:
        prototypes, where = edition.pool.relations[relation], f"{edition.pool.path}, [{relation}]"
        cells = {name: cell.texts for name, cell in prototypes.cells.items()}
        yield from (Finding("prototypes", "warning", f"{where} {fault}") for fault in check_slot_order(cells))
        # The authors' pools name no predicates.
        is_own = edition.pool.path is not None and edition.pool.path.suffix == ".toml"
        if is_own and min(map(len, prototypes.instance)) < MIN_PREDICATE:
            yield Finding(
                "prototypes",
                "warning",
                f"{where} instance is {list(prototypes.instance)}, and the column predicate of the variants "
                "would say nothing",
                'write two names as in ["TakesDrug", "IsTreatedFor"]',
            )
    if relations:
        possible = [relation for relation in relations if edition.pool.relations[relation].is_possibility]
        yield from (Finding("shape", "warning", line) for line in ask_for_shapes(edition.base, possible))


def show_same_facts(edition: Edition, _: Balance) -> Iterator[Finding]:
    """List the relations that say the same as another one, or the inverse."""
    relations = edition.base.relations if edition.has_triplets else []
    rows = [
        {"relation": relation, "also_stated_by": names}
        for relation in relations
        if (names := edition.find_facts(relation).list_restating())
    ]
    if rows:
        yield Finding("same facts", "ok", "what another relation states is not drawn as false", rows=rows)


def check_wordings(edition: Edition, _: Balance) -> Iterator[Finding]:
    """Warn of texts of the user's own pool that the gate would reject.

    The wordings of a cell are compared with the prototype of the cell, and the prototypes of the other cells
    with that of `none`, or of `dn` if they deny. All are filled with the names of the first tested triplet.
    The texts of a bundled pool were reviewed, and are not checked again. Nothing is found if the gate is off.
    """
    if not edition.has_triplets or edition.config.rephraser.gate == "off":
        return
    own = [name for name in edition.base.relations if not edition.pool.is_reviewed(name)]
    rows = [row for relation in own for row in _list_rejected(edition, relation)]
    # Sound wordings of relations that the gate does not know are often rejected for the predicate alone.
    rows.sort(key=lambda row: row["reasons"] == ["predicate"])
    if rows:
        where = f"{count_noun(len(rows), 'text')} of {edition.pool.path}"
        found = f"{where} that the gate would reject; a run uses them as they are"
        remedy = "check that they keep the meaning of their prototype, and prototypes that of `none` or `dn`"
        yield Finding("wordings", "warning", found, remedy, rows)


def _list_rejected(edition: Edition, relation: str) -> Iterator[dict[str, Any]]:
    triplets = edition.base.select_relation(relation).filter(~pl.col("also_true"))
    names = triplets.select("head", "tail").row(0, named=True)
    frame = pl.DataFrame(
        [
            {"cell": cell, "template": template, "prototype": prototype, **names}
            for cell, template, prototype in _list_compared(edition.pool.select_relation(relation))
        ]
    )
    frame = frame.with_columns(
        text=write_sentences(frame), statement=write_sentences(frame, template="prototype")
    )
    checked = zip(frame["cell"], frame["template"], check_rewordings(frame), strict=True)
    for cell, template, reasons in checked:
        if reasons:
            yield {"relation": relation, "cell": cell, "template": template, "reasons": list(reasons)}


def _list_compared(prototypes: RelationPrototypes) -> Iterator[tuple[str, str, str]]:
    """Yield cell, text, and the text of the same meaning with which the gate compares it."""
    for name, cell in prototypes.cells.items():
        first = "dn" if name in POSITIVE_OF else "none"
        if name != first:
            yield name, cell.prototype, prototypes.cells[first].prototype
        for wording in cell.wordings:
            yield name, wording, cell.prototype


def show_texts(edition: Edition, n_pairs: int) -> Iterator[Finding]:
    """Show the texts of some facts of each relation, as `--limit` chooses them, and of their false twins.

    A statement stands for a rewording that a language model has yet to write.
    """
    rows, unwritten = list[dict[str, Any]](), frozenset[str]()
    for piece in preview_relations(edition) if edition.has_triplets else ():
        unwritten = piece.unwritten_methods
        samples = select_items(piece.samples, n_pairs, "pair_id").filter(
            (pl.col("method") != "llmeval") | ("llmeval" not in unwritten)
        )
        of_triplets = samples.join(piece.triplets.select("triplet_id", "is_positive"), on="triplet_id")
        shown = of_triplets.sort("pair_id", "method", ~pl.col("is_positive"), "sample_index")
        rows += shown.select("relation", "method", "transformation", "label", "text").to_dicts()
    if rows or unwritten:
        missing = f"; a language model has yet to write those of {', '.join(sorted(unwritten))}"
        yield Finding("texts", "ok", f"{len(rows):,}{missing * bool(unwritten)}", rows=rows)


def run_checks(edition: Edition, balance: Balance, *checks: EditionCheck) -> Iterator[Finding]:
    """Yield the findings of the checks, in their order."""
    for check in checks:
        yield from check(edition, balance)


def validate_config(config: Config, n_texts: int | None = None, *, is_deep: bool = False) -> list[Finding]:
    """Check a configuration and everything that it names; nothing is run.

    Args:
        n_texts: of how many facts of each relation the texts are shown; None: of none.
        is_deep: whether to hide facts of the base, and to count how many of them become false twins.
    """

    def check_data() -> Iterator[Finding]:
        edition, balance = read_edition(config)
        for relation, figures in balance.items() if is_deep else ():
            if "n_tried" not in figures:
                figures.update(measure_wrong_twins(edition, relation))
        yield from run_checks(
            edition,
            balance,
            check_edition,
            check_profile,
            check_tables,
            check_facts,
            show_risks,
            check_negatives,
            check_questions,
            check_names,
            check_pool,
            show_same_facts,
            check_wordings,
        )
        yield from show_texts(edition, n_texts) if n_texts else ()

    findings = run_check("edition", check_data)
    for role, models in (("writer", config.writers), ("model", config.models)):
        for model in models:
            problem = find_problem(model)
            found = problem or identify_model(model).model_id
            findings.append(Finding(f"{role} {model.name}", "failing" if problem else "ok", found))
    return findings
