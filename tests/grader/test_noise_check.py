"""The check of the noise in self-play, on players whose random numbers begin again."""

from random import Random

import pytest
from odd_workers import ROOT

from grader.errors import StudentFault
from grader.judge.checks import test_noise as checks
from grader.judge.checks.test_mcts_alphazero import test_agreement as judge_agreement
from grader.judge.support.ruling import Ruling
from grader.judge.trusted.answers import TrustedOracle

MODULES = {
    f"AlphaZero/{name}.py": (ROOT / "instructor/reference/AlphaZero" / f"{name}.py").read_text()
    for name in ("mcts_pure", "mcts_alphaZero")
}
PLAYER = "class MCTSPlayer:"
MADE = f"PLAYERS = []\n\n\n{PLAYER}"
CONSTRUCTOR = "        self._moves = []\n\n    def set"


def judged(worker, assignment, seed_it):
    """Run the check on the reference with this line in the constructor of a player, of which PLAYERS lists the earlier ones."""
    made = f"        PLAYERS.append(0)\n        {seed_it}\n{CONSTRUCTOR}"
    return judged_with(worker, assignment, (PLAYER, MADE), (CONSTRUCTOR, made))


def judged_with(worker, assignment, *changes, check=checks.test_noise):
    """Run a check on the reference with these changes, from an old text to a new one."""
    texts = dict(MODULES)
    for old, new in changes:
        name = [name for name, text in texts.items() if text.count(old) == 1][-1]
        texts[name] = texts[name].replace(old, new)
    files = {name: content.encode() for name, content in texts.items()}
    ruling = Ruling(shares=assignment.shares["mcts_alphazero.noise"])
    check(worker(more=files), ruling, Random(1))
    return ruling


@pytest.mark.parametrize("seconds", [1, 40], ids=["a player per second", "40 players per second"])
def test_players_that_are_seeded_by_whole_seconds_lose_nothing(worker, assignment, seconds):
    """As with `np.random.seed(int(time.time()))`; if a second ends between the draws, they are not all the same."""
    ruling = judged(worker, assignment, f"np.random.seed(len(PLAYERS) // {seconds})")
    assert (ruling.share, ruling.message) == (1.0, "")


def test_noise_that_is_the_same_for_each_player_and_each_move_is_none(worker, assignment):
    with pytest.raises(StudentFault, match="drawn afresh"):
        judged(worker, assignment, "np.random.dirichlet = lambda alpha: np.eye(len(alpha))[0]")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("child._P = (1 - DIRICHLET_EPSILON) * child._P", "child._P = child._P"),
            r"add up to 1\.250; 0\.75 p .* up to 1\.000",
        ),
        (
            (
                "        for _ in range(playouts):\n",
                "        for _ in range(3):\n            if self._is_selfplay: self._add_noise()\n"
                "        for _ in range(playouts):\n",
            ),
            r"0\.32 p and 0\.68 times the noise.*several times",
        ),
    ],
    ids=["p is not scaled", "four times"],
)
def test_noise_that_is_mixed_in_wrongly_is_described(worker, assignment, change, said):
    with pytest.raises(StudentFault, match=said):
        judged_with(worker, assignment, change)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("        if self._is_selfplay:\n            if self._root", "        if True:\n            if self._root"), "noise"),
        (("        while node is not None:\n", "        while node._parent is not None:\n"), "_n_visits stays 0"),
        (("playouts = self._n_playout\n", "playouts = 90\n"), r"one visit for each playout \(\d+ playouts, 89 visits\)"),
    ],
    ids=["noise in play", "root not counted", "another number of playouts"],
)
def test_a_fault_beside_the_formula_is_named_where_it_changes_the_visits(worker, assignment, change, said):
    with pytest.raises(StudentFault, match=f"visits went to other moves .*{said}"):
        judged_with(worker, assignment, change, check=lambda *given: judge_agreement(*given, TrustedOracle()))


SELECTION = "        self._u = c_puct * self._P * "
ADDED = "            child._P = (1 - DIRICHLET_EPSILON) * child._P + DIRICHLET_EPSILON * float(eta)\n"
IN_THE_SELECTION = (
    SELECTION,
    SELECTION.replace("self._P", "(0.75 * self._P + 0.25 * self._eta if hasattr(self, '_eta') else self._P)"),
)
BESIDE_THE_PRIOR = (ADDED, "            child._eta = float(eta)\n")
SEARCHED = "        moves = list(self._root._children)\n        return moves"
TAKEN_OUT = (
    SEARCHED,
    f"        for child in self._root._children.values():\n            child._P = getattr(child, 'p', child._P)\n{SEARCHED}",
)
ALPHA = "DIRICHLET_ALPHA = 0.3"


@pytest.mark.parametrize(
    "changes",
    [(IN_THE_SELECTION, BESIDE_THE_PRIOR), ((ADDED, f"            child.p = child._P\n{ADDED}"), TAKEN_OUT)],
    ids=["added in the selection", "taken out after the search"],
)
def test_noise_that_the_priors_do_not_show_is_read_from_the_visits(worker, assignment, changes):
    ruling = judged_with(worker, assignment, *changes)
    assert (ruling.share, ruling.message) == (1.0, "") and "It was read from the visits" in ruling.seen


def test_noise_that_the_priors_do_not_show_must_have_its_share(worker, assignment):
    share = (IN_THE_SELECTION[0], IN_THE_SELECTION[1].replace("0.75", "0.9").replace("0.25", "0.1"))
    with pytest.raises(StudentFault, match=r"0\.(89|90|91) p and 0\.(09|10|11) times the noise"):
        judged_with(worker, assignment, share, BESIDE_THE_PRIOR)


@pytest.mark.thorough("the share shows that noise is judged that was read from the visits")
def test_noise_that_the_priors_do_not_show_must_have_its_concentration_and_reach_kept_roots(worker, assignment):
    flat = judged_with(worker, assignment, IN_THE_SELECTION, BESIDE_THE_PRIOR, (ALPHA, "DIRICHLET_ALPHA = 3.0"))
    assert flat.share == assignment.shares["mcts_alphazero.noise"]["concentration"] and "flatter" in flat.message
    once = ("            self._add_noise()\n", "            if not self._root._n_visits > 1: self._add_noise()\n")
    kept = judged_with(worker, assignment, IN_THE_SELECTION, BESIDE_THE_PRIOR, once)
    assert (
        kept.share == assignment.shares["mcts_alphazero.noise"]["fresh_root_only"]
        and "the visits show no noise" in kept.message
    )
