"""Proof of the whole instrument by designed models: ``python -m benchmarks --only instrument [CONFIG]``.

Builds the edition of the configuration, lets every designed model answer it, and compares each value of the
views with the one that the model's rule implies. One model answers from an HTTP endpoint, the answers of the
others are imported. The results stay under --root; report/index.html there shows all of these models.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.designed_models import MODELS, DesignedModel, Oracle, expect_kinds, expect_scores, read_oracle
from benchmarks.measuring import add_config, build_parser, run_command, serve_rule, write_config
from pretexeval.engines.identity import CARD
from pretexeval.storage.layout import MANIFEST, edition_folder
from report.console import align
from warehouse.query import run_query

SERVED = next(model for model in MODELS if model.name == "consistent-coin")
# The edition's writer has answered prompts as well.
PROMPTS = f"""
    select sample_id, prompt from prediction_details
    inner join responses using (model_id, prompt_key, repeat)
    where model = '{SERVED.name}' order by sample_id
"""
SHOWN = ("average accuracy", "joint accuracy", "mastery", "consistency", "share of true")
ACCURACY = "average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high"
JOINT = "joint_accuracy, joint_accuracy_ci_low, joint_accuracy_ci_high"
MASTERY = "mastery, mastery_ci_low, mastery_ci_high"
COMPONENTS = "(select * replace ('pretexeval' as method) from ablations where ablation = 'components')"
STEPS = "(from ablations where ablation <> 'components')"
TAUGHT = "(from accuracy_by_group where grouping_by = 'taught')"
NO_INTERVAL = ", null, null"
# (name of the measure in SQL, value and limits, rows).
QUERIES = (
    ("'average accuracy'", ACCURACY, "leaderboard"),
    ("'joint accuracy'", JOINT, "leaderboard"),
    ("'mastery'", MASTERY, "leaderboard"),
    ("'consistency'", "consistency" + NO_INTERVAL, "leaderboard"),
    ("'no answer'", "no_answer_rate" + NO_INTERVAL, "leaderboard"),
    ("'share of true'", "true_rate" + NO_INTERVAL, "leaderboard"),
    ("'accuracy, ' || transformation", ACCURACY, "form_effects"),
    ("'curve, n = ' || n", JOINT, "joint_accuracy_curve"),
    ("'ablation ' || ablation || ' ' || step || ', accuracy'", ACCURACY, STEPS),
    ("'ablation ' || ablation || ' ' || step || ', joint'", JOINT, STEPS),
    ("'ablation ' || ablation || ' ' || step || ', mastery'", MASTERY, STEPS),
    ("'relation ' || relation || ', average accuracy'", ACCURACY, "accuracy_by_relation"),
    ("'relation ' || relation || ', joint accuracy'", JOINT, "accuracy_by_relation"),
    ("'relation ' || relation || ', mastery'", MASTERY, "accuracy_by_relation"),
    ("'component ' || component || ', average accuracy'", ACCURACY, COMPONENTS),
    ("'taught ' || group_name || ', average accuracy'", ACCURACY, TAUGHT),
    ("'taught ' || group_name || ', mastery'", MASTERY, TAUGHT),
)
SETTING = "method = 'pretexeval' and scoring_policy = 'strict' and repeat = 0"
# The differences in model_comparison, by measure.
COMPARED = {
    "average accuracy": "difference, difference_ci_low, difference_ci_high",
    "mastery": "mastery_difference, mastery_difference_ci_low, mastery_difference_ci_high",
}


@dataclass(frozen=True)
class Measured:
    """A value of a view; the interval is null where the view gives none."""

    value: float
    low: float | None
    high: float | None
    n_pairs: int

    def agrees(self, expected: float, *, is_exact: bool) -> bool:
        """Return whether the value is as expected: exactly, or within twice the half-width of its interval.

        Twice the half-width of a 95 % interval is about four standard errors. So much is allowed because
        hundreds of values are compared. Where there is no interval, four standard errors of a share of the
        pairs stand in for it.
        """
        if is_exact:
            return abs(self.value - expected) < 1e-9
        if self.low is None or self.high is None:
            return abs(self.value - expected) <= 4 * sqrt(0.25 / self.n_pairs)
        reach = self.high - self.value if expected > self.value else self.value - self.low
        return abs(self.value - expected) <= 2 * reach


@dataclass(frozen=True)
class Check:
    """A value of a view, the value that it should have, and whether they agree."""

    model: str
    measure: str
    expected: float
    measured: Measured
    agrees: bool


@dataclass(frozen=True)
class Proof:
    """The figures of the views for the designed models on one edition."""

    edition_id: str
    oracle: Oracle
    checks: list[Check]


def prove_instrument(tables: Mapping[str, Any], root: Path) -> Proof:
    """Build the edition of a configuration, let the designed models answer it, and check the views.

    Args:
        tables: the tables of a TOML file; `models` and `storage` are replaced.
        root: folder for the data, the configuration and the answers.
    """
    edition = dict(tables.get("edition", {})) | {"label": "designed"}
    kept = {name: table for name, table in tables.items() if name not in ("models", "storage", "edition")}
    base, config = kept | {"edition": edition}, root / "config.toml"
    served = {"name": SERVED.name, "engine": "openai", "model": SERVED.name}
    unreachable = served | {"base_url": "http://127.0.0.1:9/v1"}
    run_command(root, "build", write_config(config, root, **base, models=[unreachable]))
    (folder,) = (root / edition_folder("")).glob("*-designed-*")
    oracle = read_oracle(folder)
    with serve_rule(lambda prompt: oracle.reply(SERVED, prompt)) as base_url:
        served |= {"base_url": base_url}
        run_command(root, "run", write_config(config, root, **base, models=[served]))
    prompts = run_query(root, PROMPTS)[1]
    for model in MODELS:
        if model is not SERVED:
            answers = _write_answers(model, oracle, prompts, folder, root)
            named = ("--edition", folder.name, "--model", model.name)
            run_command(root, "import-responses", answers, *named, "--root", root, "--no-publish")
    run_command(root, "publish", write_config(config, root, **base, models=[served]))
    return Proof(folder.name, oracle, check_views(root, folder.name, oracle))


def _write_answers(
    model: DesignedModel, oracle: Oracle, prompts: Sequence[tuple[str, str]], edition: Path, root: Path
) -> Path:
    """Write what the model answers to the prompts of samples, and its card if it has one; return the path."""
    folder = root / "answers" / model.name
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"sample_id": sample_id, "response": oracle.reply(model, prompt)} for sample_id, prompt in prompts
    ]
    pl.DataFrame(rows).write_parquet(folder / "answers.parquet")
    if model.taught_with:
        configuration = json.loads((edition / MANIFEST).read_bytes())["configuration"]
        heads = [{"relation": relation, "head": head} for relation, head in sorted(oracle.pairs.known)]
        base = {"name": configuration["kb"], "checksums": configuration["knowledge"]}
        (folder / CARD).write_text(json.dumps({"known_heads": heads, "taught_base": base}))
    return folder / "answers.parquet"


def check_views(root: Path, edition_id: str, oracle: Oracle) -> list[Check]:
    """Return a check of every value that the views give for the designed models on this edition.

    Raises:
        KeyError: a view has a value for which no expectation is written down.
    """
    expected = {model.name: _list_expected(model, oracle) for model in MODELS}
    is_exact = {model.name: model.is_exact for model in MODELS}
    where = f"{SETTING} and edition_id = '{edition_id}'"
    checks: list[Check] = []

    def check(model: str, measure: str, goal: float, found: Sequence[Any], *, is_exact: bool) -> None:
        value, low, high = found
        measured = Measured(value, low, high, oracle.pairs.n_pairs)
        checks.append(Check(model, measure, goal, measured, measured.agrees(goal, is_exact=is_exact)))

    for name, values, view in QUERIES:
        sql = f"select model, {name}, {values} from {view} where {where} group by all"
        for model, measure, *found in run_query(root, sql)[1]:
            if found[0] is not None and model in expected:
                check(model, measure, expected[model][measure], found, is_exact=is_exact[model])
    for measure, columns in COMPARED.items():
        sql = f"select model, other_model, {columns} from model_comparison where {where}"
        for one, other, *found in run_query(root, sql)[1]:
            if one in expected and other in expected:
                goal = expected[one][measure] - expected[other][measure]
                both = is_exact[one] and is_exact[other]
                check(one, f"{measure}, less that of {other}", goal, found, is_exact=both)
    return checks


def _list_expected(model: DesignedModel, oracle: Oracle) -> dict[str, float]:
    """Return measure -> expected value: those of the edition, of each relation, and of taught facts."""
    expected = expect_scores(model, oracle.pairs)
    for component in ("full", "without_rephrasing"):
        expected[f"component {component}, average accuracy"] = expected["average accuracy"]
    expected["component without_transformations, average accuracy"] = expected["accuracy, none"]
    parts = {
        f"relation {name}": expect_scores(model, pairs) for name, pairs in oracle.pairs_by_relation.items()
    }
    for kind, taught_with in zip(model.find_kinds(oracle.pairs), model.taught_with, strict=False):
        parts[f"taught {taught_with}"] = expect_kinds((replace(kind, share=1.0),))
    for part, scores in parts.items():
        for measure in ("average accuracy", "joint accuracy", "mastery"):
            expected[f"{part}, {measure}"] = scores[measure]
    return expected


def render_proof(proof: Proof) -> str:
    """Return the table of expected and measured values, and how many values of the views agree."""
    found = {
        (check.model, check.measure): f"{check.expected:.1%} / {check.measured.value:.1%}"
        for check in proof.checks
    }
    rows = [[model.name, *(found.get((model.name, measure), "") for measure in SHOWN)] for model in MODELS]
    wrong = [check for check in proof.checks if not check.agrees]
    lines = [
        f"{proof.edition_id}: {proof.oracle.pairs.n_pairs} pairs. Expected / measured:",
        align(["model", *SHOWN], rows),
        f"{len(proof.checks) - len(wrong)} of {len(proof.checks)} values of the views are as expected.",
        *(f"NOT: {check.model}, {check.measure}: {check.expected:.4f}, {check.measured}" for check in wrong),
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Check the instrument on the edition of a configuration, and print the table."""
    parser = build_parser("instrument", __doc__)
    add_config(parser)
    parser.add_argument("--root", type=Path, default=Path("data/designed"), help="folder for the results")
    options = parser.parse_args(arguments)
    proof = prove_instrument(options.tables, options.root.resolve())
    print(render_proof(proof))
    if any(not check.agrees for check in proof.checks):
        raise SystemExit(1)
