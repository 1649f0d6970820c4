"""Search, self-play, matches and runs of other games than Gomoku, through the game protocol alone."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from common.errors import UsageError
from games.catalog import rules_of
from games.go.rules import GoRules
from games.gomoku.rules import GomokuRules
from games.nogo.rules import NoGoRules
from games.protocol import result_for
from grader.judge.trusted import search as trusted_search
from Minimax.agent_player import size_of_weights
from training import export_run, matches
from training.inference.evaluators import InferenceNetwork
from training.inference.networks import GameNetwork, new_model
from training.samples import unpack_states
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSearch, PuctSettings
from training.search.rollouts import make_rollouts
from training.selfplay import long_run
from training.selfplay.game_stream import SelfPlay, SelfPlaySettings
from training.selfplay.presets import RUN_PRESETS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "games"))
from connect_four import ConnectFourRules

RULES = [
    NoGoRules(4, 3),
    GoRules(3, 3, komi=0.5),
    GoRules(3, 3, komi=0, superko=True),
    ConnectFourRules(5, 4),
]
IDS = ["nogo", "go", "go-superko", "connect_four"]
SEARCHED = [*((rules, 0) for rules in RULES), (GoRules(3, 3, komi=0, superko=True), 10)]
SEARCHED_IDS = [*IDS, "go-search"]


def knows_little(rules, seed=1):
    """An evaluator whose answers depend on the planes of a state alone."""
    weights = np.random.default_rng(seed).normal(size=(rules.planes * rules.width * rules.height, rules.actions + 1))

    def evaluate(states):
        numbers = np.array([state.reshape(-1) @ weights for state in states.astype(np.float64)])
        probs = np.exp(np.sin(numbers[:, :-1]) * 2)
        return (probs / probs.sum(axis=1, keepdims=True)).astype(np.float32), np.sin(numbers[:, -1]).astype(np.float32)

    return evaluate


def whole_tree(trees, node=0):
    edges = []
    for action in np.flatnonzero(trees.edge_visits[node]):
        child = trees.child[node, action]
        edges.append(
            (int(action), int(trees.edge_visits[node, action]), trees.mean_value[node, action], whole_tree(trees, child))
        )
    return edges


def trusted_tree(node):
    visited = [(action, child) for action, child in sorted(node.children.items()) if child.visits]
    return [(action, child.visits, child.mean_value, trusted_tree(child)) for action, child in visited]


@pytest.mark.parametrize(("rules", "depth_limit"), SEARCHED, ids=SEARCHED_IDS)
def test_the_search_builds_the_tree_of_the_graders_serial_search(rules, depth_limit):
    evaluate, rng = knows_little(rules), np.random.default_rng(2)

    def evaluate_position(position):
        probs, values = evaluate(position.current_state()[np.newaxis])
        return [(action, probs[0, action]) for action in position.availables], float(values[0])

    for plies in (0, 3, 6, 9):
        position, batch = rules.position(), rules.batch(1)
        for _ in range(plies):
            action = int(rng.choice(position.availables))
            position.do_move(action)
            batch.play([action])
        settings = PuctSettings(150, c_puct=2, search_depth=depth_limit)
        search = PuctSearch(1, rules.actions, evaluate, settings, np.random.default_rng(1))
        search.run(batch, is_selfplay=False)
        root = position.for_search(depth_limit) if depth_limit else position.copy()
        serial = trusted_search.search(root, evaluate_position, 150, 2)
        assert whole_tree(search.trees) == trusted_tree(serial)


@pytest.mark.parametrize("search", [PuctSettings(12, first_n_moves=30), GumbelSettings(12, 4)], ids=["puct", "gumbel"])
@pytest.mark.parametrize("rules", RULES, ids=IDS)
def test_selfplay_records_the_games_of_the_rules(rules, search):
    selfplay = SelfPlay(SelfPlaySettings(rules, 6, search), knows_little(rules), np.random.default_rng(1))
    games = []
    while len(games) < 8:
        games += selfplay.step()
    for game in games:
        position, states = rules.position(), unpack_states(game.states, rules)
        movers = []
        for action, state, policy in zip(game.moves.tolist(), states, game.policies, strict=True):
            assert not position.game_end()[0] and np.array_equal(position.current_state(), state)
            legal = position.availables
            assert policy.sum() == pytest.approx(1, abs=0.01) and policy[legal].sum() == pytest.approx(policy.sum())
            movers.append(position.get_current_player())
            position.do_move(action)
        assert game.results.tolist() == [result_for(position, mover) for mover in movers]


@pytest.mark.parametrize(("rules", "depth_limit"), SEARCHED, ids=SEARCHED_IDS)
def test_rollouts_have_the_mean_of_games_with_random_moves_whatever_the_search(rules, depth_limit):
    position, batch = rules.position(), rules.batch(1)
    for action in (position.availables[1], position.availables[0]):
        position.do_move(action)
        batch.play([action])
    results, rng = [], np.random.default_rng(3)
    for _ in range(400):
        end = position.copy()
        while not end.game_end()[0]:
            end.do_move(int(rng.choice(end.availables)))
        results.append(result_for(end, position.get_current_player()))
    leaves = batch.for_search(depth_limit).take(np.zeros(400, dtype=int))
    probs, values = make_rollouts(rules, rng).of_positions(leaves)
    assert values.mean() == pytest.approx(np.mean(results), abs=0.25)  # five standard deviations
    assert np.flatnonzero(probs[0]).tolist() == position.availables and probs[0].sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", ["plain", "residual", "pooled"])
def test_a_network_learns_and_its_fast_copy_agrees(kind):
    rules, rng = GoRules(4, 3), np.random.default_rng(1)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    network = GameNetwork(new_model(kind, rules, 2, 8), device="cpu")
    states = rng.integers(0, 2, (64, rules.planes, 3, 4)).astype(np.float32)
    policies = np.eye(rules.actions, dtype=np.float32)[rng.integers(rules.actions, size=64)]
    results = rng.choice([-1, 1], size=64).astype(np.float32)
    losses = [network.train_step(states, policies, results, 3e-3)[0] for _ in range(60)]
    assert losses[-1] < losses[0] / 3
    probs, values = InferenceNetwork(network.model, 4, 3, device="cpu")(states)
    assert (probs.argmax(axis=1) == policies.argmax(axis=1)).mean() > 0.9 and (np.sign(values) == results).mean() > 0.9


@pytest.mark.parametrize("kind", ["plain", "residual", "pooled"])
def test_a_step_in_another_order_of_memory_has_the_same_gradient(kind):
    rules, rng = NoGoRules(4, 5), np.random.default_rng(1)
    states = rng.integers(0, 2, (16, rules.planes, rules.height, rules.width)).astype(np.float32)
    probs, winners = np.full((16, rules.actions), 1 / rules.actions, np.float32), rng.choice([-1, 1], 16).astype(np.float32)
    learnt = []
    for order in (torch.channels_last, torch.contiguous_format):
        torch.manual_seed(1)
        network = GameNetwork(new_model(kind, rules, 2, 8), device="cpu")
        assert network.model.conv2d_1.weight.is_contiguous(memory_format=torch.channels_last)
        network.model.to(memory_format=order)
        losses = network.train_step(states, probs, winners, 1e-3)
        learnt.append((losses, [weights.grad for weights in network.model.parameters()]))
    assert learnt[0][0] == pytest.approx(learnt[1][0], abs=1e-4)
    assert all(torch.allclose(*pair, atol=1e-4) for pair in zip(learnt[0][1], learnt[1][1], strict=True))


def test_the_plain_network_has_the_layers_of_the_papers():
    shapes = {name: tuple(weights.shape) for name, weights in new_model("plain", NoGoRules(9, 9), 0, 64).named_parameters()}
    assert [shape for shape in shapes.values() if len(shape) == 4] == [
        (32, 4, 3, 3), (64, 32, 3, 3), (128, 64, 3, 3), (4, 128, 1, 1), (2, 128, 1, 1),
    ]  # fmt: skip
    assert shapes["dense_layer_1.weight"] == (81, 4 * 81) and shapes["dense_layer_2.weight"] == (64, 2 * 81)


TINY = "--workers 0 --games 12 --games-at-once 6 --start-positions 40 --batch-size 16 --check-every 6 --gate-games 4"
TINY += " --rating-games 2 --mcts-playouts 4 --playouts 4 --match-playouts 4 --seed 1"


@pytest.mark.parametrize("rules", [NoGoRules(5, 4), GoRules(4, 3)])
def test_a_pooled_policy_belongs_to_the_points_of_its_features(rules):
    model = new_model("pooled", rules, 0, 8).eval()
    batch, point = rules.batch(1), rules.width + 2
    batch.play(np.array([point]))
    (plane,) = [number for number, picture in enumerate(batch.feature_planes()[0]) if picture.sum() == 1][:1]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        for layer, source in ((model.conv2d_1, plane), (model.conv2d_2, 0)):
            layer.weight[0, source, layer.weight.shape[2] // 2, layer.weight.shape[3] // 2] = 1
        model.bn_1.weight[0] = model.dense_layer_1.weight[0, 0] = 1
        log_probs, _ = model(torch.from_numpy(batch.feature_planes()))
    assert log_probs.shape == (1, rules.actions) and int(log_probs.argmax()) == point


def test_a_pooled_network_goes_on_learning_on_a_larger_board(tmp_path, capsys):
    small, large = tmp_path / "small", tmp_path / "large"
    pooled = ["--network", "pooled", "--blocks", "1", *TINY.split()]
    assert long_run.main(["nogo_5", "--run", str(small), "--board-width", "3", "--board-height", "3", *pooled]) == 0
    before = torch.load(small / "best.model", weights_only=True)
    assert long_run.main(["nogo_5", "--run", str(large), *pooled, "--init-model", str(small / "best.model")]) == 0
    first = torch.load(large / "networks/0000000.model", weights_only=True)
    assert all(torch.equal(before[name], first[name]) for name in before)
    capsys.readouterr()
    assert size_of_weights(str(large / "best.model"), "nogo") == 5
    torch.save(before, tmp_path / "alone.model")
    with pytest.raises(UsageError, match=r"expected --board with the network in .*alone\.model"):
        size_of_weights(str(tmp_path / "alone.model"), "nogo")


@pytest.mark.parametrize(
    ("preset", "more"), [("nogo_5", "--blocks 1"), ("go_5", "--board-width 4 --board-height 4 --komi 0.5 --blocks 1")]
)
def test_a_run_trains_continues_exports_and_plays(tmp_path, preset, more):
    run, weights = tmp_path / "run", tmp_path / "w.model"
    assert long_run.main([preset, "--run", str(run), *TINY.split(), *more.split()]) == 0
    first = json.loads((run / "games.jsonl").read_text().splitlines()[0])
    assert first["winner"] in (1, 2)
    assert long_run.main(["--run", str(run), "--resume", "--workers", "0", "--games", "18"]) == 0
    assert len((run / "games.jsonl").read_text().splitlines()) >= 18
    assert "GM[1]" in next((run / "sgf").glob("*_mcts.sgf")).read_text()
    assert export_run.main([str(run), str(weights)]) == 0
    manifest = json.loads(weights.with_suffix(".json").read_text())
    game, size = preset.split("_")[0], manifest["board"][0]
    assert manifest["game"] == game and manifest["network"] == "residual"
    call = [f"gumbel:{weights}?playouts=4", "mcts:playouts=4", "--game", game, "--board", f"{size}x{size}", "--komi", "0.5"]
    assert matches.main([*call, "--games", "2"]) == 0
    for file in (weights, run / "best.model", next((run / "networks").iterdir())):
        searches_of_a_run(str(file), RUN_PRESETS[preset], size)


def searches_of_a_run(file, preset, size):
    """An agent searches as its run did, unless its text says otherwise, and only with the komi of its run."""
    rng, komi = np.random.default_rng(1), 0.5
    rules = rules_of(preset.game, size, size, komi=komi)
    agent = matches.make_agent(f"gumbel:{file}?playouts=4", rules, 1, rng)
    assert agent.settings == GumbelSettings(4, 16, preset.search_depth)
    if preset.game != "go":
        return
    agent = matches.make_agent(f"alphazero:{file}?playouts=4&search_depth=0", rules, 1, rng)
    assert agent.settings == PuctSettings(4)
    with pytest.raises(UsageError, match=r"expected a komi of 0\.5, with which .* was trained; got 7\.5"):
        matches.make_agent(f"policy:{file}", rules_of("go", size, size), 1, rng)


def test_weights_of_another_game_and_impossible_settings_are_refused(tmp_path, capsys):
    weights = tmp_path / "w.model"
    torch.save(new_model("residual", NoGoRules(5, 5), 1, 8).state_dict(), weights)
    call = [f"policy:{weights}", "mcts:playouts=4", "--games", "2"]
    assert matches.main([*call, "--game", "go", "--board", "5x5"]) == 2
    assert matches.main(["policy:nowhere", "mcts:playouts=4", "--game", "nogo", "--board", "5x5"]) == 2
    assert matches.main([*call, "--game", "go", "--board", "5x5", "--komi", "0.3"]) == 2
    for wrong, game in (("search_depth=1", "go"), ("search_depth=60", "nogo")):
        assert matches.main([f"mcts:playouts=4&{wrong}", "mcts:playouts=4", "--game", game, "--board", "5x5"]) == 2
    run = ["--run", str(tmp_path / "run")]
    assert long_run.main(["nogo_5", *run, "--network", "course"]) == 2
    assert long_run.main(["go_5", *run, "--search-depth", "1"]) == 2
    assert long_run.main(["nogo_5", *run, "--init-model", str(weights)]) == 2  # one block, not two
    assert long_run.main(["go_5", *run, "--init-model", str(weights)]) == 2
    errors = capsys.readouterr().err
    assert errors.count(": expected") == 9 and "Traceback" not in errors


@pytest.mark.parametrize("kind", ["plain", "residual", "pooled"])
def test_the_weights_say_which_network_plays_gomoku(tmp_path, kind):
    rules, weights = GomokuRules(4, 3, 3), tmp_path / "w.model"
    torch.save(new_model(kind, rules, 1, 8).state_dict(), weights)
    agent = matches.make_agent(f"policy:{weights}", rules, 1, np.random.default_rng(1))
    assert 0 <= agent.choose(rules.batch(1))[0] < 12


@pytest.mark.parametrize("depth_limit", [0, 6])
def test_a_tree_is_kept_unless_a_depth_limit_counts_from_its_root(depth_limit):
    rules = GoRules(3, 3, komi=0.5)
    settings, boards = PuctSettings(80, search_depth=depth_limit), rules.batch(1)
    search, fresh = (PuctSearch(1, rules.actions, knows_little(rules), settings, np.random.default_rng(1)) for _ in range(2))
    search.run(boards, is_selfplay=False)
    move = search.root_visits().argmax(axis=1)
    boards.play(move)
    search.advance(move)
    search.run(boards, is_selfplay=False)
    fresh.run(boards, is_selfplay=False)
    assert (whole_tree(search.trees) == whole_tree(fresh.trees)) == (depth_limit > 0)


def test_runs_of_gomoku_take_the_courses_network_except_that_of_a_document_with_a_plain_one():
    for name, config in RUN_PRESETS.items():
        config.check()
        is_gomoku = isinstance(config.rules(), GomokuRules)
        assert (config.network == "course") == (is_gomoku and name != "gomoku_9_small")
