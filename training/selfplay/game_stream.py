"""Games of a network against itself, many side by side; whenever one ends, a new one starts.

    boards, search -> decide -> record -> play -> finished games

With `full_share` below 1, playouts are capped at random (Wu 2019, section 3.1): only this share of the moves is searched with
all playouts and learnt from, and the other moves are searched quickly and without noise. One draw decides for all games side by
side, so that the batch for the network stays full; each game still has this share in the long run.

The games in flight are therefore at different moves, and no game waits for a longer one. Short games end first, so the share
of wins among the first few games means little.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from games.protocol import NOBODY, GameRules
from training.inference.evaluators import Evaluator
from training.samples import FinishedGame, pack_states, packed_size
from training.search.gumbel import GumbelSearch, GumbelSettings
from training.search.puct import LockstepSearch, PuctSearch, PuctSettings
from training.search.steps import StepsMaker
from training.selfplay.balanced_openings import OpeningSettings, after, balanced_openings


@dataclass(frozen=True)
class SelfPlaySettings:
    """Settings of self-play.

    Attributes:
        rules: the game.
        games: G, the number of games side by side, and so of states in a batch for the network.
        search: the settings of PUCT or Gumbel search.
        resign_below: a side resigns if the search gives it a lower value than this; None to play all games to the end.
        play_on_share: the share of games in which nobody may resign; they show how many resignations would be mistakes.
        openings: random openings; None for games that all begin on the empty board.
        full_share: the share of moves that are searched with all playouts.
        fast_playouts: the number of playouts of the other moves.
    """

    rules: GameRules
    games: int = 64
    search: PuctSettings | GumbelSettings = field(default_factory=PuctSettings)
    resign_below: float | None = None
    play_on_share: float = 0.1
    openings: OpeningSettings | None = None
    full_share: float = 1.0
    fast_playouts: int = 0


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
        rng: draws all random numbers of the search and the openings, and chooses the games in which nobody may resign and the
            moves with all playouts.

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
        self._evaluate, self._rng = evaluate, rng
        longest = rules.longest_game
        self._moves = np.zeros((games, longest), dtype=np.int16)
        self._states = np.zeros((games, longest, packed_size(rules)), dtype=np.uint8)
        self._policies = np.zeros((games, longest, rules.actions), dtype=np.float16)
        self._values = np.zeros((games, longest), dtype=np.float16)
        self._is_learnt = np.zeros((games, longest), dtype=bool)
        self._may_resign = np.zeros(games, dtype=bool)
        self._would_resign = np.full(games, NOBODY)
        self._opening = np.zeros(games, dtype=np.int64)
        self._is_new = np.zeros(games, dtype=bool)
        self._begin(np.arange(games))

    def _begin(self, games: np.ndarray) -> None:
        self.boards.restart(games)
        self._search.restart(games)
        self._is_learnt[games] = False
        self._would_resign[games] = NOBODY
        self._opening[games] = 0
        self._is_new[games] = True
        if self.settings.resign_below is not None:
            self._may_resign[games] = self._rng.random(len(games)) >= self.settings.play_on_share

    def _open(self, settings: OpeningSettings) -> None:
        """Play openings in the games that have just begun, which is possible only once the network has weights."""
        new = np.flatnonzero(self._is_new)
        new = new[self._rng.random(len(new)) >= settings.empty_share]
        if not new.size:
            return
        openings = balanced_openings(self.settings.rules, len(new), settings, self._evaluate, self._rng)
        self.boards.put(new, after(self.settings.rules, openings))
        for game, opening in zip(new, openings, strict=True):
            self._moves[game, : len(opening)] = opening
            self._opening[game] = len(opening)

    def step(self) -> list[FinishedGame]:
        """Play one move in every game, restart the games that have ended, and return them."""
        settings, boards, games = self.settings, self.boards, np.arange(self.settings.games)
        if settings.openings is not None:
            self._open(settings.openings)
        self._is_new[:] = False
        is_full = settings.full_share >= 1 or self._rng.random() < settings.full_share
        decisions = self._search.decide(boards, is_selfplay=True, fast_playouts=None if is_full else settings.fast_playouts)
        at = games, boards.length
        self._moves[at] = decisions.moves
        self._is_learnt[at] = is_full
        if is_full:
            self._states[at] = pack_states(boards.feature_planes())
            self._policies[at] = decisions.policies
            self._values[at] = decisions.values
        resigned = np.zeros(len(games), dtype=bool)
        if settings.resign_below is not None:
            gives_up = decisions.values < settings.resign_below
            resigned = self._may_resign & gives_up
            first = ~self._may_resign & gives_up & (self._would_resign == NOBODY)
            self._would_resign[first] = boards.side_to_move[first]
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
        plies = np.flatnonzero(self._is_learnt[game, :length]).astype(np.int16)
        return FinishedGame(
            moves=self._moves[game, :length].copy(),
            plies=plies,
            states=self._states[game, plies],
            policies=self._policies[game, plies],
            values=self._values[game, plies],
            # The side that resigned was to move before the last move, so it is now the winner's turn.
            winner=int(boards.winner[game] if over else boards.side_to_move[game]),
            resigned=not over,
            would_resign=int(self._would_resign[game]),
            opening=int(self._opening[game]),
        )
