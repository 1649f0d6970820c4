"""Games of a network against itself, many side by side; whenever one ends, a new one starts.

    boards, search -> decide -> record -> play -> finished games

The games in flight are therefore at different moves, and no game waits for a longer one. Short games end first, so the share
of wins among the first few games means little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from games.protocol import GameRules
from training.inference.evaluators import Evaluator
from training.samples import FinishedGame, pack_states, packed_size
from training.search.gumbel import GumbelSearch, GumbelSettings
from training.search.puct import LockstepSearch, PuctSearch, PuctSettings
from training.search.steps import StepsMaker


@dataclass(frozen=True)
class SelfPlaySettings:
    """Settings of self-play.

    Attributes:
        rules: the game.
        games: G, the number of games side by side, and so of states in a batch for the network.
        search: the settings of PUCT or Gumbel search.
        resign_below: a side resigns if the search gives it a lower value than this; None to play all games to the end.
        play_on_share: the share of games in which nobody may resign; they show how many resignations would be mistakes.
    """

    rules: GameRules
    games: int = 64
    search: PuctSettings | GumbelSettings = field(default_factory=PuctSettings)
    resign_below: float | None = None
    play_on_share: float = 0.1


def make_search(
    settings: PuctSettings | GumbelSettings,
    games: int,
    actions: int,
    model: Evaluator | StepsMaker,
    rng: np.random.Generator,
) -> LockstepSearch:
    """Make the search that the settings describe, for games side by side with this number of actions."""
    if isinstance(settings, GumbelSettings):
        return GumbelSearch(games, actions, model, settings, rng)
    return PuctSearch(games, actions, model, settings, rng)


class SelfPlay:
    """Self-play with G games in flight.

    Args:
        settings: the settings of game, number of games and search.
        evaluate: the network, with or without `RandomSymmetry`.
        rng: draws all random numbers of the search, and chooses the games in which nobody may resign.

    Attributes:
        boards: the games in flight.
        moves_played: the number of moves in all games so far.
    """

    def __init__(self, settings: SelfPlaySettings, evaluate: Evaluator, rng: np.random.Generator) -> None:
        self.settings = settings
        games, rules = settings.games, settings.rules
        self.boards = rules.batch(games)
        self.moves_played = 0
        self._search = make_search(settings.search, games, rules.actions, evaluate, rng)
        self._rng = rng
        longest = rules.longest_game
        self._moves = np.zeros((games, longest), dtype=np.int16)
        self._states = np.zeros((games, longest, packed_size(rules)), dtype=np.uint8)
        self._policies = np.zeros((games, longest, rules.actions), dtype=np.float16)
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
            # The side that resigned was to move before the last move, so it is now the winner's turn.
            winner=int(boards.winner[game] if over else boards.side_to_move[game]),
            resigned=not over,
        )

    def finished_games(self) -> Iterator[FinishedGame]:
        """Play endlessly, and yield each game when it ends."""
        while True:
            yield from self.step()
