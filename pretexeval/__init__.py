"""Use pretexeval from Python: run a configuration, and read editions, predictions and the warehouse.

```python
import pretexeval

result = pretexeval.run("configs/quickstart.toml")
print(result.leaderboard)
missed = pretexeval.load_predictions(result.root, result.edition_id).filter(is_correct=False)
```
"""

from pretexeval.predictions import load_predictions, load_question_predictions
from pretexeval.reading import load_edition, open_warehouse
from pretexeval.running import RunResult, run

__all__ = [
    "RunResult",
    "load_edition",
    "load_predictions",
    "load_question_predictions",
    "open_warehouse",
    "run",
]
