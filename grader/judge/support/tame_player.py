"""The tame opponents of the protocol check, as a stand-alone program: `tame_player.py ROLE`.

A strong opponent rarely reveals a fault, because it wins first. These three let the engine play, and place their stones so
that an engine with a wrong board in mind gives itself away; `grader.judge.support.beliefs` detects that from the moves. None
of the three tries to win.

    gives   Black. It opens with two good stones on a free line, so that white will want to swap. Then it extends these two
            towards a four, as if no stone had changed hands: white, which now owns them, has nothing to stop there.
    lures   White. It always swaps. It builds around the stone that it gave away, where a black engine that has forgotten
            the swap must answer, and stops every row that black's own stones can still complete.
    blocks  Either colour. It plays a corner that is its own mirror image, and then stops whatever the engine builds.
            An engine that stores its own stones transposed does not see that, and plays on taken points.

A player exits when it can reveal nothing more; this ends the game.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Collection, Iterable, Iterator

SIZE = 15
Point = tuple[int, int]
POINTS = [(x, y) for x in range(SIZE) for y in range(SIZE)]
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))
SWAP = (-1, -1)
CORNERS = ((0, 0), (SIZE - 1, SIZE - 1))
ANSWERS = 9  # after this many answers `lures` and `blocks` exit


def _windows() -> Iterator[frozenset[Point]]:
    for x, y in POINTS:
        for dx, dy in DIRECTIONS:
            window = [(x + k * dx, y + k * dy) for k in range(5)]
            if all(0 <= coordinate < SIZE for coordinate in window[-1]):
                yield frozenset(window)


WINDOWS = list(_windows())  # all rows of five points


class TameGame:
    """The real board, and this player's side of the protocol.

    Attributes:
        own, foe: the stones of this player and of the engine.
        answers: the number of answers given so far.
    """

    def __init__(self, name: str) -> None:
        self.rng = random.Random(os.environ.get("GOMOKU_SEED"))
        self.own: set[Point] = set()
        self.foe: set[Point] = set()
        self.answers = 0
        self.side = int(sys.stdin.readline())
        print(name, flush=True)

    @property
    def taken(self) -> set[Point]:
        return self.own | self.foe

    def listen(self) -> Point:
        """Read the engine's action; exit when the input ends."""
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        x, y = map(int, line.split())
        if (x, y) != SWAP:
            self.foe.add((x, y))
        elif self.own:
            self._exchange()
        return x, y

    def say(self, action: Point) -> None:
        """Make this player's action and write it."""
        self.answers += 1
        if action == SWAP:
            self._exchange()
        else:
            self.own.add(action)
        print(*action, flush=True)

    def best(self, rows: Iterable[tuple[frozenset[Point], int]], points: Collection[Point] = POINTS) -> Point:
        """Return the most valuable empty point.

        A row of n stones adds 20^n to each of its points. Among equal points, prefer those far from the centre.
        """
        worth = dict.fromkeys((p for p in points if p not in self.taken), 0)
        for window, stones in rows:
            for point in window & worth.keys():
                worth[point] += 20**stones
        middle = SIZE // 2
        return max(worth, key=lambda p: (worth[p], abs(p[0] - middle) + abs(p[1] - middle), self.rng.random()))

    def _exchange(self) -> None:
        self.own, self.foe = self.foe, self.own


def gives() -> None:
    """Play black; see the module's docstring."""
    game = TameGame("gives")
    game.listen()
    first = (game.rng.randrange(5, 10), game.rng.randrange(5, 10))
    game.say(first)
    second = game.listen()
    beside = [(first[0] + s * dx, first[1] + s * dy) for dx, dy in DIRECTIONS for s in (1, -1)]
    free = {p: sum({first, p} <= window and second not in window for window in WINDOWS) for p in beside if p != second}
    third = game.rng.choice([p for p in free if free[p] == max(free.values())])
    game.say(third)
    if game.listen() != SWAP:
        return
    given = {first, third}
    for _ in range(2):
        engines = game.foe - given | {second}  # the engine's stones if it has forgotten its swap
        rows = [(w, len(w & (given | game.own))) for w in WINDOWS if given <= w and not w & engines]
        game.say(game.best(rows))
        game.listen()


def lures() -> None:
    """Play white; see the module's docstring."""
    game = TameGame("lures")
    first = game.listen()
    inner = [(x, y) for x, y in POINTS if 2 <= x < SIZE - 2 and 2 <= y < SIZE - 2]
    second = game.rng.choice([(x, y) for x, y in inner if 3 <= max(abs(x - first[0]), abs(y - first[1])) <= 4])
    game.say(second)
    third = game.listen()
    game.say(SWAP)
    around = [w for w in WINDOWS if second in w and not w & {first, third}]
    while game.answers < ANSWERS:
        game.listen()
        threats = [(w, len(w & game.foe)) for w in WINDOWS if not w & game.own and len(w & game.foe) >= 3]
        rows = [(w, len(w & game.own) - 1) for w in around if w & game.foe == {second}]
        game.say(game.best([*threats, *rows]))
    game.listen()


def blocks() -> None:
    """Play either colour; see the module's docstring."""
    game = TameGame("blocks")
    while game.answers < ANSWERS:
        game.listen()
        corners = [corner for corner in CORNERS if corner not in game.taken]
        if game.side == 0 and game.answers == 0:
            point = game.rng.choice([(x, y) for x in range(4, 11) for y in range(4, 11) if x != y])
        elif corners and not game.own & set(CORNERS):
            point = game.rng.choice(corners)
        else:
            rows = [(w, len(w & game.foe)) for w in WINDOWS if not w & game.own and w & game.foe]
            # For an engine that stores its own stones transposed, the mirror image of each of its points is its own stone.
            point = game.best(rows, [(x, y) for x, y in POINTS if (y, x) not in game.foe])
        game.say(point)
    game.listen()


if __name__ == "__main__":
    {"gives": gives, "lures": lures, "blocks": blocks}[sys.argv[1]]()
