"""MuZero: the model, the search in its latent states, the targets, the loss, reanalysis."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from table_model import ACTIONS, Roots, Tables
from torch.nn import functional as F

from games.catalog import rules_of
from training.muzero.exact_player import random_games
from training.muzero.latent_model import MuZeroModel, action_planes
from training.muzero.muzero_settings import MUZERO_PRESETS
from training.muzero.reanalysis import positions_to_search, search_again
from training.muzero.unrolled_loss import GRADIENT_SCALE, LossWeights, scale_gradient, unrolled_loss
from training.muzero.unrolled_targets import FreshTargets, SampledStarts, make_batch, sample_starts
from training.muzero.whole_games import WholeGame, WholeGames, states_of
from training.search.gumbel import GumbelSettings
from training.search.latent import LatentSearchModel
from training.search.puct import PuctSearch, PuctSettings
from training.selfplay.game_stream import make_search

TICTACTOE = rules_of("gomoku", 3, 3, n_in_row=3)
SEARCHES = [PuctSettings(12, 1.25, q_scale="tree"), GumbelSettings(12, 4)]


def new_model(rules=TICTACTOE, seed=1):
    torch.manual_seed(seed)
    model = MuZeroModel(rules, filters=4, blocks=1)
    with torch.no_grad():
        for weights in model.parameters():  # blocks begin as if they were not there
            weights.add_(0.1 * torch.randn_like(weights))
    return model.eval()


def whole_game(rules, moves, winner, seed=0):
    policies = np.random.default_rng(seed).dirichlet(np.ones(rules.actions), size=len(moves)).astype(np.float32)
    moves = np.array(moves, dtype=np.int64)
    return WholeGame(moves, policies, winner, states_of(rules, [moves])[0])


def starts_at(positions, steps, symmetry=0, reanalysed=False, after_end=None):
    count = len(positions)
    moves = np.zeros((count, steps), dtype=np.int64) if after_end is None else np.array([after_end] * count)
    return SampledStarts(
        np.array(positions), np.full(count, symmetry), moves_after_end=moves, reanalysed=np.full(count, reanalysed)
    )


# ---------------------------------------------------------------------------------------------------------- model


def test_every_latent_state_spans_zero_to_one_however_many_moves_were_made():
    model = new_model()
    latents = model.represent(torch.randn(20, TICTACTOE.planes, 3, 3))
    for move in range(6):
        flat = latents.flatten(1)
        assert torch.allclose(flat.amin(1), torch.zeros(20)) and torch.allclose(flat.amax(1), torch.ones(20))
        latents = model.step(latents, torch.full((20,), move))


def test_an_action_is_seen_where_the_feature_planes_show_its_stone_and_a_pass_as_nothing_else():
    rules = rules_of("gomoku", 4, 3, n_in_row=3)
    planes = action_planes(rules)
    for action in range(rules.actions):
        boards = rules.batch(1)
        boards.play([action])
        opponent = boards.feature_planes()[0, 0]  # the stones of who has just moved
        assert np.array_equal(planes[action, 0].numpy(), opponent)
    go = rules_of("go", 5, 5)
    planes = action_planes(go)
    assert len(planes) == 26 and (planes[25] == planes[25, 0, 0, 0]).all() and planes[25, 0, 0, 0] not in (0, 1)


# --------------------------------------------------------------------------------------------------------- search


class RefusingBoards:
    """Positions that can be asked what they look like and what is legal there, once, and nothing else."""

    def __init__(self, boards):
        self._boards, self.looks = boards, 0

    def __len__(self):
        return len(self._boards)

    def take(self, games):
        assert np.array_equal(games, np.arange(len(self)))
        return self

    @property
    def legal(self):
        return self._boards.legal

    @property
    def length(self):
        return self._boards.length

    def feature_planes(self):
        self.looks += 1
        return self._boards.feature_planes()

    def __getattr__(self, name):
        raise AssertionError(f"the search asked the board for {name}")


@pytest.mark.parametrize("settings", SEARCHES, ids=["puct", "gumbel"])
def test_the_search_asks_no_board_below_the_roots(settings):
    boards = TICTACTOE.batch(5)
    boards.play([0, 1, 2, 3, 4])
    boards.play([8, 7, 6, 5, 0])
    legal, refusing = boards.legal.copy(), RefusingBoards(boards)
    search = make_search(settings, 5, 9, LatentSearchModel(new_model()), np.random.default_rng(1))
    decisions = search.decide(refusing, is_selfplay=True)
    assert refusing.looks == 1
    assert not decisions.visits[~legal].any() and not decisions.policies[~legal].any()
    assert legal[np.arange(5), decisions.moves].all()
    below = search.trees.edge_visits.reshape(5, -1, 9)[:, 1:12]
    assert (below[:, :, :] * ~legal[:, None]).any(), "below the roots every move may be taken"


@pytest.mark.parametrize("settings", SEARCHES, ids=["puct", "gumbel"])
def test_positions_searched_together_are_decided_as_each_alone(settings):
    boards = TICTACTOE.batch(3)
    boards.play([0, 1, 4])
    model = LatentSearchModel(new_model())
    search = make_search(settings, 3, 9, model, np.random.default_rng(1))
    search.decide(TICTACTOE.batch(3), is_selfplay=False)  # of which no latent state may remain
    together = search.decide(boards, is_selfplay=False).visits
    for game in range(3):
        alone = make_search(settings, 1, 9, model, np.random.default_rng(1))
        assert np.array_equal(alone.decide(boards.take([game]), is_selfplay=False).visits[0], together[game])


class SerialNode:
    def __init__(self, state, prior):
        self.state, self.prior, self.visits, self.value_sum, self.children = state, prior, 0, 0.0, {}


def serial_muzero(tables, root_state, legal, simulations, c1):
    """MuZero's search as one would write it for a single position: returns the visits of the root's moves."""

    def expand(node, moves):
        priors = tables.probs[node.state, moves]
        for move, prior in zip(moves, priors / priors.sum(), strict=True):
            node.children[move] = SerialNode(tables.following[node.state, move], prior)
        return float(tables.values[node.state])

    root, lowest, highest = SerialNode(root_state, 1.0), np.inf, -np.inf
    expand(root, np.flatnonzero(legal))
    root.visits = 1
    for _ in range(simulations):
        node, path = root, [root]
        while node.children:

            def score(child, node=node, lowest=lowest, highest=highest):
                q = -child.value_sum / child.visits if child.visits else 0.0
                if child.visits and highest > lowest:
                    q = (q - lowest) / (highest - lowest)
                return q + c1 * child.prior * np.sqrt(node.visits) / (1 + child.visits)

            node = max(node.children.values(), key=score)
            path.append(node)
        value = expand(node, np.arange(ACTIONS))
        for node in reversed(path):
            node.visits += 1
            node.value_sum += value
            value = -value
        for node in path[1:]:
            lowest, highest = min(lowest, -node.value_sum / node.visits), max(highest, -node.value_sum / node.visits)
    return [root.children[move].visits if move in root.children else 0 for move in range(ACTIONS)]


def test_puct_with_values_scaled_over_the_tree_is_muzeros_search():
    tables, legal = Tables(6), np.random.default_rng(7).random((60, ACTIONS)) < 0.7
    legal[:, 3] = True
    search = PuctSearch(60, ACTIONS, tables, PuctSettings(41, 1.25, q_scale="tree"), np.random.default_rng(1))
    visits = search.decide(Roots(legal), is_selfplay=False).visits
    assert visits.tolist() == [serial_muzero(tables, game, legal[game], 40, 1.25) for game in range(60)]


# -------------------------------------------------------------------------------------------------------- targets


def test_values_alternate_between_the_players_and_go_on_after_the_end():
    games = WholeGames(TICTACTOE, [whole_game(TICTACTOE, [8, 0], -1), whole_game(TICTACTOE, [0, 3, 1, 4, 2], 1)])
    batch = make_batch(games, starts_at([2 + 3], 5, after_end=[7, 7, 6, 5, 8]), None, with_later_states=True)
    assert batch.values.tolist() == [[-1, 1, -1, 1, -1, 1]]  # player 2 is to move and loses
    assert batch.before_end.tolist() == [[True, True, False, False, False, False]]
    assert batch.rewards.tolist() == [[0, 1, 0, 0, 0]]
    assert batch.moves.tolist() == [[4, 2, 6, 5, 8]]
    assert np.array_equal(batch.policies[0, :2], games.policies[5:7]) and not batch.policies[0, 2:].any()
    assert batch.later_states[0, 0].any() and not batch.later_states[0, 1:].any()


def test_positions_with_a_random_move_still_to_come_have_no_value_of_their_own():
    two = replace(whole_game(TICTACTOE, [0, 3, 1, 4, 2], 1), random_moves=2)
    games = WholeGames(TICTACTOE, [whole_game(TICTACTOE, [0, 4, 8, 1, 7, 6, 2, 5, 3], -1), two])
    batch = make_batch(games, starts_at([0, 9, 10, 11], 3), None, with_later_states=False)
    assert batch.has_value.tolist() == [[True] * 4, [False, False, True, True], [False, True, True, True], [True] * 4]
    reanalysed = replace(starts_at([9], 3), reanalysed=np.array([True]))
    known = FreshTargets(np.ones(14, dtype=bool), games.policies, np.zeros(14, dtype=np.float32))
    assert make_batch(games, reanalysed, known, False).has_value.all()  # a new search knows nothing of the random moves
    model, ones = new_model(), np.ones_like(batch.values)
    wrong = replace(batch, values=np.where(batch.has_value, batch.values, 100 * ones))
    right = unrolled_loss(model, batch, LossWeights()).value
    assert right == unrolled_loss(model, wrong, LossWeights()).value
    assert right != unrolled_loss(model, replace(wrong, has_value=ones > 0), LossWeights()).value


def test_in_a_draw_all_values_and_rewards_are_zero():
    games = WholeGames(TICTACTOE, [whole_game(TICTACTOE, [0, 4, 8, 1, 7, 6, 2, 5, 3], -1)])
    batch = make_batch(games, starts_at(range(9), 5), None, with_later_states=False)
    assert not batch.values.any() and not batch.rewards.any() and batch.later_states is None
    assert batch.before_end.sum(axis=1).tolist() == [6, 6, 6, 6, 5, 4, 3, 2, 1]


def test_a_player_who_ends_a_lost_game_is_rewarded_with_a_loss():
    go = rules_of("go", 5, 5, komi=0.5)
    games = WholeGames(
        go, [whole_game(go, [25, 12, 25, 25], 2)]
    )  # black passes twice, white plays the centre and ends the game
    assert make_batch(games, starts_at([0], 4), None, False).rewards.tolist() == [[0, 0, 0, 1]]
    games = WholeGames(go, [whole_game(go, [12, 25, 25], 1)])
    assert make_batch(games, starts_at([0], 3), None, False).rewards.tolist() == [[0, 0, 1]]
    games = WholeGames(go, [whole_game(go, [12, 0, 25, 25], 1)])  # white ends the game that it has lost
    assert make_batch(games, starts_at([0], 4), None, False).rewards.tolist() == [[0, 0, 0, -1]]


@pytest.mark.parametrize("symmetry", range(8))
def test_a_turned_sample_is_that_of_the_turned_game(symmetry):
    moves = np.array([0, 1, 4, 2, 8])
    turned = TICTACTOE.symmetries.turned_moves[symmetry]
    game, image = whole_game(TICTACTOE, moves, 1), whole_game(TICTACTOE, turned[moves], 1)
    after_end = [3, 5, 6]
    found = make_batch(WholeGames(TICTACTOE, [game]), starts_at(range(5), 3, symmetry, after_end=after_end), None, True)
    expected = make_batch(
        WholeGames(TICTACTOE, [image]), starts_at(range(5), 3, after_end=turned[np.array(after_end)]), None, True
    )
    assert np.array_equal(found.states, expected.states) and np.array_equal(found.later_states, expected.later_states)
    assert np.array_equal(found.moves, expected.moves)
    straight = make_batch(WholeGames(TICTACTOE, [game]), starts_at(range(5), 3), None, False)
    assert np.array_equal(found.policies[:, :, turned], straight.policies)


# ----------------------------------------------------------------------------------------------------------- loss


def test_a_scaled_gradient_leaves_the_value_as_it_is():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = scale_gradient(x, GRADIENT_SCALE)
    y.sum().backward()
    assert y.tolist() == [1.0, -2.0] and x.grad.tolist() == [0.5, 0.5]


def some_batch(steps, with_later_states=False):
    games = random_games(MUZERO_PRESETS["tictactoe"], 20, np.random.default_rng(3))
    games.policies[:] = np.random.default_rng(4).dirichlet(np.ones(9), size=len(games))
    return make_batch(games, sample_starts(games, 16, steps, 0.0, np.random.default_rng(5)), None, with_later_states)


def test_later_steps_weigh_one_kth_and_reach_back_with_halved_gradients():
    """The gradient at the latent state of the root is written out for K = 2."""
    model, batch = new_model(), some_batch(2)
    captured = []
    represent = model.represent

    def spying(states):
        captured.append(represent(states))
        captured[-1].retain_grad()
        return captured[-1]

    model.represent = spying
    found = unrolled_loss(model, batch, LossWeights(value=0.25, reward=0.5))
    found.total.backward()

    def part(latents, k):
        logits, values = model.predict(latents)
        policy = F.cross_entropy(logits, torch.from_numpy(batch.policies[:, k]), reduction="none")
        loss = policy.mean() + 0.25 * ((values - torch.from_numpy(batch.values[:, k])) ** 2).mean()
        if k:
            loss = loss + 0.5 * ((model.reward(latents) - torch.from_numpy(batch.rewards[:, k - 1])) ** 2).mean()
        return loss

    latents = captured[0].detach().requires_grad_()
    moves = torch.from_numpy(batch.moves)
    first = model.step(latents, moves[:, 0])
    second = model.step(first, moves[:, 1])
    parts = [part(latents, 0), part(first, 1), part(second, 2)]
    gradients = [torch.autograd.grad(loss, latents, retain_graph=True)[0] for loss in parts]
    assert torch.isclose(found.total, parts[0] + parts[1] / 2 + parts[2] / 2)
    expected = gradients[0] + gradients[1] / 2 * 0.5 + gradients[2] / 2 * 0.25
    assert torch.allclose(captured[0].grad, expected, atol=1e-7)


def test_the_consistency_loss_is_a_switch_that_teaches_the_dynamics_and_not_its_target():
    model, batch = new_model(), some_batch(3, with_later_states=True)
    assert unrolled_loss(model, batch, LossWeights()).consistency == 0
    found = unrolled_loss(model, batch, LossWeights(value=0, reward=0, consistency=2.0))
    assert torch.isclose(found.total, found.policy + 2 * found.consistency) and 0 < found.consistency < 2
    before = found.consistency.item()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(15):
        optimizer.zero_grad()
        unrolled_loss(model, batch, LossWeights(value=0, reward=0, consistency=2.0)).consistency.backward()
        optimizer.step()
    assert unrolled_loss(model, batch, LossWeights(consistency=1.0)).consistency < 0.7 * before


# ----------------------------------------------------------------------------------------------------- reanalysis


def test_reanalysed_samples_alone_get_new_targets_and_none_after_the_end():
    games = random_games(MUZERO_PRESETS["tictactoe"], 30, np.random.default_rng(1))
    games.policies[:] = 1 / 9
    samples = [sample_starts(games, 8, 3, 0.5, np.random.default_rng(step)) for step in range(4)]
    assert [starts.reanalysed.sum() for starts in samples] == [4] * 4
    positions = positions_to_search(games, samples)
    assert len(positions) < 4 * 4 * 4
    positions = np.union1d(positions, games.start[:3])  # the empty board, which is one position, three times
    model = LatentSearchModel(new_model())
    fresh = search_again(games, positions, model, PuctSettings(12, q_scale="tree"), np.random.default_rng(1))
    assert np.array_equal(np.flatnonzero(fresh.known), positions)
    lines = {games.line(position) for position in positions.tolist()}
    same = {line: {fresh.values[p] for p in positions.tolist() if games.line(p) == line} for line in lines}
    assert all(len(values) == 1 for values in same.values()) and len(lines) < len(positions)
    new_values = 0
    for starts in samples:
        old, new = (make_batch(games, starts, targets, False) for targets in (None, fresh))
        renewed = starts.reanalysed[:, None] & old.before_end
        assert np.array_equal(new.policies[~renewed], old.policies[~renewed])
        left = games.length[games.game[starts.positions]] - games.ply[starts.positions]
        far_from_end = renewed & (left[:, None] - np.arange(4) > 3)
        assert np.array_equal(new.values[~far_from_end], old.values[~far_from_end])
        assert (new.values[far_from_end] != old.values[far_from_end]).all()
        assert np.allclose(new.policies[renewed].sum(axis=1), 1) and not np.allclose(new.policies[renewed], 1 / 9)
        new_values += far_from_end.sum()
    assert new_values > 10


def test_new_targets_are_turned_with_their_position():
    game = WholeGames(TICTACTOE, [whole_game(TICTACTOE, [0, 1, 4, 2, 8], 1)])
    policies = np.random.default_rng(8).dirichlet(np.ones(9), size=5).astype(np.float32)
    fresh = FreshTargets(np.ones(5, dtype=bool), policies, np.linspace(-0.5, 0.5, 5, dtype=np.float32))
    batch = make_batch(game, starts_at([1], 2, symmetry=3, reanalysed=True), fresh, False)
    turned = TICTACTOE.symmetries.turned_moves[3]
    assert np.array_equal(batch.policies[0][:, turned], policies[1:4])
    assert np.allclose(batch.values[0], [-0.25, 0, -1])  # at step 2, the end is two moves away


def test_new_values_take_the_place_of_results_only_where_the_end_is_more_than_k_moves_away():
    game = WholeGames(TICTACTOE, [whole_game(TICTACTOE, [0, 1, 2, 4, 3, 5, 7, 6, 8], -1)])
    fresh = FreshTargets(np.ones(9, dtype=bool), game.policies, np.full(9, 0.5, dtype=np.float32))
    values = make_batch(game, starts_at(range(9), 3, reanalysed=True), fresh, False).values
    assert values[:, 0].tolist() == [0.5] * 6 + [0] * 3
    assert values[5].tolist() == [0.5, 0, 0, 0], "the steps of one sample, before and after the last three moves"
