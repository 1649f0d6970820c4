"""The cases of the checks of NoGo, drawn with our own rules (`games/nogo/`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

import numpy as np

from games.nogo.position import NoGoPosition
from games.nogo.rules import NoGoRules
from labs.support.cases import Case, bank_of
from labs.support.tables import table_of

SIZES = ((2, 3), (3, 3), (4, 3), (3, 5), (5, 5), (6, 4), (7, 7))
SMALL = ((3, 3), (4, 3), (3, 5), (4, 4))
LEGAL, TAKEN, SUICIDE, CAPTURE = range(4)
MOST_FOLLOWING = 600  # positions that may follow the one from which a search begins
LEAST_TO_AVOID = 2  # moves that lose at once, in a case that asks for another one


def why_illegal(position: NoGoPosition) -> np.ndarray:
    """Return for each point whether the side to move may play there, or why not; a capture counts before suicide."""
    found = np.full(position.width * position.height, SUICIDE, dtype=np.int8)
    found[position.availables] = LEGAL
    for point in position.states:
        found[point] = TAKEN
    for empty in np.flatnonzero(found == SUICIDE).tolist():
        if _takes_last_liberty(position, empty):
            found[empty] = CAPTURE
    return found


def _takes_last_liberty(position: NoGoPosition, point: int) -> bool:
    opponent = 3 - position.current_player
    return any(
        position.states.get(near) == opponent and _liberties(position, near) == {point} for near in _beside(position, point)
    )


def _liberties(position: NoGoPosition, stone: int) -> set[int]:
    chain, waiting, liberties = {stone}, [stone], set[int]()
    while waiting:
        for near in _beside(position, waiting.pop()):
            if near not in position.states:
                liberties.add(near)
            elif position.states[near] == position.states[stone] and near not in chain:
                chain.add(near)
                waiting.append(near)
    return liberties


def _beside(position: NoGoPosition, point: int) -> list[int]:
    return list(position.grid.moves(position.grid.beside(1 << point)))


def _positions(moves: list[int], size: tuple[int, int], start_player: int) -> Iterator[NoGoPosition]:
    position = NoGoRules(*size).position()
    position.init_board(start_player)
    yield position
    for move in moves:
        position.do_move(move)
        yield position


def random_game(rng: Random, size: tuple[int, int]) -> list[int]:
    """Return the moves of a random game, from the start to its end."""
    position, moves = NoGoRules(*size).position(), []
    while not position.game_end()[0]:
        moves.append(rng.choice(position.availables))
        position.do_move(moves[-1])
    return moves


def game(rng: Random, *, start_player: int = 0) -> Case:
    """A whole random game, and what holds before each move and at the end."""
    size = rng.choice(SIZES)
    moves = random_game(rng, size)
    seen: list[Any] = [
        (why_illegal(each), each.game_end(), each.current_player, each.current_state())
        for each in _positions(moves, size, start_player)
    ]
    why, ends, players, planes = zip(*seen, strict=True)
    return {
        "size": np.array(size),
        "start_player": np.array(start_player),
        "moves": np.array(moves),
        "why": np.stack(why),
        "ends": np.array(ends, dtype=np.int8),
        "players": np.array(players, dtype=np.int8),
        "planes": np.stack(planes).astype(np.uint8),
    }


def middle(rng: Random, *, size: tuple[int, int]) -> Case:
    """A position in the second half of a game, so that a search from it finds games that end."""
    moves = random_game(rng, size)
    plies = rng.randrange(len(moves) // 2, len(moves) - 1)
    while True:
        case = {"size": np.array(size), "moves": np.array(moves[:plies], dtype=int)}
        if table := table_of(after_moves(case), _stones, MOST_FOLLOWING):
            return {**case, **table}
        plies += 1


def _stones(position: NoGoPosition) -> frozenset[tuple[int, int]]:
    """What decides a position: whose turn it is follows from the number of stones."""
    return frozenset(position.states.items())


def _ending(rng: Random, right: Callable[[NoGoPosition], list[int]]) -> Case:
    """The latest position of a random game in which some moves are right and others are not."""
    while True:
        size = rng.choice(SMALL)
        moves = random_game(rng, size)
        for plies in range(len(moves) - 1, 0, -1):
            case = {"size": np.array(size), "moves": np.array(moves[:plies])}
            position = after_moves(case)
            if (found := right(position)) and (table := table_of(position, _stones, MOST_FOLLOWING)):
                return {**case, "right": np.array(found), **table}


def _wins(position: NoGoPosition) -> list[int]:
    """The moves that win at once."""
    return [move for move in position.availables if _after(position, move).game_end()[0]]


def _winning(position: NoGoPosition) -> list[int]:
    wins = _wins(position)
    return wins if len(wins) < len(position.availables) else []


def _saving(position: NoGoPosition) -> list[int]:
    """The moves after which the opponent cannot win at once, if nobody wins at once and some moves lose at once.

    One of them must win in the end: where every move loses, a correct search visits all of them alike.
    """
    if _wins(position):
        return []
    following = {move: _after(position, move) for move in position.availables}
    safe = [move for move, after in following.items() if not _wins(after)]
    if len(following) - len(safe) < LEAST_TO_AVOID or all(_is_won(following[move]) for move in safe):
        return []
    return safe


def _after(position: NoGoPosition, move: int) -> NoGoPosition:
    after = position.copy()
    after.do_move(move)
    return after


def _is_won(position: NoGoPosition) -> bool:
    """Return whether the side to move wins if both play perfectly."""
    known: dict[frozenset[tuple[int, int]], bool] = {}

    def wins(position: NoGoPosition) -> bool:
        stones = _stones(position)
        if stones not in known:
            known[stones] = any(not wins(_after(position, move)) for move in position.availables)
        return known[stones]

    return wins(position)


def win(rng: Random) -> Case:
    """A position in which some move wins at once and some move does not."""
    return _ending(rng, _winning)


def loss(rng: Random) -> Case:
    """A position in which several moves lose at once and some do not."""
    return _ending(rng, _saving)


FAMILIES: dict[str, Callable[[Random], Case]] = {
    "game": game,
    "second": partial(game, start_player=1),
    **{f"middle {width}x{height}": partial(middle, size=(width, height)) for width, height in SMALL},
    "win": win,
    "loss": loss,
}


def make_bank(seed: int, cases: int, jobs: int) -> bytes:
    """Return the bank of a kit; it is made in seconds, so one process makes it."""
    return bank_of(FAMILIES, seed, cases)


def after_moves(case: Case) -> NoGoPosition:
    """Return our board after the moves of a case."""
    board = NoGoRules(*map(int, case["size"])).position()
    for move in case["moves"]:
        board.do_move(int(move))
    return board
