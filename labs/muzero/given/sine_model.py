"""A model with random weights that takes the place of your Model where a check examines the loss, the search or the reanalysis.

So a mistake in your Model does not spoil those checks. It offers what Model offers (actions, represent, dynamics, predict), but
it computes something else, and there is no game in which it would be right.
"""

from __future__ import annotations

import torch
from torch import nn


class SineModel(nn.Module):
    """h, g and f, with a matrix for each action in g and latent states (1 + sin x) / 2.

    Args:
        planes, height, width: P, H and W.
        latent: D.

    Attributes:
        actions: A.
    """

    def __init__(self, planes: int, height: int, width: int, latent: int) -> None:
        super().__init__()
        self.actions = height * width
        self.root = nn.Linear(planes * height * width, latent)
        self.matrices = nn.Parameter(torch.zeros(self.actions, latent, latent))
        self.shifts = nn.Parameter(torch.zeros(self.actions, latent))
        self.reward = nn.Linear(latent, 1)
        self.policy = nn.Linear(latent, self.actions)
        self.value = nn.Linear(latent, 1)

    def represent(self, planes: torch.Tensor) -> torch.Tensor:
        """[N, P, H, W] -> [N, D]."""
        return (1 + torch.sin(self.root(planes.flatten(1)))) / 2

    def dynamics(self, latents: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """[N, D], [N] -> [N, D], [N]."""
        moved = torch.einsum("nij,nj->ni", self.matrices[actions], latents) + self.shifts[actions]
        following = (1 + torch.sin(moved)) / 2
        return following, torch.tanh(self.reward(following)).squeeze(1)

    def predict(self, latents: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """[N, D] -> [N, A], [N]."""
        return self.policy(latents), torch.tanh(self.value(latents)).squeeze(1)
