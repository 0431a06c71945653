"""Names: which spellings are one name, aliases, and synonyms."""

import unicodedata
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.knowledge.base import UNUSED
from pretexeval.knowledge.medqa import read_synonyms
from pretexeval.knowledge.names import fold_name, fold_names, list_name_keys
from pretexeval.primitives.errors import InputError
from tasks.drawing.relation_facts import collect_facts
from tests.pretexeval.knowledge.own_base import list_tested, read_error, read_own, write, write_rows
from tests.support.small_bases import as_facts, as_rows, find_excluded, index_facts

NAME = "Café-au-lait disease, type 2"
INVISIBLE = (
    "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202e\u2060\u2066\ufe0f\ufeff\U000e0041\U000e0100"
)
TWINS = [
    *(f"Caf{c}é-au-lait dis{c}ease, type 2{c}" for c in INVISIBLE),
    NAME.replace(" ", "\u200b"),
    NAME.replace("-", "\u00ad"),
    NAME.replace("é", "e\u034f\u0301"),
    unicodedata.normalize("NFD", NAME),
    NAME.replace(" ", "\u00a0").replace(", ", ",\u202f"),
    NAME.replace(" ", "\u3164\u2800"),
    "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in NAME),
    NAME.replace("-", "\u2011", 1).replace("-", "\u2212"),
    "CAFÉ AU LAIT DISEASE TYPE 2",
    NAME.replace("2", "\u00b2"),
]


def test_twins_of_a_true_tail_are_not_negatives() -> None:
    heads = {f"head {n}": [twin] for n, twin in enumerate(TWINS)}
    excluded = find_excluded(index_facts(as_facts({"Asthma": [NAME], **heads, "Mumps": ["Fever"]})))
    assert {head: {NAME, *TWINS} - tails for head, tails in excluded.items() if head != "Mumps"} == {
        head: set() for head in ("Asthma", *heads)
    }
    assert excluded["Mumps"] == {"Fever"}
    own = find_excluded(index_facts(as_facts({NAME: ["Fever"], **{f"{t} x": [t] for t in TWINS}})))
    assert set(TWINS) <= own[NAME], "a head is never its own false tail"


@pytest.mark.parametrize("other", ["Cafés", "Cafe", "Саfé", "Caf é"])
def test_visibly_different_names_stay_different(other: str) -> None:
    """An accent, a letter of another alphabet and a visible space are not folded."""
    assert set(list_name_keys("Café", None)).isdisjoint(list_name_keys(other, None))


SIGNED = [
    ["HER2+ tumour", "her2+  Tumour", "HER2(+) tumour", "HER2⁺ tumour"],
    ["HER2- tumour", "HER2− tumour", "HER2– tumour", "HER2⁻ tumour"],
    ["HER2 tumour"],
    ["O+", "O +"],
    ["O-", "O -", "O –"],
    ["HER2+/ER- tumour", "HER2+, ER- tumour"],
    ["HER2-/ER+ tumour"],
    ["CD4+CD25- cell"],
    ["CD4-CD25- cell"],
    ["IgE ++"],
    ["(+)-menthol"],
    ["(-)-menthol", "(−)-Menthol"],
    ["Kalium ↑"],
    ["Kalium ↓", "Kalium↓"],
    # A hyphen or a plus between two words, and a dash, separate them only.
    ["Anti-dsDNA", "anti dsDNA", "Anti‑dsDNA"],
    ["trimethoprim+sulfamethoxazole", "Trimethoprim + sulfamethoxazole", "trimethoprim-sulfamethoxazole"],
    ["diabetes - type 2", "diabetes, type 2", "Diabetes — type 2"],
]


def test_a_final_sign_and_an_arrow_make_another_name() -> None:
    keys = [{key for name in names for key in list_name_keys(name, None)} for names in SIGNED]
    assert list(map(len, keys)) == [1] * len(SIGNED)
    assert len(set().union(*keys)) == len(SIGNED)
    names = [name for listed in SIGNED for name in listed]
    assert fold_names(pl.Series(names)).to_list() == list(map(fold_name, names))


def test_rows_of_names_that_differ_by_a_sign_do_not_contradict_each_other(tmp_path: Path) -> None:
    rows = "HER2+ tumour,r,trastuzumab,\nHER2- tumour,r,trastuzumab,true\nHER2- tumour,r,olaparib,\n"
    path = write(tmp_path / "own.csv", "head,relation,tail,also_false\n" + rows)
    facts = collect_facts(read_own(path), "r")
    assert find_excluded(facts) == {"HER2+ tumour": {"trastuzumab"}, "HER2- tumour": {"olaparib"}}
    assert "contradicts itself" in read_error(
        write(path, path.read_text().replace("2- tumour,r,t", "2 (+) tumour,r,t"))
    )


def test_names_with_the_same_visible_id_are_the_same() -> None:
    rows = [
        {"head": "a", "tail": "heart attack", "tail_id": "C1"},
        {"head": "b", "tail": "myocardial infarction", "tail_id": "\ufeffC1"},
        {"head": "c", "tail": "fever", "tail_id": "\u200b"},
        {"head": "d", "tail": "itch", "tail_id": "\u200b"},
    ]
    heads = find_excluded(index_facts(as_rows(rows)))
    assert heads["a"] == {"heart attack", "myocardial infarction"}
    assert heads["c"] == {"fever"}, "an id that nobody sees is no id"


def test_a_name_without_a_visible_character_is_refused(tmp_path: Path) -> None:
    nothing = ("\u200b", "\u00ad\ufeff", "\u3164", "\u2800 \u200e", "\U000e0041")
    rows = [f"{name},r,fever\ngout {n},r,{name}\n" for n, name in enumerate(nothing)]
    error = read_error(write(tmp_path / "facts.csv", "head,relation,tail\n" + "".join(rows)))
    assert "10 wrong rows" in error
    assert "csv, line 2: the head has only characters" in error
    assert "csv, line 3: the tail has only characters" in error


FACTS = """\
head,relation,tail,tail_id
aspirin,may_treat,fever,C1
paracetamol,may_treat,pyrexia,
acetaminophen,may_treat,headache,
ibuprofen,may_treat,gout,
"""


def test_a_triplet_that_is_true_under_an_alias_is_true(tmp_path: Path) -> None:
    """Names in any spelling get their aliases; unknown names, and an alias that is the name, give none."""
    aliases = "name,alias\nFEVER,Pyrexia\nParacetamol,acetaminophen\nfever,Fever\nmumps,parotitis\n"
    path = write(tmp_path / "own.csv", FACTS)
    base = read_own(path, aliases=write(tmp_path / "aliases.csv", aliases))
    assert base.aliases == {"fever": ("Pyrexia",), "paracetamol": ("acetaminophen",)}
    same = {"fever", "headache", "pyrexia"}
    assert find_excluded(collect_facts(base, "may_treat")) == {
        "acetaminophen": same,
        "aspirin": {"fever", "pyrexia"},
        "ibuprofen": {"gout"},
        "paracetamol": same,
    }
    assert len(list_tested(base)) == 4
    assert base.checksum_relation("may_treat") != read_own(path).checksum_relation("may_treat")
    identified = write(tmp_path / "ids.csv", "id,alias\nC1,ague\nC2,podagra\n")
    assert read_own(path, aliases=identified).aliases == {"fever": ("ague",)}


@pytest.mark.parametrize(
    ("aliases", "found"),
    [
        ("gout,podagra\n", ()),
        ("gout,podagra\nmumps,parotitis\n", ()),
        (
            "gout,podagra\nmumps,parotitis\nmeasles,rubeola\n",
            ("a.csv, line 3", "'parotitis' is an alias of 'mumps'", "2 of 3 aliases are of a name or an id"),
        ),
        ("mumps,parotitis\n", ("a.csv, line 2", "write the names or the ids of both alike", UNUSED)),
    ],
)
def test_aliases_of_other_names_are_counted_if_they_are_most(
    tmp_path: Path, aliases: str, found: tuple[str, ...]
) -> None:
    path = write(tmp_path / "own.csv", FACTS)
    base = read_own(path, aliases=write(tmp_path / "a.csv", f"name,alias\n{aliases}"))
    (item,) = base.left_out or [None]
    assert (item is None) == (not found)
    for part, text in zip(found, vars(item).values() if item else (), strict=True):
        assert part in text


@pytest.mark.parametrize("name", ["own.csv", "own.jsonl", "own.parquet"])
def test_aliases_in_columns_of_the_base(tmp_path: Path, name: str) -> None:
    rows: list[dict[str, Any]] = [
        {"head": "aspirin", "head_aliases": ["ASA", "acetylsalicylic acid", ""], "tail": "fever"},
        {"head": "paracetamol", "head_aliases": None, "tail": "pain", "tail_aliases": ["ache"]},
    ]
    path = write_rows(tmp_path / name, [{"relation": "may_treat"} | row for row in rows])
    listed = {"aspirin": ("ASA", "acetylsalicylic acid"), "pain": ("ache",)}
    assert read_own(path).aliases == listed
    more = write(tmp_path / "more.tsv", "name\talias\nfever\tpyrexia\n")
    assert read_own(path, aliases=more).aliases == listed | {"fever": ("pyrexia",)}


def test_an_alias_that_names_something_with_another_id_is_a_conflict(tmp_path: Path) -> None:
    facts = "aspirin,may_treat,fever,C1,gout\nnaproxen,may_treat,fever,C1,gout\nx,may_treat,gout,C2,\n"
    header = "head,relation,tail,tail_id,tail_aliases\n"
    path = write(tmp_path / "own.csv", header + facts + "naproxen,may_treat,pyrexia,C1,\n")
    aliases = write(tmp_path / "aliases.csv", "id,alias\nC1,pyrexia\nC1,Gout\nC3,gout\n")
    taken = "may_treat: '{}' is an alias of {}, and the name of the tail C2"
    # A fact repeats the aliases of its names, and the repetitions are one conflict.
    found = [
        ("aliases.csv, line 3", taken.format("Gout", "C1")),
        ("own.csv, line 2", taken.format("gout", "fever")),
    ]
    listed = "\n".join(f"    {place}: {text}" for place, text in found)
    assert listed in read_error(path, aliases=aliases)
    base = read_own(path, aliases=aliases, conflicts="leave_out")
    assert [(item.where, item.what) for item in base.left_out] == found
    assert base.aliases == {"fever": ("pyrexia",)}


@pytest.mark.parametrize("name", ["table.csv", "table.tsv", "table.parquet"])
def test_synonyms_are_found_in_any_spelling_and_by_the_id(tmp_path: Path, name: str) -> None:
    rows = [("Fever", "Pyrexia", "C1"), ("Febrile state", "Heat", "C1"), ("gout", "Podagra", None)]
    columns = ("answer", "synonym", "answer_id")
    table = read_synonyms(write_rows(tmp_path / name, [dict(zip(columns, row, strict=True)) for row in rows]))
    assert table.find("FEVER") == ("Febrile state", "Heat", "Pyrexia")
    assert table.find("Febrile state") == ("Fever", "Heat", "Pyrexia")
    assert [table.find(answer) for answer in ("Gout", "cough")] == [("Podagra",), ()]
    with pytest.raises(InputError, match=r"table\.csv, line 3: the synonym is empty"):
        read_synonyms(write(tmp_path / "table.csv", "answer,synonym\nFever,Pyrexia\nGout, \n"))


def test_names_that_differ_in_case_only_have_one_spelling(tmp_path: Path) -> None:
    rows = "Apixaban,r,Nausea,\napixaban,r,nausea,\napixaban,r,rash,\nAPIXABAN,r,RASH,true\nit,r,IT,\n"
    base = read_own(write(tmp_path / "facts.csv", "head,relation,tail,also_true\n" + rows))
    assert list_tested(base) == [("apixaban", "Nausea"), ("apixaban", "rash"), ("it", "IT")]
    assert [item.reason for item in base.left_out] == ["repeats another row"]
