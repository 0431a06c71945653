"""Checks of the templates of a pool: alone, beside their denials, and beside the other wordings."""

from itertools import chain, combinations
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import write_toml
from prototypes import templates
from prototypes.pool import Pool, load_pool
from schemas.transformations import NAMES, POSITIVE_OF


def test_a_template_is_checked_on_its_own() -> None:
    expected: dict[str, list[str]] = {
        "The drug [X] may treat [Y].": [],
        "Infection with E. coli has [X] as a sign of St. [Y] disease.": [],
        "The drug [X] may treat it.": ["holds [Y] 0 times instead of once"],
        **{
            f"The drug {other} [X] may treat [Y].": [f"holds {other}"]
            for other in ("[x]", "[Z]", "{Y}", "{{ head }}", "<tail>", "%s", "___", "$X")
        },
        "[X] and [X] may treat [Y].": ["holds [X] 2 times instead of once"],
        "The drug [X] may treat [Y]": ["does not end in one full stop"],
        "The drug [X] may treat [Y]..": ["does not end in one full stop"],
        "The drug [X] may treat [Y] .": ["has stray white space"],
        "The drug  [X] may treat [Y].": ["has stray white space"],
        "There is [X]. It may treat [Y].": ["is more than one sentence"],
        "This is a drug. [X] may treat [Y].": ["is more than one sentence"],
    }
    problems = {text: [each.partition(":")[0] for each in templates.check_text(text)] for text in expected}
    assert problems == expected


@pytest.mark.parametrize(
    ("positive", "negated", "expected"),
    [
        ("[X] may treat [Y].", "[X] cannot treat [Y].", None),
        ("[X] is a cause of [Y].", "[X] isn't a cause of [Y].", None),
        ("[X] has no link to [Y].", "[X] is not without a link to [Y].", None),
        ("[X] inhibits [Y].", "[X] does not inhibit [Y].", None),
        ("[X] has [Y].", "[X] does not have [Y].", None),
        ("[X] may treat [Y].", "[X] may really treat [Y].", "does not deny"),
        ("[X] may treat [Y].", "It is not never that [X] may treat [Y].", "does not deny"),
        ("[X] may well treat [Y].", "No link joins [X] and [Y].", "shares only 0%"),
    ],
)
def test_a_negation_denies_its_partner_and_nothing_else(
    positive: str, negated: str, expected: str | None
) -> None:
    problems = list(templates.check_negation(positive, negated))
    assert len(problems) == (0 if expected is None else 1)
    assert all(expected is not None and problem.startswith(expected) for problem in problems)


def test_wordings_must_be_enough_and_differ() -> None:
    """Shared words are counted with their repeats and without slots."""
    measure = templates.measure_shared_words
    assert measure("the drug [X] treats [Y].", "[Y], the disease the drug treats") == 1.0
    assert measure("a a b [X]", "a c d [Y]") == pytest.approx(1 / 3)
    cell = ["[X] may treat [Y].", "[Y] may be what [X] does treat.", "Use of [X] helps in [Y]."]
    few, alike = templates.check_wordings(cell)
    assert few == "has 2 further wordings, 4 are needed"
    assert alike.startswith("entries 0 and 1 share 100% of their words (at most 70%)")


def test_dn_entries_are_compared_with_their_partners() -> None:
    cells = {
        "none": ["[X] may treat [Y].", "[X] may be used against [Y]."],
        "dn": ["[X] cannot treat [Y].", "[X] may be used with [Y].", "[X] never treats [Y]."],
    }
    count, polarity = templates.check_cells(cells)
    assert count == "dn has 3 entries and none 2: entry i of dn denies entry i of none"
    assert polarity.startswith("dn entry 1 does not deny its positive form")


def list_cells(pool: Pool, relation: str) -> dict[str, list[str]]:
    return {name: list(cell.texts) for name, cell in pool.relations[relation].cells.items()}


def exchange(cells: dict[str, list[str]], *names: str, entry: int | None = None) -> dict[str, list[str]]:
    """Return the cells with head and tail exchanged in all texts of these cells, or in one entry of them."""
    exchanged = {
        name: [
            templates.fill_slots(t, "[Y]", "[X]") if entry in (None, i) else t
            for i, t in enumerate(cells[name])
        ]
        for name in names
    }
    return cells | exchanged


def test_an_exchange_of_head_and_tail_is_noticed(tmp_path: Path) -> None:
    """In any cell, in a single wording, and in a cell together with its denial."""
    revised, n_exchanged = load_pool("revised"), 0
    for relation in revised.relations:
        cells = list_cells(revised, relation)
        assert not list(templates.check_cells(cells))
        wrong = [exchange(cells, name) for name in NAMES]
        wrong += [exchange(cells, name, entry=i) for name in NAMES for i in range(len(cells[name]))]
        forms = [pair for n in range(1, 5) for pair in combinations(POSITIVE_OF.items(), n)]
        assert all(list(templates.check_slot_order(each)) for each in wrong)
        wrong += (in_forms := [exchange(cells, *chain.from_iterable(some)) for some in forms])
        assert all(any("[Y]" in each for each in templates.check_cells(cells)) for cells in in_forms)
        n_exchanged += len(wrong)
    assert n_exchanged == 272 + 5 * 272 + 15 * 34
    path, relations = tmp_path / "pool.toml", sorted(revised.relations)[:5]
    tables = {
        r: {"instance": ["TakesIt", "HasIt"], **exchange(list_cells(revised, r), "inv")} for r in relations
    }
    write_toml(path, tables)
    with pytest.raises(InputError) as caught:
        load_pool(str(path))
    named = "[{}] inv entry 0 names [X] first; to fit none it must"
    assert [r for r in relations if named.format(r) not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("plain", "turned", "problem"),
    [
        ("[X] treats [Y].", "[Y] treats [X].", "inv entry 0 exchanges [X] and [Y] of none"),
        ("[X] treats [Y].", "[Y] is treated by [X].", None),
        ("[X] interacts with [Y].", "[Y] interacts with [X].", None),
        ("The gene [X] is linked to [Y].", "[Y] is linked to the gene [X].", None),
        (
            "The drug [X] treats the disease [Y].",
            "The drug [Y] treats the disease [X].",
            "the drug [X] and the",
        ),
        ("The drug [X] treats the disease [Y].", "For the disease [Y], the drug [X] is given.", None),
        ("The disease [X] may come with [Y].", "The disease [Y] may come after [X].", None),
    ],
)
def test_an_exchange_that_keeps_the_order_is_noticed(plain: str, turned: str, problem: str | None) -> None:
    cells = {name: ["[Y] [X]"] if name.startswith("inv") else ["[X] [Y]"] for name in NAMES}
    found = list(templates.check_slot_order(cells | {"none": [plain], "inv": [turned]}))
    assert len(found) == (0 if problem is None else 1)
    assert problem is None or problem in found[0]
