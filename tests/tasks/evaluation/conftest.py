"""A small evaluation, whose model answers True to every prompt."""

from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.config.tables import StorageConfig
from tasks.edition.manifest import complete_edition
from tasks.evaluation.evaluation import Evaluation
from tests.support.evaluations import list_prompts
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(12, 4), s=make_facts(9, 3))


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    """Return an evaluation on a complete edition, of a model that answers True to every prompt."""
    edition = make_edition(tmp_path, BASE)
    edition_id = complete_edition(edition, list(write_files(edition).values()), [])
    recording = tmp_path / "yes.parquet"
    pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
    model = ModelConfig(name="yes", engine="recorded", model=str(recording))
    storage = StorageConfig(root=tmp_path)
    prompts = [prompt.text for prompt in list_prompts(Evaluation(storage, edition_id, model))]
    pl.DataFrame({"prompt": prompts, "response": ["True"] * len(prompts)}).write_parquet(recording)
    return Evaluation(storage, edition_id, model)
