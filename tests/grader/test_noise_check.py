"""The check of the noise in self-play, on players whose random numbers begin again."""

from random import Random

import pytest
from odd_workers import ROOT

from grader.errors import StudentFault
from grader.judge.checks import test_self_play as checks
from grader.judge.support.ruling import Ruling

MODULES = {
    f"AlphaZero/{name}.py": (ROOT / "instructor/reference/AlphaZero" / f"{name}.py").read_text()
    for name in ("mcts_pure", "mcts_alphaZero")
}
PLAYER = "class MCTSPlayer:"
MADE = f"PLAYERS = []\n\n\n{PLAYER}"
CONSTRUCTOR = "        self._moves = []\n\n    def set"


def judged(worker, assignment, seed_it):
    """Run the check on the reference with this line in the constructor of a player, of which PLAYERS lists the earlier ones."""
    text = MODULES["AlphaZero/mcts_alphaZero.py"]
    for old, new in ((PLAYER, MADE), (CONSTRUCTOR, f"        PLAYERS.append(0)\n        {seed_it}\n{CONSTRUCTOR}")):
        assert text.count(old) == 1
        text = text.replace(old, new)
    files = {name: content.encode() for name, content in {**MODULES, "AlphaZero/mcts_alphaZero.py": text}.items()}
    ruling = Ruling(shares=assignment.shares["mcts_alphazero.noise"])
    checks.test_noise(worker(more=files), ruling, Random(1))
    return ruling


@pytest.mark.parametrize("seconds", [1, 40], ids=["a player per second", "40 players per second"])
def test_players_that_are_seeded_by_whole_seconds_lose_nothing(worker, assignment, seconds):
    """As with `np.random.seed(int(time.time()))`; if a second ends between the draws, they are not all the same."""
    ruling = judged(worker, assignment, f"np.random.seed(len(PLAYERS) // {seconds})")
    assert (ruling.share, ruling.message) == (1.0, "")


def test_noise_that_is_the_same_for_each_player_and_each_move_is_none(worker, assignment):
    with pytest.raises(StudentFault, match="drawn afresh"):
        judged(worker, assignment, "np.random.dirichlet = lambda alpha: np.eye(len(alpha))[0]")
