"""Names that look the same are one name: their twins are never drawn as negatives."""

import unicodedata
from pathlib import Path

import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.names import list_name_keys
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError
from tests.support.small_bases import as_facts, as_rows, find_excluded, index_facts

NAME = "Café-au-lait disease, type 2"
INVISIBLE = (
    "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202e\u2060\u2066\ufe0f\ufeff\U000e0041\U000e0100"
)
TWINS = {
    **{f"U+{ord(c):04X} in a word": f"Caf{c}é-au-lait dis{c}ease, type 2{c}" for c in INVISIBLE},
    "zero width for a space": NAME.replace(" ", "\u200b"),
    "soft hyphen for a hyphen": NAME.replace("-", "\u00ad"),
    "joiner between letter and accent": NAME.replace("é", "e\u034f\u0301"),
    "NFD": unicodedata.normalize("NFD", NAME),
    "non-breaking spaces": NAME.replace(" ", "\u00a0").replace(", ", ",\u202f"),
    "Hangul filler and Braille blank": NAME.replace(" ", "\u3164\u2800"),
    "full-width letters": "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in NAME),
    "other dashes": NAME.replace("-", "\u2011", 1).replace("-", "\u2212"),
    "case and punctuation": "CAFÉ AU LAIT DISEASE TYPE 2",
    "raised digit": NAME.replace("2", "\u00b2"),
}


@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS.keys())
def test_twin_of_a_true_tail_is_not_a_negative(twin: str) -> None:
    facts = {"Asthma": [NAME], "Gout": [twin], "Mumps": ["Fever"], f"{twin} x": ["Fever", "Itch"]}
    excluded = find_excluded(index_facts(as_facts(facts)))
    assert excluded["Asthma"] == excluded["Gout"] == {NAME, twin}
    assert excluded["Mumps"] == {"Fever"}
    own = find_excluded(index_facts(as_facts({NAME: ["Fever"], "Mumps": [twin]})))
    assert twin in own[NAME], "a head is never its own false tail"


@pytest.mark.parametrize("other", ["Cafés", "Cafe", "Саfé", "Caf é"])
def test_visibly_different_names_stay_different(other: str) -> None:
    """An accent, a letter of another alphabet and a visible space are not folded."""
    assert set(list_name_keys("Café", None)).isdisjoint(list_name_keys(other, None))


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


@pytest.mark.parametrize("nothing", ["\u200b", "\u00ad\ufeff", "\u3164", "\u2800 \u200e", "\U000e0041"])
@pytest.mark.parametrize("column", ["head", "tail"])
def test_a_name_without_a_visible_character_is_refused(tmp_path: Path, nothing: str, column: str) -> None:
    row = {"head": "gout", "tail": "itch"} | {column: nothing}
    path = tmp_path / "facts.csv"
    path.write_text(f"head,relation,tail\ngout,r,fever\n{row['head']},r,{row['tail']}\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"csv, line 3: the {column} has only characters"):
        read_knowledge_base(KnowledgeConfig(name="own", format="table", path=path))
