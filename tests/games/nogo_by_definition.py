"""NoGo straight from its definition, without a line of the game's own code: slow, and made to be compared with."""

from functools import cache

Stones = tuple[int, ...]  # the player on each point, bottom row first; 0 where there is none


@cache
def beside(width: int, height: int) -> tuple[tuple[int, ...], ...]:
    """The points beside each point."""
    result = []
    for h in range(height):
        for w in range(width):
            near = [(h, w - 1), (h, w + 1), (h - 1, w), (h + 1, w)]
            result.append(tuple(y * width + x for y, x in near if 0 <= y < height and 0 <= x < width))
    return tuple(result)


def everyone_breathes(stones: Stones, width: int, height: int) -> bool:
    """Whether every chain has a liberty."""
    near = beside(width, height)
    for point, player in enumerate(stones):
        chain, waiting = {point}, [point] if player else []
        breathes = not player
        while waiting and not breathes:
            for other in near[waiting.pop()]:
                breathes |= stones[other] == 0
                if stones[other] == player and other not in chain:
                    chain.add(other)
                    waiting.append(other)
        if not breathes:
            return False
    return True


def legal_moves(stones: Stones, player: int, width: int, height: int) -> list[int]:
    """The points where a stone of the player leaves every chain a liberty."""
    return [
        point
        for point in range(len(stones))
        if stones[point] == 0 and everyone_breathes((*stones[:point], player, *stones[point + 1 :]), width, height)
    ]
