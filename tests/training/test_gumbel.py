"""Gumbel AlphaZero: the visits of sequential halving, an improved policy on a bandit, where g enters, tactics."""

import numpy as np
import pytest

from games.gomoku.batch import GomokuBatch
from training.search import gumbel
from training.search.gumbel import GumbelSearch, GumbelSettings, Nodes, halving_schedule


def make_search(games, points, evaluate, n, m, seed=5):
    settings = GumbelSettings(playouts=n, considered=m)
    return GumbelSearch(games, points, evaluate, settings, np.random.default_rng(seed))


def bandit(arms, prior=None):
    """From the empty board black's first move m is worth arms[m] to black, whatever is played afterwards."""
    points = len(arms)
    prior = np.full(points, 1 / points) if prior is None else prior

    def evaluate(states):
        height = states.shape[2]
        moves = np.arange(points).reshape(height, -1)[::-1].reshape(-1)
        values = np.zeros(len(states), dtype=np.float32)
        for number, state in enumerate(states):
            black_to_move = state[8, 0, 0] == 1
            black = state[1:8:2] if black_to_move else state[0:8:2]
            assert black.sum(axis=(1, 2)).max() <= 3, "only the last three moves can be told apart"
            if black[0].any():
                oldest = [plane for plane in black if plane.any()][-1]
                value = arms[moves[int(oldest.reshape(-1).argmax())]]
                values[number] = value if black_to_move else -value
        return np.tile(prior.astype(np.float32), (len(states), 1)), values

    return evaluate


# -------------------------------------------------------------------------------------------- sequential halving


@pytest.mark.parametrize(
    ("n", "m", "expected"),
    [
        (16, 4, [6, 6, 2, 2]),  # two phases of 8: 4 moves twice, 2 moves four times
        (32, 8, [11, 11, 3, 3, 1, 1, 1, 1]),  # 8 once, 4 twice, 2 five times, and 6 simulations are left for these 2
        (200, 16, [49, 49, 21, 21] + [9] * 4 + [3] * 8),  # 16 three times, 8 six, 4 twelve, 2 twenty-five; 6 left
        (6, 5, [2, 1, 1, 1, 1]),  # at least one visit in each phase, until the simulations are spent
        (3, 16, [1, 1, 1]),
        (7, 1, [7]),
    ],
)
def test_sequential_halving_visits_as_often_as_the_paper_says(n, m, expected):
    assert len(halving_schedule(m, n)) == n
    arms = np.random.default_rng(1).normal(size=25) * 0.3
    visits = make_search(20, 25, bandit(arms), min(n, 40), m).decide(GomokuBatch(20, 5, 5, 5), is_selfplay=True).visits
    assert (visits.sum(axis=1) == min(n, 40)).all()
    if n <= 40:
        assert all(sorted(row[row > 0].tolist(), reverse=True) == expected for row in visits)
    counts = np.zeros(m, dtype=int)
    for left, had in halving_schedule(m, n):
        # Whoever is visited is among the first `left` of an order and has had that many visits.
        counts[next(i for i in range(left) if counts[i] == had)] += 1
    assert sorted(counts[counts > 0].tolist(), reverse=True) == expected


def test_the_better_half_goes_on():
    arms = np.linspace(-0.9, 0.9, 16)
    decisions = make_search(1, 16, bandit(arms), 32, 16).decide(GomokuBatch(1, 4, 4, 4), is_selfplay=False)
    # 16 once, 8 once, 4 twice: with equal logits and g = 0 the values alone decide.
    assert decisions.visits[0].tolist() == [1] * 8 + [2] * 4 + [4] * 4
    assert decisions.moves[0] == 15


def test_fewer_legal_moves_than_considered_ones_are_all_considered():
    boards = GomokuBatch(2, 3, 3, 3)
    boards.play_lines(np.array([[4, 0, 2, 6, 3, 5, 1], [4, 0, 0, 0, 0, 0, 0]]), np.array([7, 1]))
    visits = make_search(2, 9, bandit_free, 16, 16).decide(boards, is_selfplay=True).visits
    assert visits.sum(axis=1).tolist() == [16, 16] and (visits > 0).sum(axis=1).tolist() == [2, 8]
    assert not visits[~boards.legal].any()


def bandit_free(states):
    points = states.shape[2] * states.shape[3]
    return np.full((len(states), points), 1 / points, dtype=np.float32), np.zeros(len(states), dtype=np.float32)


# ------------------------------------------------------------------------------------------- policy improvement


@pytest.mark.parametrize("n", [2, 8, 16, 32])
def test_on_a_bandit_the_policy_and_the_move_are_better_than_the_prior(n):
    rng = np.random.default_rng(2)
    arms = rng.uniform(-0.8, 0.8, 16)
    prior = rng.dirichlet(np.ones(16))
    games = 300
    search = make_search(games, 16, bandit(arms, prior), n, 8)
    decisions = search.decide(GomokuBatch(games, 4, 4, 4), is_selfplay=True)
    before = prior @ arms
    assert np.allclose(decisions.policies.sum(axis=1), 1)
    assert (decisions.policies @ arms >= before - 1e-6).all() or n == 2
    assert (decisions.policies @ arms).mean() > before and arms[decisions.moves].mean() > before
    root = search.trees.mean_value[search.trees.root_rows(np.arange(games))]
    visited = decisions.visits > 0
    assert np.allclose(root[visited], np.broadcast_to(arms, root.shape)[visited], atol=1e-6)


def test_the_value_of_a_position_is_that_of_the_policy_to_learn_and_not_the_mean_over_visits_that_halving_forces():
    arms = np.linspace(-0.9, 0.9, 16)
    search = make_search(50, 16, bandit(arms, np.full(16, 1 / 16)), 32, 16)
    decisions = search.decide(GomokuBatch(50, 4, 4, 4), is_selfplay=True)
    assert np.abs(decisions.values - decisions.policies @ arms).max() < 0.05
    assert ((decisions.visits * arms).sum(axis=1) / 32 < decisions.values - 0.2).all()


def test_the_improved_policy_worked_out_by_hand():
    """Three legal moves with priors 0.5, 0.3, 0.2 (given as half of that); the first has 3 visits worth 0.2, the second 1 worth
    -0.4; the network's value is 0.1.

    Visited moves weighted by prior: (0.5 * 0.2 - 0.3 * 0.4) / 0.8 = -0.025. Mixed value: (0.1 - 4 * 0.025) / 5 = 0.
    Completed q: 0.2, -0.4, 0; scaled: 1, 0, 2/3. sigma = (50 + 3) * 0.1 * q = 5.3, 0, 3.533.
    """
    nodes = Nodes(
        legal=np.array([[True, True, False, True]]),
        prior=np.array([[0.25, 0.15, 0.0, 0.1]]),
        visits=np.array([[3, 1, 0, 0]]),
        mean_value=np.array([[0.2, -0.4, 0.0, 0.0]]),
        value=np.array([0.1]),
    )
    assert np.allclose(nodes.sigma(), [[5.3, 0, 0, 5.3 * 2 / 3]])
    weights = np.array([0.5 * np.exp(5.3), 0.3, 0, 0.2 * np.exp(5.3 * 2 / 3)])
    assert np.allclose(nodes.improved_policy(), weights / weights.sum())


def test_without_visits_the_policy_is_the_prior_of_the_legal_moves():
    nodes = Nodes(
        legal=np.array([[True, True, False]]),
        prior=np.array([[0.6, 0.2, 0.0]]),
        visits=np.zeros((1, 3), dtype=int),
        mean_value=np.zeros((1, 3)),
        value=np.array([-0.7]),
    )
    assert np.allclose(nodes.improved_policy(), [[0.75, 0.25, 0]])


# ------------------------------------------------------------------------------------------------- where g enters


def test_where_all_moves_are_worth_the_same_they_are_played_as_the_prior_says():
    """Gumbel-max: the argmax of g + logit is a draw from the softmax of the logits. A g kept from move to move, or drawn for
    all games at once, would play one move alone."""
    prior = np.array([0.05, 0.05, 0.1, 0.1, 0.3, 0.1, 0.1, 0.1, 0.1])
    search, games = make_search(4000, 9, bandit(np.zeros(9), prior), 2, 2), 4000
    counts = [np.bincount(search.decide(GomokuBatch(games, 3, 3, 3), True).moves, minlength=9) for _ in range(2)]
    assert all(np.abs(count / games - prior).max() < 0.03 for count in counts)
    assert not np.array_equal(*counts)


def test_in_play_for_the_result_nothing_is_drawn():
    arms = np.random.default_rng(3).uniform(-0.5, 0.5, 16)
    decisions = make_search(50, 16, bandit(arms), 32, 16).decide(GomokuBatch(50, 4, 4, 4), is_selfplay=False)
    assert (decisions.visits == decisions.visits[0]).all() and set(decisions.moves.tolist()) == {int(arms.argmax())}


def test_games_together_decide_as_each_alone(fixed_evaluator):
    boards = GomokuBatch(4, 5, 4, 4)
    orders = np.array([np.random.default_rng(seed).permutation(20) for seed in range(4)])
    boards.play_lines(orders, np.array([1, 2, 3, 5]))
    together = make_search(4, 20, fixed_evaluator(20), 40, 8).decide(boards, is_selfplay=False)
    for game in range(4):
        alone = make_search(1, 20, fixed_evaluator(20), 40, 8).decide(boards.take([game]), is_selfplay=False)
        assert np.array_equal(alone.visits[0], together.visits[game]) and alone.moves[0] == together.moves[game]
        assert np.allclose(alone.policies[0], together.policies[game])


@pytest.mark.parametrize(("games", "n", "m", "largest"), [(1, 100, 16, 16), (1, 37, 5, 5), (5, 50, 16, 12), (3, 20, 16, 16)])
def test_playouts_of_a_round_give_the_same_tree_together_and_one_after_the_other(
    monkeypatch, fixed_evaluator, games, n, m, largest
):
    boards = GomokuBatch(games, 5, 5, 4)
    orders = np.array([np.random.default_rng(seed).permutation(25) for seed in range(games)])
    boards.play_lines(orders, np.arange(1, games + 1))
    sizes: list[int] = []

    def evaluate(states):
        sizes.append(len(states))
        return fixed_evaluator(25)(states)

    together = make_search(games, 25, evaluate, n, m)
    found = together.decide(boards, is_selfplay=True)
    batches, sizes[:] = sizes[:], []
    monkeypatch.setattr(gumbel, "STATES_AT_ONCE", 1)
    alone = make_search(games, 25, evaluate, n, m)
    expected = alone.decide(boards, is_selfplay=True)
    assert max(batches) == games * largest and max(sizes) == games and 2 * len(batches) < len(sizes)
    for name in ("moves", "policies", "visits", "values"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert np.array_equal(together.trees.size, alone.trees.size)
    rows = together.trees.root_rows(np.arange(games))
    for name in ("edge_visits", "mean_value", "node_visits"):
        assert np.array_equal(getattr(together.trees, name)[rows], getattr(alone.trees, name)[rows]), name


# -------------------------------------------------------------------------------------------------------- tactics


def test_it_wins_in_one_and_blocks():
    boards = GomokuBatch(2, 3, 3, 3)
    boards.play_lines(np.array([[0, 3, 1, 4], [0, 4, 1, 0]]), np.array([4, 3]))
    decisions = make_search(2, 9, bandit_free, 64, 9).decide(boards, is_selfplay=False)
    assert decisions.moves.tolist() == [2, 2] and decisions.policies[0, 2] > 0.9
    assert decisions.values[0] > 0.2  # half of the simulations went to moves that are worth nothing


def test_a_fast_search_has_its_own_number_of_playouts_and_draws_no_gumbel_numbers(fixed_evaluator):
    boards, evaluate = GomokuBatch(3, 4, 4, 4), fixed_evaluator(16)
    decisions = make_search(3, 16, evaluate, 30, 8).decide(boards, is_selfplay=True, fast_playouts=9)
    expected = make_search(3, 16, evaluate, 9, 8).decide(boards, is_selfplay=False)
    assert decisions.visits.sum(axis=1).tolist() == [9] * 3 and np.array_equal(decisions.visits, expected.visits)
    assert np.array_equal(decisions.moves, expected.moves)
