"""The validator of every-eval-ever accepts exported results, which are those of the view leaderboard."""

import json

import pytest

from tests.interop.tool_site import N_SAMPLES, STYLES, Site, run_tool

pytestmark = pytest.mark.slow

# Its exit status is 2 if there are only warnings.
VALIDATE = "import sys; from every_eval_ever.validator.validate import main; sys.exit(main(sys.argv[1:]) % 2)"


def test_exported_results_are_valid(site: Site) -> None:
    out = site.export("every-eval-ever")
    files = str(out / "data/*/*/*/*.json*")
    reports = json.loads(
        run_tool("eee", "python", "-c", VALIDATE, "--format", "json", files, cwd=site.folder)
    )
    assert len(reports) == 2 * len(STYLES)
    for report in reports:
        assert report["valid"], report["errors"]
        # The warehouse does not know who developed a model.
        for warning in report["warnings"]:
            assert "model_info.developer must be known" in warning["msg"]
    assert [report["line_count"] for report in reports if report["file_type"] == "instance"] == [
        N_SAMPLES
    ] * len(STYLES)
    found = {}
    for path in out.glob("data/*/*/*/*.json"):
        log = json.loads(path.read_text(encoding="utf-8"))
        for result in log["evaluation_results"]:
            interval = result["score_details"]["uncertainty"]["confidence_interval"]
            key = log["model_info"]["name"], result["evaluation_result_id"]
            found[key] = result["score_details"]["score"], interval["lower"], interval["upper"]
    scores = ("mastery", "average_accuracy", "joint_accuracy")
    columns = [f"{name}{end}" for name in scores for end in ("", "_ci_low", "_ci_high")]
    rows = site.query(f"select model, {', '.join(columns)} from leaderboard")
    expected = {
        (model, name): tuple(numbers[3 * n : 3 * n + 3])
        for model, *numbers in rows
        for n, name in enumerate(scores)
    }
    assert found == expected
