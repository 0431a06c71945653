"""What both trainings share: the optimizer, the learning rate, one step, saved states, and options."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

WARM_UP_STEPS = 40


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


def save_state(file: Path, state: Mapping[str, Any]) -> None:
    """Write the state of a training to the file atomically."""
    torch.save(dict(state), file.with_suffix(".next"))
    file.with_suffix(".next").replace(file)


def read_options(parser: argparse.ArgumentParser, *, n_layers: int, n_threads: int) -> argparse.Namespace:
    """Add the options of both trainings with these defaults, and parse the command line."""
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
