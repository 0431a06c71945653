"""The profile of a base: what it has, what of it an edition tests, and what is lost for which reason.

`validate` shows the same profile that the manifest of the built edition keeps.
"""

from collections import Counter
from typing import Any

import polars as pl

from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.doubtful_names import list_name_troubles
from pretexeval.knowledge.untested import list_lost_heads
from schemas.stages import N_DEMONSTRATIONS
from tasks.drawing.heads import count_tested
from tasks.edition.edition import Edition
from tasks.edition.risks import Balance

NO_NEGATIVE = "no negative was found that is surely false and leaves the tails balanced"
CAPPED = "heads_per_relation allows no more heads"
DEMONSTRATES = "it demonstrates the task"
NOT_TESTED = "none of its facts may be tested"


def describe_profile(edition: Edition, balance: Balance) -> dict[str, Any]:
    """Return the profile as JSON.

    relations: for each relation, n_base_heads, n_base_facts, n_tested_heads and n_tested_facts, which
    are the heads of the test and the facts of the base from which the test is drawn, and lost_heads: reason
    and n_heads. The heads of the base are those that are tested, and those that are lost. doubtful_names:
    kind, n and examples of names that look wrong. left_out: reason, n and an example of parts of the source.
    """
    relations = edition.base.relations if edition.has_triplets else ()
    return {
        "relations": {name: _describe_relation(edition, name, balance.get(name, {})) for name in relations},
        "doubtful_names": [vars(trouble) for trouble in list_name_troubles(edition.base.triplets)],
        "left_out": list(count_reasons(edition.base)),
    }


def _describe_relation(edition: Edition, relation: str, counts: dict[str, Any]) -> dict[str, Any]:
    rows = edition.base.select_relation(relation)
    facts = rows.group_by("head", "tail").agg(is_tested=pl.col("also_true").not_().any())
    n_heads, n_usable = facts["head"].n_unique(), edition.n_heads[relation]
    lost = {reason: len(heads) for reason, heads in list_lost_heads(edition.base).get(relation, {}).items()}
    n_others = n_usable - N_DEMONSTRATIONS
    lost |= {
        NOT_TESTED: n_heads - n_usable - sum(lost.values()),
        DEMONSTRATES: N_DEMONSTRATIONS,
        CAPPED: n_others - count_tested(n_others, edition.sampling),
        NO_NEGATIVE: counts.get("n_left_out", 0),
    }
    return {
        "n_base_heads": n_heads,
        "n_base_facts": facts.height,
        "n_tested_heads": counts.get("n_pairs"),
        "n_tested_facts": int(facts["is_tested"].sum()),
        "lost_heads": [{"reason": reason, "n_heads": n} for reason, n in lost.items() if n],
    }


def count_reasons(base: KnowledgeBase) -> list[dict[str, Any]]:
    """Return reason, n and example of each kind of reason for which parts were left out, most frequent first.

    The reason is that for the first of them; others may name other numbers.
    """
    counts = Counter(item.kind for item in base.left_out) + Counter(base.not_listed)
    first = {item.kind: item for item in reversed(base.left_out)}
    return [
        {"reason": item.reason, "n": n, "example": f"{item.where}: {item.what}"}
        for kind, n in counts.most_common()
        for item in [first[kind]]
    ]
