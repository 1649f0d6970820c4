"""What the training check makes of the networks that a training passes through."""

from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from grader.checks import test_training
from grader.errors import StudentFault
from grader.run import FAILED, PARTIAL, PASSED

PROFILE = SimpleNamespace(seeds=2, max_games=30, check_every=10, playouts=[8])


class Worker:
    """A worker whose network says how many games it has learnt from, in both ways of learning."""

    def __init__(self, breaks_after=10**6):
        self.games, self.breaks_after, self.starts, self.learnt_from_given_games = 0, breaks_after, 0, False

    def call(self, operation, **arguments):
        if operation == "train_start":
            self.games, self.starts = 0, self.starts + 1
        elif operation in ("train_games", "train_learn"):
            self.learnt_from_given_games = operation == "train_learn"
            self.games += arguments.get("games", 1)
            if self.games > self.breaks_after:
                raise StudentFault("ValueError: too many games.")
        elif operation == "net_weights":
            return {"games": np.array(self.games)}
        return None


@pytest.fixture
def train(monkeypatch):
    """Trains with these numbers of losing lines, one a look, and gives the outcome and the worker."""

    def run(losing, statuses=(), **worker_options):
        worker, looks = Worker(**worker_options), iter(losing)
        verdicts = {f"mcts_alphazero.{name}": SimpleNamespace(status=status) for name, status in statuses}
        told = SimpleNamespace(
            profile=SimpleNamespace(training=PROFILE),
            verdicts=verdicts,
            progress=lambda sentence: None,
            random=lambda name: Random(1),
        )
        monkeypatch.setattr(test_training, "_doubt", lambda *_: "")
        monkeypatch.setattr(test_training, "_losing_lines", lambda *_: next(looks))
        monkeypatch.setattr(test_training, "self_play", lambda *_: {})
        return test_training.train_best(told, worker), worker

    return run


def test_the_best_network_counts_wherever_in_a_training_it_was(train):
    best, worker = train([9, 2, 7, 8, 5, 4])
    assert (best.worst, best.games, best.weights["games"]) == (2, 20, 20) and worker.starts == 2
    assert best.curve == [(10, 9), (20, 2), (30, 7)]


def test_the_first_network_without_a_losing_line_ends_the_training(train):
    best, worker = train([9, 0])
    assert (best.worst, best.games, worker.games, worker.starts) == (0, 20, 20, 1)


def test_what_was_trained_before_a_fault_counts_and_the_fault_is_told(train):
    best, _ = train([3], breaks_after=10)
    assert (best.worst, best.fault) == (3, "ValueError: too many games.")
    best, _ = train([], breaks_after=0)
    assert best.losing == {} and best.fault == "ValueError: too many games."


@pytest.mark.parametrize(("status", "again"), [(FAILED, True), (PARTIAL, True), (PASSED, False)])
def test_a_search_that_lost_points_in_its_checks_is_replaced_where_the_network_does_not_learn(train, status, again):
    best, worker = train([9] * 6 + [1, 0], statuses=[("noise", status), ("tree", PASSED)])
    assert (best.trusted_search, worker.learnt_from_given_games) == (again, again)
    assert best.worst == (0 if again else 9)


def test_a_network_that_learns_needs_no_other_search(train):
    best, worker = train([0], statuses=[("noise", FAILED)])
    assert not best.trusted_search and worker.starts == 1
