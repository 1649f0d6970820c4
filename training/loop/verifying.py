"""Whether a network loses: its player against every line of replies, at several numbers of playouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from Board.game_board import Player
from training.exact import Size, play_all_games, remembered, searching_player_agent


class Measurement(NamedTuple):
    """How strong a network is: its win ratio against pure MCTS and, if every line was played, its number of losing lines."""

    win_ratio: float
    losing_lines: int | None = None
    playouts: int | None = None

    def __str__(self) -> str:
        exact = "" if self.losing_lines is None else f", losing lines at {self.playouts} playouts: {self.losing_lines}"
        return f"win ratio {self.win_ratio:.2f}{exact}"


def verify(
    net: Any, make_player: Callable[..., Player], size: Size, all_playouts: Sequence[int], show: Callable[[str], None]
) -> tuple[int, int, int]:
    """Play against every line of replies, at each number of playouts with both evaluation functions, until a line is lost.

    policy_value_fn_random draws a symmetry for each position. The draw is kept for the whole count, so the agent always gives
    the same answer in the same position. This function comes first because lines that are images of each other are then
    played only once, so a network that loses is found sooner.

    Args:
        net: the network to verify.
        make_player: a function (policy_value_fn, is_selfplay, playouts) -> player.
        size: (width, height, n_in_row).
        all_playouts: the numbers of playouts to try, in this order.
        show: called with a few words before each move.

    Returns:
        (number of counts without a losing line, losing lines in the last count, playouts in the last count)
    """
    functions = ((remembered(net.policy_value_fn_random), True), (remembered(net.policy_value_fn), False))
    passed, counts = 0, len(functions) * len(all_playouts)
    for playouts in all_playouts:
        for policy_value_fn, alike in functions:
            text = f"verifying {passed + 1}/{counts}: {playouts} playouts, {{}} moves"
            new_player = _announced(partial(make_player, policy_value_fn, 0, playouts), text, show)
            losing_lines = play_all_games(searching_player_agent(new_player, size, alike), size).losing_lines
            if losing_lines:
                return passed, losing_lines, playouts
            passed += 1
    return passed, 0, playouts


def _announced(new_player: Callable[[], Player], text: str, show: Callable[[str], None]) -> Callable[[], Player]:
    """Return the same function, which also shows how often it was called: once for each move."""
    moves = 0

    def make() -> Player:
        nonlocal moves
        show(text.format(moves))
        moves += 1
        return new_player()

    return make
