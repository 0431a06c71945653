"""What the tasks of lm-eval for samples and for questions share."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exports.graded_samples import GradedSample

Item = tuple[str, str, int, bool]
"""The fields of a GradedSample."""


def read_rows(path: Path) -> dict[str, Any]:
    """Return the rows of a file of JSON lines as the split `test`, without any network."""
    from datasets import Dataset

    # Only a line feed ends a row: str.splitlines would also split at separators within a text.
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    return {"test": Dataset.from_list(rows)}


def aggregate(compute: Callable[[list[GradedSample]], float]) -> Callable[[Sequence[Item]], float]:
    """Return a function that computes a metric of lm-eval from its items."""

    def compute_from_items(items: Sequence[Item]) -> float:
        return compute([GradedSample(*item) for item in items])

    return compute_from_items


def no_answer_rate(items: Sequence[bool]) -> float:
    """Return the share of the samples or questions whose response contains no answer."""
    return sum(items) / len(items) if items else float("nan")
