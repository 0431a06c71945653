from pathlib import Path

import pytest
from hypothesis import given

from pretexeval.primitives.errors import InputError
from prototypes.pool import load_pool
from prototypes.question_wording import (
    KEYS,
    QuestionTexts,
    QuestionWording,
    check_question_wording,
    load_question_wording,
)
from tests.support.small_bases import names

OWN = """
[may_cure.MCQ]
question = "Which of the following may be cured with [X]?"
negated = "Which of the following cannot be cured with [X]?"
[may_cure.MAQ]
question = "Which of the following are diseases that [X] may cure?"
negated = "Which of the following are diseases that [X] cannot cure?"
[may_cure.TFQ]
statement = "The drug [X] may cure [Y]."
negated = "The drug [X] cannot cure [Y]."
"""


def load_own(folder: Path, text: str) -> QuestionWording:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return load_question_wording(path)


def test_the_bundled_questions_are_complete_and_state_the_prototypes() -> None:
    """A TFQ and a sample of the first method then differ in nothing but the task."""
    wording, pool = load_question_wording(), load_pool("revised")
    assert check_question_wording(wording, pool.relations) == []
    assert len(wording.relations) == 34
    texts = set[str]()
    for name, relation in wording.relations.items():
        assert tuple(relation.texts) == tuple(KEYS)
        cells = pool.relations[name].cells
        assert relation.texts["TFQ"] == QuestionTexts(cells["none"].prototype, cells["dn"].prototype), name
        texts |= {text for found in relation.texts.values() for text in (found.affirmed, found.negated)}
    assert len(texts) == 34 * 6


def test_own_relations_replace_and_extend_the_bundled_ones(tmp_path: Path) -> None:
    alone = load_own(tmp_path, OWN)
    assert (alone.name, list(alone.relations)) == ("own", ["may_cure"])
    (problem,) = check_question_wording(alone, ["may_cure", "heals"])
    assert "'own' has no texts for relation 'heals'" in problem
    assert "add the tables [heals.MCQ], [heals.MAQ], [heals.TFQ]" in problem
    with pytest.raises(InputError, match="no texts for relation 'heals'"):
        alone.select_relation("heals")
    extended = load_own(tmp_path, 'extends = "bundled"\n' + OWN.replace("may_cure.", "may_treat."))
    assert len(extended.relations) == 34
    assert extended.relations["may_treat"].texts == alone.relations["may_cure"].texts
    assert extended.relations["may_prevent"] == load_question_wording().relations["may_prevent"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (OWN, "", "holds no relation: add the tables"),
        (OWN, "may_cure = 1", "may_cure is not a table: write [may_cure.MCQ]"),
        (OWN, 'extends = "revised"' + OWN, "extends is 'revised': write extends = \"bundled\""),
        ("[may_cure.MAQ]", "[may_cure.XYZ]", "[may_cure] has unknown XYZ; allowed: MCQ, MAQ, TFQ"),
        ("statement =", "text =", "[may_cure.TFQ] has unknown text; allowed: statement, negated"),
        ("statement =", "text =", "[may_cure.TFQ] statement is missing: give a text"),
        ("be cured with [X]", "be cured", "[may_cure.MCQ] question holds [X] 0 times instead of once"),
        ("cured with [X]", "cured with [X] of [Y]", "question holds [Y], but the tails are its options"),
        ("cure [Y].", "cure it.", "[may_cure.TFQ] statement holds [Y] 0 times instead of once"),
        ("cannot be cured", "may be cured", "[may_cure.MCQ] negated does not deny its positive form"),
        ("The drug [X] cannot cure [Y]", "No link joins [X] and [Y]", "[may_cure.TFQ] negated shares only"),
    ],
)
def test_errors_name_the_file_the_table_and_the_remedy(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert old in OWN
    with pytest.raises(InputError) as caught:
        load_own(tmp_path, OWN.replace(old, new))
    assert str(tmp_path / "own.toml") in str(caught.value)
    assert expected in str(caught.value)


@given(names(), names())
def test_slots_are_filled_in_one_pass(head: str, tail: str) -> None:
    texts = QuestionTexts("a [Y] b [X] c", "no [X] d [Y]")
    assert texts.fill(is_negated=False, head=head, tail=tail) == f"a {tail} b {head} c"
    assert texts.fill(is_negated=True, head=head, tail=tail) == f"no {head} d {tail}"


def test_the_checksum_is_that_of_the_relations_own_texts(tmp_path: Path) -> None:
    one = load_own(tmp_path, OWN).relations["may_cure"]
    other = load_own(tmp_path, OWN.replace("may cure [Y]", "may well cure [Y]")).relations["may_cure"]
    extended = load_own(tmp_path, 'extends = "bundled"\n' + OWN).relations["may_cure"]
    assert len(one.checksum) == 32
    assert one.checksum == extended.checksum != other.checksum
