"""Errors that a user can fix, and the treatment of all others.

The message of an InputError says where the problem is, what it is, and what to do.
"""

import copyreg
import errno
import threading
import traceback
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Any

from pretexeval.primitives.secrets import hide_secrets

FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
UNWRITABLE_DISK = (*FULL_DISK, errno.EFBIG, errno.EROFS)
"""Errors of a disk that takes no more files, or none of this size."""
INTERRUPTED = threading.Event()
"""Set as soon as a signal has asked this process to end."""
# Characters of an error that a message repeats.
MAX_REASON = 300


class InputError(ValueError):
    """The input cannot be used: a configuration, a knowledge base, a prototype pool or a model."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let pickle restore the error without __init__, whose parameters differ in subclasses."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


def suggest(unknown: str, known: Collection[str], n: int = 3) -> str:
    """Return known names that contain the unknown one, or else that are spelled alike, for a message."""
    containing = sorted(name for name in known if unknown and unknown.casefold() in name.casefold())
    similar = (containing or get_close_matches(unknown, known))[:n]
    return f" (did you mean {' or '.join(similar)}?)" if similar else ""


def count_noun(n: int, noun: str) -> str:
    """Return a number with its noun, for a message: 1 head, 1,000 heads."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


N_PROBLEMS_SHOWN = 20


def join_problems(problems: Sequence[str]) -> str:
    """Return one message with the first problems, and the number of the others."""
    n_more = len(problems) - N_PROBLEMS_SHOWN
    rest = [f"and {n_more:,} more"] if n_more > 0 else []
    return "; ".join([*problems[:N_PROBLEMS_SHOWN], *rest])


def is_failure(error: BaseException) -> bool:
    """Return whether the error can be that of one model: it is no interrupt, and files can be written."""
    # Libraries turn the interrupt into exceptions of their own.
    if INTERRUPTED.is_set():
        return False
    if isinstance(error, OSError) and error.errno in UNWRITABLE_DISK:
        return False
    # The libraries in Rust that read tokenizers and tables raise panics, which are no Exceptions.
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def describe_failure(error: BaseException) -> str:
    """Return the message of an error in one line, without secrets; an explained error keeps its message."""
    if isinstance(error, InputError):
        return str(error)
    return hide_secrets(" ".join(f"{type(error).__name__}: {error}".split()))[:MAX_REASON]


def release_frames(error: BaseException | None) -> None:
    """Release the variables of the functions that raised the error, which may hold a half-loaded model."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__
