"""The winner of a position by the definition of the rules: slow, and obviously correct."""

from functools import cache


@cache
def lines(width, height, n_in_row):
    """Return every straight line of `n_in_row` points, each as a list of moves."""
    found = []
    for h in range(height):
        for w in range(width):
            for dh, dw in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(h + i * dh, w + i * dw) for i in range(n_in_row)]
                if all(0 <= y < height and 0 <= x < width for y, x in line):
                    found.append([y * width + x for y, x in line])
    return found


def winner_by_definition(states, width, height, n_in_row):
    """Return the player whose stones fill a straight line of `n_in_row` points, otherwise -1; `states` maps move to player."""
    for line in lines(width, height, n_in_row):
        owner = states.get(line[0])
        if owner is not None and all(states.get(move) == owner for move in line):
            return owner
    return -1
