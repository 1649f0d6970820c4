"""Matches for tests: played by real engines, or made of prepared records without any engine."""

from arena.engine.engine_process import EngineSpec
from arena.match.match import ThreadRunner, play_match
from arena.match.referee import GameRecord
from arena.match.setup import MatchSetup
from arena.rules import Termination

FOUR = MatchSetup((EngineSpec("a"), EngineSpec("b")), 4, 1)


def played(setup, **options):
    return play_match(setup, ThreadRunner(2), **options)


def record_of(index, *, winner=0, decided=True, move_s=(1.0, 1.0), withheld_s=(0.0, 0.0)):
    """Make the record of a game in which agent 0 plays black."""
    termination = Termination.FIVE if decided else Termination.UNDECIDED
    return GameRecord(
        index=index,
        black=0,
        winner=winner if decided else None,
        termination=termination,
        faulty=None,
        detail="" if decided else "white gave no answer",
        moves=((7, 7), (index, 0)),
        move_s=move_s,
        move_cpu_s=(0.1, 0.1),
        withheld_s=withheld_s,
        names=("first", "second"),
        seed=index,
        opening=None,
        size=15,
        swapped=False,
        seconds=2.0,
    )


def runner_of(*games):
    """Make a runner that yields the given games whose numbers it is asked to play."""

    def play(tasks):
        asked = {task.index for task in tasks}
        yield from (game for game in games if game.index in asked)

    return play
