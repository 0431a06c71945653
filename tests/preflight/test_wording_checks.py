"""Wordings of a pool that nobody reviewed: those that change their statement are named before a run."""

from dataclasses import replace
from pathlib import Path

from config.file import Config
from config.tables import EditionConfig, KnowledgeConfig
from preflight.wording_checks import find_doubtful_wordings, render_wording_warnings
from tasks.edition.planning import plan_edition
from tests.support.command import make_rows, write_base

POOL = """extends = "revised"
[may_cure]
instance = ["TakesDrug", "HasCurableDisease"]
none = ["The drug [X] may cure [Y].", "The drug [X] may cause [Y]."]
inv = ["The disease [Y] may be cured by [X].", "The disease [X] may be cured by [Y]."]
ins = "If a patient takes [X], then [Y] is among the diseases it may cause."
inv_ins = "If a patient has [Y], then [X] is among the drugs that may cure it."
dn = ["The drug [X] cannot cure [Y].", "The drug [X] cannot cause [Y]."]
inv_dn = ["The disease [Y] cannot be cured by [X].", "The disease [X] cannot be cured by [Y]."]
ins_dn = "If a patient takes [X], then [Y] is not among the diseases it may cause."
inv_ins_dn = "If a patient has [Y], then [X] is not among the drugs that may cure it."
"""


def test_only_own_wordings_that_change_their_statement_are_named(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(POOL)
    path = write_base(tmp_path / "own.tsv", make_rows("may_cure", "may_treat"))
    knowledge = KnowledgeConfig(name="own", format="table", path=path)
    own = plan_edition(Config(knowledge=knowledge, edition=EditionConfig(pool=str(tmp_path / "own.toml"))))
    lines = (render_wording_warnings(own, find_doubtful_wordings(own)) or "").splitlines()
    assert lines[0].startswith(f"texts of {tmp_path / 'own.toml'} that the gate would reject: 6;")
    # The texts with the reason predicate alone come last.
    cells = ("inv", "inv_dn", "none", "ins", "dn", "ins_dn")
    assert [line.split(": ")[0].strip() for line in lines[1:]] == [f"[may_cure] {cell}" for cell in cells]
    assert lines[1].endswith(": 'The disease [X] may be cured by [Y].': roles")
    assert lines[3].endswith(": 'The drug [X] may cause [Y].': predicate")
    assert lines[4].endswith("then [Y] is among the diseases it may cause.': predicate")
    rephraser = own.config.rephraser.model_copy(update={"gate": "off"})
    without_gate = replace(own, config=own.config.model_copy(update={"rephraser": rephraser}))
    assert find_doubtful_wordings(without_gate) == []


def test_bundled_pools_are_not_checked_again() -> None:
    assert find_doubtful_wordings(plan_edition(Config())) == []
