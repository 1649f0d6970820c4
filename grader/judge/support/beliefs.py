"""Infer from an engine's moves which board it believes it is playing on.

An engine may play only legal points until the game ends and still keep a wrong board internally. Such errors can be recognised
from the moves: a swap that did not change the colour of any stone, and slips by which the engine writes another point than it
means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from arena.rules import SWAP, Action
from grader.judge.support.tame_player import WINDOWS

# A point on the real board is idle if no row of five through it that one colour can still fill has more than this many stones.
IDLE = 2
# An engine is convicted if it takes TAKEN temptations before it passes by PASSED_BY of them. If it takes each with probability
# p, it is convicted with probability p^8 (9 - 8 p). In trials, engines that play a random point next to the stones took 1 in
# 12, which gives 2 in 10^8; engines that look for rows or threats took at most 1 in 200, which gives 1 in 10^17.
TAKEN, PASSED_BY = 8, 2
# Slip -> the point that an engine meant by an answer.
SLIPS: Mapping[str, Callable[[Action], Action]] = {
    "answers `y x` instead of `x y`": lambda point: (point[1], point[0]),
    "counts from 1 instead of 0": lambda point: (point[0] - 1, point[1] - 1),
}


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


def likely_slips(moves: Sequence[Action], seat: int, refused: Action) -> list[tuple[str, Action]]:
    """Return the slips that may explain why an engine answered a taken point, each with the point that it then meant.

    A slip fits if every point that the engine meant was free on the board that it then had in mind, and if the answers make as
    much sense there as on the real board without the taken stone: they lie in rows that are as long. The slip that makes the
    most sense comes first.

    Args:
        refused: the engine's answer after these moves, a point that is already taken.
    """
    least = _sense([*moves, refused], seat, lambda point: point, unseen=refused)
    worth = {slip: _sense([*moves, refused], seat, meant) for slip, meant in SLIPS.items()}
    fitting = [slip for slip in SLIPS if worth[slip] >= max(least, 1)]
    return [(slip, SLIPS[slip](refused)) for slip in sorted(fitting, key=worth.__getitem__, reverse=True)]


def _sense(moves: Sequence[Action], seat: int, meant: Callable[[Action], Action], unseen: Action | None = None) -> int:
    """Return the sum of the longest rows through this seat's points when it played them; -1 if it meant a taken point.

    Args:
        meant: an answer of the seat -> the point that it meant.
        unseen: a stone that the engine does not know of.
    """
    believed: dict[Action, int] = {}
    total = 0
    for ply, action in enumerate(moves):
        owner = ply % 2
        if action == SWAP:
            believed = {point: 1 - colour for point, colour in believed.items()}
            continue
        point = meant(action) if owner == seat else action
        if owner == seat and believed:
            if point in believed:
                return -1
            total += max(longest_row(believed, point, colour) for colour in (0, 1))
        if action != unseen:
            believed[point] = owner
    return total


def stones_before_swap(moves: Sequence[Action]) -> set[Action]:
    """Return the stones on the board when the swap was made; the empty set if there was no swap."""
    return set(moves[: moves.index(SWAP)]) if SWAP in moves else set()
