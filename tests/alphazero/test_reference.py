"""The reference solution of Part 2 keeps what the interface promises."""

import numpy as np
import pytest
import torch

from common.weights import expected_layout
from grader.judge.support.drawn_weights import random_weights
from grader.judge.trusted.network import forward
from training import exact

torch.set_num_threads(1)


def board_after(moves, width=3, height=3, n_in_row=3):
    return exact.board_after(moves, (width, height, n_in_row))


def uniform(board, *handles):
    return [(move, 1 / len(board.availables)) for move in board.availables], 0.0


@pytest.fixture(params=["mcts_pure", "mcts_alphaZero"])
def module(request, reference):
    return reference(request.param)


def make_player(module, n_playout, **more):
    if hasattr(module, "softmax"):
        return module.MCTSPlayer(uniform, 2, 3, c_puct=5, n_playout=n_playout, **more)
    return module.MCTSPlayer(c_puct=5, n_playout=n_playout)


def test_the_selection_value_is_that_of_the_handout(module):
    parent = module.TreeNode(None, 1.0)
    parent.expand([(0, 0.25), (1, 0.75)])
    parent._n_visits = 16
    child = parent._children[1]
    child._n_visits, child._Q = 2, 0.5
    assert child.get_value(5) == pytest.approx(0.5 + 5 * 0.75 * 4 / 3)
    assert parent.select(5)[0] == 1


def test_backup_changes_the_sign_at_every_level(module):
    root = module.TreeNode(None, 1.0)
    root.expand([(0, 1.0)])
    child = root._children[0]
    child.expand([(1, 1.0)])
    grandchild = child._children[1]
    grandchild.update_recursive(0.6)
    values = [grandchild._Q, child._Q, root._Q]
    assert values == pytest.approx([0.6, -0.6, 0.6])
    assert [node._n_visits for node in (grandchild, child, root)] == [1, 1, 1]


def test_both_searches_share_one_tree_and_a_subclass_grows_nodes_of_its_own_kind(reference):
    shared = reference("mcts_pure").TreeNode
    assert reference("mcts_alphaZero").TreeNode is shared

    class Special(shared):
        pass

    root = Special(None, 1.0)
    root.expand([(0, np.float32(0.5))])
    assert type(root._children[0]) is Special and type(root._children[0]._P) is float


@pytest.mark.parametrize(("moves", "best"), [([0, 3, 1, 4], 2), ([0, 3, 1, 4, 8], 5), ([0, 4, 1], 2), ([4, 0, 3], 5)], ids=str)
def test_wins_and_blocks_are_found(module, moves, best):
    assert make_player(module, 800).get_action(board_after(moves))[0] == best


def test_a_search_does_not_change_the_board(module):
    board = board_after([4, 0])
    make_player(module, 50).get_action(board)
    assert list(board.states) == [4, 0]


def test_a_full_board_is_refused_in_a_sentence(module):
    with pytest.raises(ValueError, match="the board is full"):
        make_player(module, 50).get_action(board_after([0, 1, 2, 4, 3, 5, 7, 6, 8]))


def test_update_with_move_keeps_the_child_and_forgets_the_parent(module):
    player = make_player(module, 50)
    mcts = player.mcts
    for _ in range(50):
        mcts._playout(board_after([]))
    child = mcts._root._children[4]
    mcts.update_with_move(4)
    assert mcts._root is child and child._parent is None
    mcts.update_with_move(99)
    assert mcts._root is not child and mcts._root._n_visits == 0


def test_a_value_may_be_an_array_of_one(reference):
    module = reference("mcts_alphaZero")
    player = module.MCTSPlayer(lambda b, *h: (uniform(b)[0], np.array([[0.25]])), 2, 3, n_playout=30)
    move, probs = player.get_action(board_after([]))
    assert probs[move] > 0.1 and isinstance(player.mcts._root._Q, float)


def test_self_play_mixes_noise_into_the_root_only(reference):
    module = reference("mcts_alphaZero")
    np.random.seed(1)
    player = make_player(module, 60, is_selfplay=1)
    moves, _ = player.mcts.get_move_visits(board_after([]))
    priors = np.array([player.mcts._root._children[m]._P for m in moves])
    noise = (priors - 0.75 / 9) / 0.25
    assert noise.min() > -1e-9 and noise.sum() == pytest.approx(1) and noise.max() > 0.2
    below = player.mcts._root._children[moves[0]]._children
    assert {child._P for child in below.values()} == {1 / 8}


def most_visited(player):
    children = player.mcts._root._children
    return {move for move, child in children.items() if child._n_visits == max(c._n_visits for c in children.values())}


@pytest.mark.parametrize(
    ("plies", "first_n_moves", "is_drawn"), [(3, None, True), (4, None, False), (0, 0, False), (4, 5, True)]
)
def test_self_play_draws_first_moves_in_proportion_to_visits_and_always_returns_visit_shares(
    reference, plies, first_n_moves, is_drawn
):
    module = reference("mcts_alphaZero")
    np.random.seed(2)
    board, others = board_after([4, 0, 8, 2][:plies]), 0
    for _ in range(20):
        player = make_player(module, 100, is_selfplay=1)
        player.first_n_moves = first_n_moves
        move, probs = player.get_action(board, is_selfplay=True)
        others += move not in most_visited(player)
        visits = {m: child._n_visits for m, child in player.mcts._root._children.items()}
        assert all(probs[m] == pytest.approx(n / 99) for m, n in visits.items())
        assert probs.sum() == pytest.approx(1) and not probs[list(board.states)].any()
    assert (others > 3) == is_drawn


def test_play_returns_the_distribution_of_the_draw(reference):
    player = make_player(reference("mcts_alphaZero"), 100)
    move, probs = player.get_action(board_after([0, 4, 1]))
    assert move == 2 and probs[2] > 0.99


@pytest.fixture
def follower(reference):
    """Return a player that has answered the first move on 3x3, and the board after its answer."""
    player, board = make_player(reference("mcts_alphaZero"), 200), board_after([4])
    board.do_move(player.get_action(board)[0])
    return player, board


def test_in_play_the_tree_follows_the_moves_of_both_players(follower):
    player, board = follower
    own = player.mcts._root._children[board.last_move]
    reply = max(own._children, key=lambda move: own._children[move]._n_visits)
    carried = own._children[reply]._n_visits
    board.do_move(reply)
    player.get_action(board)
    assert carried > 1 and player.mcts._root._n_visits == carried + 200
    assert set(player.mcts._root._children) == set(board.availables)


CHANGES = {
    "a new game": lambda board: board_after([]),
    "a new game that the opponent began": lambda board: board_after([0]),
    "another game of the same length": lambda board: board_after([1, 2, 3]),
    "moves taken back": lambda board: board_after([4]),
    "another answer than the player's": lambda board: board_after([4, *[m for m in (0, 1) if m != board.last_move][:1], 8]),
    "two moves later": lambda board: board_after([*board.states, *board.availables[:2]]),
    "the same position": lambda board: board,
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_tree_belongs_to_the_position_on_the_board_after_any_change(follower, change):
    player, board = follower
    board = CHANGES[change](board)
    move, _ = player.get_action(board)
    assert move in board.availables and set(player.mcts._root._children) == set(board.availables)
    for reply, child in player.mcts._root._children.items():
        after = board.copy()
        after.do_move(reply)
        assert not child._children or set(child._children) == set(after.availables)


def test_a_player_reset_in_the_middle_of_a_game_starts_a_new_tree(follower):
    player, board = follower
    player.reset_player()
    player.get_action(board)
    assert player.mcts._root._n_visits == 200


@pytest.fixture
def net_module(reference):
    return reference("policy_value_net_torch")


@pytest.mark.parametrize(("width", "height", "block"), [(3, 3, 1), (5, 4, 2), (11, 11, 19)])
def test_layers_are_named_and_shaped_as_published(net_module, width, height, block):
    model = net_module.PolicyValueNetModel(width, height, block, 9)
    assert {k: tuple(v.shape) for k, v in model.state_dict().items()} == expected_layout(width, height, block)


@pytest.fixture
def given(net_module, tmp_path):
    """Return a 5x4 network with known weights, the weights, and a batch of states."""
    weights = random_weights(5, 4, 1, seed=3)
    path = tmp_path / "given.model"
    state = {k: torch.as_tensor(v) for k, v in weights.items() if not k.endswith("num_batches_tracked")}
    torch.save(state, path)  # without num_batches_tracked, like converted files
    states = np.random.default_rng(1).integers(0, 2, (6, 9, 4, 5)).astype(np.float32)
    return net_module.PolicyValueNet(5, 4, 1, init_model=str(path)), weights, states


def test_outputs_equal_those_of_the_trusted_network(given):
    net, weights, states = given
    log_probs, value = forward(weights, states, width=5, height=4)
    probs, seen = net.policy_value(states, 2, 3)
    np.testing.assert_allclose(probs, np.exp(log_probs), atol=1e-5)
    np.testing.assert_allclose(seen, value, atol=1e-5)


def test_the_loss_is_that_of_the_handout_and_leaves_biases_out(given):
    net, weights, states = given
    targets = np.random.default_rng(2).dirichlet(np.ones(20), 6)
    winners = np.array([1, -1, 0, 1, 1, -1.0])
    log_probs, value = forward(weights, states, width=5, height=4, train_mode=True)
    l2 = sum((w**2).sum() for k, w in weights.items() if k.endswith("weight"))
    expected = np.mean((value[:, 0] - winners) ** 2) - np.mean((targets * log_probs).sum(1)) + 1e-4 / 2 * l2
    loss, entropy = net.train_step(states, targets, winners, 1e-3)
    assert loss == pytest.approx(expected, rel=1e-4)
    assert entropy == pytest.approx(-np.mean((np.exp(log_probs) * log_probs).sum(1)), rel=1e-4)


def test_batch_norm_learns_only_in_train_step(given):
    net, _, states = given
    statistics = net.model.bn_1.running_mean.clone()
    net.policy_value(states, 2, 3)
    assert torch.equal(net.model.bn_1.running_mean, statistics)
    net.train_step(states, np.full((6, 20), 1 / 20), np.zeros(6), 1e-3)
    assert not torch.equal(net.model.bn_1.running_mean, statistics)
    alone, _ = net.policy_value(states[:1], 2, 3)
    together, _ = net.policy_value(states, 2, 3)
    np.testing.assert_allclose(alone[0], together[0], atol=1e-6)


def test_weights_survive_saving_and_loading(given, net_module, tmp_path):
    net, _, states = given
    net.save_model(str(tmp_path / "new folder" / "w.model"))
    other = net_module.PolicyValueNet(5, 4, 1, init_model=str(tmp_path / "new folder" / "w.model"))
    np.testing.assert_array_equal(other.policy_value(states, 2, 3)[0], net.policy_value(states, 2, 3)[0])


def test_weights_that_do_not_fit_are_refused_with_the_name_of_the_layer(given, net_module, tmp_path):
    net, _, _ = given
    net.save_model(str(tmp_path / "w.model"))
    with pytest.raises(RuntimeError, match=r"dense_layer_1\.weight"):
        net_module.PolicyValueNet(3, 3, 1, init_model=str(tmp_path / "w.model"))
    with pytest.raises(FileNotFoundError):
        net.restore_model(str(tmp_path / "absent.model"))


def test_transfer_loads_the_layers_that_fit(given, net_module, tmp_path):
    net, weights, _ = given
    net.save_model(str(tmp_path / "w.model"))
    other = net_module.PolicyValueNet(3, 3, 1, transfer_model=str(tmp_path / "w.model"))
    np.testing.assert_array_equal(other.model.conv2d_1.weight.detach().numpy(), weights["conv2d_1.weight"])
    assert other.model.dense_layer_1.weight.shape == (9, 2 * 7 * 7)


@pytest.mark.parametrize(("width", "height"), [(4, 4), (5, 4)])
def test_a_random_symmetry_is_undone_on_the_moves(net_module, width, height):
    """A network that points at the player's own stone must point at the same move, however the board is turned."""
    net, images = net_module.PolicyValueNet(width, height, 1), set()

    def point_at_own_stones(states, *handles):
        images.add(states.tobytes())
        own = states[0, 1][::-1].reshape(1, -1)
        return own, np.zeros((1, 1))

    net.policy_value = point_at_own_stones
    board = board_after([1, 0], width, height, 3)  # no symmetry leaves this position as it is
    board.availables = list(range(width * height))  # so that the result includes taken points
    np.random.seed(1)
    for _ in range(100):
        pairs, _ = net.policy_value_fn_random(board, 2, 3)
        assert [move for move, prob in pairs if prob > 0] == [1]
    assert len(images) == (8 if width == height else 4)
