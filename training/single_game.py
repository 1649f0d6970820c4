"""Players of one game, which ask for one position at a time: a person's opponent, or a player of the arena.

Behind `FoldedPolicy`, the search is whoever's it is, and its tree stays what it was; only the network is computed faster. An
`AgentPlayer` is an agent of `training.matches`, with the searches of this package, for any game of games/.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from Board.rules import Board
from games.protocol import GameRules
from training.inference.evaluators import Backend, InferenceNetwork, PositionCache, library_of
from training.matches import Agent


class FoldedPolicy:
    """A network as the `policy_value_fn` of a search: folded, computed by the fastest library, with a cache of positions.

    Args:
        net: a PolicyValueNet with its weights; what it learns later is not seen here.
        width, height: the size of its board.
        exact: whether to compute in float32, as the network itself does, even where bfloat16 is faster.
        backend: the library that computes it.
        device: where torch computes it, "cpu" or "cuda"; None for the GPU if there is one.

    Raises:
        UsageError: the backend is not installed, or does not compute on this device.
        ValueError: the network has its layers in another order than the handout, so that it cannot be folded.

    Attributes:
        description: how the network is computed, such as `openvino, bfloat16 on cpu`.
    """

    def __init__(
        self,
        net: Any,
        width: int,
        height: int,
        exact: bool = False,
        backend: Backend = "auto",
        device: str | None = None,
    ) -> None:
        import torch

        dtype, library = torch.float32 if exact else None, library_of(backend, device)
        network = InferenceNetwork(net.model, width, height, dtype=dtype, library=library, device=device, batch_size=1)
        self._evaluate = PositionCache(network)
        self.description = network.description

    def __call__(self, board: Board, *handles: Any, **named: Any) -> tuple[Iterable[tuple[int, float]], float]:
        """Return the legal moves with their probabilities, and the value for the side to move (handout 5.2)."""
        states = np.asarray(board.current_state(), dtype=np.float32)[None]
        probs, values = self._evaluate(states)
        legal = board.availables
        return zip(legal, probs[0, legal], strict=True), float(values[0])


class AgentPlayer:
    """An agent as a player on positions that know their `moves`.

    Args:
        agent: chooses the moves.
        rules: the game.
    """

    def __init__(self, agent: Agent, rules: GameRules) -> None:
        self._agent, self._rules = agent, rules
        self.player: int | None = None

    def set_player_ind(self, p: int) -> None:
        self.player = p

    def reset_player(self) -> None:
        """There is nothing to forget: each move begins with a new tree."""

    def get_action(self, board: Any, is_selfplay: bool = False, print_probs_value: bool = False) -> tuple[int, None]:
        """Return (action, None)."""
        boards = self._rules.batch(1)
        for move in board.moves:
            boards.play([move])
        return int(self._agent.choose(boards)[0]), None
