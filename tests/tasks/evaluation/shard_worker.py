"""A worker process that asks a shard: ``python -m tests.tasks.evaluation.shard_worker FILE``.

The JSON file holds the evaluation and the shard.
"""

import json
import sys
from pathlib import Path

from pretexeval.config.engines import ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.storage.store import Store
from tasks.evaluation.evaluation import Evaluation, hold_evaluation
from tasks.evaluation.missing_answers import Shard, ask_shard, keep_prompts
from tasks.evaluation.request_files import write_requests
from tests.support.evaluations import ignore


def main() -> None:
    """Ask the prompts of the shard."""
    given = json.loads(Path(sys.argv[1]).read_text())
    evaluation = Evaluation(
        StorageConfig.model_validate(given["storage"]),
        given["edition_id"],
        ModelConfig.model_validate(given["model"]),
    )
    shard = Shard.model_validate(given["shard"])
    with hold_evaluation(evaluation):
        requests = write_requests(evaluation)
    with keep_prompts(evaluation, requests, shard) as kept:
        ask_shard(evaluation, kept, shard, Store(evaluation.storage), ignore)


if __name__ == "__main__":
    main()
