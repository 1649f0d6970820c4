"""Exact search of the end of a game in which every action fills a point (`games.placing`), such as Gomoku and NoGo.

A search with a network may lose an end that is won: in NoGo, whole games turn on who runs out of moves first, and the values of
the last moves are close to 1 until the game is lost. Where few actions are left, alpha-beta with a table of positions (Knuth
and Moore 1975) decides the position instead. Since no stone is ever taken off, the stones and the side to move are a position.

Children with few replies are searched first. Where every action has the same number of replies, those go first that have most
often refuted a position (the history heuristic, Schaeffer 1989).
"""

from __future__ import annotations

from games.protocol import NO_MOVE, Position, result_for

LOSS, WIN = -1, 1
LARGEST_TABLE = 500_000  # positions, some 200 bytes each

KnownValue = tuple[int, int, int]
"""(the least and the largest value that the position may have for its side to move, an action that reaches the least)"""

UNKNOWN: KnownValue = (LOSS, WIN, NO_MOVE)


class _TooFar(Exception):
    """The position cannot be solved with so few positions."""


class EndgameSolver:
    """Solves positions, and remembers what it has learnt about others on the way.

    Args:
        positions: how many positions one call of `solve` may reach before it gives up.
    """

    def __init__(self, positions: int) -> None:
        self._positions = self._left = positions
        self._table: dict[int, KnownValue] = {}
        self._refuted: dict[tuple[int, int], int] = {}

    def solve(self, position: Position) -> tuple[int, int] | None:
        """Return (the value of a position, an action that reaches it), or None after too many positions.

        The value is 1 for a win, 0 for a draw and -1 for a loss of the side to move, if both sides play perfectly. The
        position is not changed. What the call has found out makes the next one shorter.

        Raises:
            ValueError: the game is over.
        """
        if position.game_end()[0]:
            raise ValueError("expected a position in which the game goes on; it is over")
        if len(self._table) > LARGEST_TABLE:
            self._table.clear()
        self._left = self._positions
        key = _key(position)
        least, largest, action = self._table.get(key, UNKNOWN)
        if least == largest and action != NO_MOVE:
            return least, action
        try:
            value = self._search(position, key, LOSS, WIN)
        except _TooFar:
            return None
        return value, self._table[key][2]

    def _search(self, position: Position, key: int, alpha: int, beta: int) -> int:
        """Return the value for the side to move if it lies between `alpha` and `beta`, otherwise a bound beyond one of them."""
        player = position.get_current_player()
        actions = position.availables
        self._left -= len(actions)
        if self._left < 0:
            raise _TooFar
        best, choice = LOSS, actions[0]
        children = []
        for action in actions:
            child = position.copy()
            child.do_move(action)
            child_key = _key_after(key, player, action)
            if child.game_end()[0]:
                least = largest = int(result_for(child, player))
            else:
                known = self._table.get(child_key, UNKNOWN)
                least, largest = -known[1], -known[0]
            if least > best:
                best, choice = least, action
                if best >= beta:
                    break
            if least < largest:
                refuted = self._refuted.get((player, action), 0)
                children.append((len(child.availables), -refuted, action, child, child_key))
        if best < beta:
            for _, _, action, child, child_key in sorted(children, key=lambda child: child[:3]):
                value = -self._search(child, child_key, -beta, -max(alpha, best))
                if value > best:
                    best, choice = value, action
                    if best >= beta:
                        self._refuted[player, action] = self._refuted.get((player, action), 0) + 1
                        break
        self._learn(key, best if best > alpha else LOSS, best if best < beta else WIN, choice)
        return best

    def _learn(self, key: int, least: int, largest: int, action: int) -> None:
        """Narrow what is known about a position."""
        known = self._table.get(key, UNKNOWN)
        if known[2] != NO_MOVE and known[0] >= least:
            least, action = known[0], known[2]
        self._table[key] = least, min(largest, known[1]), action


def _key(position: Position) -> int:
    """Return a number for the stones and the side to move: bit 0 is the side, and two bits belong to each point."""
    key = position.get_current_player() - 1
    for point, player in position.states.items():
        key |= 1 << 2 * point + player
    return key


def _key_after(key: int, player: int, action: int) -> int:
    """Return the number of the position after a player has played an action."""
    return (key | 1 << 2 * action + player) ^ 1
