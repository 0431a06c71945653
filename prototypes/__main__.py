"""Check files of prototypes or of questions while you write them: ``python -m prototypes FILE.toml ...``."""

import sys
from collections.abc import Iterable
from pathlib import Path

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import parse_toml
from prototypes.pool import check_pool_wordings, load_pool
from prototypes.question_wording import KEYS, load_question_wording


def main(paths: Iterable[str]) -> int:
    """Print every problem of each file, and return 1 if there is one, else 0."""
    problems = [problem for path in paths for problem in list_problems(path)]
    print("\n".join(problems) or "no problems")
    return 1 if problems else 0


def list_problems(path: str) -> list[str]:
    """Return the problems of a file, which words questions if one of its tables is of a type of question."""
    try:
        tables = parse_toml(Path(path)).values() if Path(path).suffix == ".toml" else ()
        if any(isinstance(table, dict) and KEYS.keys() & table.keys() for table in tables):
            load_question_wording(Path(path))
            return []
        pool = load_pool(path)
        return check_pool_wordings(pool, pool.relations)
    except InputError as error:
        return [str(error)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
