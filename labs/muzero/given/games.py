"""The data of the lab: roots, games, targets, batches and results. P planes, H rows, W columns, A = H * W actions.

All values are for the side to move, and rewards for the player who acts. The players alternate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import torch

NOBODY = -1  # the winner of a drawn game


class AskedTooMuchError(Exception):
    """Somebody asked a root for more than MuZero may know."""


class Root:
    """All that a search may know about the real position: its feature planes and its legal moves.

    Args:
        planes: [P, H, W], from the point of view of the side to move.
        availables: the legal moves.

    Attributes:
        width, height: W and H.
    """

    def __init__(self, planes: np.ndarray, availables: Sequence[int]) -> None:
        self._planes, self._availables = planes, [int(move) for move in availables]
        self.height, self.width = planes.shape[1:]

    def current_state(self) -> np.ndarray:
        """Return the feature planes [P, H, W]."""
        return self._planes.copy()

    @property
    def availables(self) -> list[int]:
        """The legal moves."""
        return list(self._availables)

    def __getattr__(self, name: str) -> Any:
        _refuse(name)

    def __copy__(self) -> NoReturn:
        _refuse("a copy")

    def __deepcopy__(self, memo: object) -> NoReturn:
        _refuse("a copy")


def _refuse(name: str) -> NoReturn:
    raise AskedTooMuchError(f"the board was asked for {name}; MuZero may ask it for current_state() and availables at the root")


@dataclass
class Game:
    """A game of T moves, from the first to the last.

    Attributes:
        planes: [T, P, H, W] float32, the position before each move.
        legal: [T, A] bool, the legal moves there.
        moves: [T] int64.
        players: [T] int64, who made each move: 1 or 2, in turn; either of them may have begun.
        winner: 1, 2 or -1 for a draw.
        policies: [T, A] float32, the visit shares of the search before each move.
        values: [T] float32, the search's values of the positions after reanalysis, or None: then results are the targets.
    """

    planes: np.ndarray
    legal: np.ndarray
    moves: np.ndarray
    players: np.ndarray
    winner: int
    policies: np.ndarray
    values: np.ndarray | None = None

    def root(self, t: int) -> Root:
        """Return the position before move t, as a search may see it."""
        return Root(self.planes[t], np.flatnonzero(self.legal[t]).tolist())


@dataclass
class Targets:
    """What the model learns from one position and the K moves after it.

    Attributes:
        moves: [K] int64, the moves to unroll.
        policies: [K + 1, A] float32.
        values: [K + 1] float32, for the side to move at each step.
        rewards: [K] float32, that of each move, for the player who makes it.
    """

    moves: np.ndarray
    policies: np.ndarray
    values: np.ndarray
    rewards: np.ndarray


@dataclass
class Batch:
    """B samples as tensors: planes [B, P, H, W], and the fields of Targets with one more dimension in front."""

    planes: torch.Tensor
    moves: torch.Tensor
    policies: torch.Tensor
    values: torch.Tensor
    rewards: torch.Tensor

    @classmethod
    def of(cls, planes: Sequence[np.ndarray], targets: Sequence[Targets]) -> Batch:
        """Stack the positions and the targets of some samples."""
        names = ("moves", "policies", "values", "rewards")
        stacked = {name: np.stack([getattr(each, name) for each in targets]) for name in names}
        moves = torch.as_tensor(stacked.pop("moves"), dtype=torch.int64)
        floats = {name: torch.as_tensor(array, dtype=torch.float32) for name, array in stacked.items()}
        return cls(torch.as_tensor(np.stack(planes), dtype=torch.float32), moves, **floats)


@dataclass
class Loss:
    """The loss, and its three parts, which add up to it; each is a tensor with one number."""

    total: torch.Tensor
    policy: torch.Tensor
    value: torch.Tensor
    reward: torch.Tensor


@dataclass
class SearchResult:
    """The result of a search.

    Attributes:
        visits: [A], how often each move of the root was taken.
        value: the mean result of the simulations for the side to move at the root.
        move: a most visited move.
    """

    visits: np.ndarray
    value: float
    move: int
