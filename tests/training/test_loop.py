"""The loop that all trainings share."""

from pathlib import Path
from typing import Any

import pytest
import torch

from training.loop import create_optimizer, take_step, train_parts


def train(state_file: Path, stop_at: int | None = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the weights and the loss curve of a small network; raise KeyboardInterrupt in a part."""
    torch.manual_seed(0)
    network = torch.nn.Linear(3, 1)
    optimizer = create_optimizer(network)

    def train_part(size: float, number: int) -> dict[str, Any]:
        loss = network(torch.full((1, 3), size)).square().sum()
        take_step(network, optimizer, loss, 0.1)
        if number == stop_at:
            raise KeyboardInterrupt
        return {"part": number, "loss": loss.item()}

    curve = train_parts(network, optimizer, (1.0, 2.0, 3.0, 4.0), train_part, state_file)
    return network.state_dict(), curve


def test_an_interrupted_training_continues_after_its_last_complete_part(tmp_path: Path) -> None:
    weights, curve = train(tmp_path / "whole.pt")
    assert [row["part"] for row in curve] == [0, 1, 2, 3]
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "interrupted.pt", stop_at=2)
    resumed, resumed_curve = train(tmp_path / "interrupted.pt")
    assert resumed_curve == curve
    assert all(torch.equal(resumed[name], value) for name, value in weights.items())
