"""Boards inside a worker: the framework's, and those that a submission brings.

It is loaded beside `grader.confinement.worker` inside the sandbox. A position of the framework's Board is given as
`{"width", "height", "n_in_row", "moves"}`; one of a submission's own board as `{"board": "NoGo.board.Board", "arguments",
"moves"}`, with the arguments of its class. Moves are in order of play from the start. There, a move may also be a list
`[method, argument, ...]`: the game goes on with the board that this method returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grader.confinement.plain import number

LoadModule = Callable[[str], Any]


def board_at(position: dict[str, Any], load: LoadModule) -> Any:
    """Return the board after the position's moves.

    Args:
        load: imports a module of the submission by its name.
    """
    if "board" in position:
        module, _, name = position["board"].rpartition(".")
        board = getattr(load(module), name)(**position["arguments"])
    else:
        from Board.game_board import Board

        board = Board(width=position["width"], height=position["height"], n_in_row=position["n_in_row"])
        board.init_board(0)
    for step in position["moves"]:
        board = played(board, step)
    return board


def played(board: Any, step: int | list[Any]) -> Any:
    """Play a move or call a method, and return the board to go on with."""
    if isinstance(step, list):
        return getattr(board, step[0])(*step[1:])
    board.do_move(step)
    return board


def watched(board: Any, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the values of these attributes, or of these methods without arguments, as arrays of numbers.

    Raises:
        ValueError: a value is not a number, a sequence or an array of numbers, or a dict from numbers to numbers.
    """
    found = {}
    for name in names:
        value = getattr(board, name)
        value = value() if callable(value) else value
        items = sorted(value.items()) if isinstance(value, dict) else value
        try:
            found[name] = np.asarray(items if isinstance(items, np.ndarray) else _listed(items), dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"expected numbers from {name}; got a {type(value).__name__}") from error
    return found


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, (list, tuple, set, range)) else number(value)


def follow(
    load: LoadModule, position: dict[str, Any], lines: Sequence[Sequence[Any]], watch: Sequence[str]
) -> list[dict[str, Any]]:
    """Play lines of moves from one position.

    Args:
        load: see `board_at`.
        watch: see `watched`.

    Returns:
        For each line the watched values before the first move and after each one, and the exception that cut it short, as
        text; empty if there was none.
    """
    found = []
    for line in lines:
        board, seen, fault = board_at(position, load=load), list[dict[str, np.ndarray]](), ""
        seen.append(watched(board, watch))
        for step in line:
            try:
                board = played(board, step)
            except NotImplementedError:
                raise
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"[:300]
                break
            seen.append(watched(board, watch))
        found.append({"seen": seen, "fault": fault})
    return found


def copies(
    load: LoadModule, position: dict[str, Any], steps: Sequence[int], other: int, watch: Sequence[str]
) -> dict[str, dict[str, np.ndarray]]:
    """Play on with a copy, then with its original, and the other way round; return what each shows by stages.

    Args:
        steps: the moves of whichever plays first.
        other: the move of the one that was left behind; a board without a copy plays it, too.
    """
    board, second, alone = (board_at(position, load=load) for _ in range(3))
    twin, third = board.copy(), second.copy()
    found = {"original": watched(board, watch), "copy": watched(twin, watch)}
    _played_on(twin, steps)
    _played_on(second, steps)
    found |= {"original later": watched(board, watch), "copy later": watched(third, watch)}
    for each in (board, third, alone):
        _played_on(each, [other])
    return {
        **found,
        "original moved": watched(board, watch),
        "copy moved": watched(third, watch),
        "alone": watched(alone, watch),
    }


def _played_on(board: Any, steps: Sequence[int]) -> None:
    """Play moves until one is refused: what the boards show then tells more than the exception."""
    for step in steps:
        try:
            board.do_move(step)
        except NotImplementedError:
            raise
        except Exception:
            break


def refusals(load: LoadModule, position: dict[str, Any], steps: Sequence[int], watch: Sequence[str]) -> list[dict[str, Any]]:
    """Play each move on a board of its own; return the name of the exception, if any, and the values before and after it."""
    found = []
    for step in steps:
        board = board_at(position, load=load)
        before, raised = watched(board, watch), ""
        try:
            board.do_move(step)
        except NotImplementedError:
            raise
        except Exception as error:
            raised = type(error).__name__
        found.append({"raised": raised, "before": before, "after": watched(board, watch)})
    return found


OF_RULES = (follow, copies, refusals)
