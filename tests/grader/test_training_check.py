"""What the training check makes of the networks that a training passes through."""

from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.board_position import board_at
from grader.judge.support.drawn_positions import random_position
from grader.judge.support.drawn_weights import fresh_weights, random_weights
from grader.judge.trusted import test_training
from grader.judge.trusted import watched_training as watched
from grader.judge.trusted.network import forward, gradients
from grader.judge.trusted.search import search
from grader.judge.trusted.test_training import ENOUGH_WATCHED, FOLLOWING, MORE_TRIES, SURELY_WATCHED, TrainedNetwork
from grader.judge.trusted.watched_training import GameSamples, WatchedTraining
from grader.pipeline.results import FAILED, PARTIAL, PASSED

ROOT = Path(__file__).resolve().parents[2]
PROFILE = SimpleNamespace(seeds=2, max_games=30, check_every=10, playouts=[8])


class Worker:
    """A worker that counts the trainings it starts, each in a process of its own; its network may have layers of its own."""

    def __init__(self, breaks_after=10**6, own_layers=None):
        self.breaks_after, self.own_layers, self.starts, self.closed = breaks_after, own_layers, 0, 0

    def call(self, operation, weights, **_):
        self.starts += operation == "train_start"
        assert self.closed == self.starts
        return self.own_layers or weights

    def close(self):
        self.closed += 1


class Training:
    """Learns from games of either search."""

    watched, following = 100, 0.3

    def __init__(self, worker, beginning, rng):
        self.worker, self.games, self.searches = worker, 0, set()
        worker.beginning = beginning

    @property
    def average(self):
        return {"games": np.array(self.games), "searches": np.array(sorted(self.searches))}

    def learn(self, search):
        self.searches.add(search)
        self.games += 1
        if self.games > self.worker.breaks_after:
            raise StudentFault("ValueError: too many games.")


@pytest.fixture
def train(monkeypatch):
    """Trains with these numbers of losing lines, one a look, and gives the outcome and the worker."""

    def run(losing, statuses=(), doubt="", **worker_options):
        worker, looks = Worker(**worker_options), iter(losing)
        verdicts = {name: SimpleNamespace(status=status) for name, status in statuses}
        told = SimpleNamespace(
            profile=SimpleNamespace(training=PROFILE),
            verdicts=verdicts,
            progress=lambda sentence: None,
            random=lambda name: Random(1),
        )
        monkeypatch.setattr(test_training, "_doubt", lambda *_: doubt)
        monkeypatch.setattr(test_training, "_losing_lines", lambda *_: next(looks))
        monkeypatch.setattr(test_training, "WatchedTraining", Training)
        monkeypatch.setattr(test_training, "trusted_game", lambda *_: "the grader's")
        monkeypatch.setattr(test_training, "_own_game", lambda *_: "the own")
        return test_training.train_best(told, worker), worker

    return run


def test_the_best_network_counts_wherever_in_a_training_it_was(train):
    best, worker = train([9, 2, 7, 8, 5, 4])
    assert (best.worst, best.games, best.weights["games"]) == (2, 20, 20) and worker.starts == 2
    assert best.curve == [(10, 9), (20, 2), (30, 7)]


def test_the_first_network_without_a_losing_line_ends_the_training(train):
    best, worker = train([9, 0])
    assert (best.worst, best.games, best.weights["games"], worker.starts) == (0, 20, 20, 1)


def test_a_network_with_other_layers_is_trained_from_its_own_weights_and_is_for_a_person_to_look_at(train):
    assert train([0])[1].beginning.keys() == fresh_weights(3, 3, 1, 1).keys()
    best, worker = train([5, 0], own_layers={"conv2d_1.weight": np.zeros((64, 9, 3, 3))}, doubt="other layers")
    assert worker.beginning is worker.own_layers and (best.worst, worker.starts) == (0, 1)
    with pytest.raises(CouldNotGrade, match="after training other layers"):
        test_training.expect_trained(best, 1.0)


@pytest.mark.parametrize("more", [{"other.weight": np.zeros(3)}, {"conv2d_1.weight": np.zeros((64, 9, 3, 3))}])
def test_a_network_with_other_layers_or_one_more_is_in_doubt_since_it_may_begin_with_weights_of_its_own(more):
    weights = fresh_weights(3, 3, 1, 1)
    assert "layers are not those of the handout" in test_training._doubt(None, weights, {**weights, **more}, Random(1))


def test_what_was_trained_before_a_fault_counts_and_the_fault_is_told(train):
    best, _ = train([3], breaks_after=10)
    assert (best.worst, best.fault) == (3, "ValueError: too many games.")
    best, _ = train([], breaks_after=0)
    assert best.losing == {} and best.fault == "ValueError: too many games."


@pytest.mark.parametrize(
    ("check", "status", "again"),
    [
        ("mcts_alphazero.noise", FAILED, True),
        ("mcts_alphazero.noise", PARTIAL, True),
        ("mcts_alphazero.noise", PASSED, False),
        ("network.legal_moves", FAILED, True),
        ("network.outputs", FAILED, False),
    ],
)
def test_a_search_is_replaced_where_the_network_does_not_learn_if_it_or_its_evaluator_lost_points(train, check, status, again):
    # A run of 30 games is tested three times. A search that lost points gets one run of its own, another one both.
    best, worker = train([9] * (3 if again else 6) + [1, 0], statuses=[(check, status), ("mcts_alphazero.tree", PASSED)])
    assert worker.starts == 2 and best.trusted_search == again and best.worst == (0 if again else 9)
    assert best.weights["searches"] == ["the grader's" if again else "the own"]


def test_a_network_that_learns_needs_no_other_search(train):
    best, worker = train([0], statuses=[("mcts_alphazero.noise", FAILED)])
    assert not best.trusted_search and worker.starts == 1


# ------------------------------------------------------------------------------------------------------- watched steps


class Steps:
    """A worker that takes steps of plain gradient descent towards the targets it is given, or towards others."""

    def __init__(self, weights, targets):
        self.weights, self.targets = weights, targets

    def call(self, operation, states, probs, winners, lr, **_):
        assert operation == "train_steps"
        taken = []
        for batch in zip(states, probs, winners, strict=True):
            state, pi, z = batch[0], *self.targets(*batch)
            _, values = forward(self.weights, state, train_mode=True)
            found = gradients(self.weights, state, -pi / len(z), 2 * (values[:, 0] - z) / len(z))
            self.weights = {key: w - 0.05 * found[key] if key in found else w for key, w in self.weights.items()}
            taken.append(self.weights)
        return taken


def play_at_random(rng):
    """A game whose targets are noise."""
    position = random_position(rng, 3, 3, 3, 4)
    states = np.stack([board_at(replace(position, moves=position.moves[:n])).current_state() for n in range(5)])
    probs = np.array([[rng.random() for _ in range(9)] for _ in range(5)])
    z = rng.choice((-1.0, 0.0, 1.0))
    return GameSamples(states, probs / probs.sum(axis=1, keepdims=True), np.array([z, -z, z, -z, z]))


@pytest.mark.parametrize(
    ("targets", "follows"),
    [
        (lambda states, pi, z: (pi, z), True),
        (lambda states, pi, z: (np.eye(9)[states[:, :2].sum(axis=(1, 2, 3)).astype(int)], np.ones_like(z)), False),
        (lambda states, pi, z: (np.full_like(pi, 1 / 9), np.sign(states.sum(axis=(1, 2, 3)) - 40)), False),
    ],
)
def test_steps_that_follow_their_targets_are_told_from_those_that_do_not(targets, follows):
    rng, beginning = Random(3), fresh_weights(3, 3, 1, 5)
    training = WatchedTraining(Steps(beginning, targets), beginning, rng)
    for _ in range(60):
        training.learn(play_at_random(rng))
    assert training.watched >= ENOUGH_WATCHED
    assert (training.following > FOLLOWING) == follows, training.following


def test_the_averaged_weights_are_those_of_train_py():
    rng, beginning = Random(3), fresh_weights(3, 3, 1, 5)
    worker = Steps(beginning, lambda states, pi, z: (pi, z))
    training, average = WatchedTraining(worker, beginning, rng), dict(beginning)
    seen = []
    call, worker.call = worker.call, lambda *given, **more: seen.extend(taken := call(*given, **more)) or taken
    for _ in range(3):
        training.learn(play_at_random(rng))
    for weights in seen:
        average = {k: a + 0.02 * (weights[k] - a) if a.dtype.kind == "f" else a for k, a in average.items()}
    assert len(seen) == 6 and all(np.allclose(training.average[key], average[key], atol=1e-6) for key in average)
    assert any(not np.array_equal(training.average[key], beginning[key]) for key in average)


def test_the_settings_are_those_of_train_py(load_module):
    train = load_module(ROOT / "train.py")
    preset = train.PRESETS["tictactoe"]
    assert (preset.buffer_size, preset.batch_size) == (watched.BUFFER_POSITIONS, watched.BATCH_SIZE)
    assert preset.game_batch_num == watched.GAME_BATCH_NUM
    assert (preset.averaging, preset.learn_rate) == (watched.AVERAGING, watched.LEARNING_RATE)
    assert preset.updates_per_game == watched.UPDATES_PER_GAME == 3


def trained(watched=100, following=0.3, **attempt):
    return TrainedNetwork(losing={400: 0}, attempt=SimpleNamespace(watched=watched, following=following, **attempt))


def test_steps_that_follow_nothing_earn_nothing():
    test_training.expect_trained(trained(), 1.0)
    with pytest.raises(StudentFault, match="does not learn from the batches"):
        test_training.expect_trained(trained(following=0.01), 1.0)
    with pytest.raises(CouldNotGrade, match="too few to tell"):
        test_training.expect_trained(trained(watched=3), 1.0)
    with pytest.raises(CouldNotGrade, match="too few to tell"):
        test_training.expect_trained(trained(following=0.01, watched=SURELY_WATCHED - 1), 1.0)
    test_training.expect_trained(trained(following=0.0, watched=3), 0.0)


@pytest.mark.parametrize(
    ("lost", "looks", "best"),
    [([3, 0], [5, 5, 5, 5, 5, 0], 0), ([3], [5] * 8, 3), ([3, 1, 2, 2, 2], [0] * MORE_TRIES, 1), ([0], [], 0)],
    ids=["wins with the next good one", "the next ones are worse", "the best of a few", "wins at once"],
)
def test_an_own_search_that_loses_plays_with_the_next_networks_too(monkeypatch, lost, looks, best):
    lost, looks = iter(lost), iter(looks)
    monkeypatch.setattr(test_training, "play_own", lambda *_: SimpleNamespace(result=SimpleNamespace(losing_lines=next(lost))))
    first = trained(is_over=False, look=lambda doubt: look(first.attempt))

    def look(attempt):
        losing = next(looks)
        attempt.is_over = looks.__length_hint__() == 0
        return TrainedNetwork(losing={400: losing})

    assert test_training.best_own_play(None, first, 400).result.losing_lines == best
    assert next(lost, None) is None and next(looks, None) is None


def test_a_player_that_swaps_visits_is_told_from_a_search():
    weights = random_weights(3, 3, 1, 4)
    evaluate = test_training.remembered_evaluate(weights)
    asked = {}
    for line in ((), (0,), (4, 0), (1, 2, 3)):
        root = search(board_at(test_training.position_of(line)), evaluate, 60, 5.0)
        asked[line] = {move: float(child.visits) for move, child in root.children.items()}
    assert test_training.own_ways(weights, asked, 60) == {}
    visits = asked[(4, 0)]
    first, last = max(visits, key=visits.__getitem__), min(visits, key=visits.__getitem__)
    visits[first], visits[last] = visits[last], visits[first]
    assert list(test_training.own_ways(weights, asked, 60)) == [(4, 0)]
