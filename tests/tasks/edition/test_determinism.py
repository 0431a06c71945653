"""The same base and seed give the same files in any process, order of rows and number of threads."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl

from pretexeval.config.file import Config
from pretexeval.config.questions import QuestionsConfig
from pretexeval.config.tables import EditionConfig, KnowledgeConfig, StorageConfig
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tests.support.small_bases import (
    STAGES,
    shuffle,
    write_files,
)

REPOSITORY = Path(__file__).parents[3]
NAMES = ("may_treat", "symptoms")


def plan_starter(root: Path, seed: int = 1) -> Edition:
    return plan_edition(
        Config(
            knowledge=KnowledgeConfig(relations=NAMES),
            edition=EditionConfig(seed=seed),
            questions=QuestionsConfig(settings=("answer_only",)),
            storage=StorageConfig(root=root),
        )
    )


def checksum_stages(edition: Edition) -> dict[str, str]:
    """Return path within the edition -> checksum."""
    return {path.removeprefix(edition.folder): ref.sha256 for path, ref in write_files(edition).items()}


def print_checksums(root: str) -> None:
    """Print the checksums of the edition with shuffled rows; another process runs this."""
    edition = plan_starter(Path(root))
    shuffled = replace(edition, base=shuffle(edition.base, 7))
    print(json.dumps([pl.thread_pool_size(), checksum_stages(shuffled)]))


def test_another_process_with_one_thread_and_shuffled_rows_writes_the_same_files(
    tmp_path: Path,
) -> None:
    edition = plan_starter(tmp_path / "one")
    code = "import sys; from tests.tasks.edition.test_determinism import print_checksums as p; p(sys.argv[1])"
    settings = {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "12345", "PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "two")],
        env=os.environ | settings,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    n_threads, checksums = json.loads(result.stdout)
    assert n_threads == 1
    assert checksums == checksum_stages(edition)
    assert len(checksums) == len(NAMES) * (len(STAGES) + 1)
