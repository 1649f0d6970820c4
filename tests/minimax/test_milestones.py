"""The milestones of Part 1 are legal engines, and the later ones beat the first, also with little time."""

import subprocess
from pathlib import Path

import pytest

from arena.engine.engine_process import Limits
from arena.engine.specs import engine_at
from arena.match.match import ThreadRunner, play_match
from arena.match.setup import MatchSetup
from arena.rules import Termination

ROOT = Path(__file__).resolve().parents[2]


def engine(step):
    program = f"build/milestones/step_{step}"
    subprocess.run(["make", "-s", program], cwd=ROOT, check=True)
    return engine_at(str(ROOT / program))


@pytest.mark.parametrize("step", [5, 6, 7, 8])
def test_a_late_milestone_beats_the_first_without_a_fault(step):
    limits = Limits(move_s=5, told_move_s=0.1)
    result = play_match(MatchSetup(agents=(engine(step), engine(1)), plays=4, seed=3, limits=limits), ThreadRunner(1))
    assert {game.termination for game in result.games} == {Termination.FIVE}
    assert result.wins(0) == 4
