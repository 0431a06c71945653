"""Draft the eight prototypes of a relation from one sentence."""

from collections.abc import Mapping

from config.engines import WriterConfig
from config.file import Config
from drafting.cells import (
    NOBODY,
    RULE,
    Draft,
    DraftedCell,
    check_denial,
    check_given,
    order_cells,
)
from drafting.denials import deny_sentence
from drafting.writing import DraftWriter, write_cells
from primitives.errors import InputError, join_problems
from schemas.transformations import POSITIVE_OF

NO_RULE = "no rule is sure to deny its partner; write it yourself"


def draft_relation(relation: str, sentence: str, drafter: DraftWriter | None) -> Draft:
    """Return the draft of all eight cells; those that fail a check are marked.

    Args:
        sentence: the cell `none`, an affirmative sentence that names [X] before [Y].
        drafter: the language model for the cells that no rule writes; null for none.

    Raises:
        InputError: the sentence has problems, or the model gives no reply.
    """
    if problems := check_given(sentence):
        raise InputError(join_problems([f"the sentence {problem}" for problem in problems]))
    cells = write_cells(sentence, drafter)
    # The other denials are compared with `dn`, which comes first.
    for name in sorted(POSITIVE_OF, key=lambda each: each != "dn"):
        cells[name] = _deny_cell(name, cells)
    return order_cells(relation, cells)


def _deny_cell(name: str, cells: Mapping[str, DraftedCell]) -> DraftedCell:
    partner = cells[POSITIVE_OF[name]]
    if not partner.is_passing or partner.text is None:
        return DraftedCell(name, None, NOBODY, (f"{partner.transformation}, which it denies, is marked",))
    text = deny_sentence(partner.text)
    if text is None:
        return DraftedCell(name, None, NOBODY, (NO_RULE,))
    return DraftedCell(name, text, RULE, tuple(check_denial(name, text, cells)))


def choose_writer(config: Config, name: str | None) -> WriterConfig:
    """Return the writer of that name; without a name, the rephraser's, or the only one.

    Raises:
        InputError: there is no such writer, or it is not clear which one is meant.
    """
    names = [writer.name for writer in config.writers]
    chosen = name or config.rephraser.writer or (names[0] if len(names) == 1 else None)
    if chosen not in names:
        wanted = "which writer is meant" if chosen is None else f"no [[writers]] table is named {chosen!r}"
        raise InputError(f"{wanted}: give --writer NAME; defined names: {', '.join(names) or 'none'}")
    return config.find_writer(chosen)
