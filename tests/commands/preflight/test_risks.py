"""Negatives that are guessable or may be true: commands say so with the figure before a model is asked."""

import re
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import polars as pl
import pytest

from commands import in_process
from commands.preflight.doctor import collect_findings
from commands.preflight.fact_preview import preview_edition, render_page, render_preview
from commands.preflight.plan import plan_run
from commands.preflight.validate import render_validation, validate_config
from pretexeval.config.file import Config, load_config
from pretexeval.storage.store import Store
from tasks.edition.risks import Balance, list_risks, read_balance
from tests.commands.configurations import build
from tests.support.command import write_config
from tests.support.parsed_page import parse
from tests.support.published_bases import list_icd_pairs

ORGANS = ("kidney", "spleen", "femur", "retina", "pancreas", "cornea", "ileum", "tonsil")


def list_sites() -> pl.DataFrame:
    """Return head and tail: the tail is a word of the head, which tells true tails from false ones."""
    pairs = [(f"lesion {number} of the {organ}", organ) for organ in ORGANS for number in range(10)]
    return pl.DataFrame(pairs, schema=["head", "tail"], orient="row")


def list_common_tails() -> pl.DataFrame:
    """Return head and tail: two tails are true of most heads, and the other ones of one head each."""
    pairs = [(f"drug {i}", ORGANS[i % 2] if i < 40 else f"site {i}") for i in range(50)]
    return pl.DataFrame(pairs, schema=["head", "tail"], orient="row")


def configure(folder: Path, pairs: pl.DataFrame, **edition: object) -> Path:
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
        pytest.param(list_icd_pairs, {"heads_per_relation": 1000}, "names", 89, marks=pytest.mark.long),
    ],
)
def test_a_guessable_base_is_named_with_the_figure(
    tmp_path: Path,
    list_pairs: Callable[[], pl.DataFrame],
    edition: dict[str, object],
    giveaway: str,
    least: int,
) -> None:
    path = configure(tmp_path, list_pairs(), **edition)
    config = load_config(path)
    checked = validate_config(config)
    (line,) = checked.warnings
    before, _, after = line.partition(" is right about up to ")
    assert before.startswith(f"affected_sites: {giveaway} give answers away")
    share, _, rest = after.partition(" ")
    assert least <= int(share) <= 100
    assert rest == "% of the triplets"
    assert line in render_validation(checked).splitlines()
    assert plan_run(config, Store(config.storage)).warnings == (line,)
    previewed = preview_edition(config, 1)
    assert line in render_preview(previewed).splitlines()
    assert line in parse(render_page(previewed)).text
    findings = [(each.state, each.name, each.found) for each in collect_findings(path)]
    assert ("warning", "negatives", line) in findings
    build(config)
    assert run_until_models(config)[-1] == line


def test_a_deep_validation_measures_what_the_manifest_says(tmp_path: Path) -> None:
    """Every head has five of eight organs, in a circle, so that most heads resemble others."""
    pairs = [(f"drug {chr(97 + i)}", ORGANS[(i + k) % 8]) for i in range(26) for k in range(5)]
    path = configure(tmp_path, pl.DataFrame(pairs, schema=["head", "tail"], orient="row"))
    config = load_config(path)
    plain, deep = validate_config(config), validate_config(config, is_deep=True)
    assert "n_tried" not in plain.risks["affected_sites"]
    balance = read_balance(config.storage.root, build(config))
    assert deep.risks == balance
    # What is built is not measured again.
    assert validate_config(config).risks == balance
    found = balance["affected_sites"]
    assert found["n_pairs"] + found["n_left_out"] == 26 - 5
    rate = f"{100 * found['wrong_rate']:.1f} %"
    row = next(line for line in render_validation(deep).splitlines() if line.endswith(rate))
    assert row.split()[-4:-2] == [f"{found['n_wrong']}", f"{found['n_tried']}"]
    assert preview_edition(config, 1).risks == (tuple(re.split(" {2,}", row.strip())),)


def test_few_wrong_twins_are_chance() -> None:
    sound = {"tail_rate": 0.5, "guessable_rate": 0.5}
    figures: Balance = {
        "few": sound | {"n_wrong": 2, "wrong_rate": 0.15},
        "many": sound | {"n_wrong": 30, "wrong_rate": 0.03},
        "rare": sound | {"n_wrong": 30, "wrong_rate": 0.015},
        "unknown": sound | {"n_wrong": 0, "wrong_rate": None},
    }
    (line,) = list_risks(figures)
    assert line.startswith("many: false twins may be true")
    assert "3.0 %" in line
