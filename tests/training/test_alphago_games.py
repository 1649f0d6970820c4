"""AlphaGo's stages in other games than Gomoku: each runs from the file of settings, and what does not fit is refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from alphago_tools import write_played_games

from games.catalog import rules_of
from training.alphago import mixed
from training.alphago.__main__ import main
from training.alphago.config import StagesConfig
from training.alphago.play import UniformPolicy
from training.alphago.runs import load_stage_network
from training.inference.evaluators import PositionCache
from training.inference.networks import PooledModel, new_model
from training.supervised.learning import save_checkpoint

ROOT = Path(__file__).resolve().parents[2]
SUPERVISED = """
size = {size}
game = "{game}"
network = "residual"
filters = 8
depths = [[0, 1], [96, 2]]
samples = 192
batch_size = 32
learning_rate = 0.05
weight_decay = 1e-4
value_weight = 1.0
td_lambda = 1.0
score_scale = 600
check_every = 192
seed = 1
"""
SETTINGS = """
{more}
seed = 1
supervised = "supervised.toml"
[reinforce]
games = 8
steps = 2
learning_rate = 0.05
max_gradient = 5.0
baseline = true
pool_every = 1
check_every = 2
check_games = 4
match_games = 4
[value]
games = 128
side_by_side = 128
longest_start = 8
samples = 64
batch_size = 32
learning_rate = 0.01
weight_decay = 1e-4
check_every = 64
[search]
lambdas = [0.0, 0.5]
playouts = 4
c_puct = 5.0
rollout = "{rollout}"
games = 2
opening_stones = 2
"""


def write_teacher(path, rules, count=60):
    """Games with random moves; what a policy learns from them is of no interest here."""
    agent = UniformPolicy(np.random.default_rng(1))
    write_played_games(path, rules.batch(count), agent, {"size": rules.width, "game": rules.name})


def write_settings(folder, game, size, more="", rollout="random"):
    (folder / "supervised.toml").write_text(SUPERVISED.format(game=game, size=size))
    (folder / "alphago.toml").write_text(SETTINGS.format(more=more, rollout=rollout))


def call(folder, stage, *more):
    torch.set_num_threads(1)
    return main([stage, "--config", str(folder / "alphago.toml"), "--run", str(folder / "run"), *map(str, more)])


def result_of(folder, stage):
    return json.loads((folder / "run" / stage / "result.json").read_text())


def assert_games_of_the_rules(path, rules):
    """The games in a file are whole games with the right winners."""
    settings, *games = map(json.loads, path.read_text().splitlines())
    assert (settings["size"], settings["game"]) == (rules.width, rules.name) and len(games) == 128
    for game in games:
        position = rules.position()
        for move in game["moves"]:
            assert not position.game_end()[0]
            position.do_move(move)
        assert position.game_end() == (True, game["winner"] + 1 if game["winner"] >= 0 else -1)


@pytest.mark.parametrize(
    ("game", "size", "more", "rollout"), [("nogo", 4, "", "policy"), ("go", 4, "komi = 0.5", "random")], ids=["nogo", "go"]
)
def test_every_stage_but_the_policy_over_lines_runs_in_another_game(tmp_path, capsys, game, size, more, rollout):
    write_settings(tmp_path, game, size, more, rollout)
    config = StagesConfig.read(tmp_path / "alphago.toml")
    rules = config.rules
    assert (rules.name, rules.width, getattr(rules, "komi", None)) == (game, size, 0.5 if game == "go" else None)
    write_teacher(tmp_path / "teacher.jsonl", rules)

    assert call(tmp_path, "supervised", "--games", tmp_path / "teacher.jsonl") == 0
    assert result_of(tmp_path, "supervised")["samples"] == 192
    assert len(load_stage_network(tmp_path / "run" / "supervised", config).resnet) == 2

    assert call(tmp_path, "reinforce") == 0
    result = result_of(tmp_path, "reinforce")
    assert result["games"] == 16 and result["likeliest_moves_against_supervised"]["games"] == 4
    before, after = (load_stage_network(tmp_path / "run" / stage, config).state_dict() for stage in ("supervised", "reinforce"))
    assert not torch.equal(before["dense_layer_1.weight"], after["dense_layer_1.weight"])

    assert call(tmp_path, "value", "--compare", "--floor") == 0
    assert_games_of_the_rules(tmp_path / "run" / "value" / "games.jsonl", rules)
    value = result_of(tmp_path, "value")
    assert value["all_positions_of_all_games"]["positions"] > value["one_position_a_game"]["positions"] > 0
    assert value["chance"]["positions"] == value["held_back_positions"] and 0 < value["chance"]["floor"] < 1.1

    assert call(tmp_path, "search") == 0
    assert result_of(tmp_path, "search")[f"0.0 against 0.5, 4 playouts, {rollout} rollouts"]["games"] == 2

    capsys.readouterr()
    assert call(tmp_path, "rollout", "--games", tmp_path / "teacher.jsonl") == 2
    told = capsys.readouterr().err
    assert f"expected a game of rows, since the patterns of the rollout policy lie along lines; got {game}" in told
    assert len(told.splitlines()) == 1


def test_the_later_stages_start_from_a_saved_policy(tmp_path, capsys):
    write_settings(tmp_path, "nogo", 4)
    config = StagesConfig.read(tmp_path / "alphago.toml")
    torch.manual_seed(1)
    for name, kind in (("plain", "plain"), ("other", "residual")):
        torch.save(new_model(kind, config.rules, 1, 16).state_dict(), tmp_path / f"{name}.model")
    assert call(tmp_path, "supervised", "--policy", tmp_path / "plain.model") == 0
    saved = torch.load(tmp_path / "plain.model", weights_only=True)
    taken = load_stage_network(tmp_path / "run" / "supervised", config).state_dict()
    assert saved.keys() == taken.keys() and all(torch.equal(saved[name], taken[name]) for name in saved)
    assert call(tmp_path, "reinforce") == call(tmp_path, "value") == 0
    assert call(tmp_path, "supervised", "--policy", tmp_path / "plain.model") == 0  # the same one again

    capsys.readouterr()
    write_teacher(tmp_path / "teacher.jsonl", config.rules)
    for more, words in (
        (("--policy", tmp_path / "other.model"), "holds another policy"),
        (("--games", tmp_path / "teacher.jsonl"), "it holds one from --policy"),
        (("--policy", tmp_path / "none.model"), "expected weights of a network for nogo on 4x4"),
    ):
        assert call(tmp_path, "supervised", *more) == 2
        told = capsys.readouterr().err
        assert words in told and len(told.splitlines()) == 1


@pytest.fixture
def with_policy(tmp_path, capsys):
    """A run of NoGo whose policy was taken from a file."""
    write_settings(tmp_path, "nogo", 4)
    torch.manual_seed(1)
    network = new_model("residual", rules_of("nogo", 4, 4), 1, 8).state_dict()
    torch.save(network, tmp_path / "policy.model")
    assert call(tmp_path, "supervised", "--policy", tmp_path / "policy.model") == 0
    capsys.readouterr()
    return tmp_path


@pytest.fixture
def with_networks(with_policy):
    """The same run with a value network, which has learnt nothing."""
    state = torch.load(with_policy / "run" / "supervised" / "checkpoint.pt", weights_only=True)
    (with_policy / "run" / "value").mkdir()
    save_checkpoint(with_policy / "run" / "value" / "checkpoint.pt", {**state, "samples": 64})
    return with_policy


def with_settings(folder, *change):
    path = folder / "alphago.toml"
    assert change[0] in path.read_text()
    path.write_text(path.read_text().replace(*change))


@pytest.mark.parametrize(
    ("change", "before", "now"),
    [
        (("c_puct = 5.0", "c_puct = 2.5"), "'c_puct': 5.0", "'c_puct': 2.5"),
        (("opening_stones = 2", "opening_stones = 0"), "'opening_stones': 2", "'opening_stones': 0"),
        (("seed = 1", "seed = 2"), "'seed': 1", "'seed': 2"),
    ],
)
def test_matches_are_not_used_again_with_other_settings(with_networks, capsys, change, before, now):
    assert call(with_networks, "search") == 0
    played = result_of(with_networks, "search")
    capsys.readouterr()
    with_settings(with_networks, *change)
    assert call(with_networks, "search") == 2
    told = capsys.readouterr().err
    assert told.startswith("training.alphago: expected matches with ") and len(told.splitlines()) == 1
    assert told.index(now) < told.index("it has those with") < told.index(before) < told.index("go back to these")
    assert result_of(with_networks, "search") == played


def test_matches_with_other_playouts_stand_beside_those_before(with_networks):
    assert call(with_networks, "search") == 0
    with_settings(with_networks, "playouts = 4", "playouts = 2")
    assert call(with_networks, "search") == 0
    result = result_of(with_networks, "search")
    assert all(result[f"0.0 against 0.5, {playouts} playouts, random rollouts"]["games"] == 2 for playouts in (4, 2))


def test_a_network_that_was_learnt_again_is_not_the_one_of_the_games_and_matches_before(with_policy, capsys):
    assert call(with_policy, "reinforce") == call(with_policy, "value") == call(with_policy, "search") == 0
    capsys.readouterr()
    for learnt, stage, words in (
        ("value", "search", "expected matches with"),
        ("reinforce", "value", "expected games of"),
        ("supervised", "reinforce", "it started from"),
    ):
        path = with_policy / "run" / learnt / "checkpoint.pt"
        state = torch.load(path, weights_only=True)
        state["model"]["conv2d_1.bias"] += 1  # and after as many samples and steps as before
        save_checkpoint(path, state)
        assert call(with_policy, stage) == 2
        assert words in capsys.readouterr().err


def test_a_value_network_does_not_go_on_with_games_of_another_policy(with_policy, capsys):
    assert call(with_policy, "reinforce") == call(with_policy, "value", "--compare") == 0
    value, before = with_policy / "run" / "value", result_of(with_policy, "value")
    path = with_policy / "run" / "reinforce" / "checkpoint.pt"
    state = torch.load(path, weights_only=True)
    state["model"]["conv2d_1.bias"] += 1
    save_checkpoint(path, state)
    capsys.readouterr()
    for words in ("expected games of", "expected a value network that learns from games of"):
        assert call(with_policy, "value") == 2
        told = capsys.readouterr().err
        assert words in told and f"move {value} away to play and learn again" in told and len(told.splitlines()) == 1
        (value / "games.jsonl").unlink(missing_ok=True)
    assert result_of(with_policy, "value") == before
    value.rename(with_policy / "run" / "earlier")
    assert call(with_policy, "value") == 0


def test_a_value_network_that_has_ended_does_not_take_the_numbers_of_more_games(with_policy, capsys):
    assert call(with_policy, "reinforce") == call(with_policy, "value") == call(with_policy, "value") == 0
    before = result_of(with_policy, "value")
    capsys.readouterr()
    with_settings(with_policy, "games = 128", "games = 256")
    assert call(with_policy, "value") == 2
    told = capsys.readouterr().err
    assert "expected more samples in [value] to learn from" in told and len(told.splitlines()) == 1
    assert f"has learnt from {before['one_position_a_game']['positions']}\n" in told
    assert result_of(with_policy, "value") == before
    with_settings(with_policy, "samples = 64", "samples = 128")
    assert call(with_policy, "value") == 0 and result_of(with_policy, "value")["games"] == 256


def test_each_agent_of_a_match_pays_for_its_own_positions(with_networks, monkeypatch):
    caches = []
    monkeypatch.setattr(mixed, "PositionCache", lambda network: caches.append(PositionCache(network)) or caches[-1])
    assert call(with_networks, "search") == 0
    shared = {id(cache._evaluate) for cache in caches}
    assert len(caches) == 4 and len(shared) == 2 and all(cache.requests for cache in caches)


def test_a_policy_that_diverges_stops_and_its_checkpoint_stays_as_it_was(with_policy, capsys):
    assert call(with_policy, "reinforce") == 0
    path = with_policy / "run" / "reinforce" / "checkpoint.pt"
    before, steps = path.read_bytes(), torch.load(path, weights_only=True)["steps"]
    capsys.readouterr()
    with_settings(with_policy, f"steps = {steps}", f"steps = {steps + 1}")
    with_settings(with_policy, "learning_rate = 0.05\nmax_gradient = 5.0", "learning_rate = 1e30\nmax_gradient = 5.0")
    assert call(with_policy, "reinforce") == 2
    told = capsys.readouterr().err
    assert f"expected finite weights after step {steps + 1}; training has diverged" in told
    assert f"in {path}: go on with a smaller learning_rate in [reinforce] of the settings" in told
    assert path.read_bytes() == before


def test_a_seed_of_the_command_takes_the_place_of_that_in_the_settings(tmp_path, capsys):
    write_settings(tmp_path, "nogo", 4)
    write_teacher(tmp_path / "teacher.jsonl", rules_of("nogo", 4, 4))
    assert call(tmp_path, "supervised", "--games", tmp_path / "teacher.jsonl", "--seed", 7) == 0
    history = torch.load(tmp_path / "run" / "supervised" / "checkpoint.pt", weights_only=True)["history"]
    assert [settings["seed"] for settings in history] == [7]
    capsys.readouterr()
    assert call(tmp_path, "reinforce", "--seed", -1) == 2
    assert capsys.readouterr().err == "training.alphago: expected a seed of at least 0; got -1\n"


def test_the_later_stages_take_a_pooled_policy_of_any_board(tmp_path):
    write_settings(tmp_path, "nogo", 4)
    config = StagesConfig.read(tmp_path / "alphago.toml")
    torch.save(new_model("pooled", rules_of("nogo", 5, 5), 1, 8).state_dict(), tmp_path / "pooled.model")
    assert call(tmp_path, "supervised", "--policy", tmp_path / "pooled.model") == 0
    assert isinstance(load_stage_network(tmp_path / "run" / "supervised", config), PooledModel)


def test_a_network_or_games_of_another_game_are_refused(tmp_path, capsys):
    write_settings(tmp_path, "nogo", 4)
    config = StagesConfig.read(tmp_path / "alphago.toml")
    go = rules_of("go", 4, 4, komi=0.5)
    torch.save(new_model("residual", go, 1, 8).state_dict(), tmp_path / "go.model")
    write_teacher(tmp_path / "teacher.jsonl", go, count=20)
    torch.save(new_model("residual", config.rules, 1, 8).state_dict(), tmp_path / "nogo.model")
    assert call(tmp_path, "supervised", "--policy", tmp_path / "nogo.model") == 0
    (tmp_path / "supervised.toml").write_text(SUPERVISED.format(game="gomoku", size=4))
    (tmp_path / "alphago.toml").write_text(SETTINGS.format(more="n_in_row = 3", rollout="random") + ROLLOUT)
    capsys.readouterr()
    assert call(tmp_path, "reinforce") == 2
    assert "expected a network for gomoku in" in capsys.readouterr().err
    write_settings(tmp_path, "nogo", 4)
    for more, words in (
        (("--policy", tmp_path / "go.model"), "expected weights of a network for nogo on 4x4"),
        (("--games", tmp_path / "teacher.jsonl"), "from --policy"),
    ):
        assert call(tmp_path, "supervised", *more) == 2
        assert words in capsys.readouterr().err
    (tmp_path / "run" / "supervised" / "checkpoint.pt").unlink()
    assert call(tmp_path, "supervised", "--games", tmp_path / "teacher.jsonl") == 2
    assert "expected games of nogo in" in capsys.readouterr().err


ROLLOUT = "[rollout]\nsamples = 64\nbatch_size = 32\nlearning_rate = 0.05\nweight_decay = 1e-5\n"


@pytest.mark.parametrize(
    ("game", "more", "rollout", "words"),
    [
        ("nogo", "n_in_row = 3", "random", "differing: n_in_row"),
        ("nogo", ROLLOUT, "random", "differing: rollout"),
        ("nogo", "", "pattern", "expected rollout to be one of random, policy"),
        ("go", "", "random", "differing: komi"),
        ("chess", "", "random", "expected one of the games gomoku, nogo, go; got 'chess'"),
    ],
)
def test_settings_that_do_not_fit_the_game_are_refused(tmp_path, capsys, game, more, rollout, words):
    write_settings(tmp_path, game, 4, rollout=rollout)
    path = tmp_path / "alphago.toml"
    path.write_text(path.read_text() + more if more == ROLLOUT else more + path.read_text())
    assert call(tmp_path, "reinforce") == 2
    told = capsys.readouterr().err
    assert words in told and len(told.splitlines()) == 1


@pytest.mark.parametrize("folder", ["alphago", "supervised"])
def test_the_stages_know_games_by_their_protocol_alone(folder):
    """Only games.protocol and games.catalog, which makes a game by its name."""
    sources = [path.read_text() for path in (ROOT / "training" / folder).glob("*.py")]
    imported = {module for text in sources for module in re.findall(r"^\s*(?:from|import) (games[\w.]*)", text, re.MULTILINE)}
    assert imported == {"games.protocol", "games.catalog"}


def test_the_configurations_that_are_shipped_can_be_read():
    configs = {path.stem: StagesConfig.read(path) for path in sorted((ROOT / "training" / "configs").glob("alphago_*.toml"))}
    games = {name: config.rules for name, config in configs.items()}
    nogo = {f"alphago_nogo_{size}": rules_of("nogo", size, size) for size in (5, 7)}
    assert games == {"alphago_9": rules_of("gomoku", 9, 9, n_in_row=5), **nogo}
    assert all(config.search.lambdas == [0.0, 0.5, 1.0] for config in configs.values())
