"""The cards of this host: a process takes as many as its model needs, and keeps them until it ends."""

import logging
import os
import re
import tempfile
import time
from functools import cache
from pathlib import Path

from filelock import FileLock, Timeout

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.gpus import find_gpus

logger = logging.getLogger(__name__)
CARDS_VARIABLE = "CUDA_VISIBLE_DEVICES"
POLL_S = 1.0
# A broken card is free again at once, so without this rest it would take one run after the other.
REST_S = 1800.0
CARDS_IN_NAME = re.compile(r"\((\d+) cards?\)$")
"""The end of the name of a worker with cards, by which a deployed run knows how many cards a pool has."""
# Card -> its lock, which the operating system releases when this process ends.
_held: dict[str, FileLock] = {}


@cache
def _find_cards() -> dict[str, str]:
    """Return the number of each card -> the name of its lock.

    A scheduler such as Slurm may show each of its jobs one card as number 0, so the lock has the UUID. The
    first call decides, because `take_cards` changes what this process sees.
    """
    return {gpu.index: f"card-{gpu.uuid}" for gpu in find_gpus()}


def list_cards() -> tuple[str, ...]:
    """Return the numbers of the NVIDIA cards that this process could take; none without a driver.

    CUDA_VISIBLE_DEVICES limits them.
    """
    return tuple(_find_cards())


def take_cards(n_cards: int) -> None:
    """Wait until so many cards are free, and let this process see only these. Do nothing without cards.

    No two processes of one user have the same card. One process at a time takes cards, until it has enough:
    a model of several cards gets them although others wait for one. Call this before torch looks for cards.

    Raises:
        InputError: this host has fewer cards.
    """
    cards = list_cards()
    if not cards or len(_held) >= n_cards:
        return
    if len(cards) < n_cards:
        raise InputError(
            f"the model takes {n_cards} cards (tensor_parallel_size x pipeline_parallel_size), and this host "
            f"has {len(cards)}; give it a `pool` whose workers run on a host with enough cards"
        )
    _locate_locks().mkdir(mode=0o700, exist_ok=True)
    is_reported = False
    with FileLock(_locate_locks() / "turn", thread_local=False):
        while not _take_free(cards, n_cards):
            if not is_reported:
                logger.warning("waiting for %d of %d cards: others use them", n_cards, len(cards))
            is_reported = True
            time.sleep(POLL_S)
    # By default CUDA lists the fastest card first, and the driver lists cards by their place on the PCI bus.
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    os.environ[CARDS_VARIABLE] = ",".join(sorted(_held, key=int))


def rest_cards() -> None:
    """Let processes take others than these cards for half an hour, if the host has enough others.

    Call this when a card of this process may be broken, or full of another program's data.
    """
    for card in _held:
        _locate_mark(card).touch()


def _locate_locks() -> Path:
    return Path(tempfile.gettempdir(), f"pretexeval-cards-{os.getuid()}")


def _locate_mark(card: str) -> Path:
    return _locate_locks() / f"{_find_cards()[card]}-rests"


def _is_resting(card: str) -> bool:
    mark = _locate_mark(card)
    return mark.exists() and time.time() - mark.stat().st_mtime < REST_S


def _take_free(cards: tuple[str, ...], n_cards: int) -> bool:
    """Take free cards until this process has `n_cards`; return whether it has them."""
    usable = sorted(cards, key=_is_resting)
    n_usable = max(n_cards, sum(not _is_resting(card) for card in cards))
    for card in usable[:n_usable]:
        if len(_held) < n_cards and card not in _held:
            lock = FileLock(_locate_locks() / _find_cards()[card], thread_local=False)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                continue
            _held[card] = lock
    return len(_held) >= n_cards
