"""`validate` decides as a build does, shows the texts of a run, and names what is guessable or misworded."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest

from commands import in_process
from commands.preflight.doctor import collect_findings
from commands.preflight.findings import Finding
from commands.preflight.plan import plan_run
from commands.preflight.validate import check_wordings, validate_config
from pretexeval.config.file import Config, load_config
from pretexeval.primitives.errors import InputError
from pretexeval.storage.store import Store
from schemas.transformations import NAMES, POSITIVE_OF
from tasks.edition.planning import plan_edition
from tasks.edition.preview import require_wordings_of_pool
from tasks.edition.risks import Balance, list_risks, read_balance
from tasks.edition.stage_files import check_files
from tasks.evaluation.evaluation import plan_evaluation
from tests.commands import configurations
from tests.commands.configurations import FAR
from tests.support.command import make_rows, write_config
from tests.support.evaluations import list_prompts
from tests.support.published_bases import list_icd_pairs
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


def find(config: Config, name: str, *n_texts: int, is_deep: bool = False) -> list[Finding]:
    found = validate_config(config, *n_texts, is_deep=is_deep)
    return [finding for finding in found if finding.name == name]


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


def test_tables_without_a_name_of_the_base_are_named(tmp_path: Path) -> None:
    tables = {"hierarchy": "child,parent\nFEVER,sign\n", "aliases": "name,alias\nmumps,parotitis\n"}
    paths = {name: tmp_path / f"{name}.csv" for name in tables}
    for name, text in tables.items():
        paths[name].write_text(text)
    config = configure(tmp_path, BASES["usual"])
    knowledge = config.knowledge.model_copy(update=paths)
    aliases, hierarchy = find(config.model_copy(update={"knowledge": knowledge}), "tables")
    assert aliases.found.startswith("aliases.csv, line 2: few of its names and ids are in the base: ")
    assert hierarchy.found.startswith("hierarchy.csv: few of its names and ids are in the base: 0 of ")
    assert {aliases.state, hierarchy.state} == {"warning"}


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


WRITTEN = {"rephraser": {"kind": "model", "writer": "far"}, "writers": [FAR], "llmeval": {"writer": "far"}}


def test_the_texts_are_those_that_a_limited_run_asks_about(tmp_path: Path) -> None:
    models = [FAR | {"pairs_per_relation": 2}]
    config = configurations.configure(tmp_path, make_rows("may_treat", "may_prevent"), models=models)
    (texts,) = find(config, "texts", 2)
    rows = texts.rows
    assert not (tmp_path / "data").exists()
    assert texts.found == str(len(rows)) == str(2 * 2 * 16)
    configurations.build(config)
    prompts = list_prompts(plan_evaluation(config, plan_edition(config).edition_id, "far"))
    asked = {prompt.text.rpartition("Statement: ")[2] for prompt in prompts}
    assert [
        row["text"] for row in rows if not any(each.startswith(f'"{row["text"]}"') for each in asked)
    ] == []
    denied = [form in POSITIVE_OF for form in NAMES]
    assert [row["label"] for row in rows[:16]] == [*(not each for each in denied), *denied]
    assert find(config, "texts", 2) == [texts]


def test_every_method_is_shown(tmp_path: Path) -> None:
    cases: list[tuple[list[str], dict[str, Any], dict[str, int], str]] = [
        (["pretexeval", "direct"], {}, {"pretexeval": 16, "direct": 2}, ""),
        (["pretexeval", "prototype"], WRITTEN, {"pretexeval": 16, "prototype": 16}, "pretexeval"),
        (["llmeval"], WRITTEN, {}, "llmeval"),
    ]
    for methods, tables, shown, unwritten in cases:
        config = configurations.configure(tmp_path, edition={"methods": methods}, **tables)
        (texts,) = find(config, "texts", 1)
        assert Counter(row["method"] for row in texts.rows) == shown, methods
        assert texts.found.partition("; a language model has yet to write those of ")[2] == unwritten, methods


ORGANS = ("kidney", "spleen", "femur", "retina", "pancreas", "cornea", "ileum", "tonsil")


# The tail is a word of the head, which tells true tails from false ones.
SITES = [(f"lesion {number} of the {organ}", organ) for organ in ORGANS for number in range(10)]
# Two tails are true of most heads, and the other ones of one head each.
COMMON_TAILS = [(f"drug {i}", ORGANS[i % 2] if i < 40 else f"site {i}") for i in range(50)]
Pairs = list[tuple[str, str]] | pl.DataFrame


def write_sites(folder: Path, pairs: Pairs, **edition: object) -> Path:
    """Write facts of affected_sites, each a head and a tail, and the configuration of an edition of them."""
    rows = pl.DataFrame(pairs, ["head", "tail"], orient="row")
    rows.with_columns(relation=pl.lit("affected_sites")).write_parquet(folder / "own.parquet")
    knowledge = {"name": "own", "format": "table", "path": str(folder / "own.parquet")}
    return configurations.write_configuration(
        folder, knowledge=knowledge, edition=edition, rephraser={"kind": "none"}
    )


@pytest.mark.parametrize(
    ("list_pairs", "edition", "giveaway", "least"),
    [
        (lambda: SITES, {}, "names", 100),
        (lambda: COMMON_TAILS, {"negatives": "uniform"}, "tails", 80),
        pytest.param(list_icd_pairs, {"heads_per_relation": 1000}, "names", 85, marks=pytest.mark.long),
    ],
)
def test_a_guessable_base_is_named_with_the_figure(
    tmp_path: Path, list_pairs: Callable[[], Pairs], edition: dict[str, object], giveaway: str, least: int
) -> None:
    path = write_sites(tmp_path, list_pairs(), **edition)
    config = load_config(path)
    # Names that look wrong and a guessed shape have warnings of their own.
    (line,) = (each.found for each in find(config, "negatives"))
    before, _, after = line.partition(" can be right on up to ")
    assert before.startswith(f"affected_sites: {giveaway} give answers away")
    share, _, rest = after.partition(" ")
    assert least <= int(share) <= 100
    assert rest == "% of the triplets"
    for findings in (plan_run(config, Store(config.storage)).warnings, collect_findings(path)):
        assert [(each.state, each.found) for each in findings if each.name == "negatives"] == [
            ("warning", line)
        ]
    configurations.build(config)
    # The run says so before it asks a model.
    told: list[str] = []
    models_are_next = mock.patch.object(in_process, "is_evaluated_here", side_effect=NotImplementedError)
    with models_are_next, pytest.raises(NotImplementedError):
        in_process.run_all(config, told.append)
    assert told[-1] == line


def test_a_deep_validation_measures_what_the_manifest_says(tmp_path: Path) -> None:
    """Every head has five of eight organs, in a circle, so that most heads resemble others."""
    pairs = [(f"drug {chr(97 + i)}", ORGANS[(i + k) % 8]) for i in range(26) for k in range(5)]
    config = load_config(write_sites(tmp_path, pairs))
    (plain,) = find(config, "risks")[0].rows
    (deep,) = find(config, "risks", is_deep=True)[0].rows
    assert "n_tried" not in plain
    found = read_balance(config.storage.root, configurations.build(config))["affected_sites"]
    assert deep.items() <= (found | {"relation": "affected_sites"}).items()
    assert deep["n_tried"] > 0
    # What is built is not measured again.
    assert find(config, "risks")[0].rows == [deep]
    assert found["n_pairs"] + found["n_left_out"] == 26 - 5


def test_few_wrong_twins_are_chance() -> None:
    sound = {"tail_rate": 0.5, "guessable_rate": 0.5}
    sound |= {"n_tried": 1000, "missing_share": 0.9, "wrong_rate_ci_low": 0.01, "wrong_rate_ci_high": 0.2}
    figures: Balance = {
        "few": sound | {"n_wrong": 2, "wrong_rate": 0.15},
        "many": sound | {"n_wrong": 30, "wrong_rate": 0.03},
        "rare": sound | {"n_wrong": 30, "wrong_rate": 0.015},
        "unknown": sound | {"n_wrong": 30, "wrong_rate": None, "wrong_rate_ci_high": None},
    }
    (line,) = list_risks(figures)
    assert line.startswith("many: false twins may be true")
    assert "about 3.0 % (1.0 to 20.0 %), if the base lacks 90 %" in line
