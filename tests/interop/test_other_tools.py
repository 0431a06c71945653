"""inspect_ai and lm-eval run an exported edition, and agree with an evaluation of the same endpoint."""

import json
from pathlib import Path

import pytest

from tests.interop.tool_site import (
    N_SAMPLES,
    STYLES,
    Site,
    read_inspect_metrics,
    read_lm_eval_metrics,
    run_tool,
)

pytestmark = pytest.mark.slow

Graded = dict[str, tuple[str, bool | None, bool]]
"""Sample -> response, prediction, and whether it is right."""


@pytest.fixture(scope="module")
def inspect_logs(site: Site) -> dict[str, Path]:
    """Style -> the log of a run of inspect_ai."""
    return {style: site.run_inspect(style, "pretexeval") for style in STYLES}


@pytest.fixture(scope="module")
def lm_eval_folders(site: Site) -> dict[str, Path]:
    """Style -> the folder with the results and the log of a run of lm-eval."""
    return {style: site.run_lm_eval(style, "pretexeval") for style in STYLES}


def read_predictions(site: Site, model: str) -> Graded:
    rows = site.query(
        f"select sample_id, response, prediction, is_correct from prediction_details where model = '{model}'"
    )
    return {sample_id: tuple(rest) for sample_id, *rest in rows}


def read_scores(site: Site, model: str) -> dict[str, float]:
    """Return the scores as the metrics of the tools are named."""
    names = ("accuracy", "joint_accuracy", "mastery", "no_answer_rate")
    (row,) = site.query(
        "select average_accuracy, joint_accuracy, mastery, no_answer_rate from leaderboard "
        f"where model = '{model}'"
    )
    return dict(zip(names, row, strict=True))


@pytest.mark.parametrize("style", STYLES)
def test_inspect_agrees(site: Site, inspect_logs: dict[str, Path], style: str) -> None:
    metrics, samples = read_inspect_metrics(inspect_logs[style])
    graded: Graded = {}
    for sample in samples:
        score = sample["scores"]["true_or_false"]
        prediction = {"True": True, "False": False, None: None}[score.get("answer")]
        graded[sample["id"]] = sample["output"]["completion"], prediction, score["value"] == "C"
    ours = read_predictions(site, style)
    assert len(ours) == N_SAMPLES
    assert {is_right for *_, is_right in ours.values()} == {True, False}
    assert graded == ours
    scores = read_scores(site, style)
    assert {name: metrics[name] for name in scores} == pytest.approx(scores)
    relations = dict(
        site.query(f"select relation, average_accuracy from accuracy_by_relation where model = '{style}'")
    )
    assert {name: metrics[f"relation {name}"] for name in relations} == pytest.approx(relations)
    assert site.read_imported("predictions", inspect_logs[style]) == name_truths(ours)


def test_parts_of_a_task_are_imported_one_after_the_other(site: Site) -> None:
    logs = [site.run_inspect("chat", "pretexeval", f"{k}/2") for k in (1, 2)]
    ids = [{sample["id"] for sample in read_inspect_metrics(log)[1]} for log in logs]
    assert [len(part) for part in ids] == [N_SAMPLES // 2] * 2
    assert site.read_imported("predictions", *logs) == name_truths(read_predictions(site, "chat"))


def test_a_batch_of_vllm_agrees(site: Site) -> None:
    assert site.read_imported("predictions", site.run_batch("pretexeval")) == name_truths(
        read_predictions(site, "chat")
    )
    ours = dict(site.query("select distinct question_id, prediction from facet_details where model = 'chat'"))
    assert site.read_imported("question_predictions", site.run_batch("questions")) == ours


def name_truths(graded: Graded) -> dict[str, str | None]:
    """Return sample -> prediction as the stage has it: T, F, or null for no answer."""
    return {
        name: {True: "T", False: "F", None: None}[prediction] for name, (_, prediction, _) in graded.items()
    }


@pytest.mark.parametrize("style", STYLES)
def test_lm_eval_agrees(site: Site, lm_eval_folders: dict[str, Path], style: str) -> None:
    (log,) = lm_eval_folders[style].glob("samples_*.jsonl")
    graded: Graded = {}
    for line in log.read_text(encoding="utf-8").split("\n")[:-1]:
        row = json.loads(line)
        is_right = row["accuracy"][-1]
        prediction = None if row["no_answer_rate"] else (row["target"] == "True") == is_right
        graded[row["doc"]["sample_id"]] = row["resps"][0][0], prediction, is_right
    ours = read_predictions(site, style)
    assert graded == ours
    metrics, scores = read_lm_eval_metrics(lm_eval_folders[style]), read_scores(site, style)
    assert {name: metrics[name] for name in scores} == pytest.approx(scores)
    assert site.read_imported("predictions", log) == name_truths(ours)


def test_both_tools_show_the_same_standard_errors(
    inspect_logs: dict[str, Path], lm_eval_folders: dict[str, Path]
) -> None:
    """inspect_ai computes that of the accuracy itself, and lm-eval shows ours as its own."""
    metrics, _ = read_inspect_metrics(inspect_logs["completion"])
    shown = read_lm_eval_metrics(lm_eval_folders["completion"])
    for name, other in (("stderr", "accuracy"), ("joint_accuracy_stderr",) * 2, ("mastery_stderr",) * 2):
        assert metrics[name] == pytest.approx(shown[f"{other.removesuffix('_stderr')}_stderr"])
        assert metrics[name] > 0


def test_croissant_describes_the_samples(site: Site) -> None:
    folder = site.export("croissant")
    code = (
        "import json, sys, mlcroissant\n"
        "data = mlcroissant.Dataset(jsonld=sys.argv[1])\n"
        "assert not data.metadata.ctx.issues.errors, data.metadata.ctx.issues.report()\n"
        "print(json.dumps([row['samples/sample_id'].decode() for row in data.records('samples')]))"
    )
    ids = json.loads(run_tool("lm-eval", "python", "-c", code, folder / "croissant.json", cwd=site.folder))
    assert sorted(ids) == sorted(row[0] for row in site.query("select sample_id from samples"))
