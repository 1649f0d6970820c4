"""A small network in place of a student's whose `forward` fails, so that the rest of the student's code can be tried.

It is loaded beside `grader.confinement.worker` inside the sandbox.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def stand_in_class(torch: Any) -> type:
    """Return a class that takes the arguments of a student's PolicyValueNetModel and has the same inputs and outputs.

    Its layers are few and not the handout's. They have weights, biases, scales and shifts, as a training step may treat these
    differently.

    Args:
        torch: the library, as the worker has loaded it.
    """
    nn = torch.nn

    class StandIn(nn.Module):  # type: ignore[name-defined]
        def __init__(self, board_width: int, board_height: int, block: int = 1, planes_num: int = 9, **_: Any) -> None:
            super().__init__()
            moves = board_height * board_width
            self.convolution = nn.Conv2d(planes_num, 32, kernel_size=3, padding=1, bias=False)
            self.batch_norm = nn.BatchNorm2d(32)
            self.policy_head = nn.Linear(32 * moves, moves)
            self.hidden_layer = nn.Linear(32 * moves, 64)
            self.value_head = nn.Linear(64, 1)

        def forward(self, x: Any) -> tuple[Any, Any]:
            features = torch.relu(self.batch_norm(self.convolution(x))).flatten(start_dim=1)
            log_probs = torch.log_softmax(self.policy_head(features), dim=1)
            return log_probs, torch.tanh(self.value_head(torch.relu(self.hidden_layer(features))))

    return StandIn


@contextlib.contextmanager
def model_replaced(module: Any, torch: Any) -> Iterator[None]:
    """Let a student's module make stand-ins in place of its own PolicyValueNetModel."""
    own = module.PolicyValueNetModel
    module.PolicyValueNetModel = stand_in_class(torch)
    try:
        yield
    finally:
        module.PolicyValueNetModel = own
