"""What `pretexeval validate` says about the questions that an edition will have, and those it cannot have."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from report.console import align
from schemas.question_stages import TYPES
from schemas.stages import TRIPLETS
from tasks.edition.edition import Edition
from tasks.edition.manifest import list_left_out
from tasks.edition.preview import preview_questions
from tasks.edition.recipes import RECIPES
from tasks.questions.missing import describe_missing
from tasks.questions.questions import Facts

MAX_NAMES_SHOWN = 3


def render_questions(edition: Edition) -> str:
    """Return a table of the test questions by type and form, and those that heads cannot carry, with reasons.

    The questions are built in memory, which takes seconds for large knowledge bases.
    """
    tested = pl.concat(preview_questions(edition)).filter(pl.col("split") == "test")
    rows = []
    for type_ in TYPES:
        for is_negated in (False, True):
            found = tested.filter((pl.col("type") == type_) & (pl.col("is_negated") == is_negated))
            if found.height:
                form = "negated" if is_negated else "affirmed"
                rows.append([type_, form, f"{found.height:,}", f"{found['point_id'].n_unique():,}"])
    table = align(["type", "form", "test questions", "points"], rows)
    lines = list(_list_missing(edition) if edition.has_triplets else _list_unturned(edition))
    return "\n".join([f"questions about {tested['point_id'].n_unique():,} points", table, *lines])


def _list_missing(edition: Edition) -> Iterator[str]:
    """Yield a line per relation, type, form and reason with the heads that cannot carry the question."""
    for relation in edition.base.relations:
        facts = Facts(
            relation,
            edition.base.select_relation(relation),
            edition.base.select_false(relation),
            RECIPES[TRIPLETS.name].build(edition, relation, {}),
        )
        for item in describe_missing(facts, edition.sampling):
            names = item["heads"]
            more = ", …" if len(names) > MAX_NAMES_SHOWN else ""
            form = "negated " if item["is_negated"] else ""
            yield (
                f"  {relation}: no {form}{item['type']} about {item['n_heads']:,} heads "
                f"({', '.join(names[:MAX_NAMES_SHOWN])}{more}): {item['reason']}"
            )


def _list_unturned(edition: Edition) -> Iterator[str]:
    """Yield a line per reason with the number of questions of the bank that cannot be turned."""
    reasons = Counter(item.reason for item in list_left_out(edition, None))
    for reason, n in reasons.most_common():
        yield f"  left out of the bank, {n:,} times: {reason}"
