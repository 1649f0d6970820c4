"""Players of one game, which ask for one position at a time: a person's opponent, or a player of the arena.

Behind `FoldedPolicy`, the search is whoever's it is, and its tree stays what it was; only the network is computed faster. An
`AgentPlayer` is an agent of `training.matches`, with the searches of this package, for any game of games/.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from Board.rules import Board
from games.protocol import GameRules
from training.inference.evaluators import InferenceNetwork, PlayerBackend, PositionCache, library_of, network_to_play
from training.matches import Agent


class FoldedPolicy:
    """A network as the `policy_value_fn` of a search: folded, computed by the fastest library, with a cache of positions.

    Args:
        net: a PolicyValueNet with its weights; what it learns later is not seen here.
        width, height: the size of its board.
        exact: whether to compute in float32, as the network itself does, even where other types are faster.
        backend: what computes it.
        device: where torch computes it, "cpu" or "cuda"; None for the GPU if there is one.
        weights: the file that its weights come from, and beside which its convolutions in 8-bit integers may lie; None to do
            without those.

    Raises:
        UsageError: the backend is not available, or what lies beside the weights does not belong to them.
        ValueError: the network has its layers in another order than the handout, so that it cannot be folded; or it is to be
            exact in 8-bit integers, or in those without a file of weights.

    Attributes:
        description: how the network is computed, such as `openvino, bfloat16 on cpu`.
    """

    def __init__(
        self,
        net: Any,
        width: int,
        height: int,
        exact: bool = False,
        backend: PlayerBackend = "auto",
        device: str | None = None,
        weights: str | None = None,
    ) -> None:
        import torch

        if exact or weights is None:
            if backend == "int8":
                raise ValueError("expected a file of weights, and no exact computation, for the backend int8")
            dtype, library = torch.float32 if exact else None, library_of(backend, device)
            network = InferenceNetwork(net.model, width, height, dtype=dtype, library=library, device=device, batch_size=1)
        else:
            of_file = Path(weights)
            network = network_to_play(net.model, width, height, of_file, backend=backend, device=device, batch_size=1)
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
