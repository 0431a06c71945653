"""The gate: check whether a rewording still means the same as its statement (method, section 2.6)."""

from gate.check import check_rewording, check_rewordings
from gate.collisions import find_collisions, fold_text
from gate.reply import clean_reply
from gate.rewording import REASONS, Rewording

# The version of the rules. Two versions may judge the same text differently.
GATE_VERSION = 2

__all__ = [
    "GATE_VERSION",
    "REASONS",
    "Rewording",
    "check_rewording",
    "check_rewordings",
    "clean_reply",
    "find_collisions",
    "fold_text",
]
