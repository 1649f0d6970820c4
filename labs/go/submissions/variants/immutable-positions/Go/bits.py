"""Sets of points as the bits of an integer; a frame of one column keeps shifts from running into the next row."""


class Field:
    def __init__(self, width, height):
        self.width, self.height, self.step = width, height, width + 1
        self.all = sum(self.bit(p) for p in range(width * height))

    def bit(self, point):
        h, w = divmod(point, self.width)
        return 1 << (h * self.step + w)

    def points(self, bits):
        return [p for p in range(self.width * self.height) if bits & self.bit(p)]

    def grow(self, bits):
        return (bits << 1 | bits >> 1 | bits << self.step | bits >> self.step) & self.all

    def fill(self, seed, inside):
        old = 0
        while seed != old:
            old, seed = seed, (seed | self.grow(seed)) & inside
        return seed

    def after(self, mine, theirs, stone):
        """Return (mine, theirs, taken) after a stone, or None for suicide."""
        mine |= stone
        empty = self.all & ~mine & ~theirs
        living = self.fill(self.grow(empty) & theirs, theirs)
        taken = theirs & ~living
        theirs = living
        if not self.grow(self.fill(stone, mine)) & self.all & ~mine & ~theirs:
            return None
        return mine, theirs, taken
