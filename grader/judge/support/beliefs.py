"""Infer from an engine's moves which board it believes it is playing on.

An engine may play only legal points until the game ends and still keep a wrong board internally. Two such errors can be
recognised from the moves: a swap that did not change the colour of any stone, and transposed coordinates of the engine's own
stones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from arena.rules import SWAP, Action, Position
from grader.judge.support.tame_player import WINDOWS

# A point on the real board is idle if no row of five through it that one colour can still fill has more than this many stones.
IDLE = 2
# An engine is convicted if it takes TAKEN temptations before it passes by PASSED_BY of them. If it takes each with probability
# p, it is convicted with probability p^8 (9 - 8 p). In trials, engines that play a random point next to the stones took 1 in
# 12, which gives 2 in 10^8; engines that look for rows or threats took at most 1 in 200, which gives 1 in 10^17.
TAKEN, PASSED_BY = 8, 2


@dataclass(frozen=True)
class Temptation:
    """Points that an engine would have to play at once if no stone had changed hands, but that are idle on the real board.

    Attributes:
        ply: the ply of the engine's answer, counted from 1.
        points: all points that complete five for the engine; if there are none, all that complete five for its opponent.
        answer: the engine's move.
    """

    ply: int
    points: frozenset[Action]
    answer: Action

    @property
    def is_taken(self) -> bool:
        return self.answer in self.points


def temptations(moves: Sequence[Action], seat: int) -> list[Temptation]:
    """Return the temptations that this seat met after the swap, up to the first five in a row on the believed board."""
    real: dict[Action, int] = {}
    believed: dict[Action, int] = {}
    found = []
    swapped = False
    for ply, action in enumerate(moves, 1):
        owner = (ply - 1) % 2
        if action == SWAP:
            real = {point: 1 - colour for point, colour in real.items()}
            swapped = True
            continue
        if swapped and owner == seat:
            points = _completions(believed, seat) or _completions(believed, 1 - seat)
            if points and all(longest_row(real, point, colour) <= IDLE for point in points for colour in (0, 1)):
                found.append(Temptation(ply, points, action))
        if swapped and longest_row(believed, action, owner) == 4:
            break  # for an engine that believes in this board the game is over, so its later moves show nothing
        real[action] = believed[action] = owner
    return found


def forgets_the_swap(games: Iterable[Sequence[Action]], seat: int) -> bool | None:
    """Return whether the engine plays these games as if a swap changed no stone's colour; None if that is undecided."""
    taken = passed_by = 0
    for moves in games:
        for temptation in temptations(moves, seat):
            taken += temptation.is_taken
            passed_by += not temptation.is_taken
            if taken == TAKEN:
                return True
            if passed_by == PASSED_BY:
                return False
    return None


def longest_row(stones: Mapping[Action, int], point: Action, colour: int) -> int:
    """Return the most stones that a colour has in any row of five through an empty point, -1 if there is no such row.

    Only rows without a stone of the other colour count.
    """
    rows = [[stones[p] for p in window if p in stones] for window in WINDOWS if point in window]
    return max((len(row) for row in rows if all(owner == colour for owner in row)), default=-1)


def _completions(stones: Mapping[Action, int], colour: int) -> frozenset[Action]:
    found = set()
    for window in WINDOWS:
        empty = [point for point in window if point not in stones]
        if len(empty) == 1 and all(stones.get(point, colour) == colour for point in window):
            found.add(empty[0])
    return frozenset(found)


def is_free_if_transposed(moves: Sequence[Action], seat: int, refused: Action) -> bool:
    """Return whether the refused point fits an engine that writes `y x` for `x y`.

    It does if, with the engine's own stones transposed, the point that it meant is free and lies in a row with some stone.

    Args:
        refused: the engine's answer after these moves, a point that is already taken.
    """
    believed = {}
    for point, owner in _owners(moves).items():
        believed[(point[1], point[0]) if owner == seat else point] = owner
    meant = (refused[1], refused[0])
    return meant not in believed and max(longest_row(believed, meant, colour) for colour in (0, 1)) > 0


def stones_before_swap(moves: Sequence[Action]) -> set[Action]:
    """Return the stones on the board when the swap was made; the empty set if there was no swap."""
    return set(moves[: moves.index(SWAP)]) if SWAP in moves else set()


def _owners(moves: Sequence[Action]) -> dict[Action, int]:
    position = Position(free_opening=True)
    for action in moves:
        position.play(action)
    return position.stones
