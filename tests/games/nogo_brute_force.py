"""NoGo solved by brute force on two masks of stones, without a line of the game's own code; point p is bit p."""


class BruteForce:
    """All positions of one board that a search meets.

    Args:
        width, height: the number of columns and rows.
    """

    def __init__(self, width, height):
        points = range(width * height)
        self.all = (1 << width * height) - 1
        self.beside = [
            sum(1 << q for q in points if abs(q // width - p // width) + abs(q % width - p % width) == 1) for p in points
        ]
        self.known = {}

    def breathes(self, point, stones, empty):
        """Whether the chain of `stones` that holds this point has a liberty."""
        chain, waiting = 1 << point, [point]
        while waiting:
            near = self.beside[waiting.pop()]
            if near & empty:
                return True
            new = near & stones & ~chain
            chain |= new
            waiting += members(new)
        return False

    def moves(self, own, other):
        """The points where a stone of `own` leaves every chain a liberty."""
        empty = self.all & ~(own | other)
        found = []
        for point in members(empty):
            mine, left, near = own | 1 << point, empty & ~(1 << point), self.beside[point]
            if self.breathes(point, mine, left) and all(self.breathes(p, other, left) for p in members(near & other)):
                found.append(point)
        return found

    def wins(self, own=0, other=0):
        """Whether the side to move, which has the stones `own`, wins."""
        if (own, other) not in self.known:
            self.known[own, other] = any(not self.wins(other, own | 1 << point) for point in self.moves(own, other))
        return self.known[own, other]

    def lines(self, depth):
        """The numbers of lines of 1, 2, ... moves; lines that lead to the same position are counted together."""
        layer, counts = {(0, 0): 1}, []
        while layer and len(counts) < depth:
            after = {}
            for (own, other), count in layer.items():
                for point in self.moves(own, other):
                    key = other, own | 1 << point
                    after[key] = after.get(key, 0) + count
            counts.append(sum(after.values()))
            layer = after
        return tuple(counts)


def members(mask):
    """The points of a mask."""
    found = []
    while mask:
        found.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return found
