"""What a game has to offer: the search, self-play, the matches and the programs for people use only these protocols.

A game at one size is a `GameRules`. It makes positions in two forms that follow the same rules:

    Position        one position, with the methods that students' players know from `Board.game_board.Board`
    PositionBatch   G positions side by side as arrays, for searches in lockstep

Two players, 1 and 2, move alternately. An action is a number from 0 to `actions` - 1. On most boards it is a point,
`h * width + w` (row h from the bottom, column w from the left), but a pass or a column is an action as well, so nothing here
treats an action as a point. Only the game decides who has won: `winner` names a player, and no caller infers the loser from the
side to move. Results are 1 for a win, 0 for a draw and -1 for a loss.

Feature planes are from the point of view of the side to move, and their row 0 is the top row.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

NO_MOVE = -1
NOBODY = -1


class Position(Protocol):
    """One position; `Board` is one, too.

    Attributes:
        width, height: the number of columns and rows.
        players: [1, 2].
        availables: the legal actions of the side to move as a list, in ascending order.
        states: dict point -> player, with an entry for each stone on the board. Pages draw a position of any game from it
            (`arena.view.drawn_boards.drawn_position`).
        current_player: the player to move.
        last_move: the last action; NO_MOVE before the first one.
    """

    width: int
    height: int
    players: list[int]
    states: dict[int, int]
    current_player: int
    last_move: int

    @property
    def availables(self) -> list[int]: ...

    def init_board(self, start_player: int = 0) -> None:
        """Return to the start of the game; `start_player` is the index in `players` of the player who moves first."""

    def do_move(self, move: int) -> None:
        """Play an action for the side to move and pass the turn; an illegal one raises ValueError and changes nothing."""

    def has_a_winner(self) -> tuple[bool, int]:
        """Return (True, player) if a player has won, otherwise (False, NOBODY)."""
        ...

    def game_end(self) -> tuple[bool, int]:
        """Return (whether the game is over, the winner or NOBODY); a draw is (True, NOBODY)."""
        ...

    def get_current_player(self) -> int:
        """Return the player to move."""
        ...

    def current_state(self) -> np.ndarray:
        """Return the feature planes [planes, height, width] float32."""
        ...

    def copy(self) -> Self:
        """Return an independent position."""
        ...


class PositionBatch(Protocol):
    """G positions side by side.

    Attributes:
        length: [G] the number of actions so far.
        winner: [G] int8, the player who has won, or NOBODY.
        over: [G] bool, whether the game is over.
        pass_action: the action that is a pass; NO_MOVE in a game without passes.
    """

    length: np.ndarray
    winner: np.ndarray
    over: np.ndarray

    @property
    def pass_action(self) -> int: ...

    def __len__(self) -> int: ...

    @property
    def side_to_move(self) -> np.ndarray:
        """The player to move in each game, [G] int8, 1 or 2."""

    @property
    def legal(self) -> np.ndarray:
        """The legal actions, [G, actions] bool; undefined for games that are over."""

    def take(self, games: Any) -> Self:
        """Return an independent copy of some games, given by indices or a mask."""
        ...

    def restart(self, games: Any) -> None:
        """Return some games, given by indices or a mask, to the start."""

    def put(self, games: Any, others: Self) -> None:
        """Replace some games, given by indices or a mask, by those of another batch of the same game."""

    def play(self, actions: Any) -> None:
        """Play one action [G] in every game; ValueError if one is illegal or a game is over, and then no game changes."""

    def play_lines(self, lines: np.ndarray, lengths: np.ndarray) -> None:
        """Play several actions in every game without checking them; only the last one of a line may end its game.

        Args:
            lines: [G, D] actions in order; all after the first `lengths[g]` are ignored.
            lengths: [G] the number of actions to play in each game, from 1 to D.
        """

    def feature_planes(self) -> np.ndarray:
        """Return the feature planes of every position, [G, planes, H, W] float32."""
        ...

    def for_search(self, depth_limit: int) -> Self:
        """Return a copy to search from.

        Args:
            depth_limit: in a game whose rules let a search play on where a real game ends (`games.go.position`), the number of
                actions after which the search counts a game as a draw; 0 for a copy that plays by the rules of real games,
                also where this batch belongs to a search.
        """
        ...


class Symmetry(Protocol):
    """The S symmetries of a game, each as a permutation of places and one of actions; see `Board.symmetries.Symmetries`.

    Attributes:
        count: S; symmetry 0 changes nothing.
        places: [S, H * W]; place i of the turned state holds what place `places[s, i]` of the original state holds.
        moves: [S, actions]; action m on the turned board is action `moves[s, m]` on the original board.
        turned_moves: [S, actions], the inverse of `moves`.
    """

    count: int
    places: np.ndarray
    moves: np.ndarray
    turned_moves: np.ndarray

    def turn_states(self, states: np.ndarray, which: np.ndarray) -> np.ndarray: ...

    def turn_policies(self, policies: np.ndarray, which: np.ndarray) -> np.ndarray: ...

    def turn_policies_back(self, policies: np.ndarray, which: np.ndarray) -> np.ndarray: ...


class GameRules(Protocol):
    """A game at one size.

    Attributes:
        name: how configurations and commands call the game.
        width, height: the number of columns and rows.
        actions: the number of actions, legal or not.
        planes: the number of feature planes.
        longest_game: a number of actions after which every game is over.
        symmetries: the symmetries of the board.
    """

    @property
    def name(self) -> str: ...

    @property
    def width(self) -> int: ...

    @property
    def height(self) -> int: ...

    @property
    def actions(self) -> int: ...

    @property
    def planes(self) -> int: ...

    @property
    def longest_game(self) -> int: ...

    @property
    def symmetries(self) -> Symmetry: ...

    def position(self) -> Position:
        """Return a new game."""
        ...

    def batch(self, games: int) -> PositionBatch:
        """Return new games side by side."""
        ...

    def draw_opening(self, stones: int, rng: np.random.Generator) -> list[int]:
        """Draw the actions of an opening for a match, after which the game goes on; UsageError if so many are impossible."""
        ...

    def action_name(self, action: int) -> str:
        """Return an action as people write it: `d4`, `pass`."""
        ...

    def action_of(self, name: str) -> int:
        """Return the action that people write like this, in capitals or not; ValueError if there is none."""
        ...

    def text(self, position: Any) -> str:
        """Draw a position of this game in lines of text, the top row first."""
        ...


def result_for(position: Position, player: int) -> float:
    """Return 1, 0 or -1, the result of a finished game for a player.

    Raises:
        ValueError: the game is not over.
    """
    over, winner = position.game_end()
    if not over:
        raise ValueError("expected a position in which the game is over; this game goes on")
    return 0.0 if winner == NOBODY else 1.0 if winner == player else -1.0


def results_for_side_to_move(batch: PositionBatch) -> np.ndarray:
    """Return the result of each game for its side to move, [G] float64; 0 where the game goes on."""
    return np.where(batch.winner == NOBODY, 0.0, np.where(batch.winner == batch.side_to_move, 1.0, -1.0))
