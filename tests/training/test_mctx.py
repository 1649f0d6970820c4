"""Our searches beside mctx (DeepMind), on models made of random tables: 500 cases for each search.

mctx and jax take 0.4 GB, so requirements-test.txt leaves them out; `python -m pip install mctx` installs both. Where the
algorithms differ, a test says how and why:

- Playouts. mctx counts simulations after the root's expansion; our PUCT counts the expansion as its first playout.
- PUCT's c2. mctx multiplies by c1 + log((N + c2 + 1) / c2); we leave the logarithm out, which adds 2 % at N = 400. With a huge
  c2 they agree.
- Ties. mctx adds random numbers of up to 1e-7; we take the lowest move. With random values there are no ties.
- Scaling of Q in PUCT. mctx scales between the smallest and the largest of a node's own value and its moves' Q (our
  `siblings`); the paper, and our `tree`, scale over the whole tree. The visits differ, and in a third of these cases, whose
  values are pure noise, so does the most visited move.
- Halving in Gumbel search. We decide at the end of a phase which moves stay in, as the paper's algorithm 2 does. mctx takes
  the best of the moves with the right number of visits, playout by playout, while the scale of q changes with every visit. In 4
  to 9 % of the cases another move is visited on; with mctx's choice all cases agree.
- Illegal moves in Gumbel search. mctx scales q over all moves of a node, so the mixed value, which stands for illegal moves
  too, always counts; we scale over legal moves. They differ only at a root with illegal moves, once all legal moves have visits
  and the mixed value lies beyond their q.
"""

import numpy as np
import pytest
from table_model import ACTIONS, Roots, Tables

from training.search import gumbel
from training.search.gumbel import GumbelSearch, GumbelSettings
from training.search.puct import PuctSearch, PuctSettings

jax = pytest.importorskip("jax", reason="mctx and jax take 0.4 GB: python -m pip install mctx")
mctx = pytest.importorskip("mctx", reason="mctx and jax take 0.4 GB: python -m pip install mctx")
jnp = jax.numpy

CASES = 500


def by_mctx(policy, tables, legal, simulations, **settings):
    """mctx's answer; two players alternate, so the discount is -1."""
    following, logits, values = map(jnp.asarray, (tables.following, tables.logits, tables.values))

    def recurrent(params, key, action, state):
        state = following[state, action]
        discount = jnp.full(state.shape, -1.0)
        reward = jnp.zeros(state.shape)
        found = mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits[state], value=values[state])
        return found, state

    games = jnp.arange(len(legal))
    root = mctx.RootFnOutput(prior_logits=logits[games], value=values[games], embedding=games)
    return policy((), jax.random.PRNGKey(1), root, recurrent, simulations, invalid_actions=jnp.asarray(~legal), **settings)


def some_legal(seed):
    rng = np.random.default_rng(seed)
    legal = rng.random((CASES, ACTIONS)) < 0.7
    legal[np.arange(CASES), rng.integers(ACTIONS, size=CASES)] = True
    return legal


def puct_visits(tables, legal, simulations, q_scale):
    settings = PuctSettings(playouts=simulations + 1, c_puct=1.25, q_scale=q_scale)
    search = PuctSearch(CASES, ACTIONS, tables, settings, np.random.default_rng(1))
    return search.decide(Roots(legal), is_selfplay=False).visits


def test_puct_with_values_scaled_over_siblings_visits_as_mctx_does():
    tables, legal = Tables(1), some_legal(2)
    theirs = by_mctx(mctx.muzero_policy, tables, legal, 40, dirichlet_fraction=0.0, pb_c_base=1e12)
    visits = np.asarray(theirs.search_tree.summary().visit_counts)
    assert np.array_equal(puct_visits(tables, legal, 40, "siblings"), visits)
    over_the_tree = puct_visits(tables, legal, 40, "tree")
    assert (over_the_tree.sum(axis=1) == 40).all() and not np.array_equal(over_the_tree, visits)


class GivenGumbel:
    """A random generator that draws the numbers that mctx drew."""

    def __init__(self, numbers, legal):
        self.numbers = numbers[legal]

    def gumbel(self, size):
        assert size == len(self.numbers)
        return self.numbers


def gumbel_beside_mctx(tables, legal, simulations, considered):
    """Ours and theirs: (visits, policies, moves), and theirs alone with its tree."""
    theirs = by_mctx(
        mctx.gumbel_muzero_policy, tables, legal, simulations, max_num_considered_actions=considered, gumbel_scale=1.0
    )
    gumbel = np.asarray(theirs.search_tree.extra_data.root_gumbel, dtype=np.float64)
    search = GumbelSearch(CASES, ACTIONS, tables, GumbelSettings(simulations, considered), GivenGumbel(gumbel, legal))
    decisions = search.decide(Roots(legal), is_selfplay=True)
    visits = np.asarray(theirs.search_tree.summary().visit_counts)
    weights = np.where(legal, np.asarray(theirs.action_weights), 0)
    return (decisions.visits, decisions.policies, decisions.moves), (visits, weights, np.asarray(theirs.action))


def choose_as_mctx(self, number, nodes):
    """The best of all moves with the right number of visits, whether or not it was in the better half."""
    visits = self._schedule[:, number, 1]
    right = nodes.legal & (nodes.visits == visits[:, None])
    return np.where(right, self._fixed + nodes.sigma(), -np.inf).argmax(axis=1)


@pytest.mark.parametrize(("simulations", "considered"), [(16, 4), (50, 7)])
def test_gumbel_search_is_that_of_mctx_but_for_when_a_half_is_chosen(monkeypatch, simulations, considered):
    tables, legal = Tables(3), np.ones((CASES, ACTIONS), dtype=bool)
    (visits, _, moves), (their_visits, _, their_moves) = gumbel_beside_mctx(tables, legal, simulations, considered)
    assert np.array_equal(np.sort(visits), np.sort(their_visits))
    assert (visits == their_visits).all(axis=1).mean() > 0.9 and (moves == their_moves).mean() > 0.95
    monkeypatch.setattr(gumbel._Halving, "choose", choose_as_mctx)
    (visits, policies, moves), (their_visits, their_policies, their_moves) = gumbel_beside_mctx(
        tables, legal, simulations, considered
    )
    assert np.array_equal(visits, their_visits) and np.array_equal(moves, their_moves)
    assert np.allclose(policies, their_policies, atol=1e-4)


def test_gumbel_search_differs_from_mctx_only_where_illegal_moves_count_in_the_scale(monkeypatch):
    monkeypatch.setattr(gumbel._Halving, "choose", choose_as_mctx)
    tables, legal = Tables(4), some_legal(5)
    (visits, policies, moves), (their_visits, their_policies, their_moves) = gumbel_beside_mctx(tables, legal, 32, 7)
    all_visited = ((visits > 0) | ~legal).all(axis=1) & ~legal.all(axis=1)
    differing = (visits != their_visits).any(axis=1) | (np.abs(policies - their_policies).max(axis=1) > 1e-4)
    assert not differing[~all_visited].any()
    assert 0 < differing.sum() < CASES / 2
    assert (moves == their_moves).mean() > 0.9
