"""The worker of a host with cards: ``python -m commands.deploy.gpu_worker [--pool POOL] [OPTION …]``.

It starts as many runs at a time as the host has cards, or one at a time if it has none. A run waits until the
cards that its model needs are free (`pretexeval.engines.cards`). The name of the worker says how many cards
there are, so that a deployed run divides its prompts among them. CUDA_VISIBLE_DEVICES limits the cards.
Further options go to `prefect worker start`.
"""

import argparse
import os
import socket
import sys

from pretexeval.config.engines import DEFAULT_POOL
from pretexeval.engines.cards import CARDS_VARIABLE, list_cards
from pretexeval.primitives.errors import count_noun


def main() -> None:
    """Replace this process by Prefect's worker."""
    parser = argparse.ArgumentParser(prog="python -m commands.deploy.gpu_worker", description=__doc__)
    parser.add_argument("--pool", default=DEFAULT_POOL, help=f"its work pool (default: {DEFAULT_POOL})")
    parser.add_argument("--name", help="its name; its number of cards is added")
    parser.add_argument(
        "--except", dest="others", default="", metavar="CARDS", help="cards of another program, such as 6,7"
    )
    options, more = parser.parse_known_args()
    others = {card.strip() for card in options.others.split(",") if card.strip()}
    cards = [card for card in list_cards() if card not in others]
    if unknown := sorted(others.difference(list_cards())):
        listed = ", ".join(list_cards()) or "none"
        parser.error(f"--except: {', '.join(unknown)}: the numbers of the cards of this host are: {listed}")
    if others and not cards:
        parser.error(f"--except {options.others}: no card of this host is left")
    visible = {CARDS_VARIABLE: ",".join(cards)} if others and cards else {}
    start = [sys.executable, "-m", "prefect", "worker", "start", "--pool", options.pool, "--type", "process"]
    name = options.name or f"{socket.gethostname()}-{os.getpid()}"
    start += ["--name", f"{name} ({count_noun(len(cards), 'card')})" if cards else name]
    os.execve(sys.executable, [*start, "--limit", str(len(cards) or 1), *more], os.environ | visible)


if __name__ == "__main__":
    main()
