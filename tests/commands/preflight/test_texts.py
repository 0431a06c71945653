"""The texts that `validate` shows are those of a run; all commands name negatives that are guessable."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest

from commands import in_process
from commands.preflight.doctor import collect_findings
from commands.preflight.plan import plan_run
from commands.preflight.validate import validate_config
from pretexeval.config.file import Config, load_config
from pretexeval.storage.store import Store
from schemas.transformations import NAMES, POSITIVE_OF
from tasks.edition.planning import plan_edition
from tasks.edition.risks import Balance, list_risks, read_balance
from tasks.evaluation.evaluation import plan_evaluation
from tests.commands.configurations import FAR, build, configure
from tests.support.command import make_rows, write_config
from tests.support.evaluations import list_prompts
from tests.support.published_bases import list_icd_pairs

WRITTEN = {"rephraser": {"kind": "model", "writer": "far"}, "writers": [FAR], "llmeval": {"writer": "far"}}


def read_texts(config: Config, n_pairs: int) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """Return what `validate` says of the texts, and their rows."""
    (found,) = (each for each in validate_config(config, n_pairs) if each.name == "texts")
    return found.found, found.rows


def test_the_texts_are_those_that_a_limited_run_asks_about(tmp_path: Path) -> None:
    models = [FAR | {"pairs_per_relation": 2}]
    config = configure(tmp_path, make_rows("may_treat", "may_prevent"), models=models)
    said, rows = read_texts(config, 2)
    assert not (tmp_path / "data").exists()
    assert said == str(len(rows)) == str(2 * 2 * 16)
    build(config)
    prompts = list_prompts(plan_evaluation(config, plan_edition(config).edition_id, "far"))
    asked = {prompt.text.rpartition("Statement: ")[2] for prompt in prompts}
    assert [
        row["text"] for row in rows if not any(each.startswith(f'"{row["text"]}"') for each in asked)
    ] == []
    denied = [form in POSITIVE_OF for form in NAMES]
    assert [row["label"] for row in rows[:16]] == [*(not each for each in denied), *denied]
    assert read_texts(config, 2) == (said, rows)


def test_every_method_is_shown(tmp_path: Path) -> None:
    cases: list[tuple[list[str], dict[str, Any], dict[str, int], str]] = [
        (["pretexeval", "direct"], {}, {"pretexeval": 16, "direct": 2}, ""),
        (["pretexeval", "prototype"], WRITTEN, {"pretexeval": 16, "prototype": 16}, "pretexeval"),
        (["llmeval"], WRITTEN, {}, "llmeval"),
    ]
    for methods, tables, shown, unwritten in cases:
        config = configure(tmp_path, make_rows("may_treat"), edition={"methods": methods}, **tables)
        said, rows = read_texts(config, 1)
        assert Counter(row["method"] for row in rows) == shown, methods
        assert said.partition("; a language model has yet to write those of ")[2] == unwritten, methods


ORGANS = ("kidney", "spleen", "femur", "retina", "pancreas", "cornea", "ileum", "tonsil")


def list_sites() -> pl.DataFrame:
    """Return head and tail: the tail is a word of the head, which tells true tails from false ones."""
    pairs = [(f"lesion {number} of the {organ}", organ) for organ in ORGANS for number in range(10)]
    return pl.DataFrame(pairs, schema=["head", "tail"], orient="row")


def list_common_tails() -> pl.DataFrame:
    """Return head and tail: two tails are true of most heads, and the other ones of one head each."""
    pairs = [(f"drug {i}", ORGANS[i % 2] if i < 40 else f"site {i}") for i in range(50)]
    return pl.DataFrame(pairs, schema=["head", "tail"], orient="row")


def configure_sites(folder: Path, pairs: pl.DataFrame, **edition: object) -> Path:
    """Write the facts as those of affected_sites, and the configuration of an edition of them."""
    base = folder / "own.parquet"
    pairs.with_columns(relation=pl.lit("affected_sites")).write_parquet(base)
    return write_config(
        folder / "c.toml",
        folder / "data",
        knowledge={"name": "own", "format": "table", "path": str(base)},
        edition=edition,
        rephraser={"kind": "none"},
        models=[],
    )


class ModelsAreNextError(Exception):
    """Stands for everything that a run does after it has said what is wrong with the edition."""


def run_until_models(config: Config) -> list[str]:
    """Run a configuration until a model would be asked; return what the run tells."""
    told: list[str] = []
    with (
        mock.patch.object(in_process, "is_evaluated_here", side_effect=ModelsAreNextError),
        pytest.raises(ModelsAreNextError),
    ):
        in_process.run_all(config, told.append)
    return told


@pytest.mark.parametrize(
    ("list_pairs", "edition", "giveaway", "least"),
    [
        (list_sites, {}, "names", 100),
        (list_common_tails, {"negatives": "uniform"}, "tails", 80),
        pytest.param(list_icd_pairs, {"heads_per_relation": 1000}, "names", 85, marks=pytest.mark.long),
    ],
)
def test_a_guessable_base_is_named_with_the_figure(
    tmp_path: Path,
    list_pairs: Callable[[], pl.DataFrame],
    edition: dict[str, object],
    giveaway: str,
    least: int,
) -> None:
    path = configure_sites(tmp_path, list_pairs(), **edition)
    config = load_config(path)
    # Names that look wrong and a guessed shape have warnings of their own.
    (line,) = [each.found for each in validate_config(config) if each.name == "negatives"]
    before, _, after = line.partition(" is right about up to ")
    assert before.startswith(f"affected_sites: {giveaway} give answers away")
    share, _, rest = after.partition(" ")
    assert least <= int(share) <= 100
    assert rest == "% of the triplets"
    for findings in (plan_run(config, Store(config.storage)).warnings, collect_findings(path)):
        assert [(each.state, each.found) for each in findings if each.name == "negatives"] == [
            ("warning", line)
        ]
    build(config)
    assert run_until_models(config)[-1] == line


def read_risks(config: Config, *, is_deep: bool = False) -> Sequence[Mapping[str, Any]]:
    """Return the figures that `validate` shows."""
    (found,) = (each for each in validate_config(config, is_deep=is_deep) if each.name == "risks")
    return found.rows


def test_a_deep_validation_measures_what_the_manifest_says(tmp_path: Path) -> None:
    """Every head has five of eight organs, in a circle, so that most heads resemble others."""
    pairs = [(f"drug {chr(97 + i)}", ORGANS[(i + k) % 8]) for i in range(26) for k in range(5)]
    path = configure_sites(tmp_path, pl.DataFrame(pairs, schema=["head", "tail"], orient="row"))
    config = load_config(path)
    (plain,), (deep,) = read_risks(config), read_risks(config, is_deep=True)
    assert "n_tried" not in plain
    found = read_balance(config.storage.root, build(config))["affected_sites"]
    assert deep.items() <= (found | {"relation": "affected_sites"}).items()
    assert deep["n_tried"] > 0
    # What is built is not measured again.
    assert read_risks(config) == [deep]
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
