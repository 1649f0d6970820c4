"""The training as a student's kit judges it: the best network under the student's own search."""

from types import SimpleNamespace

import pytest

from grader.assignment_file import load_assignment
from grader.errors import StudentFault
from grader.judge.checks import test_own_training as own
from grader.judge.support.ruling import Ruling
from training.exact import ExactResult, LineCounts


@pytest.fixture
def train(monkeypatch):
    """Trains with these numbers of losing lines, one a look."""

    def run(losing, max_games=300, seeds=1):
        looks, asked = iter(losing), []
        profile = SimpleNamespace(seeds=seeds, max_games=max_games, check_every=25, own_playouts=8)
        told = SimpleNamespace(
            profile=SimpleNamespace(training=profile),
            assignment=load_assignment(),
            random=lambda name: __import__("random").Random(name),
            progress=lambda sentence: None,
        )

        def result(_):
            losses = next(looks)
            if isinstance(losses, Exception):
                raise losses
            return ExactResult(LineCounts(losses=losses, losing_lines=[(4, 0)] * min(losses, 5)), LineCounts())

        monkeypatch.setattr(own, "play_all_replies", result)
        worker = SimpleNamespace(seed_rng=None, call=lambda operation, **arguments: asked.append((operation, arguments)))
        outcome = own.trained.__wrapped__(told, worker)
        return outcome, asked, told

    return run


def test_the_training_ends_with_the_first_network_that_loses_nothing(train):
    outcome, asked, _ = train([9, 0])
    assert (outcome.games, outcome.result.losing_lines, outcome.curve) == (175, 0, [(150, 9), (175, 0)])
    assert [name for name, _ in asked].count("train_games") == 7


def test_the_best_network_counts_and_the_report_says_by_whose_search(train):
    outcome, _, told = train([9, 2, 5, 4, 7, 6, 8])
    ruling = Ruling()
    own.give_points(told, outcome, ruling)
    assert (outcome.games, ruling.share) == (175, 0.8)
    assert "2 losing lines after 175 games" in ruling.message and "This was played by your own search" in ruling.message
    assert "[4, 0]" in ruling.message


def test_a_short_training_is_looked_at_when_it_ends(train):
    assert train([3, 1], max_games=10, seeds=2)[0].result.losing_lines == 1


def test_a_fault_of_the_player_is_told(train):
    with pytest.raises(StudentFault, match="not an empty point"):
        train([StudentFault("It answered 4, which is not an empty point.")])
