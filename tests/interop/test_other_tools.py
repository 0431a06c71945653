"""Other tools run or read an exported edition, and agree with an evaluation of the same endpoint."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from tests.interop.tool_site import (
    N_SAMPLES,
    STYLES,
    Site,
    read_inspect_metrics,
    read_lm_eval_metrics,
    run_tool,
    serve_site,
)

pytestmark = pytest.mark.slow

# Its exit status is 2 if there are only warnings.
VALIDATE = "import sys; from every_eval_ever.validator.validate import main; sys.exit(main(sys.argv[1:]) % 2)"
TRUTHS = {True: "T", False: "F"}


@dataclass(frozen=True)
class Asked:
    """The samples or the questions of the edition, in the tools and in the warehouse."""

    task: str
    """In inspect_ai."""
    score: str
    """In inspect_ai."""
    name: str
    """In lm-eval and in a batch."""
    view: str
    key: str
    folder: str
    n_items: int

    def read_predictions(self, site: Site, model: str) -> dict[str, tuple[str, str | None, bool]]:
        """Return item -> response, prediction, and whether it is right."""
        columns = f"{self.key}, response, prediction, is_correct"
        rows = site.query(f"select {columns} from {self.view} where model = '{model}'")
        found = {item: (text, TRUTHS.get(said, said), is_right) for item, text, said, is_right in rows}
        assert len(found) == self.n_items
        assert {is_right for *_, is_right in found.values()} == {True, False}
        return found

    def read_answers(self, site: Site, model: str) -> dict[str, str | None]:
        return {item: said for item, (_, said, _) in self.read_predictions(site, model).items()}


ASKED = {
    "samples": Asked(
        "pretexeval",
        "true_or_false",
        "pretexeval",
        "prediction_details",
        "sample_id",
        "predictions",
        N_SAMPLES,
    ),
    # Twelve points have up to ten questions each; the base has too few facts for some of them.
    "questions": Asked(
        "multifaceteval",
        "right_answer",
        "questions",
        "facet_details",
        "question_id",
        "question_predictions",
        111,
    ),
}
CASES = tuple(product(ASKED, STYLES))
Outputs = dict[tuple[str, str], Path]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve_site(tmp_path_factory.mktemp("interop")) as served:
        yield served


@pytest.fixture(scope="module")
def inspect_logs(site: Site) -> Outputs:
    return {(kind, style): site.run_inspect(style, ASKED[kind].task) for kind, style in CASES}


@pytest.fixture(scope="module")
def lm_eval_folders(site: Site) -> Outputs:
    return {(kind, style): site.run_lm_eval(style, ASKED[kind].name) for kind, style in CASES}


def read_scores(site: Site, kind: str, style: str) -> dict[str, float]:
    """Return the scores as the metrics of inspect_ai are named."""
    of_model = f"where model = '{style}'"
    queries = {
        "samples": (
            "unpivot (select average_accuracy as accuracy, joint_accuracy, mastery, no_answer_rate "
            f"from leaderboard {of_model}) on columns(*)",
            f"select 'relation ' || relation, average_accuracy from accuracy_by_relation {of_model}",
        ),
        "questions": (
            f"select 'type ' || type, share_right from facet_accuracy {of_model} and is_negated is null "
            "and facet is not null",
            f"select 'mastered_points', mastered_rate from mastered_points {of_model} and step = 4 "
            "and is_negated_included and taught_with is null",
        ),
    }
    return {name: score for query in queries[kind] for name, score in site.query(query)}


@pytest.mark.parametrize(("kind", "style"), CASES)
def test_inspect_agrees(site: Site, inspect_logs: Outputs, kind: str, style: str) -> None:
    log, asked = inspect_logs[kind, style], ASKED[kind]
    metrics, samples = read_inspect_metrics(log)
    graded: dict[str, tuple[str, str | None, bool]] = {}
    for sample in samples:
        score = sample["scores"][asked.score]
        answer = score.get("answer")
        said = answer[:1] if kind == "samples" and answer else answer
        graded[sample["id"]] = sample["output"]["completion"], said, score["value"] == "C"
    assert graded == asked.read_predictions(site, style)
    scores = read_scores(site, kind, style)
    assert {name: metrics[name] for name in scores} == pytest.approx(scores)
    assert site.read_imported(asked.folder, log) == asked.read_answers(site, style)


@pytest.mark.parametrize(("kind", "style"), CASES)
def test_lm_eval_agrees(site: Site, lm_eval_folders: Outputs, kind: str, style: str) -> None:
    folder, asked = lm_eval_folders[kind, style], ASKED[kind]
    (log,) = folder.glob("samples_*.jsonl")
    graded: dict[str, tuple[str, bool, bool]] = {}
    for line in log.read_text(encoding="utf-8").split("\n")[:-1]:
        row = json.loads(line)
        graded[row["doc"][asked.key]] = row["resps"][0][0], not row["no_answer_rate"], row["accuracy"][-1]
    ours = asked.read_predictions(site, style)
    assert graded == {item: (text, said is not None, right) for item, (text, said, right) in ours.items()}
    metrics = read_lm_eval_metrics(folder)
    scores = {
        name.replace("type ", "accuracy_"): value
        for name, value in read_scores(site, kind, style).items()
        if not name.startswith("relation ")
    }
    assert {name: metrics[name] for name in scores} == pytest.approx(scores)
    assert site.read_imported(asked.folder, log) == asked.read_answers(site, style)


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_batch_of_vllm_agrees(site: Site, asked: Asked) -> None:
    replies = site.run_batch(asked.name)
    assert site.read_imported(asked.folder, replies) == asked.read_answers(site, "chat")


def test_the_validator_of_every_eval_ever_accepts_the_scores_of_the_leaderboard(site: Site) -> None:
    out = site.export("every-eval-ever")
    files = str(out / "data/*/*/*/*.json*")
    said = run_tool("eee", "python", "-c", VALIDATE, "--format", "json", files, cwd=site.folder)
    reports = json.loads(said)
    assert len(reports) == 2 * len(STYLES)
    for report in reports:
        assert report["valid"], report["errors"]
        # The warehouse does not know who developed a model.
        for warning in report["warnings"]:
            assert "model_info.developer must be known" in warning["msg"]
    n_lines = [report["line_count"] for report in reports if report["file_type"] == "instance"]
    assert n_lines == [N_SAMPLES] * len(STYLES)
    exported = {}
    for path in out.glob("data/*/*/*/*.json"):
        log = json.loads(path.read_text(encoding="utf-8"))
        for result in log["evaluation_results"]:
            interval = result["score_details"]["uncertainty"]["confidence_interval"]
            key = log["model_info"]["name"], result["evaluation_result_id"]
            exported[key] = result["score_details"]["score"], interval["lower"], interval["upper"]
    scores = ("mastery", "average_accuracy", "joint_accuracy")
    columns = [f"{name}{end}" for name in scores for end in ("", "_ci_low", "_ci_high")]
    rows = site.query(f"select model, {', '.join(columns)} from leaderboard")
    assert exported == {
        (model, name): tuple(numbers[3 * n : 3 * n + 3])
        for model, *numbers in rows
        for n, name in enumerate(scores)
    }
