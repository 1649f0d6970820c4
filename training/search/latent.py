"""The nodes of a search tree as latent states: the counterpart of `training.search.steps.RulesSteps`.

The board is asked only at the roots, for its feature planes and its legal moves. Below the roots every move may be taken, and
no game ends: the model has learnt what is unlikely to be played and what finished games are worth.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from games.protocol import PositionBatch
from training.search.paths import Ways
from training.search.steps import Expansion, Steps


class LatentModel(Protocol):
    """What the search asks of a learnt model, such as `training.muzero.latent_model.MuZeroModel`.

    Attributes:
        shape: (C, H, W) of a latent state.
    """

    shape: tuple[int, int, int]

    def represent(self, planes: torch.Tensor) -> torch.Tensor:
        """h: feature planes [N, P, H, W] -> latent states [N, C, H, W]."""

    def step(self, latents: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """g: latent states [N, C, H, W] and actions [N] -> the next latent states."""

    def predict(self, latents: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """f: latent states [N, C, H, W] -> logits of all actions [N, A], and values [N] for the side to move."""


class LatentSteps(Steps):
    """The latent states of the trees of one search.

    Args:
        model: the model; it is not changed.
    """

    keeps_trees = False  # a root is always made from its position

    def __init__(self, model: LatentModel) -> None:
        self._model = model
        self._boards: PositionBatch
        self._latents = torch.empty(0)  # [R, C, H, W], for each row of the trees

    def begin(self, boards: PositionBatch, rows: int) -> None:
        """See Steps."""
        self._boards = boards
        if len(self._latents) != rows:
            # torch.empty takes up memory only where a row is written.
            self._latents = torch.empty((rows, *self._model.shape))

    def at_roots(self, games: np.ndarray, rows: np.ndarray) -> Expansion:
        """See Steps; the probabilities are those of the legal moves."""
        boards = self._boards.take(games)
        legal = boards.legal
        with torch.inference_mode():
            latents = self._model.represent(torch.from_numpy(np.ascontiguousarray(boards.feature_planes())))
            self._latents[torch.from_numpy(rows)] = latents
            logits, values = self._model.predict(latents)
            probs = torch.softmax(logits.masked_fill(~torch.from_numpy(legal), -torch.inf), dim=1)
        return Expansion(values.numpy(), np.zeros(len(rows), dtype=bool), probs.numpy(), legal)

    def behind_edges(self, games: np.ndarray, rows: np.ndarray, ways: Ways) -> Expansion:
        """See Steps."""
        with torch.inference_mode():
            latents = self._model.step(self._latents[torch.from_numpy(ways.parents)], torch.from_numpy(ways.moves))
            self._latents[torch.from_numpy(rows)] = latents
            logits, values = self._model.predict(latents)
            probs = torch.softmax(logits, dim=1)
        return Expansion(values.numpy(), np.zeros(len(rows), dtype=bool), probs.numpy())


class LatentSearchModel:
    """A model in the form that a search takes in place of a network (`training.search.steps.StepsMaker`)."""

    def __init__(self, model: LatentModel) -> None:
        self._model = model

    def new_steps(self) -> LatentSteps:
        """See StepsMaker."""
        return LatentSteps(self._model)
