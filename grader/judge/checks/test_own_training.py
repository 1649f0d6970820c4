"""Part 2 as a whole, in a student's kit: train tic-tac-toe from scratch with the student's own code (handout 5.5).

In grading, `test_training` decides these two checks, with the grader's own search and further tests. A kit has no correct
search, so here the student's own search plays in both checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from grader.confinement.worker_client import Worker
from grader.judge.support.drawn_weights import fresh_weights
from grader.judge.support.own_search import CALL_LIMIT_S, own_agent
from grader.judge.support.ruling import Ruling
from grader.pipeline.run import Run
from training.exact import ExactResult, play_all_replies

FIRST_LOOK = 150  # games before the first test; before that the network loses, and its search visits everything
IN_GRADING = "This was played by your own search; grading also tests the network with the grader's search."


@dataclass
class TrainedNetwork:
    """The best network of all training runs.

    Attributes:
        games: the games of its training run before this network.
        curve: games played and losing lines at each test of a network.
    """

    result: ExactResult
    games: int
    seed: int
    curve: list[tuple[int, int]] = field(default_factory=list)


@pytest.fixture(scope="module")
def trained(run: Run, worker: Worker) -> TrainedNetwork:
    """Train once for both checks; raise StudentFault if the student's code fails."""
    profile, rng = run.profile.training, run.random("training")
    worker.seed_rng = run.random("training:dice")  # codespell:ignore dice
    best, curve = None, []
    for _ in range(profile.seeds):
        seed, games = rng.randrange(2**31), 0
        worker.call("train_start", limit_s=CALL_LIMIT_S, weights=fresh_weights(3, 3, 1, seed))
        while games < profile.max_games:
            more = min(profile.check_every, profile.max_games - games)
            worker.call("train_games", limit_s=CALL_LIMIT_S, games=more)
            games += more
            run.progress(f"training: {games} of at most {profile.max_games} games")
            if games < min(FIRST_LOOK, profile.max_games):
                continue
            result = play_all_replies(own_agent(worker, profile.own_playouts))
            curve.append((games, result.losing_lines))
            if best is None or result.losing_lines < best.result.losing_lines:
                best = TrainedNetwork(result, games, seed, curve)
            if result.losing_lines == 0:
                return best
    assert best is not None, "each training ends with a test"
    return best


def give_points(run: Run, trained: TrainedNetwork, ruling: Ruling) -> None:
    """Give the points that the network earns by its number of losing lines."""
    ruling.expected = f"The trained network, played by your own search, loses no line of replies. {IN_GRADING}"
    losing = trained.result.losing_lines
    examples = trained.result.examples(3)
    ruling.evidence.update(seed=trained.seed, curve=trained.curve, examples=examples)
    ruling.seen = f"{losing} losing lines after {trained.games} games (seed {trained.seed}). {IN_GRADING}"
    share = run.assignment.losing_lines_share(losing)
    if share < 1:
        ruling.partial(share, f"The best network has {ruling.seen} For example, it loses {examples[0]}.")


@pytest.mark.points("training.never_loses")
def test_never_loses(run: Run, trained: TrainedNetwork, ruling: Ruling) -> None:
    """Test the trained network, here with the student's own search."""
    give_points(run, trained, ruling)


@pytest.mark.points("training.own_search")
def test_own_search(run: Run, trained: TrainedNetwork, ruling: Ruling) -> None:
    """Test the trained network with the student's own search."""
    give_points(run, trained, ruling)
