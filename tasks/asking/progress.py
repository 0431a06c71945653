"""How long work reports its progress: the asking code counts, the caller decides where the count is shown."""

from collections.abc import Callable
from contextlib import AbstractContextManager

Advance = Callable[[int], None]
"""Takes how many more are done."""
ShowProgress = Callable[[str, int], AbstractContextManager[Advance]]
"""Opens a display with this title and total."""
