"""The lockstep search is the search of AlphaZero: the reference's trees, tactics, noise, temperature, a tree made by hand."""

import numpy as np
import pytest
import torch

from Board.game_board import Board
from games.gomoku.batch import GomokuBatch
from grader.judge.trusted import search as trusted_search
from training.inference.evaluators import InferenceNetwork
from training.search.puct import PuctSearch, PuctSettings, draw_moves, visit_policies

SIZES = [(3, 3, 3), (5, 4, 4), (4, 6, 3), (6, 6, 4)]


def make_search(games, points, evaluate, n_playout, c_puct=5.0, seed=1, first_n_moves=4, **others):
    settings = PuctSettings(playouts=n_playout, c_puct=c_puct, first_n_moves=first_n_moves, **others)
    return PuctSearch(games, points, evaluate, settings, np.random.default_rng(seed))


def uniform(states):
    points = states.shape[2] * states.shape[3]
    return np.full((len(states), points), 1 / points, dtype=np.float32), np.zeros(len(states), dtype=np.float32)


# ------------------------------------------------------------------------------------- the reference's trees


@pytest.mark.parametrize(("width", "height", "n_in_row"), SIZES)
@pytest.mark.parametrize("noise", [False, True])
def test_a_single_game_visits_what_the_references_serial_search_visits(
    reference, make_network, monkeypatch, width, height, n_in_row, noise
):
    """The whole game, with the tree kept from move to move; the network in float32, folded on one side alone."""
    network = make_network(width, height, 1)
    player = reference("mcts_alphaZero").MCTSPlayer(network.policy_value_fn, 2, 3, c_puct=3, n_playout=60)
    player.mcts._is_selfplay = noise
    monkeypatch.setattr(np.random, "dirichlet", np.random.default_rng(7).dirichlet)
    fast = InferenceNetwork(network.model, width, height, dtype=torch.float32, device="cpu")
    search = make_search(1, width * height, fast, 60, c_puct=3, seed=7)
    board, boards = Board(width=width, height=height, n_in_row=n_in_row), GomokuBatch(1, width, height, n_in_row)
    kept = []
    while not board.game_end()[0]:
        kept.append(int(search.trees.size[0]))
        moves, expected = player.mcts.get_move_visits(board)
        search.run(boards, is_selfplay=noise)
        visits = search.root_visits()[0]
        assert visits[moves].tolist() == expected and visits.sum() == sum(expected)
        move = moves[int(np.argmax(expected))]
        player.mcts.update_with_move(move)
        search.advance(np.array([move]))
        board.do_move(move)
        boards.play([move])
    assert len(kept) >= 2 * n_in_row - 1 and min(kept[1:]) > 0


def whole_tree(trees, game, node=0):
    """Nested (move, visits, mean value, subtree) of a game's tree."""
    row = game * trees.capacity + node
    edges = []
    for move in np.flatnonzero(trees.edge_visits[row]):
        subtree = whole_tree(trees, game, trees.child[row, move])
        edges.append((int(move), int(trees.edge_visits[row, move]), trees.mean_value[row, move], subtree))
    return edges


def trusted_tree(node):
    visited = [(move, child) for move, child in sorted(node.children.items()) if child.visits]
    return [(move, child.visits, child.mean_value, trusted_tree(child)) for move, child in visited]


@pytest.mark.parametrize(("width", "height", "n_in_row"), SIZES)
def test_games_together_have_the_trees_that_each_has_alone_and_that_the_graders_search_has(
    fixed_evaluator, width, height, n_in_row
):
    points = width * height
    evaluate = fixed_evaluator(points)

    def evaluate_board(board):
        probs, values = evaluate(board.current_state()[np.newaxis])
        return [(move, probs[0, move]) for move in board.availables], float(values[0])

    games = 5
    orders = np.array([np.random.default_rng(seed).permutation(points) for seed in range(games)])
    lengths = np.array([0, 1, 2, 3, 4])
    boards = GomokuBatch(games, width, height, n_in_row)
    for game in range(games):
        for move in orders[game, : lengths[game]]:
            one = boards.take([game])
            one.play([move])
            for name in ("stones", "recent", "length", "winner", "over"):
                getattr(boards, name)[game] = getattr(one, name)[0]
    together = make_search(games, points, evaluate, 80, c_puct=2)
    together.run(boards, is_selfplay=False)
    for game in range(games):
        alone = make_search(1, points, evaluate, 80, c_puct=2)
        alone.run(boards.take([game]), is_selfplay=False)
        tree = whole_tree(together.trees, game)
        assert tree == whole_tree(alone.trees, 0)
        board = Board(width=width, height=height, n_in_row=n_in_row)
        for move in orders[game, : lengths[game]]:
            board.do_move(int(move))
        assert tree == trusted_tree(trusted_search.search(board, evaluate_board, 80, 2))


def test_games_at_different_moves_keep_their_trees_apart(fixed_evaluator):
    """Three games go on move after move, one of them begins again in between; each is as if it were alone."""
    evaluate = fixed_evaluator(9)
    together, boards = make_search(3, 9, evaluate, 30), GomokuBatch(3, 3, 3, 3)
    alone = [make_search(1, 9, evaluate, 30) for _ in range(3)]
    single = [GomokuBatch(1, 3, 3, 3) for _ in range(3)]
    for number in range(4):
        if number == 2:
            boards.restart([1])
            together.restart(np.array([1]))
            single[1].restart([0])
            alone[1].restart(np.array([0]))
        together.run(boards, is_selfplay=False)
        moves = np.zeros(3, dtype=int)
        for game in range(3):
            alone[game].run(single[game], is_selfplay=False)
            assert whole_tree(together.trees, game) == whole_tree(alone[game].trees, 0)
            # Not always the best move, so that the games differ.
            visits = np.where(single[game].legal[0], together.root_visits()[game], -1)
            moves[game] = np.argsort(-visits, kind="stable")[game]
            alone[game].advance(moves[game : game + 1])
            single[game].play(moves[game : game + 1])
        together.advance(moves)
        boards.play(moves)
    assert len({tuple(row) for row in boards.stones}) == 3


def test_a_tree_that_needs_more_room_than_it_had_keeps_what_it_holds(fixed_evaluator):
    evaluate = fixed_evaluator(16)
    small, large = (make_search(2, 16, evaluate, 20) for _ in range(2))
    large.trees.make_room(1000)
    boards = GomokuBatch(2, 4, 4, 4)
    for _ in range(4):  # without a move the tree grows
        for search in (small, large):
            search.run(boards, is_selfplay=False)
    assert small.trees.size.tolist() == [80, 80] and small.trees.capacity < large.trees.capacity
    assert [whole_tree(small.trees, game) for game in (0, 1)] == [whole_tree(large.trees, game) for game in (0, 1)]


def test_a_move_that_was_never_tried_leaves_an_empty_tree(fixed_evaluator):
    search, boards = make_search(1, 9, fixed_evaluator(9), 3), GomokuBatch(1, 3, 3, 3)
    search.run(boards, is_selfplay=False)
    move = int(np.argmin(search.root_visits()[0]))
    assert search.root_visits()[0, move] == 0
    search.advance(np.array([move]))
    boards.play([move])
    search.run(boards, is_selfplay=False)
    assert search.trees.size.tolist() == [3] and search.root_visits().sum() == 2


# ------------------------------------------------------------------------------------------- a tree by hand


def test_six_playouts_on_two_by_two_worked_out_by_hand():
    """Two in a row on 2x2: the third stone wins. The network gives move m the prior (m + 1) / 10 and sees +0.5 for black
    to move on the empty board, -0.2 for white after one stone, 0.4 for black after two. c_puct = 1.

    1  the root is expanded, N = 1.
    2  sqrt(1) P / 1: move 3 (0.4). Its position is worth -0.2 to white, so Q(3) = 0.2.
    3  sqrt(2) P / (1 + n): move 2 has 0.424, move 3 has 0.2 + 0.283 = 0.483. Move 3 again; white's best prior there is move 2,
       worth 0.4 to black: white's Q = -0.4, black's Q(3) = (0.2 + 0.4) / 2 = 0.3.
    4  sqrt(3): move 2 has 0.520, move 3 has 0.3 + 0.231 = 0.531. Move 3; there N = 2, white's move 2 has
       -0.4 + 0.3 * sqrt(2) / 2 = -0.188, move 1 has 0.2 * sqrt(2) = 0.283. Move 1: Q(3) = (0.6 + 0.4) / 3 = 0.333.
    5  sqrt(4): move 2 has 0.6, move 3 has 0.333 + 0.2 = 0.533. Move 2: Q(2) = 0.2.
    6  sqrt(5): move 1 has 0.447, move 2 has 0.2 + 0.335 = 0.535, move 3 has 0.333 + 0.224 = 0.557. Move 3; there N = 3, white's
       move 0 has 0.1 * sqrt(3) = 0.173, move 1 has -0.4 + 0.2 * sqrt(3) / 2 = -0.227, move 2 -0.140. Move 0: Q(3) = 0.35.
    7  sqrt(6): move 1 has 0.490, move 2 has 0.567, move 3 has 0.35 + 0.196 = 0.546. Move 2; there N = 1 and white's move 3 has
       prior 0.4: Q(2) = (0.2 + 0.4) / 2 = 0.3.
    """

    def evaluate(states):
        stones = states[:, :2].sum(axis=(1, 2, 3)).astype(int)
        return np.tile(np.array([0.1, 0.2, 0.3, 0.4]), (len(states), 1)), np.array([0.5, -0.2, 0.4])[stones]

    search = make_search(1, 4, evaluate, 7, c_puct=1)
    search.run(GomokuBatch(1, 2, 2, 2), is_selfplay=False)
    leaf = []
    expected = [
        (2, 2, pytest.approx(0.3), [(3, 1, pytest.approx(-0.4), leaf)]),
        (3, 4, pytest.approx(0.35), [(move, 1, pytest.approx(-0.4), leaf) for move in (0, 1, 2)]),
    ]
    assert whole_tree(search.trees, 0) == expected
    assert search.trees.node_visits[0] == 7


# ------------------------------------------------------------------------------------------------- decisions


def boards_after(width, height, n_in_row, *games):
    boards = GomokuBatch(len(games), width, height, n_in_row)
    boards.play_lines(np.array(games), np.full(len(games), len(games[0])))
    return boards


def test_it_wins_in_one_blocks_and_values_a_finished_game_by_the_rules():
    def misled(states):
        """Sure that the side to move has all but won, and in love with the last point."""
        probs, values = uniform(states)
        probs[:, -1] += 1
        return probs, values + 0.9

    # X to move wins at 2, O to move blocks there, and at 6.
    winning = boards_after(3, 3, 3, [0, 3, 1, 4], [0, 8, 1, 6])
    for evaluate in (uniform, misled):
        decisions = make_search(2, 9, evaluate, 400).decide(winning, is_selfplay=False)
        assert decisions.moves.tolist() == [2, 2] and (decisions.values > 0.5).all()
    losing = boards_after(3, 3, 3, [0, 4, 1], [8, 4, 7])
    assert make_search(2, 9, uniform, 100).decide(losing, is_selfplay=False).moves.tolist() == [2, 6]


def test_a_last_move_that_draws_is_worth_nothing():
    board = boards_after(3, 3, 3, [4, 0, 2, 6, 3, 5, 1, 7])
    decisions = make_search(1, 9, fixed_value(0.9), 20).decide(board, is_selfplay=False)
    assert decisions.moves[0] == 8 and decisions.values[0] == 0 and decisions.visits.sum() == 19


def fixed_value(value):
    return lambda states: (uniform(states)[0], uniform(states)[1] + value)


def test_noise_is_mixed_into_the_roots_legal_priors_in_self_play_alone():
    boards = boards_after(3, 3, 3, [0, 4, 1], [0, 4, 1])
    search = make_search(2, 9, uniform, 1)
    search.run(boards, is_selfplay=False)
    rows = search.trees.root_rows(np.arange(2))
    assert np.allclose(search.trees.prior[rows], 1 / 9)
    search.restart(np.arange(2))
    search.run(boards, is_selfplay=True)
    legal = boards.legal[0]
    noise = (search.trees.prior[rows][:, legal] - 0.75 / 9) / 0.25
    assert np.allclose(noise.sum(axis=1), 1, atol=1e-5) and (noise > -1e-6).all()
    assert np.ptp(noise) > 0.1 and not np.allclose(noise[0], noise[1])


def test_a_reused_root_gets_its_noise_once_from_priors_without_noise():
    search, boards = make_search(1, 9, uniform, 50), GomokuBatch(1, 3, 3, 3)
    search.run(boards, is_selfplay=True)
    move = search.root_visits().argmax(axis=1)
    search.advance(move)
    assert search.trees.size[0] > 1 and np.allclose(search.trees.prior[0], 1 / 9)
    boards.play(move)
    search.run(boards, is_selfplay=True)
    noise = (search.trees.prior[search.trees.root_rows(np.arange(1))[0], boards.legal[0]] - 0.75 / 9) / 0.25
    assert noise.min() > -1e-6 and noise.sum() == pytest.approx(1, abs=1e-5)


def test_the_temperature_falls_evenly_where_the_settings_say_so():
    settings = PuctSettings(first_n_moves=3, cooling_moves=3)
    search = PuctSearch(8, 9, uniform, settings, np.random.default_rng(1))
    temperature = search._temperature(np.arange(8), True)
    assert np.allclose(temperature, [1, 1, 1, 0.75, 0.5, 0.25, 1e-3, 1e-3])
    assert (search._temperature(np.arange(8), False) == 1e-3).all()


def test_policies_follow_visits_and_temperature():
    visits = np.array([[3, 0, 1, 0], [3, 0, 1, 0], [2, 0, 2, 0]])
    legal = np.array([[True, False, True, True]] * 3)
    policies = visit_policies(visits, legal, np.array([1.0, 1e-3, 1e-3]))
    assert np.allclose(policies, [[0.75, 0, 0.25, 0], [1, 0, 0, 0], [0.5, 0, 0.5, 0]])


def test_the_first_moves_of_self_play_are_drawn_and_later_ones_are_the_most_visited(fixed_evaluator):
    boards = boards_after(4, 4, 4, *[[0, 5]] * 200)
    drawn = make_search(200, 16, fixed_evaluator(16), 30, first_n_moves=3).decide(boards, is_selfplay=True)
    assert len(set(drawn.moves.tolist())) > 3 and np.allclose(drawn.policies, drawn.visits / 29)
    for settings in ({"first_n_moves": 2}, {"first_n_moves": 3}):
        later = settings["first_n_moves"] == 2
        decisions = make_search(200, 16, fixed_evaluator(16), 30, **settings).decide(boards, is_selfplay=later)
        best = decisions.visits.max(axis=1)
        assert (decisions.visits[np.arange(200), decisions.moves] == best).all()


def test_sharpened_targets_are_one_move_once_moves_are_no_longer_drawn_and_the_visit_shares_before(fixed_evaluator):
    boards = boards_after(4, 4, 4, [0, 5])
    for first_n_moves in (3, 2):
        search = make_search(1, 16, fixed_evaluator(16), 30, first_n_moves=first_n_moves, sharpened_targets=True)
        decisions = search.decide(boards, is_selfplay=True)
        learnt = decisions.visits == decisions.visits.max() if first_n_moves == 2 else decisions.visits
        assert (decisions.visits > 0).sum() > 1 and np.allclose(decisions.policies, learnt / learnt.sum())


def test_moves_are_drawn_as_often_as_they_are_probable_and_never_where_they_are_not():
    policies = np.tile([0.0, 0.2, 0.0, 0.8, 0.0], (20000, 1))
    counts = np.bincount(draw_moves(policies, np.random.default_rng(1)), minlength=5)
    assert counts[[0, 2, 4]].tolist() == [0, 0, 0] and abs(counts[1] - 4000) < 200


def test_a_fast_search_has_its_own_number_of_playouts_and_no_noise(fixed_evaluator):
    boards, evaluate = GomokuBatch(3, 4, 4, 4), fixed_evaluator(16)
    fast, usual = (make_search(3, 16, evaluate, 30, first_n_moves=0) for _ in range(2))
    decisions = fast.decide(boards, is_selfplay=True, fast_playouts=9)
    assert decisions.visits.sum(axis=1).tolist() == [8] * 3  # the root itself took one
    assert np.array_equal(fast.trees.prior[fast.trees.root_rows(np.arange(3))], evaluate(boards.feature_planes())[0])
    expected = make_search(3, 16, evaluate, 9).decide(boards, is_selfplay=False)
    assert np.array_equal(decisions.visits, expected.visits) and np.array_equal(decisions.moves, expected.moves)
    assert usual.decide(boards, is_selfplay=True).visits.sum() == 3 * 29
