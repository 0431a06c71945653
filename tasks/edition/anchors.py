"""The edition of anchors: fixed pairs that models are asked again in every period of a schedule.

A model that answers them otherwise than before has changed, because the texts are the same. The edition has a
name of its own and follows from the configuration alone, not from the period.
"""

from collections.abc import Mapping

from pretexeval.config.file import Config
from pretexeval.config.questions import QuestionsConfig
from pretexeval.config.schedule import ANCHORS_LABEL
from pretexeval.primitives.hashing import hash_text


def plan_anchors(config: Config) -> Config | None:
    """Return the configuration of the edition of anchors; None if the configuration orders none.

    The seed differs from that of every other edition, so that the texts of the anchors are not those of an
    edition that is published.
    """
    if config.anchors is None:
        return None
    edition = config.edition.model_copy(
        update={
            "label": ANCHORS_LABEL,
            "seed": int(hash_text(ANCHORS_LABEL, str(config.edition.seed), digits=8), 16) % 2**31,
            "series": None,
            "number": None,
        }
    )
    return config.model_copy(update={"edition": edition, "questions": QuestionsConfig()})


def list_asked_again(config: Config) -> list[str]:
    """Return the names of the models that are asked anchors.

    Imported answers are not given again, so they cannot change.
    """
    return [model.name for model in config.models if model.engine != "imported"]


def share_pairs(n_pairs: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return relation -> number of anchors, in proportion to the sizes (Sainte-Laguë), at least one of each.

    With the proportions of the editions, a model that changes only in one relation moves the mean of the
    anchors as far as that of an edition.

    Args:
        sizes: relation -> how many pairs it can have.
    """
    shares = {relation: min(1, size) for relation, size in sorted(sizes.items())}
    for _ in range(min(n_pairs, sum(sizes.values())) - sum(shares.values())):
        open_relations = [relation for relation, n in shares.items() if n < sizes[relation]]
        next_relation = max(open_relations, key=lambda name: sizes[name] / (2 * shares[name] + 1))
        shares[next_relation] += 1
    return shares
