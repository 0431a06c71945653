"""Check pool files while they are being written: ``python -m prototypes FILE.toml ...``."""

import sys
from collections.abc import Iterable

from pretexeval.primitives.errors import InputError
from prototypes.pool import check_pool_wordings, load_pool


def main(paths: Iterable[str]) -> int:
    """Print every problem of each pool, and return 1 if there is one, else 0."""
    problems: list[str] = []
    for path in paths:
        try:
            pool = load_pool(path)
            problems += check_pool_wordings(pool, pool.relations)
        except InputError as error:
            problems.append(str(error))
    print("\n".join(problems) or "no problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
