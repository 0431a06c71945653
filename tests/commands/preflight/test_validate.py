"""`validate` accepts a base exactly if a build succeeds, and refuses it with the same message."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commands.preflight.doctor import collect_findings
from commands.preflight.findings import Finding
from commands.preflight.validate import check_wordings, validate_config
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from schemas.transformations import NAMES
from tasks.edition.planning import plan_edition
from tasks.edition.preview import require_wordings_of_pool
from tasks.edition.stage_files import check_files
from tests.commands import configurations
from tests.support.command import make_rows, write_config
from tests.support.small_bases import build_edition

Row = dict[str, str]


def pair(n_heads: int, tails: Iterable[str], relation: str = "may_treat") -> list[Row]:
    names = list(tails)
    return [
        {"head": f"drug {i}", "relation": relation, "tail": names[i % len(names)]} for i in range(n_heads)
    ]


def cross(n_heads: int, n_tails: int) -> list[Row]:
    return [row for i in range(n_tails) for row in pair(n_heads, [f"disease {i}"])]


def mark(rows: list[Row], column: str) -> list[Row]:
    return [row | {column: "true"} for row in rows]


MANY = [f"disease {letter}" for letter in "abcdefg"]
BASES: dict[str, list[Row]] = {
    "usual": pair(20, MANY),
    "all heads share one tail": pair(20, ["disease"]),
    "every tail is true of every head": cross(12, 3),
    "one head": pair(1, MANY),
    "five heads": pair(5, MANY),
    "six heads": pair(6, MANY),
    "seven heads of which two share all tails": pair(7, ["disease a", *["disease b"] * 6]),
    "the other tails are also true": [*pair(20, ["disease"]), *mark(cross(20, 3), "also_true")],
    "all rows are also true": mark(pair(20, MANY), "also_true"),
    "tails that generalise each other": pair(20, ["pain", "chest pain", "severe chest pain"]),
    "heads that are their tails": [
        {"head": f"name {i}", "relation": "may_treat", "tail": f"name {i}"} for i in range(20)
    ],
    "only an asserted negative": [*pair(20, ["disease"]), *mark(pair(20, ["health"]), "also_false")],
    "a relation without prototypes": [*pair(20, MANY), *pair(20, MANY, "may_heal")],
    "a second relation of five heads": [*pair(20, MANY), *pair(5, MANY, "may_prevent")],
}


def configure(folder: Path, rows: list[Row], **tables: Any) -> Config:  # noqa: ANN401
    path = folder / "own.parquet"
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    knowledge = {"name": "own", "format": "table", "path": path}
    return configurations.configure(folder, knowledge=knowledge, **tables)


def build(config: Config) -> None:
    """Build an edition as the flow build-test-set does, without Prefect."""
    edition = plan_edition(config)
    require_wordings_of_pool(edition)
    for stage in build_edition(edition):
        check_files(edition, stage)


def find_refusal(config: Config) -> str | None:
    """Return why a build is refused."""
    try:
        build(config)
    except InputError as error:
        return str(error)
    return None


def find(config: Config, name: str) -> list[Finding]:
    return [finding for finding in validate_config(config) if finding.name == name]


def find_failure(config: Config) -> str | None:
    """Return why `validate` refuses the edition."""
    (edition,) = find(config, "edition")
    return edition.found if edition.state == "failing" else None


# Questions and a cap take a second each to build, so one policy has both.
ASKED = {"settings": ["answer_only"]}
TABLES: dict[str, dict[str, Any]] = {
    "uniform": {"edition": {"negatives": "uniform"}},
    "balanced": {"edition": {"negatives": "balanced", "heads_per_relation": 9}, "questions": ASKED},
}


# The policies differ where a head has no tail that nothing makes true.
@pytest.mark.parametrize(
    ("name", "negatives"),
    [
        *((name, "balanced") for name in BASES),
        ("usual", "uniform"),
        ("five heads", "uniform"),
        ("all heads share one tail", "uniform"),
        ("the other tails are also true", "uniform"),
        ("only an asserted negative", "uniform"),
        ("tails that generalise each other", "uniform"),
    ],
)
def test_validate_decides_as_a_build_does(tmp_path: Path, name: str, negatives: str) -> None:
    config = configure(tmp_path, BASES[name], **TABLES[negatives])
    said = find_failure(config)
    assert said == find_refusal(config)
    if name in ("five heads", "usual"):
        assert (said is None) == (name == "usual")
        path = tmp_path / "c.toml"
        knowledge = config.knowledge.model_dump(mode="json", exclude_none=True)
        write_config(path, tmp_path / "data", knowledge=knowledge, edition={"negatives": negatives})
        (found,) = (finding for finding in collect_findings(path) if finding.name == "edition")
        assert (found.state, found.found if said else None) == ("failing" if said else "ok", said)


def test_questions_that_cannot_be_asked_are_named(tmp_path: Path) -> None:
    """Of the 14 heads, 9 have one tail and 5 have two."""
    (found,) = find(configurations.configure(tmp_path, questions=ASKED), "questions")
    (row,) = (row for row in found.rows if row["kind"] == "negated MCQ" and "there are 2" in row["reason"])
    assert (row["relation"], row["n_heads"], len(row["examples"])) == ("may_treat", 5, 3)


def test_a_missing_wording_of_questions_is_refused_alike(tmp_path: Path) -> None:
    asked = "{question = 'Which of these may [X] prevent?', negated = 'Which of these cannot [X] prevent?'}"
    told = "{statement = '[X] may prevent [Y].', negated = '[X] cannot prevent [Y].'}"
    wording = tmp_path / "wording.toml"
    wording.write_text(f"[may_prevent]\nMCQ = {asked}\nMAQ = {asked}\nTFQ = {told}")
    config = configure(tmp_path, BASES["usual"], questions=ASKED | {"wording": str(wording)})
    assert find_failure(config) == find_refusal(config)
    assert "may_treat" in str(find_failure(config))


POOL = Path(__file__).with_name("own_pool.toml").read_text(encoding="utf-8")


def test_only_own_wordings_that_change_their_statement_are_named(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(POOL)
    rows, edition = make_rows("may_cure", "may_treat"), {"pool": str(tmp_path / "own.toml")}
    own = plan_edition(configurations.configure(tmp_path, rows, edition=edition))
    (found,) = check_wordings(own, {})
    assert found.found.startswith(f"6 texts of {tmp_path / 'own.toml'} that the gate would reject;")
    # The texts with the reason predicate alone come last.
    cells = ("inv", "inv_dn", "none", "ins", "dn", "ins_dn")
    assert [(row["relation"], row["cell"]) for row in found.rows] == [("may_cure", cell) for cell in cells]
    texts = [(row["template"], row["reasons"]) for row in found.rows]
    assert texts[0] == ("The disease [X] may be cured by [Y].", ["roles"])
    assert texts[2] == ("The drug [X] may cause [Y].", ["predicate"])
    assert texts[3][0].endswith("then [Y] is among the diseases it may cause.")
    rephraser = own.config.rephraser.model_copy(update={"gate": "off"})
    without_gate = replace(own, config=own.config.model_copy(update={"rephraser": rephraser}))
    # The bundled pools were reviewed.
    for reviewed in (without_gate, plan_edition(Config())):
        assert list(check_wordings(reviewed, {})) == []


def test_predicates_without_a_name_are_named(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(POOL.replace("TakesDrug", "P"))
    edition = {"pool": str(tmp_path / "own.toml"), "methods": ["prototype"]}
    config = configurations.configure(
        tmp_path, make_rows("may_cure"), edition=edition, rephraser={"kind": "none"}
    )
    assert "instance is ['P', 'HasCurableDisease'], and the column" in find(config, "prototypes")[0].found


def test_an_exchange_in_a_pool_of_the_authors_is_named(tmp_path: Path) -> None:
    path, inverted = tmp_path / "authors.parquet", ("inv_dn", "inv_ins", "inv_ins_dn")
    texts = [f"{name} [Y] [X]" if name in inverted else f"{name} [X] [Y]" for name in NAMES]
    table = pl.DataFrame({"relation": "may_treat", "transformation": NAMES, "table_002": texts})
    table.write_parquet(path)
    edition = {"pool": str(path), "methods": ["prototype"]}
    config = configure(tmp_path, BASES["usual"], edition=edition, rephraser={"kind": "none"})
    inverse, denial = (each.found for each in find(config, "prototypes"))
    assert "[may_treat] inv entry 0 names [X] first; to fit none it must name [Y]: 'inv [X] [Y]'" in inverse
    assert "[may_treat] inv_dn entry 0 names [Y] first; to fit inv it must name [X]" in denial
