"""Where the right options of a question stand: the letters A, B, C and D, each as often as the others."""

from collections.abc import Mapping, Sequence

from primitives.hashing import draw_order
from schemas.question_stages import LETTERS as ALL_LETTERS
from tasks.questions.points import N_OPTIONS

LETTERS = ALL_LETTERS[:N_OPTIONS]


def place_right(n_right: Mapping[str, int], *salt: str) -> dict[str, str]:
    """Return name of a question -> the letters of its right options, sorted.

    The questions are placed in a drawn order, each on the letters that were right the fewest times so far, of
    which ties are drawn. The counts of the letters therefore differ by at most one, and no letter depends on
    anything but the draw.

    Args:
        n_right: name of a question -> how many of its options are right.
    """
    counts = dict.fromkeys(LETTERS, 0)
    placed = {}
    for name in draw_order(n_right, *salt):
        drawn = draw_order(LETTERS, *salt, name)
        chosen = sorted(drawn, key=counts.__getitem__)[: n_right[name]]
        for letter in chosen:
            counts[letter] += 1
        placed[name] = "".join(sorted(chosen))
    return placed


def arrange(right: Sequence[str], wrong: Sequence[str], letters: str, *salt: str) -> tuple[str, ...]:
    """Return the options in the order of their letters. Among right ones and wrong ones, the order is drawn.

    Args:
        letters: the letters of the right options.
    """
    waiting = {True: draw_order(right, *salt, "right"), False: draw_order(wrong, *salt, "wrong")}
    return tuple(waiting[letter in letters].pop() for letter in LETTERS)
