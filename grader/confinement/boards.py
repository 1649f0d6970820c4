"""Boards inside a worker: the framework's, and those that a submission brings.

It is loaded beside `grader.confinement.worker` inside the sandbox. A position of the framework's Board is given as
`{"width", "height", "n_in_row", "moves"}`; one of a submission's own board as `{"board": "NoGo.board.Board", "arguments",
"moves"}`, with the arguments of its class, and `"start_player": 1` if its second player begins. With `"earlier"`, the moves of
an earlier game, the board plays that game before `init_board` begins this one. Moves are in order of play from the start.
There, a move may also be a list `[method, argument, ...]`: the game goes on with the board that this method returns. A
`GivenBoard` is given as `{"table", "moves"}`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from random import Random
from typing import Any, Self

import numpy as np

from grader.confinement.plain import number, whole

LoadModule = Callable[[str], Any]
ASKED = ("availables?", "game_end?", "has_a_winner?")  # in an earlier game, since a board may store what it has computed


class GivenBoard:
    """A board of the grader's that knows a position and all that follow from it by a table, not by rules.

    A search plays on it where a submission's own board breaks the rules. It has what a search may use of any board.

    Args:
        table: arrays that describe N positions, the first of which is the present one:
            size [2]: width and height.
            last_move: the last move before the present position, or -1.
            stones [N, height * width]: the player of the stone on each point, 0 where there is none.
            players [N]: the side to move.
            ends [N, 2]: whether the game is over, and the winner or -1.
            edges [E, 3]: position, move, and the position after the move, in ascending order; the legal moves are those that
                have an edge.
    """

    def __init__(self, table: Mapping[str, np.ndarray]) -> None:
        self.width, self.height = (int(length) for length in table["size"])
        self.players = [1, 2]
        self._table = table
        self._following: list[dict[int, int]] = [{} for _ in table["players"]]
        for before, move, after in table["edges"].tolist():
            self._following[before][move] = after
        self.last_move = int(table["last_move"])
        self._go_to(0)

    def _go_to(self, position: int) -> None:
        self._position = position
        self.current_player = int(self._table["players"][position])
        stones = self._table["stones"][position]
        self.states = {point: int(stones[point]) for point in np.flatnonzero(stones).tolist()}
        self.availables = list(self._following[position])

    def do_move(self, move: int) -> None:
        """Play a legal move; raise ValueError for any other."""
        if move not in self._following[self._position]:
            raise ValueError(f"{move} is not legal in this position")
        self._go_to(self._following[self._position][move])
        self.last_move = move

    def game_end(self) -> tuple[bool, int]:
        """Return whether the game is over, and the winner or -1."""
        over, winner = self._table["ends"][self._position].tolist()
        return bool(over), winner

    def has_a_winner(self) -> tuple[bool, int]:
        """Return whether a player has won, and the player or -1."""
        winner = self.game_end()[1]
        return winner != -1, winner

    def get_current_player(self) -> int:
        """Return the player to move."""
        return self.current_player

    def pass_action(self) -> int:
        """Return the number of the pass, in a game that has one."""
        return len(self._table["stones"][0])

    def copy(self) -> Self:
        """Return an independent board."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._go_to(self._position)
        return twin

    def __deepcopy__(self, _: Any) -> Self:
        return self.copy()


def board_at(position: dict[str, Any], load: LoadModule) -> Any:
    """Return the board after the position's moves.

    Args:
        load: imports a module of the submission by its name.
    """
    if "table" in position:
        board: Any = GivenBoard(position["table"])
    elif "board" in position:
        module, _, name = position["board"].rpartition(".")
        board = getattr(load(module), name)(**position["arguments"])
        start_player, earlier = position.get("start_player", 0), position.get("earlier", ())
        if start_player:
            board.init_board(start_player)
        for step in earlier:
            board = played(board, step)
            watched(board, ASKED)
        if earlier:
            board.init_board(start_player)
    else:
        from Board.game_board import Board

        board = Board(width=position["width"], height=position["height"], n_in_row=position["n_in_row"])
        board.init_board(0)
    for step in position["moves"]:
        board = expect_board(played(board, step), step)
    return board


def played(board: Any, step: int | list[Any]) -> Any:
    """Play a move or call a method, and return the board to go on with, or None if the method returns nothing."""
    if isinstance(step, list):
        return getattr(board, step[0])(*step[1:])
    board.do_move(step)
    return board


def expect_board(board: Any, step: int | list[Any]) -> Any:
    """Return what `played` has returned; raise TypeError if it is None, since a method without `return` returns that."""
    if board is None and isinstance(step, list):
        raise TypeError(f"{step[0]} must return a board; it returned None")
    return board


def watched(board: Any, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the values of these attributes, or of these methods without arguments, as new arrays of numbers.

    A board may fill one array again and again, so its values are copied. An entry of 0 in a dict is left out, since it says the
    same as no entry: no stone, or nothing captured.

    Args:
        names: a check adds `?` to the names that another check judges. Such a value is nan if the board cannot give it, so that
            the mistake costs points only there. It adds `!` to the names of attributes that it judges itself: a method or
            text is then an error, and so is a list of other numbers than integers.

    Raises:
        ValueError: a value is not a number, a collection or an array of numbers, or a dict from numbers to numbers.
    """
    found = {}
    for name in names:
        key = name.rstrip("?!")
        try:
            if name.endswith("!"):
                _expect_plain(getattr(board, key), key)
            found[key] = _numbers(board, key)
        except Exception:  # NotImplementedError as well
            if not name.endswith("?"):
                raise
            found[key] = np.array(np.nan)
    return found


def _expect_plain(value: Any, name: str) -> None:
    """Raise ValueError if an attribute is a method, or holds text or, in a list, anything but integers."""
    if callable(value):
        raise ValueError(f"{name} must be an attribute; it is a method")
    entries, kinds = ([*value, *value.values()], "biuf") if isinstance(value, Mapping) else (value, "biu")
    for entry in entries:
        if np.asarray(entry).dtype.kind not in kinds:
            raise ValueError(f"{name} must hold integers; it holds {str([entry])[1:-1][:50]}")


def _numbers(board: Any, name: str) -> np.ndarray:
    value = getattr(board, name)
    value = value() if callable(value) else value
    try:
        items = sorted((key, entry) for key, entry in value.items() if entry != 0) if isinstance(value, Mapping) else value
        return np.array(items if isinstance(items, np.ndarray) else _listed(items), dtype=float)
    except (TypeError, ValueError) as error:
        if isinstance(value, Mapping):
            held = str(dict([next(iter(value.items()))]))[:100]
            raise ValueError(f"{name} must be a dict from numbers to numbers; it holds {held}") from error
        raise ValueError(f"expected numbers from {name}; got a {type(value).__name__}: {str(value)[:100]}") from error


def _listed(value: Any) -> Any:
    """Return nested collections as lists of numbers and arrays; an array or a tensor with one entry is a number.

    A set is given in ascending order: its own depends on how it came about, so that the set and its copy may differ.
    """
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        return array if array.size != 1 else number(array)
    if not isinstance(value, Collection) or isinstance(value, str):
        return number(value)
    items = [_listed(item) for item in value]
    return sorted(items) if isinstance(value, Set) else items


def follow(
    load: LoadModule,
    position: dict[str, Any],
    lines: Sequence[Sequence[Any]],
    watch: Sequence[str],
    on_copies: bool = False,
) -> list[dict[str, Any]]:
    """Play lines of moves from one position.

    Args:
        load: see `board_at`.
        watch: see `watched`.
        on_copies: play each line on a copy of one board, as a search does, instead of a new board.

    Returns:
        For each line the watched values before the first move and after each one, and the exception that cut it short, as
        text; empty if there was none.
    """
    found = []
    original = board_at(position, load=load) if on_copies else None
    for line in lines:
        board = board_at(position, load=load) if original is None else expect_board(original.copy(), ["copy"])
        seen, fault = list[dict[str, np.ndarray]](), ""
        seen.append(watched(board, watch))
        for step in line:
            try:
                board = played(board, step)
            except NotImplementedError:
                raise
            except Exception as error:
                fault = f"{type(error).__name__}: {error}".removesuffix(": ")[:300]
                break
            seen.append(watched(expect_board(board, step), watch))
        found.append({"seen": seen, "fault": fault})
    return found


def play_on(load: LoadModule, position: dict[str, Any], plies: int, seed: int, watch: Sequence[str]) -> dict[str, Any]:
    """Play moves that the board itself lists, drawn with this seed, until it lists none, raises an exception, or `plies` moves.

    Returns:
        The moves, and the watched values after each one.
    """
    board, rng = board_at(position, load=load), Random(seed)
    moves, seen = list[int](), list[dict[str, np.ndarray]]()
    while len(moves) < plies and (listed := list(board.availables)):
        move = whole(rng.choice(listed))
        try:
            board.do_move(move)
        except NotImplementedError:
            raise
        except Exception:
            break
        moves.append(move)
        seen.append(watched(board, watch))
    return {"moves": moves, "seen": seen}


def copies(
    load: LoadModule,
    position: dict[str, Any],
    steps: Sequence[int],
    others: Sequence[int],
    watch: Sequence[str],
    call: Sequence[Any] = ("copy",),
) -> dict[str, dict[str, np.ndarray]]:
    """Play on with a copy, and with the original of another copy; then move with the two that were left behind.

    A board and its copy are the only ones at their time, so that what all boards share shows like what these two share. Each
    board shows what is watched before its first move, too: if what it shows depends on what it has shown before, as planes do
    in an array that is not cleared, that depends on it alike on every board.

    Args:
        steps: the moves of the first two.
        others: the moves of the two that were left behind; an original without a copy, one after which a new board has begun
            a game, and a fresh copy play them, too.
        call: the method that returns a copy, and its arguments.

    Returns:
        What each board shows by stages. "copy after 2" shows a copy after two steps, beside "original after 2".
    """
    found = dict[str, dict[str, np.ndarray]]()

    def original() -> Any:
        return board_at(position, load=load)

    def copied(board: Any) -> Any:
        return expect_board(played(board, list(call)), list(call))

    def show(name: str, board: Any, *moves: int) -> None:
        for move in moves:
            _try_move(board, move)
        found[name] = watched(board, watch)

    def show_moved(name: str, board: Any) -> None:
        watched(board, watch)
        show(name, board, *others)

    show_moved("alone", original())
    board = original()
    board_at({**position, "moves": []}, load=load)
    show_moved("beside a new board", board)
    show_moved("fresh copy moved", copied(original()))
    board = original()
    copy = copied(board)
    show("original", board)
    show("copy", copy)
    for count, step in enumerate(steps, 1):
        show(f"copy after {count}", copy, step)
    show("original later", board)
    show("original moved", board, *others)
    board = original()
    copy = copied(board)
    watched(board, watch)
    for count, step in enumerate(steps, 1):
        show(f"original after {count}", board, step)
    show("copy later", copy)
    show("copy moved", copy, *others)
    return found


def _try_move(board: Any, move: int) -> None:
    """Play a move unless it is refused: the boards then show more than the exception does."""
    try:
        board.do_move(move)
    except NotImplementedError:
        raise
    except Exception:
        return


def refusals(
    load: LoadModule, position: dict[str, Any], steps: Sequence[int], then: Sequence[int], watch: Sequence[str]
) -> list[dict[str, Any]]:
    """Play each move on a board of its own, and go on from there.

    Returns:
        For each move the name of the exception, if any (`ValueError` for its subclasses, too), and the watched values before
        and after the move; `later` has those after the moves `then` as well, on this board and on one without the move.
    """
    found = []
    for step in steps:
        board = board_at(position, load=load)
        before, raised = watched(board, watch), ""
        try:
            board.do_move(step)
        except NotImplementedError:
            raise
        except Exception as error:
            raised = "ValueError" if isinstance(error, ValueError) else type(error).__name__
        after = watched(board, watch)
        later = [_later(board, then, watch)] if raised else []
        if raised:  # the second board is made last, since a new board may reset what all boards share
            board = board_at(position, load=load)
            watched(board, watch)  # see `copies`
            later.append(_later(board, then, watch))
        found.append({"raised": raised, "before": before, "after": after, "later": later})
    return found


def _later(board: Any, moves: Sequence[int], watch: Sequence[str]) -> dict[str, Any]:
    """Play moves until one is refused; return how many were played, and the watched values then."""
    played = 0
    with contextlib.suppress(Exception):
        for move in moves:
            board.do_move(move)
            played += 1
    return {"played": np.array(float(played)), **watched(board, watch)}


OF_RULES = (follow, play_on, copies, refusals)
