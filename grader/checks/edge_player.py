"""A tame opponent for the protocol check, a program by itself: corners and edges first, and as white it always swaps.

It shows what a strong opponent seldom does: stones on lines that hold no empty point any more, and a swap to be answered. It
stays out of the way for a dozen stones, then fills a row, so that a game against an engine that cannot win ends soon too.
"""

from __future__ import annotations

import sys

LAST = 14
CORNERS = [(0, 0), (LAST, LAST), (0, LAST), (LAST, 0)]
EDGES = [(0, 2), (2, LAST), (LAST, 12), (12, 0), (0, 6), (6, LAST), (LAST, 8), (8, 0)]
ROWS = [(x, y) for x in range(LAST + 1) for y in range(LAST + 1)]
FIRST = (7, 7)


def main() -> None:
    """Speak the line protocol until the input ends."""
    side = int(sys.stdin.readline())
    print("edges", flush=True)
    taken: set[tuple[int, int]] = set()
    answers = 0
    for line in sys.stdin:
        x, y = map(int, line.split())
        taken.add((x, y))
        answers += 1
        if side == 1 and answers == 2:
            print("-1 -1", flush=True)
            continue
        opening = [FIRST] if side == 0 and answers == 1 else []
        point = next(point for point in (*opening, *CORNERS, *EDGES, *ROWS) if point not in taken)
        taken.add(point)
        print(*point, flush=True)


if __name__ == "__main__":
    main()
