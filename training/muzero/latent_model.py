"""MuZero's model of a game (Schrittwieser et al. 2020, Methods and appendix F), at the size of small boards.

    representation  s0 = h(o)             the feature planes of a position -> a latent state
    dynamics        s', u = g(s, a)       a latent state and an action -> the next latent state and the reward of the action
    prediction      p, v = f(s)           a latent state -> logits of the policy, and the value for the side to move

A latent state has the shape of the board, [C, H, W]. Each one is scaled to [0, 1] between its smallest and its largest entry,
so that it has the range of the plane in which g sees the action. The network has no batch norm: the statistics of a batch
would have to fit latent states after 0 steps as well as after K steps.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from games.protocol import GameRules

HEAD_FILTERS, HEAD_UNITS = 8, 64
NARROWEST = 1e-5  # a latent state whose entries differ by less is left at about 0 instead of being stretched


def scaled_to_unit(latents: torch.Tensor) -> torch.Tensor:
    """Scale each latent state of [N, C, H, W] to [0, 1] between its smallest and its largest entry."""
    flat = latents.flatten(1)
    smallest, largest = flat.amin(dim=1, keepdim=True), flat.amax(dim=1, keepdim=True)
    return ((flat - smallest) / (largest - smallest).clamp_min(NARROWEST)).view_as(latents)


def action_planes(rules: GameRules) -> torch.Tensor:
    """Return the plane [H, W] of each action, [A, 1, H, W], laid out like the feature planes, whose row 0 is the top row.

    A point is a 1 on a plane of zeros. An action that is not a point, such as a pass, is a plane of its own value below 0.
    """
    height, width = rules.height, rules.width
    planes = torch.zeros(rules.actions, 1, height, width)
    for action in range(rules.actions):
        if action < height * width:
            planes[action, 0, height - 1 - action // width, action % width] = 1.0
        else:
            planes[action] = -1.0 / (1 + action - height * width)
    return planes


class LatentBlock(nn.Module):
    """A residual block without batch norm; it changes nothing until it has learnt."""

    def __init__(self, filters: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(filters, filters, 3, padding=1)
        self.second = nn.Conv2d(filters, filters, 3, padding=1)
        for weights in self.second.parameters():
            nn.init.zeros_(weights)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + self.second(F.relu(self.first(x))))


class ValueHead(nn.Sequential):
    """A latent state -> a number in [-1, 1]."""

    def __init__(self, filters: int, points: int) -> None:
        super().__init__(
            nn.Conv2d(filters, HEAD_FILTERS, 1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(HEAD_FILTERS * points, HEAD_UNITS),
            nn.ReLU(),
            nn.Linear(HEAD_UNITS, 1),
            nn.Tanh(),
            nn.Flatten(0),
        )


class MuZeroModel(nn.Module):
    """h, g and f for any game.

    Args:
        rules: the game.
        filters: C, the number of planes of a latent state.
        blocks: the number of residual blocks of h, and of g.
    """

    planes_of_actions: torch.Tensor

    def __init__(self, rules: GameRules, filters: int, blocks: int) -> None:
        super().__init__()
        points = rules.width * rules.height
        self.filters, self.shape = filters, (filters, rules.height, rules.width)
        self.register_buffer("planes_of_actions", action_planes(rules), persistent=False)
        self.observe = nn.Conv2d(rules.planes, filters, 3, padding=1)
        self.observe_blocks = nn.Sequential(*(LatentBlock(filters) for _ in range(blocks)))
        self.act = nn.Conv2d(filters + 1, filters, 3, padding=1)
        self.act_blocks = nn.Sequential(*(LatentBlock(filters) for _ in range(blocks)))
        self.reward_head = ValueHead(filters, points)
        self.policy = nn.Sequential(
            nn.Conv2d(filters, HEAD_FILTERS, 1), nn.ReLU(), nn.Flatten(), nn.Linear(HEAD_FILTERS * points, rules.actions)
        )
        self.value = ValueHead(filters, points)
        # EfficientZero's consistency loss compares projections of latent states (Ye et al. 2021, section 4.1).
        self.project = nn.Sequential(nn.Flatten(), nn.Linear(filters * points, HEAD_UNITS))
        self.predict_projection = nn.Sequential(nn.Linear(HEAD_UNITS, HEAD_UNITS), nn.ReLU(), nn.Linear(HEAD_UNITS, HEAD_UNITS))

    def represent(self, planes: torch.Tensor) -> torch.Tensor:
        """h: feature planes [N, P, H, W] -> latent states [N, C, H, W]."""
        return scaled_to_unit(self.observe_blocks(F.relu(self.observe(planes))))

    def step(self, latents: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """g: latent states [N, C, H, W] and actions [N] -> the next latent states."""
        x = torch.cat([latents, self.planes_of_actions[actions]], dim=1)
        return scaled_to_unit(self.act_blocks(F.relu(latents + self.act(x))))

    def reward(self, following: torch.Tensor) -> torch.Tensor:
        """g: the latent states [N, C, H, W] after some actions -> the rewards [N] of these actions for who acted."""
        rewards: torch.Tensor = self.reward_head(following)
        return rewards

    def predict(self, latents: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """f: latent states [N, C, H, W] -> logits of all actions [N, A], and values [N] for the side to move."""
        return self.policy(latents), self.value(latents)
