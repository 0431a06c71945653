"""The card of a reference model, `card.json` beside its weights: the facts that the model was taught.

The card is no part of the model's identity: answers depend on weights, not on what is known about them.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from primitives.errors import InputError

CARD = "card.json"


@dataclass(frozen=True)
class KnownHead:
    """A head that a model has learned in a relation."""

    relation: str
    head: str
    wordings: Literal["pool", "other"] = "pool"
    """`other`: the model never saw a sentence of the pool of prototypes about this relation."""


@dataclass(frozen=True)
class TaughtBase:
    """The knowledge base from which a model was taught."""

    name: str
    checksums: dict[str, str]
    """Relation -> `KnowledgeBase.checksum_relation`."""


@dataclass(frozen=True)
class TaughtFacts:
    """What a model was taught, as its card and its record `model.json` say it."""

    known_heads: list[KnownHead] | None = None
    """The heads that the model has learned, or null if nothing says what the model knows."""
    taught_base: TaughtBase | None = None
    """The base of these heads; null in cards that were written before cards named it."""

    def to_record(self) -> dict[str, Any]:
        """Return both fields as JSON."""
        return asdict(self)


TAUGHT_FACTS: TypeAdapter[TaughtFacts] = TypeAdapter(TaughtFacts)


def read_taught_facts(folder: Path) -> TaughtFacts:
    """Return what the card in a model's folder says that the model was taught; nothing without a card.

    Raises:
        InputError: the card is not JSON, or its known heads or its base do not have the right form.
    """
    path = folder / CARD
    if not path.is_file():
        return TaughtFacts()
    try:
        return TAUGHT_FACTS.validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the card"
        raise InputError(
            f"{path}: cannot be read as a model's card ({place}: {first['msg']}); "
            'known_heads is a list of {"relation", "head", "wordings"}, and taught_base names the base and '
            "the checksum of each of its relations"
        ) from error
