"""The networks of the members of a run, which change while it learns: computed in a fast way, with ever newer weights."""

from __future__ import annotations

import io
from collections import deque

import numpy as np
import torch
from torch import nn

from training.inference.evaluators import InferenceNetwork, library_of
from training.inference.networks import new_model
from training.selfplay.presets import RunConfig

LEAVES = 200  # the positions in which the ranges of 8-bit integers are measured


def to_bytes(model: nn.Module) -> bytes:
    """Return the weights as bytes that can be sent to a member."""
    file = io.BytesIO()
    torch.save({name: tensor.cpu() for name, tensor in model.state_dict().items()}, file)
    return file.getvalue()


def to_model(config: RunConfig, weights: bytes) -> nn.Module:
    """Make the run's network with weights packed by `to_bytes`."""
    model = new_model(config.network, config.rules(), config.blocks, config.filters)
    model.load_state_dict(torch.load(io.BytesIO(weights), weights_only=True))
    return model


def network_with(
    weights: bytes,
    earlier: InferenceNetwork | None,
    *,
    config: RunConfig,
    callers: int = 1,
    leaves: np.ndarray | None = None,
) -> InferenceNetwork:
    """Return the earlier network with these weights, or a new one, computed in the fastest way, if there is none.

    Args:
        weights: packed by `to_bytes`.
        earlier: a network that is no longer needed.
        config: the settings of the run.
        callers: the number of workers whose positions share a batch.
        leaves: see `InferenceNetwork.load`.
    """
    model = to_model(config, weights)
    if earlier is not None:
        earlier.load(model, leaves)
        return earlier
    return InferenceNetwork(
        model,
        config.board_width,
        config.board_height,
        dtype=None,
        library=library_of(config.backend),
        batch_size=callers * config.games_at_once,
    )


class OwnNetwork:
    """The network of a worker that computes it in its own process; see ServedNetwork.

    With the backend int8, the ranges of 8-bit integers are measured in the leaves of the worker's own searches. Until there are
    enough, the network is computed in float32 or bfloat16.

    Args:
        config: the settings of the run.
    """

    elsewhere_s = 0.0

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._network: InferenceNetwork | None = None
        self._weights = b""
        self._leaves: deque[np.ndarray] = deque(maxlen=LEAVES)
        self._batches = 0

    def use(self, weights: bytes) -> None:
        """Use these weights from now on."""
        leaves = np.stack(self._leaves) if self._batches >= LEAVES else None
        self._network = network_with(weights, self._network, config=self._config, leaves=leaves)
        self._weights = weights

    @property
    def _loaded(self) -> InferenceNetwork:
        assert self._network is not None, "expected weights for the first task"
        return self._network

    @property
    def evaluations(self) -> int:
        """See ServedNetwork."""
        return self._loaded.evaluations

    @property
    def description(self) -> str:
        """How the network is computed, such as `openvino, bfloat16 on cpu`."""
        return self._loaded.description

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._config.backend == "int8":
            self._leaves.append(states[self._batches % len(states)].copy())  # one of each batch, from all games in turn
            self._batches += 1
            if self._batches == LEAVES:
                self.use(self._weights)
        return self._loaded(states)
