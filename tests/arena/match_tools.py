"""Matches for tests: played by real engines, or made of prepared records without any engine."""

from game_records import game_record

from arena.engine.engine_process import EngineSpec
from arena.match.match import ThreadRunner, play_match
from arena.match.setup import MatchSetup
from arena.rules import Termination

FOUR = MatchSetup((EngineSpec("a"), EngineSpec("b")), 4, 1)


def played(setup, **options):
    return play_match(setup, ThreadRunner(2), **options)


def record_of(index, *, winner=0, decided=True, **times):
    """Return the record of a game in which agent 0 plays black."""
    if decided:
        return game_record(index, winner=winner, **times)
    return game_record(index, winner=None, termination=Termination.UNDECIDED, detail="white gave no answer", **times)


def runner_of(*games):
    """Make a runner that yields the given games whose numbers it is asked to play."""

    def play(tasks):
        asked = {task.index for task in tasks}
        yield from (game for game in games if game.index in asked)

    return play
