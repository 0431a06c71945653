from pathlib import Path

import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_text

HEADER = "head,relation,tail,also_true,also_false,head_id,tail_id\n"
TRUE_ROWS = "gout,r,colchicine,,,,\nasthma,r,salbutamol,,,C1,D1\n"


def read(tmp_path: Path, text: str) -> KnowledgeBase:
    path = tmp_path / "facts.csv"
    path.write_text(text, encoding="utf-8")
    return read_knowledge_base(KnowledgeConfig(name="own", format="table", path=path))


def test_rows_marked_also_false_are_not_true_and_not_repeated(tmp_path: Path) -> None:
    rows = "asthma,r,propranolol,,true,C1,D2\nasthma,r,propranolol,,TRUE,C1,D2\n"
    base = read(tmp_path, HEADER + TRUE_ROWS + rows)
    assert base.triplets["tail"].to_list() == ["salbutamol", "colchicine"]
    assert base.select_false("r").rows() == [("r", "asthma", "propranolol", "C1", "D2")]
    assert base.select_false("s").is_empty()


def test_the_checksum_changes_only_if_a_row_is_marked(tmp_path: Path) -> None:
    plain = read(tmp_path, "head,relation,tail\ngout,r,colchicine\n")
    empty = read(tmp_path, HEADER + "gout,r,colchicine,,false,,\n")
    marked = read(tmp_path, HEADER + "gout,r,colchicine,,,,\ngout,r,thiazide,,true,,\n")
    cells = ("r", "gout", "colchicine", "", "", "false")
    assert plain.checksum_relation("r") == empty.checksum_relation("r") == hash_text(*cells, digits=32)
    assert marked.checksum_relation("r") != plain.checksum_relation("r")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Gout,r,COLCHICINE.,,true,,", "line 4: r: Gout → COLCHICINE. is marked also_false, but .*line 2"),
        ("x,r,y,,true,C1,D1", "line 4: r: x → y is marked also_false, but .*line 3 says that it is true"),
        ("asthma,r,y,,true,,D1", "line 4: r: asthma → y is marked also_false, but .*line 3"),
        ("gout,r,y,true,,,\ngout,r,y,,true,,", "line 5: r: gout → y is marked also_false, but .*line 4"),
        ("gout,r,y,true,true,,", "line 4: is marked also_true and also_false: keep one"),
        ("gout,r,y,,maybe,,", "line 4: also_false is 'maybe': write true or false"),
        ("gout,s,y,,true,,", "nothing to test in s: every row is marked also_true or also_false"),
    ],
)
def test_a_contradiction_names_the_rows(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, HEADER + TRUE_ROWS + row + "\n")
