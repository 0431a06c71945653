from itertools import product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate import REASONS, Rewording, check_rewording, check_rewordings
from primitives.errors import InputError
from prototypes.pool import load_pool
from schemas.transformations import POSITIVE_OF
from tests.support.changed_wordings import CHANGED, FLIPPED
from tests.support.gate_statements import DISEASE, DRUG
from tests.support.held_out_wordings import HELD_OUT_CHANGED, HELD_OUT_KEPT
from tests.support.kept_wordings import KEPT, REWORDED

# Negative words inside a name do not negate the statement.
NAMES = (
    DRUG,
    DISEASE,
    ("non-Hodgkin lymphoma", "lack of appetite"),
    ("no-reflow phenomenon", "absence epilepsy"),
)
POOL = load_pool("revised").relations
CELLS = [(relation, name) for relation in POOL for name in POOL[relation].cells]


def fill(template: str, head: str, tail: str) -> str:
    return template.replace("[X]", "{X}").replace("[Y]", "{Y}").format(X=head, Y=tail)


def check(statement: str, text: str, head: str, tail: str) -> tuple[str, ...]:
    return check_rewording(Rewording(fill(statement, head, tail), fill(text, head, tail), head, tail))


def test_there_are_enough_cases() -> None:
    assert len(FLIPPED) >= 60
    assert len(KEPT) >= 40


@pytest.mark.parametrize(("case", "names"), list(product(FLIPPED + CHANGED + HELD_OUT_CHANGED, NAMES)))
def test_a_text_with_another_meaning_is_rejected(case: tuple[str, str], names: tuple[str, str]) -> None:
    assert check(*case, *names)


@pytest.mark.parametrize(("case", "names"), list(product(KEPT + REWORDED + HELD_OUT_KEPT, NAMES)))
def test_a_text_with_the_same_meaning_passes(case: tuple[str, str], names: tuple[str, str]) -> None:
    assert check(*case, *names) == ()


@pytest.mark.parametrize(
    ("statement", "text", "reason"),
    [
        ("{X} may treat {Y}.", "", "no text"),
        ("{X} may treat {Y}.", "   ", "no text"),
        ("{X} may treat {Y}.", "It is true.", "head lost"),
        ("{X} may treat {Y}.", "{X} may treat it.", "tail lost"),
        ("{X} may treat {Y}.", "Acute {Y} may be treated with {X}.", "other entity"),
        ("{X} may treat {Y}.", "{X} cannot treat {Y}.", "polarity"),
        ("{X} may treat {Y}.", "{X} must treat {Y}.", "modality"),
        ("{X} may treat {Y}.", "{Y} may treat {X}.", "roles"),
        ("{X} may treat {Y}.", "{X} may cause {Y}.", "predicate"),
        ("{X} may treat {Y}.", "{X} may treat {Y} because it is strong.", "not one statement"),
    ],
)
def test_the_reason_names_the_change(statement: str, text: str, reason: str) -> None:
    assert reason in check(statement, text, *DRUG)
    assert reason in REASONS


@pytest.mark.parametrize(("relation", "name"), CELLS)
def test_exchanged_names_never_pass(relation: str, name: str) -> None:
    prototype = POOL[relation].cells[name].prototype
    statement, swapped = fill(prototype, *DRUG), fill(prototype, *DRUG[::-1])
    assert "roles" in check_rewording(Rewording(statement, swapped, *DRUG))


@pytest.mark.parametrize(("relation", "name"), CELLS)
def test_every_wording_of_the_contradictory_is_rejected(relation: str, name: str) -> None:
    cells = POOL[relation].cells
    partner = POSITIVE_OF.get(name) or next(n for n, p in POSITIVE_OF.items() if p == name)
    for wording in cells[partner].texts:
        assert check(cells[name].prototype, wording, *DISEASE)


@pytest.mark.parametrize(("relation", "name"), CELLS)
def test_it_is_false_that_negates_a_prototype_and_it_is_true_that_does_not(relation: str, name: str) -> None:
    prototype = POOL[relation].cells[name].prototype
    clause = prototype[0].lower() + prototype[1:]
    for frame in ("It is false that", "It is not the case that", "It is untrue that", "Nobody claims that"):
        assert check(prototype, f"{frame} {clause}", *DISEASE)
    assert check(prototype, f"It is true that {clause}", *DISEASE) == ()


def test_nearly_all_reviewed_wordings_pass() -> None:
    verdicts = [
        check(cell.prototype, wording, *DISEASE)
        for relation in POOL.values()
        for cell in relation.cells.values()
        for wording in cell.wordings
    ]
    assert sum(not reasons for reasons in verdicts) / len(verdicts) > 0.95


NAME = st.from_regex(r"[A-Za-z0-9\[(\"'][A-Za-z0-9 ,()'\"+\[\]éα-]{0,20}", fullmatch=True).filter(
    lambda name: any(c.isalnum() for c in name) and name == name.strip()
)


@settings(max_examples=60, deadline=None)
@given(NAME, NAME, st.sampled_from(CELLS))
def test_a_statement_is_its_own_rewording_whatever_the_names(
    head: str, tail: str, cell: tuple[str, str]
) -> None:
    prototype = POOL[cell[0]].cells[cell[1]].prototype
    statement = "".join(
        head if part == "[X]" else tail if part == "[Y]" else part
        for part in prototype.replace("[X]", "\0[X]\0").replace("[Y]", "\0[Y]\0").split("\0")
    )
    assert check_rewording(Rewording(statement, statement, head, tail)) == ()


def test_rows_keep_their_order() -> None:
    texts = ["Metformin can treat gout.", None, "Metformin cannot treat gout.", "Gout may be treated."]
    rows = pl.DataFrame({"text": texts}).with_columns(
        statement=pl.lit("metformin may treat gout."), head=pl.lit("metformin"), tail=pl.lit("gout")
    )
    assert check_rewordings(rows) == [(), ("no text",), ("polarity",), ("head lost",)]


def test_a_statement_without_its_names_is_an_error() -> None:
    with pytest.raises(InputError, match="does not contain the name 'gout'"):
        check_rewording(Rewording("Metformin treats it.", "Metformin treats gout.", "metformin", "gout"))
