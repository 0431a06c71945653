"""`pretexeval compare`: it finds a regression, passes an equal model, and refuses what it cannot compare."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commands.main import main
from pretexeval.storage.records import write_record
from schemas.transformations import TRANSFORMATIONS
from tests.support import data_folder
from tests.support.data_folder import DataFolder, Rule
from tests.support.stage_rows import Row, write_run
from tests.warehouse.conftest import fill_pairs
from warehouse import catalogue
from warehouse.publishing import build_warehouse
from warehouse.records import require_record

EDITION = "contest-weekly-0000000a"
N_PAIRS = 60
INVERTED = {each.name for each in TRANSFORMATIONS if each.is_inverted}
ODD_NAME = "<b>twin</b> & \x1b[31mco"


def is_odd(sample: Row) -> bool:
    return bool(int(sample["head"].split()[1]) % 2)


RULES: dict[str, Rule] = {
    "knows-all": data_folder.expert,
    "knows-half": lambda sample: bool(sample["label"] or is_odd(sample)),
    "blind-to-inversion": lambda sample: bool(sample["label"] or sample["transformation"] in INVERTED),
    "always-true": data_folder.always_true,
    # Gives no answer to one form of every second disease.
    "unsure": lambda sample: (
        None if sample["transformation"] == "inv" and is_odd(sample) else sample["label"]
    ),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish an edition of 60 pairs that the models of RULES answered, and models that know all.

    `twin` has a hostile name. broken: every prompt failed. chatty: asked in another style. lenient: scored
    under another policy. early and late: each answered one relation, and not the same one.
    """
    root = tmp_path_factory.mktemp("contest") / "data"
    data = DataFolder(root, label="weekly")
    for k in range(N_PAIRS):
        relation = "signs" if k < N_PAIRS // 2 else "sites"
        data.add_pair(relation, f"Disease {k}", f"{relation} {k}", f"{relation} {k + 1}")
    data.write_edition(EDITION)
    write_record(root / "responses/twin/model.json", {"model_id": "twin", "name": ODD_NAME, "engine": "x"})
    expert = data_folder.expert
    for name, rule in RULES.items():
        policies = ("excluded",) if name == "unsure" else ("strict", "excluded")
        data.write_answers(EDITION, name, rule, policies=policies)
    data.write_answers(EDITION, "twin", expert)
    data.write_answers(EDITION, "broken", expert, fail=lambda _: "HTTP 500")
    data.write_answers(EDITION, "chatty", expert)
    path = root / "predictions" / EDITION / "chatty/requests/all.parquet"
    asked = pl.read_parquet(path)
    asked.with_columns(prompt_style=pl.lit("chat")).write_parquet(path)
    record = require_record(path.parents[1] / "run.json")
    write_run(path.parents[1], {name: value for name, value in record.items() if name != "files"})
    data.write_answers(EDITION, "lenient", expert, policies=("coin-flip",))
    for name, relation in (("early", "signs"), ("late", "sites")):
        part = DataFolder(root, [pair for pair in data.pairs if pair[0] == relation])
        part.write_answers(EDITION, name, expert)
    build_warehouse(root)
    return root


@pytest.fixture(scope="module", autouse=True)
def _publish_few_views() -> Iterator[None]:
    """The command reads no other view, and computes its differences itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "ESTIMATED", ())
        patch.setattr(catalogue, "VIEWS", ("not_evaluated",))
        yield


def compare(root: Path, *arguments: str) -> int:
    return main(["compare", *arguments, "--root", str(root)])


def read_json(root: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert compare(root, *arguments, "--format", "json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_real_regression_fails_only_if_it_is_asked_to(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(root, "knows-all", "knows-half") == 0
    assert compare(root, "knows-all", "knows-half", "--fail-on-regression") == 1
    said = capsys.readouterr().out
    assert "Knows-Half is worse than Knows-All in mastery: -50.0 points" in said
    assert "Regression: the interval says that the second score is lower." in said
    assert compare(root, "knows-half", "knows-all", "--fail-on-regression") == 0
    assert "Knows-All is better than Knows-Half in mastery: +50.0 points" in capsys.readouterr().out


def test_the_differences_are_those_of_the_rules(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for measure, baseline, candidate, difference, verdict in (
        ("mastery", "knows-all", "knows-half", -0.5, "worse"),
        ("average_accuracy", "knows-all", "blind-to-inversion", -0.25, "worse"),
        ("joint_accuracy", "always-true", "knows-all", 1.0, "better"),
    ):
        found = read_json(root, capsys, baseline, candidate, "--measure", measure)
        row = found["all"]
        assert row["difference"] == pytest.approx(difference, abs=0.01), measure
        assert row["second_score"] - row["first_score"] == pytest.approx(row["difference"])
        assert (found["verdict"], row["n_only_second"] > 0) == (verdict, verdict == "better")
        assert (row["n_pairs"], [each["n_pairs"] for each in found["relations"]]) == (60, [30, 30])


def test_an_equal_model_is_not_distinguishable(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(root, "knows-all", "twin", "--fail-on-regression") == 0
    said = capsys.readouterr().out
    assert "are not distinguishable in mastery: +0.0 points (95 % interval -" in said
    assert "on 60 shared pairs" in said
    assert "would be found here in four cases out of five" in said
    assert compare(root, "knows-all", "chatty", "--allow-other-style") == 0
    assert "The prompts have different styles (completion and chat)" in capsys.readouterr().out
    assert read_json(root, capsys, "knows-all", "early")["all"]["n_pairs"] == 30


def test_a_loss_within_the_margin_is_no_regression(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("knows-all", "blind-to-inversion", "--measure", "average_accuracy", "--fail-on-regression")
    high = read_json(root, capsys, *arguments[:4])["all"]["difference_ci_high"]
    assert -0.25 < high < 0
    assert compare(root, *arguments, "--margin", f"{-high - 0.01}") == 1
    assert compare(root, *arguments, "--margin", f"{-high + 0.01}") == 0
    assert "No regression found: the interval does not say that" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        compare(root, "knows-all", "twin", "--margin=nan")
    assert "is no share from 0 to below 1" in capsys.readouterr().err


def test_what_cannot_be_compared_is_refused(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.json"
    rest = ("--fail-on-regression", "--format", "json", "--output", str(path))
    for arguments, message in (
        (("knows-all", "broken"), "Broken was not evaluated.*960 of 960 samples failed"),
        (("knows-all", "knows-a"), "are the same model, knows-all"),
        (("knows-all", "knows"), "'knows' may be any of knows-all, knows-half: give its id"),
        (("knows-all", "chatty"), "asked in the style completion, Chatty in the style chat"),
        (("knows-all", "lenient"), "Knows-All has .*strict; Lenient has pretexeval under coin-flip"),
        (("knows-all", "unsure"), "of the 60 shared pairs, too few have an answer to every sample"),
        (("early", "late"), "Early and Late share no answered pair"),
        (("knows-all", "always-true", "--edition", "other"), f"no edition 'other'; it contains: {EDITION}"),
        (("knows-all", "always-true", "--method", "direct"), r"under the same policy \(direct\)"),
    ):
        assert compare(root, *arguments, *rest) == 2, arguments
        captured = capsys.readouterr()
        assert captured.out == ""
        assert re.search(message, captured.err), captured.err
        assert not path.exists()


def test_an_edition_that_holds_both_models_is_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    for edition_id, names in {
        "others-seed1-00000001": ("expert",),
        "tiny-seed1-00000002": ("expert", "silent", "polarity", "erratic"),
        "tiny-seed2-00000003": ("expert", "polarity", "erratic"),
        "tiny-2026-W47-00000004": ("expert", "erratic"),
        "tiny-2026-W48-00000004": ("expert", "erratic"),
    }.items():
        data.label = edition_id.partition("-")[2][:-9]
        data.write_edition(edition_id)
        for name in names:
            data.write_answers(edition_id, name, getattr(data_folder, name))
    build_warehouse(data.root)
    assert compare(data.root, "expert", "silent") == 0
    assert "edition tiny-seed1-00000002, " in capsys.readouterr().out
    assert compare(data.root, "expert", "polarity") == 2
    found = "tiny-seed1-00000002, tiny-seed2-00000003"
    assert f"evaluated on {found}: say which edition with --edition" in capsys.readouterr().err
    # The newest of a schedule.
    assert compare(data.root, "expert", "erratic") == 0
    assert "edition tiny-2026-W48-00000004, " in capsys.readouterr().out
    assert compare(data.root, "expert", "exprt") == 2
    said = capsys.readouterr().err
    near = "(did you mean Expert?); it has: Expert (expert)"
    assert f"others-seed1-00000001 has no scores of a model 'exprt' {near}" in said
    assert said.count("has no scores of") == 5
