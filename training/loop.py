"""What all trainings share: the optimizer, the learning rate, one step, the loop over parts, and options."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

WARM_UP_STEPS = 40

Part = TypeVar("Part")


def create_optimizer(network: torch.nn.Module) -> torch.optim.AdamW:
    """Return an AdamW over all parameters of the network; `take_step` sets its learning rate."""
    return torch.optim.AdamW(network.parameters(), betas=(0.9, 0.98), weight_decay=0.01)


def schedule_rate(step: int, n_steps: int) -> float:
    """Return the share of the full learning rate: linear warm-up, level, linear decay over the last 60 %."""
    return min((step + 1) / WARM_UP_STEPS, 1.0, max(0.02, 1.7 * (1 - step / n_steps)))


def take_step(
    network: torch.nn.Module, optimizer: torch.optim.Optimizer, loss: torch.Tensor, rate: float
) -> None:
    """Update the network once to lower the loss, at this learning rate and with clipped gradients."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()


def train_parts(
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    parts: Sequence[Part],
    train_part: Callable[[Part, int], dict[str, Any]],
    state_file: Path,
) -> list[dict[str, Any]]:
    """Train the remaining parts, and return the loss curve (a row per part).

    The function saves the state after each part, and continues after the last part in the state file.

    Args:
        train_part: trains one part, given the part and its number, and returns its row of the loss curve.
    """
    curve: list[dict[str, Any]] = []
    if state_file.exists():
        state = torch.load(state_file, weights_only=False)
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        curve = state["curve"]
    for number in range(len(curve), len(parts)):
        curve.append(train_part(parts[number], number))
        print(json.dumps(curve[-1]), flush=True)
        learned = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
        _save_state(state_file, {**learned, "curve": curve})
    return curve


def _save_state(file: Path, state: dict[str, Any]) -> None:
    """Write the state of a training to the file atomically."""
    torch.save(state, file.with_suffix(".next"))
    file.with_suffix(".next").replace(file)


def read_options(parser: argparse.ArgumentParser, *, n_layers: int, n_threads: int) -> argparse.Namespace:
    """Add the options of all trainings with these defaults, and parse the command line."""
    parser.add_argument("--hidden", type=int, default=128, help="hidden size of the Llama (default: 128)")
    parser.add_argument(
        "--layers", type=int, default=n_layers, help=f"number of layers (default: {n_layers})"
    )
    parser.add_argument(
        "--threads", type=int, default=n_threads, help=f"torch threads (default: {n_threads})"
    )
    parser.add_argument(
        "--states",
        type=Path,
        default=Path("data/training"),
        help="folder for saved states",
    )
    return parser.parse_args()


def prepare_training(options: argparse.Namespace) -> None:
    """Seed torch, set its number of threads, and create the folder of saved states."""
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    options.states.mkdir(parents=True, exist_ok=True)
