"""Players of one game, which ask for one position at a time: a person's opponent, or a player of the arena.

Behind `FoldedPolicy`, the search is whoever's it is, and its tree stays what it was; only the network is computed faster. An
`AgentPlayer` is an agent of `training.matches`, with the searches of this package, for any game of games/. In Gomoku and NoGo,
one that searches with a network solves the end of a game exactly (`training.search.endgame`); `&endgame=N` in its description
says how many positions it may reach for that, and `&endgame=0` leaves the end to the search.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np

from Board.rules import Board
from common.errors import UsageError
from games.placing import PlacingRules
from games.protocol import GameRules
from training.inference.evaluators import InferenceNetwork, PlayerBackend, PositionCache, library_of, network_to_play
from training.matches import Agent, make_agent
from training.search.endgame import EndgameSolver

END_ACTIONS = 24  # the end of a game begins when so many legal actions are left
END_POSITIONS = 50_000  # reached in half a second on a fast core


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
        end_positions: how many positions it may reach to solve the end of a game before it asks the agent; 0 for always asking.

    Attributes:
        player: the index that the game gives to the player.
        computed_by: how the agent's network is computed; empty if there is none or nobody knows.
    """

    def __init__(self, agent: Agent, rules: GameRules, end_positions: int = 0) -> None:
        self._agent, self._rules = agent, rules
        self._solver = EndgameSolver(end_positions) if end_positions else None
        self.player: int | None = None
        self.computed_by: str = getattr(agent, "computed_by", "")

    def set_player_ind(self, p: int) -> None:
        self.player = p

    def reset_player(self) -> None:
        """There is nothing to forget: each move begins with a new tree."""

    def get_action(self, board: Any, is_selfplay: bool = False, print_probs_value: bool = False) -> tuple[int, None]:
        """Return (action, None): the agent's choice, unless the position is solved and is not lost."""
        if self._solver and len(board.availables) <= END_ACTIONS:
            solved = self._solver.solve(board)
            if solved and solved[0] >= 0:
                return solved[1], None
        boards = self._rules.batch(1)
        for move in board.moves:
            boards.play([move])
        return int(self._agent.choose(boards)[0]), None


def make_agent_player(
    text: str, rules: GameRules, rng: np.random.Generator, backend: PlayerBackend = "auto", device: str | None = None
) -> AgentPlayer:
    """Make a player from the description of an agent, which may have `endgame=N` among its options.

    Args:
        text, rules, rng, backend, device: see `training.matches.make_agent`.

    Raises:
        UsageError, NotImplementedError: see `make_agent`; or N is not a number of positions.
    """
    solves = isinstance(rules, PlacingRules) and text.partition(":")[0] in ("alphazero", "gumbel")
    description, _, query = text.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if not solves or "endgame" not in options:
        return AgentPlayer(make_agent(text, rules, 1, rng, backend, device), rules, END_POSITIONS if solves else 0)
    number = options.pop("endgame")
    if not number.isdecimal():
        raise UsageError(f"expected endgame=N with a number of positions, or 0, in {text}; got {number!r}")
    rest = f"{description}?{urlencode(options)}" if options else description
    return AgentPlayer(make_agent(rest, rules, 1, rng, backend, device), rules, int(number))
