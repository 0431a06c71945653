"""Three weeks of models that change or have learnt texts: from prompts to the views that explain them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from config.file import Config
from engines.base import Engine
from flows.support.periods import plan_period
from schemas.exchange import Completion, Prompt, Sampling
from schemas.stages import SAMPLES, TRIPLETS
from tasks.asking.progress import Advance
from tasks.edition.anchors import plan_anchors
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.quality import validation
from tests.support.damaged_root import build, evaluate
from tests.support.data_folder import query_rows
from tests.support.stage_rows import digest
from warehouse.publishing import build_warehouse

MONDAY = datetime(2026, 11, 2, 3, tzinfo=UTC)
WEEKS = ("2026-W45", "2026-W46", "2026-W47")
# Model -> what happened before the second week, and before the third.
EXPLANATIONS = {
    # It forgets most of what it knew.
    "changed": ("neither is supported", "model changed"),
    # It knows the texts of the anchors and of the first two weeks by heart.
    "leaked": ("neither is supported", "texts had leaked"),
    # It learns every text that it is asked, so the anchors rise, and fresh texts do not.
    "trained": ("both", "neither is supported"),
}
Truths = dict[str, tuple[str, bool]]
"""Text -> its head, and whether it is true."""


@dataclass
class ServedModel(Engine):
    """A model that knows a share of the heads, and some texts by heart; to any other text, it says True."""

    truths: Truths
    known_share: float = 0.5
    by_heart: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_progress: Advance | None = None
    ) -> list[Completion]:
        texts = [prompt.text.rsplit('Statement: "', 1)[1].split('", is the')[0] for prompt in prompts]
        self.asked.update(texts)
        return [Completion(f" {self.judge(text)}", finish_reason="stop") for text in texts]

    def judge(self, text: str) -> bool:
        head, is_true = self.truths[text]
        is_known = int(digest("known", head), 16) % 100 < 100 * self.known_share
        return is_true if is_known or text in self.by_heart else True

    def close(self) -> None:
        """Close nothing."""


def configure(root: Path) -> Config:
    table = {"engine": "openai", "base_url": "http://127.0.0.1:9/v1"}
    return Config.model_validate(
        {
            "knowledge": {"relations": ["therapeutic_drugs"]},
            "models": [{"name": name, "model": name, **table} for name in EXPLANATIONS],
            "anchors": {"n_pairs": 25},
            "storage": {"root": root},
        }
    )


def build_editions(config: Config) -> list[Edition]:
    """Build the editions of the weeks, and last the anchors."""
    weeks = [plan_period(config, MONDAY + timedelta(weeks=k)) for k in range(len(WEEKS))]
    anchors = plan_anchors(config)
    assert anchors is not None
    editions = [plan_edition(planned) for planned in (*weeks, anchors)]
    for edition in editions:
        build(edition, ServedModel({}))
    return editions


def read_truths(edition: Edition) -> Truths:
    folder = edition.root / edition.folder
    samples, triplets = (pl.read_parquet(folder / stage.name) for stage in (SAMPLES, TRIPLETS))
    rows = samples.join(triplets.select("triplet_id", "head"), on="triplet_id")
    return {text: (head, label) for text, head, label in rows.select("text", "head", "label").iter_rows()}


def ask_in_all_weeks(config: Config) -> None:
    """Ask the models the anchors and the edition of each week, while their knowledge changes."""
    *weeks, anchors = editions = build_editions(config)
    first, second, third, fixed = (read_truths(edition) for edition in editions)
    served = {name: ServedModel(first | second | third | fixed) for name in EXPLANATIONS}
    served["leaked"].by_heart = {*fixed, *first, *second}
    for week, edition in zip(WEEKS, weeks, strict=True):
        if week == WEEKS[2]:
            served["changed"].known_share = 0.2
        for name, model in served.items():
            assert evaluate(anchors, name, None, model, week) is None
            assert evaluate(edition, name, None, model) is None
        served["trained"].by_heart |= served["trained"].asked


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("weeks")
    with pytest.MonkeyPatch.context() as patch:
        # Great Expectations takes half a second for each stage of each evaluation.
        patch.setattr(validation, "_run_expectations", lambda *_: [])
        ask_in_all_weeks(configure(root))
    build_warehouse(root)
    return root


def test_scores_are_explained_by_what_happened_to_the_model(root: Path) -> None:
    rows = query_rows(root, "from drift_explanations where is_successive order by model, period")
    found = {name: tuple(row["explanation"] for row in rows if row["model"] == name) for name in EXPLANATIONS}
    assert found == EXPLANATIONS
    assert [row["other_period"] for row in rows] == [*WEEKS[1:]] * len(EXPLANATIONS)


def test_fall_of_each_kind_of_text_is_that_of_the_model(root: Path) -> None:
    """Texts that the model does not know are right in half of the cases."""
    rows = query_rows(root, "from drift_explanations where is_successive order by model, period")
    falls = {(row["model"], row["period"]): (row["fresh_fall"], row["anchor_fall"]) for row in rows}
    near = pytest.approx
    assert falls["changed", WEEKS[1]] == near((0.15, 0.15), abs=0.06)
    assert falls["leaked", WEEKS[1]] == near((0.25, 0), abs=0.06)
    assert falls["trained", WEEKS[0]] == near((0, -0.25), abs=0.06)


def test_answers_to_anchors_change_only_with_the_model(root: Path) -> None:
    rows = query_rows(root, "select model, period, has_changed from anchor_drift where is_successive "
                            "order by model, period")  # fmt: skip
    changed = {(row["model"], row["period"]) for row in rows if row["has_changed"]}
    assert changed == {("changed", WEEKS[1]), ("trained", WEEKS[0])}
