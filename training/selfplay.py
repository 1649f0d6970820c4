"""Games of a network against itself, many side by side; a new game starts as soon as one has ended.

    boards, search -> decide -> record -> play -> finished games

So the games in flight are at different moves, and no game waits for a longer one. Short games end first: the share of wins
among the first few games says little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from training.boards import PLANES, Boards
from training.gumbel import GumbelSearch, GumbelSettings
from training.inference import StateEvaluator
from training.puct import LockstepSearch, PuctSearch, PuctSettings
from training.samples import FinishedGame, pack_states


@dataclass(frozen=True)
class SelfPlaySettings:
    """
    Attributes:
        board_width, board_height, n_in_row: of the board.
        games: G, the games side by side, and so the states in a batch of the network.
        search: settings of PUCT or Gumbel search.
        resign_below: a side resigns if its value by the search is lower; None to play all games to their end.
        play_on_share: the share of games in which nobody resigns, which shows how many resignations would be mistakes.
    """

    board_width: int = 3
    board_height: int = 3
    n_in_row: int = 3
    games: int = 64
    search: PuctSettings | GumbelSettings = field(default_factory=PuctSettings)
    resign_below: float | None = None
    play_on_share: float = 0.1


def make_search(settings: SelfPlaySettings, evaluate: StateEvaluator, rng: np.random.Generator) -> LockstepSearch:
    """The search of the settings, for all games side by side."""
    points = settings.board_width * settings.board_height
    if isinstance(settings.search, GumbelSettings):
        return GumbelSearch(settings.games, points, evaluate, settings.search, rng)
    return PuctSearch(settings.games, points, evaluate, settings.search, rng)


class SelfPlay:
    """G games in flight.

    Args:
        settings: of board, games and search.
        evaluate: the network, with or without `RandomSymmetry`.
        rng: draws all random numbers of the search, and the games in which nobody resigns.

    Attributes:
        boards: the games in flight.
        moves_played: in all games so far.
    """

    def __init__(self, settings: SelfPlaySettings, evaluate: StateEvaluator, rng: np.random.Generator) -> None:
        self.settings = settings
        games = settings.games
        self.boards = Boards(games, settings.board_width, settings.board_height, settings.n_in_row)
        self.moves_played = 0
        self._search = make_search(settings, evaluate, rng)
        self._rng = rng
        points = self.boards.geometry.points
        self._moves = np.zeros((games, points), dtype=np.int16)
        self._states = np.zeros((games, points, -(-PLANES * points // 8)), dtype=np.uint8)
        self._policies = np.zeros((games, points, points), dtype=np.float16)
        self._may_resign = np.zeros(games, dtype=bool)
        self._begin(np.arange(games))

    def _begin(self, games: np.ndarray) -> None:
        self.boards.restart(games)
        self._search.restart(games)
        if self.settings.resign_below is not None:
            self._may_resign[games] = self._rng.random(len(games)) >= self.settings.play_on_share

    def step(self) -> list[FinishedGame]:
        """Play one move in every game, restart the games that have ended, and return them."""
        boards, games = self.boards, np.arange(self.settings.games)
        decisions = self._search.decide(boards, is_selfplay=True)
        at = games, boards.length
        self._moves[at] = decisions.moves
        self._states[at] = pack_states(boards.feature_planes())
        self._policies[at] = decisions.policies
        resigned = self._may_resign & (decisions.values < (self.settings.resign_below or 0.0))
        boards.play(decisions.moves)
        self._search.advance(decisions.moves)
        self.moves_played += len(games)
        ended = np.flatnonzero(boards.over | resigned)
        finished = [self._finished(int(game)) for game in ended]
        self._begin(ended)
        return finished

    def _finished(self, game: int) -> FinishedGame:
        boards = self.boards
        length, over = int(boards.length[game]), bool(boards.over[game])
        return FinishedGame(
            moves=self._moves[game, :length].copy(),
            states=self._states[game, :length].copy(),
            policies=self._policies[game, :length].copy(),
            # The side that resigned was to move before the last move, so the other side is to move now.
            winner=int(boards.winner[game] if over else boards.side_to_move[game]),
            resigned=not over,
        )

    def finished_games(self) -> Iterator[FinishedGame]:
        """Play without end, and yield each game when it has ended."""
        while True:
            yield from self.step()
