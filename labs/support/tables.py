"""A position of ours and all that follow from it as plain arrays: what `grader.confinement.boards.GivenBoard` plays by."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count
from typing import Any

import numpy as np

from labs.support.cases import Case

NAMES = ("size", "last_move", "stones", "players", "ends", "edges")
PREFIX = "table-"  # of the arrays in a case


def table_of(position: Any, key: Callable[[Any], Hashable] | None = None, most: int = 10_000) -> dict[str, np.ndarray] | None:
    """Return the arrays of a case that describe a position and all that follow from it, or None if they are more than `most`.

    Args:
        position: a position of ours, with the methods of `games.protocol.Position`.
        key: what two positions share that are the same; without it, each line of moves leads to a position of its own.
    """
    serial = count()
    key = key or (lambda _: next(serial))
    found, numbers, edges = [position], {key(position): 0}, []
    for number, before in enumerate(found):  # grows on the way
        if len(found) > most:
            return None
        for move in [] if before.game_end()[0] else before.availables:
            after = before.copy()
            after.do_move(move)
            if (name := key(after)) not in numbers:
                numbers[name] = len(found)
                found.append(after)
            edges.append((number, move, numbers[name]))
    arrays = {
        "size": np.array((position.width, position.height)),
        "last_move": np.array(position.last_move),
        "stones": np.stack([_stones(each) for each in found]),
        "players": np.array([each.get_current_player() for each in found], dtype=np.int8),
        "ends": np.array([each.game_end() for each in found], dtype=np.int8),
        "edges": np.array(edges, dtype=np.int32).reshape(-1, 3),
    }
    return {f"{PREFIX}{name}": array for name, array in arrays.items()}


def _stones(position: Any) -> np.ndarray:
    stones = np.zeros(position.width * position.height, dtype=np.int8)
    for point, player in position.states.items():
        stones[point] = player
    return stones


def table_in(case: Case) -> dict[str, np.ndarray]:
    """Return the table of a case, as a worker takes it."""
    return {name: case[f"{PREFIX}{name}"] for name in NAMES}
