"""Records of games that nobody played."""

from dataclasses import replace

from arena.match.referee import GameRecord
from arena.rules import Termination

GAME = GameRecord(
    index=0,
    black=0,
    winner=0,
    termination=Termination.FIVE,
    faulty=None,
    detail="",
    moves=((7, 7),),
    move_s=(1.0, 1.0),
    move_cpu_s=(0.5, 0.25),
    withheld_s=(0.0, 0.0),
    names=("first", "second"),
    seed=0,
    opening=None,
    size=15,
    swapped=False,
    seconds=2.0,
)


def game_record(index, **changes):
    """Return the record of a game that agent 0 won as black, with these changes; different numbers give different moves."""
    return replace(GAME, index=index, seed=index, moves=((7, 7), (index % 15, index // 15)), **changes)
