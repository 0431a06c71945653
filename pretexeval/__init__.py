"""Use pretexeval from Python: run a configuration, and read editions, predictions and the warehouse.

```python
import pretexeval

result = pretexeval.run("configs/quickstart.toml")
print(result.leaderboard)
missed = pretexeval.load_predictions(result.root, result.edition_id).filter(is_correct=False)
```
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

from pretexeval.primitives.errors import InputError

if TYPE_CHECKING:
    from commands.scripting import (
        RunResult,
        load_edition,
        load_predictions,
        open_warehouse,
        run,
    )

    __version__: str

__all__ = [
    "InputError",
    "RunResult",
    "__version__",
    "load_edition",
    "load_predictions",
    "open_warehouse",
    "run",
]


def __getattr__(name: str) -> object:
    """Return a name of ``__all__``, which is imported only now, because its module imports this package."""
    if name == "__version__":
        return version("pretexeval")
    if name not in __all__:
        raise AttributeError(f"module 'pretexeval' has no attribute {name!r}")
    return getattr(import_module("commands.scripting"), name)
