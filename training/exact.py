"""Does an agent ever lose? It plays, as first and as second player, against EVERY line of replies on a small board.

A losing line is a game, from the first move to the last, that the agent loses. The agent always answers the same line in the
same way, so the number of losing lines is exact and needs no statistics. A line is followed only until the opponent can no
longer win, whatever both sides play: nothing there can change the number. `play_all_replies` works with any agent.
`searching_player_agent` turns an AlphaZero player into one, and computes evaluations, decisions and boards only once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from Board.game_board import Board, Player
from Board.symmetries import Symmetries

Line = tuple[int, ...]
"""A game so far, as moves from the empty board."""
Size = tuple[int, int, int]
"""width, height, n_in_row"""
ChooseMoves = Callable[[Sequence[Line]], Sequence[int]]
"""Games so far -> the agent's move in each."""
ChooseAmong = Callable[[Sequence[Line]], Sequence[Collection[int]]]
"""Games so far -> for each, all moves that the agent may play, if it draws among several."""
PolicyValueFunction = Callable[..., tuple[Iterable[tuple[int, float]], Any]]
"""(board, action_fc, evaluation_fc) -> (moves with priors, value), as a search calls it."""
EXAMPLES = 5
LEAST_PROBABILITY = 0.01  # of a move that counts as playable: at temperature 1e-3, moves with (nearly) equal visits share


@dataclass
class LineCounts:
    """Numbers of an agent's games in one seat; an illegal move by the agent loses the game.

    Attributes:
        losses: the games that the agent loses.
        held: the games that it does not lose; each ends where the opponent can no longer win.
        illegal_choices: the number of lost games that ended with an illegal move.
        losing_lines: the first few lost games, including an illegal last move.
    """

    losses: int = 0
    held: int = 0
    illegal_choices: int = 0
    losing_lines: list[Line] = field(default_factory=list)

    @property
    def lines(self) -> int:
        return self.losses + self.held

    def lose(self, line: Line) -> None:
        """Count a lost game, and keep it if it is among the first few."""
        self.losses += 1
        if len(self.losing_lines) < EXAMPLES:
            self.losing_lines.append(line)


@dataclass(frozen=True)
class ExactResult:
    """All games of an agent as first and as second player."""

    first: LineCounts
    second: LineCounts

    @property
    def losing_lines(self) -> int:
        return self.first.losses + self.second.losses

    def examples(self, most: int) -> list[list[int]]:
        """Return the first few lost games, at most this many."""
        return [list(line) for line in (*self.first.losing_lines, *self.second.losing_lines)][:most]


def play_all_replies(choose_moves: ChooseMoves, width: int = 3, height: int = 3, n_in_row: int = 3) -> ExactResult:
    """Play the agent against every reply, in both seats, breadth first so that its decisions come in batches.

    Games that reach the same position by different moves are kept apart, because a network sees the latest moves too.

    Args:
        choose_moves: the agent, called with many open games at once, in all of which the opponent can still win. What it
            would play in others is not known, not even whether that would be legal.

    Raises:
        ValueError: the agent returned more or fewer moves than there were games.
    """
    return play_all_games(lambda lines: [[int(move)] for move in choose_moves(lines)], (width, height, n_in_row))


def play_all_games(choose_among: ChooseAmong, size: Size = (3, 3, 3)) -> ExactResult:
    """Do the same as `play_all_replies` for an agent that may draw among several moves; the games after each of them count."""
    counts = LineCounts(), LineCounts()
    seats = [_play_seat(counts[seat], seat, size) for seat in (0, 1)]
    waiting = [(games, lines) for games in seats if (lines := next(games, None))]
    while waiting:
        # Both seats decide together, so that a search can evaluate more positions in one batch.
        open_lines = [line for _, lines in waiting for line in lines]
        choices = choose_among(open_lines)
        if len(choices) != len(open_lines):
            raise ValueError(f"expected {len(open_lines)} choices of the agent; got {len(choices)}")
        following = []
        for games, lines in waiting:
            mine, choices = choices[: len(lines)], choices[len(lines) :]
            with suppress(StopIteration):
                following.append((games, games.send(mine)))
        waiting = following
    return ExactResult(*counts)


def board_after(line: Line, size: Size) -> Board:
    """Return the position after these moves."""
    board = Board(width=size[0], height=size[1], n_in_row=size[2])
    board.init_board()
    for move in line:
        board.do_move(move)
    return board


def _play_seat(counts: LineCounts, seat: int, size: Size) -> Generator[list[Line], Sequence[Collection[int]], None]:
    """Yield the lines in which the agent is to move, a ply at a time, receive its choices, and count the results."""
    open_lines: list[Line] = [()]
    while open_lines:
        agents_turn = len(open_lines[0]) % 2 == seat
        choices = (yield open_lines) if agents_turn else [None] * len(open_lines)
        following: list[Line] = []
        for line, choice in zip(open_lines, choices, strict=True):
            empty = [move for move in range(size[0] * size[1]) if move not in line]
            for move in empty if choice is None else choice:
                after = (*line, move)
                if move not in empty:
                    counts.illegal_choices += 1
                    counts.lose(after)
                elif not can_be_lost(in_order(after), seat, size):
                    counts.held += 1
                elif board_after(after, size).game_end()[0]:
                    counts.lose(after)
                else:
                    following.append(after)
        open_lines = following


# ------------------------------------------------------------------------------------------- players that search


def remembered(policy_value_fn: PolicyValueFunction) -> PolicyValueFunction:
    """Return the same function with a memory: it is called once for each line of moves, and its first result is repeated.

    A randomised function thus becomes a fixed one. Wrap it again after the network has learnt.
    """
    known: dict[Line, tuple[list[tuple[int, float]], Any]] = {}

    def recall(board: Board, *handles: Any, **named: Any) -> tuple[Iterable[tuple[int, float]], Any]:
        line = tuple(board.states)  # a board keeps its stones in the order in which they were placed
        if line not in known:
            priors, value = policy_value_fn(board, *handles, **named)
            known[line] = list(priors), value
        priors, value = known[line]
        return iter(priors), copy(value)  # a search may change an array in place

    return recall


class RememberedBoard(Board):
    """A board that computes each position once and then only refers to it, since a search of a small game returns to the same
    position thousands of times. Boards share their positions, so they are only for searches that change them by `do_move`
    alone; a student's may take moves back on a copy.
    """

    def init_board(self, start_player: int = 0) -> None:
        super().init_board(start_player)
        self._following: dict[int, dict[str, Any]] = {}  # move -> all attributes of the board after it

    def do_move(self, move: int) -> None:
        if move not in self._following:
            after = super().copy()
            Board.do_move(after, move)
            self._following[move] = after.__dict__ | {"_following": {}}
        self.__dict__.update(self._following[move])

    def copy(self) -> RememberedBoard:
        twin = self.__class__.__new__(self.__class__)
        twin.__dict__.update(self.__dict__)
        return twin

    def after(self, line: Line) -> RememberedBoard:
        """Return the board after these further moves."""
        board = self.copy()
        for move in line:
            board.do_move(move)
        return board


def searching_player_agent(new_player: Callable[[], Player], size: Size = (3, 3, 3), alike: bool = False) -> ChooseAmong:
    """Turn an AlphaZero player into an agent for `play_all_games`: it may play any move of at least 1 % probability.

    Args:
        new_player: makes a new player for each decision, so that no tree is carried over from one line to another.
        alike: decide only once for all lines that are mirror images or rotations of one another. This is correct if positions
            are evaluated under a random symmetry, which makes such lines equivalent.
    """
    images = Symmetries(size[0], size[1]).moves
    symmetries = [tuple(image) for image in (images if alike else images[:1]).tolist()]
    decided: dict[Line, list[int]] = {}

    def decide(line: Line) -> list[int]:
        board = board_after(line, size)
        player = new_player()
        player.set_player_ind(board.get_current_player())
        move, probs = player.get_action(board, is_selfplay=False, print_probs_value=False)
        return sorted({int(move), *np.flatnonzero(np.asarray(probs) >= LEAST_PROBABILITY).tolist()})

    def choose(lines: Sequence[Line]) -> list[list[int]]:
        choices = []
        for line in lines:
            turned, symmetry = min((tuple(image[move] for move in line), image) for image in symmetries)
            if turned not in decided:
                decided[turned] = decide(turned)
            choices.append([symmetry.index(move) for move in decided[turned]])
        return choices

    return choose


@cache
def can_be_lost(line: Line, seat: int, size: Size) -> bool:
    """Return whether `seat` (0 or 1) can still lose the game after this line, if both players cooperate."""
    board = board_after(line, size)
    ended, winner = board.game_end()
    if ended:
        return winner == 2 - seat
    return any(can_be_lost(in_order((*line, move)), seat, size) for move in board.availables)


def in_order(line: Line) -> Line:
    """Return one representative of all lines that lead to the same stones with the same side to move."""
    ordered = list(line)
    ordered[::2], ordered[1::2] = sorted(line[::2]), sorted(line[1::2])
    return tuple(ordered)
