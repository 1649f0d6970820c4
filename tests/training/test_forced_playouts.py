"""Forced playouts and the pruning of policies (Wu 2019, section 3.2), beside a search and a pruning written in plain Python."""

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_model import ACTIONS, Roots, Tables

from games.gomoku.batch import GomokuBatch
from training.search.puct import PuctSearch, PuctSettings, pruned_visits

C_PUCT = 1.5
MOST_PLAYOUTS = 24


def selection_value(q, prior, parent, visits):
    return q + C_PUCT * prior * sqrt(parent) / (1 + visits)


def pruned_by_definition(visits, priors, q, parent, k):
    """Take playouts away one at a time, from each move in turn."""
    total, most = sum(visits), visits.index(max(visits))
    to_beat = selection_value(q[most], priors[most], parent, visits[most])
    left = list(visits)
    for move in range(len(visits)):
        allowed = sqrt(k * priors[move] * total)
        while (
            move != most
            and left[move] > 0
            and visits[move] - left[move] + 1 <= allowed
            and selection_value(q[move], priors[move], parent, left[move] - 1) < to_beat
        ):
            left[move] -= 1
        if left[move] == 1 < visits[move]:
            left[move] = 0
    return left


class PlainNode:
    """A node of the search below, with a table's state; Q is for the side to move at the parent."""

    def __init__(self, tables, state, priors=None):
        self.value = float(tables.values[state])
        self.priors = [float(prior) for prior in (tables.probs[state] if priors is None else priors)]
        self.tables, self.state = tables, state
        self.children, self.visits, self.q = {}, 1, 0.0

    def child_visits(self, move):
        return self.children[move].visits if move in self.children else 0

    def playout(self, k=0.0):
        """Walk down to a new node, and return its value for the side to move at this node."""
        total = sum(child.visits for child in self.children.values())
        values = []
        for move in range(ACTIONS):
            visits = self.child_visits(move)
            q = self.children[move].q if visits else 0.0
            is_due = 0 < visits < sqrt(k * self.priors[move] * total)
            values.append(inf if is_due else selection_value(q, self.priors[move], self.visits, visits))
        move = values.index(max(values))
        self.visits += 1
        if move in self.children:
            child = self.children[move]
            value = -child.playout()
        else:
            child = self.children[move] = PlainNode(self.tables, self.tables.following[self.state, move])
            value = -child.value
        child.q += (value - child.q) / child.visits
        return value


@pytest.fixture(scope="module")
def tables():
    return Tables(1)


def decide(tables, k, playouts, seed=1, games=3, c_puct=C_PUCT, first_n_moves=0):
    settings = PuctSettings(playouts, c_puct, first_n_moves, forced_playouts_k=k)
    search = PuctSearch(games, ACTIONS, tables, settings, np.random.default_rng(seed))
    decisions = search.decide(Roots(np.ones((games, ACTIONS), dtype=bool)), is_selfplay=True)
    return search, decisions


# ------------------------------------------------------------------------------------------------ by definition

moves = st.tuples(st.integers(0, 40), st.floats(0, 1), st.floats(-1, 1))
positions = st.lists(st.lists(moves, min_size=4, max_size=4), min_size=1, max_size=3)


@settings(deadline=None)
@given(positions, st.sampled_from([0.5, 2.0, 10.0]))
def test_as_much_is_taken_away_as_the_definition_says(positions, k):
    visits, priors, q = (np.array([[move[part] for move in moves] for moves in positions]) for part in range(3))
    parent = 1 + visits.sum(axis=1)
    forced = np.sqrt(k * priors * visits.sum(axis=1, keepdims=True))
    left = pruned_visits(visits, forced, q, C_PUCT * priors * np.sqrt(parent)[:, None])
    for game in range(len(positions)):
        expected = pruned_by_definition(*(part[game].tolist() for part in (visits, priors, q)), int(parent[game]), k)
        assert left[game].tolist() == expected
    assert (left.max(axis=1) == visits.max(axis=1)).all()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 2.0, 20.0]), st.integers(2, MOST_PLAYOUTS))
def test_the_search_forces_and_prunes_as_one_in_plain_python_does(tables, seed, k, playouts):
    search, decisions = decide(tables, k, playouts, seed)
    for game in range(3):
        root = PlainNode(tables, game, search.trees.prior[game * search.trees.capacity])  # with the noise
        for _ in range(playouts - 1):
            root.playout(k)
        visits = [root.child_visits(move) for move in range(ACTIONS)]
        assert decisions.visits[game].tolist() == visits
        q = [root.children[move].q if move in root.children else 0.0 for move in range(ACTIONS)]
        left = pruned_by_definition(visits, root.priors, q, root.visits, k) if k else visits
        assert np.allclose(decisions.policies[game], np.array(left) / sum(left))
        assert left[decisions.moves[game]] == max(left)


def test_a_move_worked_out_by_hand():
    """Four moves, sqrt(N_parent) = 10, c_puct * P = 1, k * P * sum = 12.25, so that 3.5 playouts may be forced on each.

    The most visited move has 0.5 + 10 / 40 = 0.75. The second one has 0.2 + 10 / (1 + n): below 0.75 for n > 17.18, so its 20
    visits become 18. The third one would do with none, but loses 3 of its 5. The fourth one is left with 4 - 3 = 1, which it
    loses, too.
    """
    visits, q = np.array([[39, 20, 5, 4]]), np.array([[0.5, 0.2, -10.0, -10.0]])
    left = pruned_visits(visits, np.full((1, 4), 3.5), q, np.full((1, 4), 10.0))
    assert left.tolist() == [[39, 18, 2, 0]]


def test_a_single_playout_that_nothing_forced_stays():
    """Where each move has been tried once, the network learns them all."""
    left = pruned_visits(np.ones((1, 4), dtype=int), np.full((1, 4), 0.7), np.zeros((1, 4)), np.ones((1, 4)))
    assert left.tolist() == [[1, 1, 1, 1]]


def test_no_move_is_drawn_that_was_visited_by_force_alone(tables):
    _, decisions = decide(tables, 2.0, 200, games=400, c_puct=0.2, first_n_moves=1)
    by_force = (decisions.policies < 1e-9) & (decisions.visits > 0)
    assert not by_force[np.arange(400), decisions.moves].any()
    assert (decisions.moves != decisions.visits.argmax(axis=1)).sum() > 40
    assert (decisions.visits * by_force).sum() / 199 > 8  # so often they would be drawn by the visits


# --------------------------------------------------------------------------------------------------- real games


def search_on_4x4(evaluate, k):
    settings = PuctSettings(200, 3.0, first_n_moves=0, forced_playouts_k=k)
    return PuctSearch(8, 16, evaluate, settings, np.random.default_rng(1))


def shortfall(search):
    """How many playouts the move furthest below its forced number lacks."""
    rows = search.trees.root_rows(np.arange(8))
    visits = search.root_visits()
    forced = np.sqrt(2 * search.trees.prior[rows] * visits.sum(axis=1, keepdims=True))
    return np.where(visits > 0, forced - visits, 0).max()


def test_moves_that_are_tried_get_their_forced_playouts_and_what_is_learnt_still_sums_to_1(fixed_evaluator):
    boards, evaluate = GomokuBatch(8, 4, 4, 4), fixed_evaluator(16)
    forced, plain = search_on_4x4(evaluate, 2.0), search_on_4x4(evaluate, 0.0)
    decisions, usual = (search.decide(boards, is_selfplay=True) for search in (forced, plain))
    assert shortfall(forced) < 1 < 2 < shortfall(plain)
    assert np.allclose(usual.policies, usual.visits / 199) and np.allclose(decisions.policies.sum(axis=1), 1)
    shares = decisions.visits / 199
    best = decisions.visits.argmax(axis=1)
    assert (decisions.policies[np.arange(8), best] > shares[np.arange(8), best]).all()
    assert ((decisions.policies < 1e-9) & (decisions.visits > 1)).any()
    # The next search begins with the subtrees that were kept.
    for search, chosen in ((forced, decisions), (plain, usual)):
        following = GomokuBatch(8, 4, 4, 4)
        following.play(chosen.moves)
        search.advance(chosen.moves)
        search.decide(following, is_selfplay=True)
    assert shortfall(forced) < 1 < shortfall(plain)


@pytest.mark.parametrize("how", [{"is_selfplay": False}, {"is_selfplay": True, "fast_playouts": 60}])
def test_without_noise_nothing_is_forced_or_pruned(fixed_evaluator, how):
    boards, evaluate = GomokuBatch(8, 4, 4, 4), fixed_evaluator(16)
    forced, plain = (search_on_4x4(evaluate, k).decide(boards, **how) for k in (2.0, 0.0))
    for part in ("visits", "policies", "moves"):
        assert np.array_equal(getattr(forced, part), getattr(plain, part))
    assert np.allclose(forced.policies, forced.visits / forced.visits.sum(axis=1, keepdims=True))
