"""The gate: check whether a rewording still means the same as its statement (method, section 2.6)."""

from pretexeval.gate.check import (
    REASONS,
    check_rewording,
    check_rewordings,
    find_collisions,
    fold_text,
)
from pretexeval.gate.statement_form import clean_reply

# The version of the rules. Two versions may judge the same text differently.
GATE_VERSION = 4

__all__ = ["GATE_VERSION", "REASONS", "check_rewording", "check_rewordings", "clean_reply"]
__all__ += ["find_collisions", "fold_text"]
