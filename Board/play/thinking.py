"""A player's search in a thread, on a copy of the position. It can be watched while it runs, and cancelled at once.

A thread cannot be ended from outside, so a search is cancelled through its board. Every playout begins with a copy of the
position, and the board of a cancelled search raises `Cancelled` instead of making one. A player that can end its search in
another way has a method `cancel()`. A search that does neither runs to its end, and nobody looks at its answer.

The thread is not a daemon. The interpreter ends daemon threads as soon as they ask for its lock, and a thread inside torch that
is ended like this takes the whole process with it ("terminate called without an active exception").
"""

from __future__ import annotations

import math
import re
import threading
import time
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from types import SimpleNamespace
from typing import Any

from Board.rules import NO_MOVE, Player
from common.search_tree import SeenNode, kept_roots, most_visited_line, read_tree

LINE_LENGTH = 9
SCORE = re.compile(r"\bscore (-?\d{1,9})\b")  # as the engines of the course report it
SCORE_SCALE = 600  # as in supervised training, which turns scores of engines into values by the same formula
CANCEL_EVERY_S = 0.05
SEARCH = "search"  # the name of the threads in which players think


class Cancelled(BaseException):
    """Raised inside a search whose result is no longer wanted; not an Exception, so that no player handles it by mistake."""


class Cancellable:
    """What a position for a search has besides those of its game; once `is_cancelled` is set, it can no longer be copied."""

    is_cancelled: threading.Event

    def copy(self) -> Any:
        """Return an independent position.

        Raises:
            Cancelled: nobody waits for the search any more.
        """
        if self.is_cancelled.is_set():
            raise Cancelled
        return super().copy()  # type: ignore[misc]  # the game's own method


@cache
def _cancellable(kind: Any) -> Any:
    return type(f"Cancellable{kind.__name__}", (Cancellable, kind), {})


def cancellable(position: Any, is_cancelled: threading.Event) -> Any:
    """Return a copy of a position that obeys `is_cancelled`, as do all copies of it."""
    own: Any = type(position)
    kind = _cancellable(own)
    twin = kind.__new__(kind)
    twin.__dict__.update(position.copy().__dict__)
    twin.is_cancelled = is_cancelled
    return twin


@dataclass(frozen=True)
class Analysis:
    """What a search tree or an engine said about a position.

    Attributes:
        children: the moves, most visited first; each mean value is for the side to move in the position.
        line: the most visited moves, one after the other.
        black_value: in [-1, 1], for black: the mean value of the most visited move, or tanh(score / SCORE_SCALE) of the score
            that an engine reports for the side to move; None if no move has been visited, the mean is not finite, or no score
            is reported.
        playouts: the number of visits of the position; 0 for an engine.
        words: what an engine reports about its search, in its own words; empty for a tree.
    """

    children: tuple[SeenNode, ...]
    line: tuple[int, ...]
    black_value: float | None
    playouts: int
    words: str = ""


def analyse(search: Any, black_is_to_move: bool) -> Analysis | None:
    """Read the tree of a player or a search; return None if there is no tree or it has no moves yet."""
    try:
        tree = read_tree(search, depth=1)
    except (AttributeError, TypeError, ValueError, RuntimeError):  # a student's tree, which may be of another kind
        return None
    if tree is None or not tree.children:
        return None
    best = tree.children[0]
    value = max(-1.0, min(1.0, best.mean_value)) if best.visits and math.isfinite(best.mean_value) else None
    if value is not None and not black_is_to_move:
        value = -value
    return Analysis(tree.children, tuple(most_visited_line(search, LINE_LENGTH)), value, tree.visits)


def heard(player: Any, board: Any) -> Analysis | None:
    """Return what an engine reports about its search by `player.report()`; None if it has no such method or says nothing.

    Args:
        board: the position; a principal line is kept up to the first point that is not on it.
    """
    report = getattr(player, "report", None)
    try:
        words, points = report() if callable(report) else ("", ())
        moves = [board.location_to_move([y, x]) for x, y in points]
    except (TypeError, ValueError):  # a student's player, whose method means something else
        return None
    line = tuple(takewhile(lambda move: move != NO_MOVE, moves))[:LINE_LENGTH]
    if not words or not isinstance(words, str):
        return None
    score = SCORE.search(words)
    value = math.tanh(int(score[1]) / SCORE_SCALE) if score else None
    if value is not None and board.get_current_player() != board.players[0]:
        value = -value
    return Analysis((), line, value, 0, words)


class Search:
    """One call of `get_action`, which begins at once.

    Args:
        player: who searches.
        board: the position; the search gets a copy.
        forget: whether to reset the player first, because the position does not continue the game that it knows.

    Attributes:
        action: the answer, once the search has ended without an error.
        error: what the player raised; None if it did not.
        analysis: what the tree or the engine said when the search ended; None if neither said anything.
    """

    def __init__(self, player: Player, board: Any, *, forget: bool) -> None:
        self.player = player
        self.action: Any = None
        self.error: BaseException | None = None
        self.analysis: Analysis | None = None
        self._is_cancelled = threading.Event()
        self._side = board.get_current_player()
        self._black_is_to_move = self._side == board.players[0]
        self._board = board.copy()
        self._began_s = time.monotonic()
        twin = cancellable(board, self._is_cancelled)
        self._thread = threading.Thread(target=self._run, args=(twin, forget), name=SEARCH)
        self._thread.start()

    @property
    def seconds(self) -> float:
        """The seconds since the search began."""
        return time.monotonic() - self._began_s

    @property
    def has_ended(self) -> bool:
        """Whether the thread has ended."""
        return not self._thread.is_alive()

    def look(self) -> Analysis | None:
        """Read the tree or the engine's words as they are now; this may be called while the search runs."""
        return analyse(self.player, self._black_is_to_move) or heard(self.player, self._board)

    def cancel(self) -> None:
        """Make the search end as soon as it can, and return at once.

        A player whose engine is just being started may miss the first call, so call this until the search has ended.
        """
        self._is_cancelled.set()
        cancel = getattr(self.player, "cancel", None)
        if callable(cancel):
            cancel()

    def wait(self, timeout_s: float) -> bool:
        """Cancel the search and wait for its end; return whether it has ended."""
        limit_s = time.monotonic() + timeout_s
        while not self.has_ended and (left_s := limit_s - time.monotonic()) > 0:
            self.cancel()
            self._thread.join(min(left_s, CANCEL_EVERY_S))
        return self.has_ended

    def _run(self, board: Any, forget: bool) -> None:
        try:
            if forget:
                self.player.reset_player()
            self.player.set_player_ind(self._side)
            with kept_roots(getattr(self.player, "mcts", None)) as roots:
                answer, _ = self.player.get_action(board, is_selfplay=False, print_probs_value=False)
                self.analysis = self._last_look(answer, roots)
            self.action = answer
        except Cancelled:
            pass
        except BaseException as error:  # whoever looks at the outcome reports it in the main thread
            if not self._is_cancelled.is_set():
                self.error = error

    def _last_look(self, answer: Any, roots: list[Any]) -> Analysis | None:
        """Read the tree that led to the answer, which the player may have left by now, or the engine's last words."""
        search = getattr(self.player, "mcts", None)
        for root in [getattr(search, "_root", None), *reversed(roots)]:
            children = getattr(root, "_children", None)
            if isinstance(children, dict) and answer in children:
                tree = SimpleNamespace(_root=root, _c_puct=getattr(search, "_c_puct", 5))
                return analyse(tree, self._black_is_to_move)
        return heard(self.player, self._board)
