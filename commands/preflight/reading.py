"""The reading of a configuration that `validate`, `plan`, `doctor` and `preview` share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from pretexeval.config.engines import EngineConfig
from pretexeval.config.file import Config
from pretexeval.config.tables import NEW, REMOVED
from pretexeval.gate import check_rewordings
from prototypes.templates import RelationPrototypes
from report.console import align
from schemas.transformations import POSITIVE_OF
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.edition.preview import require_buildable
from tasks.edition.risks import Balance, describe_wrong_rate
from tasks.edition.statements import write_sentences

MAX_WARNINGS_SHOWN = 20


def read_edition(config: Config) -> tuple[Edition, Balance]:
    """Return the edition of a configuration, and the risks of its negatives, after a dry run of its build.

    Nothing is written or asked.

    Raises:
        InputError: for everything that would stop the build.
    """
    edition = plan_edition(config)
    return edition, require_buildable(edition)


RISKS = (
    "relation",
    "pairs",
    "heads left out",
    "by tails",
    "by names",
    "wrong twins",
    "twins tried",
    "estimated wrong rate",
)


def tabulate_risks(balance: Balance) -> list[list[str]]:
    """Return for each relation the cells of RISKS; those of wrong twins are "-" if they were not measured."""
    return [
        [
            relation,
            f"{found['n_pairs']:,}",
            f"{found['n_left_out']:,}",
            f"{100 * found['tail_rate']:.0f} %",
            f"{100 * found['guessable_rate']:.0f} %",
            *(f"{found[name]:,}" if name in found else "-" for name in ("n_wrong", "n_tried")),
            describe_wrong_rate(found),
        ]
        for relation, found in balance.items()
    ]


def list_asked_models(config: Config) -> list[EngineConfig]:
    """Return the models that a run asks: the writers that it uses, and the evaluated models."""
    return [*config.list_used_writers(), *config.models]


@dataclass(frozen=True)
class FactCounts:
    """The facts of a knowledge base that may be tested."""

    n_tested: int
    n_known: int | None
    """Facts that are not tested because the older release holds them; None if no such release is given."""
    n_by_release: dict[str, int]
    """The oldest release with facts, `new` or `removed` -> how many; empty unless releases are given."""

    def render(self) -> list[str]:
        """Return the parts of a report that compare the facts with older releases; empty without any."""
        parts = []
        if self.n_known is not None:
            parts.append(
                f"facts that the older release lacks, which may be tested: {self.n_tested:,}; facts that it "
                f"holds, which are not tested: {self.n_known:,}"
            )
        if self.n_by_release:
            rows = [[release, f"{n:,}"] for release, n in self.n_by_release.items()]
            parts.append(align(["oldest release", "facts"], rows))
        return parts


def count_facts(edition: Edition) -> FactCounts:
    """Count the facts that may be tested, by the oldest of the given releases that holds them."""
    base = edition.base
    tested = base.triplets.filter(~pl.col("also_true")).unique(("relation", "head", "tail"))
    counts: dict[str, int] = {}
    if base.releases:
        found = dict(tested.group_by("first_release").len().iter_rows())
        ages = (*base.releases, NEW, *({REMOVED} & found.keys()))
        counts = {name: found.get(name, 0) for name in ages}
    return FactCounts(tested.height, base.n_known, counts)


@dataclass(frozen=True)
class DoubtfulWording:
    """A text of the user's own pool that the gate would reject."""

    relation: str
    cell: str
    """The transformation."""
    template: str
    reasons: tuple[str, ...]


def find_doubtful_wordings(edition: Edition) -> tuple[DoubtfulWording, ...]:
    """Return the doubtful texts of the user's own pool; those rejected for the predicate alone are last.

    The wordings of a cell are compared with the prototype of the cell, and the prototypes of the other cells
    with that of `none`, or of `dn` if they deny. All are filled with the names of the first tested triplet.
    The texts of a bundled pool were reviewed, and are not checked again. Nothing is found if the gate is off.
    """
    if not edition.has_triplets or edition.config.rephraser.gate == "off":
        return ()
    own = [name for name in edition.base.relations if not edition.pool.is_reviewed(name)]
    found = [each for relation in own for each in _check_wordings(edition, relation)]
    # Sound wordings of relations that the gate does not know are often rejected for the predicate alone.
    return tuple(sorted(found, key=lambda each: each.reasons == ("predicate",)))


def render_doubtful_wordings(pool: str, found: Sequence[DoubtfulWording]) -> str:
    """Return one line per doubtful wording, with the text and the reasons."""
    lines = [
        f"  [{each.relation}] {each.cell}: {each.template!r}: {', '.join(each.reasons)}"
        for each in found[:MAX_WARNINGS_SHOWN]
    ]
    n_more = len(found) - MAX_WARNINGS_SHOWN
    more = [f"  … and {n_more:,} more"] if n_more > 0 else []
    head = (
        f"texts of {pool} that the gate would reject: {len(found):,}; a run uses them as they are written, "
        "so check that they keep the meaning of their prototype, and prototypes that of `none` or `dn`"
    )
    return "\n".join([head, *lines, *more])


def _check_wordings(edition: Edition, relation: str) -> Iterator[DoubtfulWording]:
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
    for cell, template, reasons in zip(
        frame["cell"], frame["template"], check_rewordings(frame), strict=True
    ):
        if reasons:
            yield DoubtfulWording(relation, cell, template, tuple(reasons))


def _list_compared(prototypes: RelationPrototypes) -> Iterator[tuple[str, str, str]]:
    """Yield cell, text, and the text of the same meaning with which the gate compares it."""
    for name, cell in prototypes.cells.items():
        first = "dn" if name in POSITIVE_OF else "none"
        if name != first:
            yield name, cell.prototype, prototypes.cells[first].prototype
        for wording in cell.wordings:
            yield name, wording, cell.prototype
