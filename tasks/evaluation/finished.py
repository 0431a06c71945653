"""Recognise an edition on which every model was evaluated, without asking or scoring anything."""

from config.file import Config
from primitives.errors import InputError
from storage.mirror import Mirror
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.failures import has_failure, require_evaluated
from tasks.evaluation.run_record import is_complete


def are_evaluated(config: Config, edition_id: str, mirror: Mirror) -> bool:
    """Return whether every evaluation is complete and up to date with intact files, and none failed."""
    for name, setting in config.list_evaluations():
        if has_failure(mirror, edition_id, name, setting):
            return False
        try:
            evaluation = plan_evaluation(config, edition_id, name, setting)
            if not is_complete(evaluation):
                return False
            require_evaluated(evaluation)
        except InputError:
            # The flow reports what is wrong.
            return False
    return True
