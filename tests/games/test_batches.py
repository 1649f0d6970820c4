"""The batched form of every game follows the rules of its single form, and so do the symmetries."""

import copy

import numpy as np
import pytest
from connect_four import ConnectFourRules
from hypothesis import given, settings
from hypothesis import strategies as st

from games.go.rules import GoRules
from games.gomoku.rules import GomokuRules
from games.nogo.rules import NoGoRules
from games.protocol import result_for, results_for_side_to_move

GAMES = 6
RULES = [
    NoGoRules(1, 1),
    NoGoRules(2, 3),
    NoGoRules(5, 5),
    NoGoRules(9, 9),
    GoRules(2, 2, komi=0),
    GoRules(2, 2, komi=0.5, superko=True),
    GoRules(3, 2, komi=0, superko=True, move_limit=20),
    GoRules(5, 5, komi=0),
    GoRules(4, 6, komi=1, superko=True),
    GoRules(9, 9),
    ConnectFourRules(5, 4),
]
IDS = [f"{number}-{rules.name}-{rules.width}x{rules.height}" for number, rules in enumerate(RULES)]


def assert_same(position, batch, game):
    over, winner = position.game_end()
    assert bool(batch.over[game]) == over
    assert int(batch.winner[game]) == winner
    assert int(batch.side_to_move[game]) == position.get_current_player()
    assert np.array_equal(batch.feature_planes()[game], position.current_state())
    if over:
        assert results_for_side_to_move(batch)[game] == result_for(position, position.get_current_player())
    else:
        assert np.flatnonzero(batch.legal[game]).tolist() == position.availables


def drawn(position, rng, passes=0.2):
    """A random action, more often a pass than among all actions where the last one is a pass."""
    legal = position.availables
    return int(legal[-1] if rng.random() < passes else rng.choice(legal))


@pytest.mark.parametrize("rules", [*RULES, GomokuRules(4, 3, 3)], ids=[*IDS, "gomoku"])
def test_games_of_another_batch_are_put_in_place_of_some(rules):
    rng = np.random.default_rng(1)
    positions, batch, other = [rules.position() for _ in range(3)], rules.batch(3), rules.batch(1)
    twin = rules.position()
    if not positions[0].game_end()[0]:
        first = [drawn(positions[0], rng) for _ in positions]
        assert batch.legal.any()
        batch.play(first)
        for position, action in zip(positions, first, strict=True):
            position.do_move(action)
    batch.put(np.array([1]), other)
    positions[1] = twin
    for game, position in enumerate(positions):
        assert_same(position, batch, game)


@pytest.mark.parametrize("rules", RULES, ids=IDS)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32))
def test_games_side_by_side_are_the_single_games(rules, seed):
    rng = np.random.default_rng(seed)
    positions, batch = [rules.position() for _ in range(GAMES)], rules.batch(GAMES)
    while True:
        for game, position in enumerate(positions):
            assert_same(position, batch, game)
        going = [game for game, position in enumerate(positions) if not position.game_end()[0]]
        if not going:
            break
        positions, batch = [positions[game] for game in going], batch.take(going)
        actions = [drawn(position, rng, passes=0.05) for position in positions]
        batch.play(actions)
        for position, action in zip(positions, actions, strict=True):
            position.do_move(action)


@pytest.mark.parametrize(
    ("rules", "depth_limit"),
    [*((rules, 0) for rules in RULES), (GoRules(5, 5, komi=0), 12), (GoRules(4, 6, komi=1, superko=True), 30)],
    ids=[*IDS, "go-5x5-12", "go-4x6-30"],
)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32))
def test_lines_of_a_search_are_the_moves_of_single_games(rules, depth_limit, seed):
    rng = np.random.default_rng(seed)
    position, batch = rules.position(), rules.batch(1)
    for _ in range(int(rng.integers(0, 12))):
        if position.game_end()[0]:
            break
        action = drawn(position, rng)
        position.do_move(action)
        batch.play([action])
    if position.game_end()[0]:
        return
    before = position.current_state()
    lines, ends = np.zeros((GAMES, 8), dtype=np.int64), []
    lengths = np.ones(GAMES, dtype=np.int64)
    for game in range(GAMES):
        end = position.for_search(depth_limit) if depth_limit else position.copy()
        for depth in range(int(rng.integers(1, 9))):
            lines[game, depth] = drawn(end, rng)
            end.do_move(int(lines[game, depth]))
            lengths[game] = depth + 1
            if end.game_end()[0]:
                break
        ends.append(end)
    leaves = batch.for_search(depth_limit).take(np.zeros(GAMES, dtype=int))
    leaves.play_lines(lines, lengths)
    for game, end in enumerate(ends):
        assert_same(end, leaves, game)
    assert np.array_equal(position.current_state(), before) and np.array_equal(batch.feature_planes()[0], before)


@pytest.mark.parametrize("rules", RULES, ids=IDS)
def test_a_game_on_the_turned_board_is_the_game_turned(rules):
    rng, symmetries = np.random.default_rng(1), rules.symmetries
    which = np.arange(symmetries.count)
    straight, turned = rules.batch(1), rules.batch(symmetries.count)
    position = rules.position()
    while not position.game_end()[0]:
        states = straight.feature_planes().repeat(symmetries.count, axis=0)
        assert np.array_equal(symmetries.turn_states(states, which), turned.feature_planes())
        legal = straight.legal.repeat(symmetries.count, axis=0)
        assert np.array_equal(symmetries.turn_policies(legal, which), turned.legal)
        assert np.array_equal(symmetries.turn_policies_back(turned.legal, which), legal)
        action = drawn(position, rng, passes=0.02)
        position.do_move(action)
        straight.play([action])
        turned.play(symmetries.turned_moves[:, action])
    assert (turned.winner == straight.winner[0]).all() and turned.over.all()


@pytest.mark.parametrize("rules", RULES[1:], ids=IDS[1:])
def test_copies_are_independent(rules):
    position, batch = rules.position(), rules.batch(2)
    position.do_move(position.availables[1])
    batch.play([position.last_move] * 2)
    for twin in (position.copy(), copy.deepcopy(position)):
        before = position.current_state()
        twin.availables.clear()
        twin = position.copy()
        twin.do_move(twin.availables[0])
        assert (
            np.array_equal(position.current_state(), before) and position.availables == np.flatnonzero(batch.legal[0]).tolist()
        )
    twin = batch.take([0])
    twin.play([position.availables[0]])
    assert np.array_equal(batch.feature_planes()[0], position.current_state())


@pytest.mark.parametrize("rules", [NoGoRules(2, 2), GoRules(2, 2)], ids=str)
def test_a_batch_refuses_a_wrong_action_and_changes_no_game(rules):
    batch = rules.batch(2)
    batch.play([0, 1])
    before = batch.feature_planes()
    for actions, message in (([1, 1], "legal action"), ([1, rules.actions], "among 0"), ([-1, 0], "among 0")):
        with pytest.raises(ValueError, match=message):
            batch.play(actions)
    assert np.array_equal(batch.feature_planes(), before) and (batch.length == 1).all()


@pytest.mark.parametrize("rules", RULES, ids=IDS)
def test_actions_have_names(rules):
    names = [rules.action_name(action) for action in range(rules.actions)]
    assert len(set(names)) == rules.actions
    assert (
        [rules.action_of(name) for name in names]
        == [rules.action_of(name.upper()) for name in names]
        == list(range(rules.actions))
    )
    for wrong in ("", "i1", "a0", "z99", "a1 ", "a１", "a" + "9" * 5000):
        with pytest.raises(ValueError, match="expected a point"):
            rules.action_of(wrong)
