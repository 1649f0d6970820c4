"""The milestones of Part 1 are legal engines, and the last one beats the first."""

import subprocess
from pathlib import Path

from arena.engine.engine_process import Limits
from arena.engine.specs import engine_at
from arena.match.match import ThreadRunner, play_match
from arena.match.setup import MatchSetup
from arena.rules import Termination

ROOT = Path(__file__).resolve().parents[2]


def test_the_last_milestone_beats_the_first_without_a_fault():
    programs = ["build/milestones/step_5", "build/milestones/step_1"]
    subprocess.run(["make", "-s", *programs], cwd=ROOT, check=True)
    last, first = (engine_at(str(ROOT / program)) for program in programs)
    result = play_match(MatchSetup(agents=(last, first), plays=4, seed=3, limits=Limits(move_s=5)), ThreadRunner(1))
    assert {game.termination for game in result.games} == {Termination.FIVE}
    assert result.wins(0) == 4
