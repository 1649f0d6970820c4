"""AlphaGo's stages on a tiny board: each one learns, goes on where it ended, and refuses in sentences."""

import csv
import json
import signal
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import torch
from alphago_tools import BOARD, after, row_maker, write_played_games

from common.locks import held_folder
from games.gomoku.batch import GomokuBatch
from training.alphago import mixed, reinforce
from training.alphago.__main__ import STAGES, main
from training.alphago.config import ROLLOUTS, StagesConfig
from training.alphago.mixed import MixedEvaluator, PlayedRollouts, rollouts_for
from training.alphago.patterns import load_pattern_policy
from training.alphago.play import SampledPolicy, UniformPolicy, results_for
from training.alphago.reinforce import Episodes, Reinforce, play_episodes
from training.alphago.runs import load_stage_network
from training.alphago.value import all_positions, play_games, write_games
from training.inference.evaluators import InferenceNetwork, evaluate_positions
from training.supervised.dataset import load_positions, position_keys
from training.supervised.learning import Training
from training.supervised.settings import CallError

SUPERVISED = """
size = 4
depths = [[0, 1]]
samples = 2048
batch_size = 32
learning_rate = 0.05
weight_decay = 1e-4
value_weight = 1.0
td_lambda = 1.0
score_scale = 600
check_every = 2048
seed = 1
"""
SETTINGS = """
n_in_row = 3
seed = 1
supervised = "supervised.toml"
[rollout]
samples = 16384
batch_size = 64
learning_rate = 0.05
weight_decay = 1e-5
[reinforce]
games = 64
steps = 24
learning_rate = 0.02
max_gradient = 5.0
baseline = true
pool_every = 5
check_every = 8
check_games = 40
match_games = 200
[value]
games = 4096
side_by_side = 256
longest_start = 8
samples = 12288
batch_size = 32
learning_rate = 0.01
weight_decay = 1e-4
check_every = 12288
[search]
lambdas = [0.0, 0.5, 1.0]
playouts = 8
c_puct = 5.0
rollout = "pattern"
games = 4
opening_stones = 2
"""


def write_teacher(path, count=300, seed=1):
    """Games of the maker of rows against itself."""
    write_played_games(path, GomokuBatch(count, *BOARD), row_maker(BOARD[2], seed), {"size": BOARD[0]}, opening=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Configurations and games, and a run whose stages are done once for all tests."""
    folder = tmp_path_factory.mktemp("alphago")
    (folder / "supervised.toml").write_text(SUPERVISED)
    (folder / "alphago.toml").write_text(SETTINGS)
    write_teacher(folder / "teacher.jsonl")
    return folder


@pytest.fixture
def call(reference, folder, monkeypatch):
    """The command, on this run; returns its exit code. Networks compute in float32, so a seed gives the same games again."""
    torch.set_num_threads(1)
    monkeypatch.setattr(InferenceNetwork, "_seconds", lambda self, *_: float(self.dtype != torch.float32))
    monkeypatch.setattr("training.supervised.learning.Training.faster_dtype", lambda self: torch.float32)

    def call(stage, *more):
        games = ["--games", str(folder / "teacher.jsonl")] if stage in ("supervised", "rollout") else []
        return main([stage, "--config", str(folder / "alphago.toml"), "--run", str(folder / "run"), *games, *more])

    return call


@pytest.fixture
def done(call, folder):
    """The result of a stage, after those before it."""

    def done(stage):
        for name in STAGES:
            result = folder / "run" / name / "result.json"
            if not result.exists():
                assert call(name, *(["--compare"] if name == "value" else [])) == 0
            if name == stage:
                return json.loads(result.read_text())
        raise AssertionError(stage)

    return done


@pytest.fixture
def config(folder):
    return StagesConfig.read(folder / "alphago.toml")


@pytest.fixture
def begin(done, config, folder, tmp_path):
    """Begins a policy-gradient training in a folder of its own."""
    done("supervised")

    def begin(name):
        run = tmp_path / name
        run.mkdir(exist_ok=True)
        if not (run / "supervised").exists():
            (run / "supervised").symlink_to(folder / "run" / "supervised")
        return Reinforce(config, run, torch.float32)  # whichever is faster here would not be the same at every run

    return begin


def weights(training):
    return {name: tensor.clone() for name, tensor in training.model.state_dict().items()}


def same(left, right):
    return all(torch.equal(left[name], right[name]) for name in left)


def preferring(order):
    """An evaluator that wants the first free point of this order."""

    def evaluate(states):
        free = ~states[:, :2, ::-1].any(axis=1).reshape(len(states), -1)[:, order]
        probs = np.zeros(free.shape, dtype=np.float32)
        probs[np.arange(len(states)), np.array(order)[free.argmax(axis=1)]] = 1
        return probs, np.zeros(len(states), dtype=np.float32)

    return evaluate


# ------------------------------------------------------------------------------------------------ rollout policy


def test_the_rollout_policy_learns_the_teachers_moves(done, call, folder):
    result = done("rollout")
    assert result["cross_entropy"] < 0.7 * result["cross_entropy_of_uniform"] and result["top_1"] > 0.4
    learnt = load_pattern_policy(folder / "run" / "rollout", 3, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    assert play_episodes(SampledPolicy(learnt, rng), UniformPolicy(rng), GomokuBatch(100, 6, 6, 3)).score > 0.8
    with pytest.raises(CallError, match="expected patterns of 4 in a row"):
        load_pattern_policy(folder / "run" / "rollout", 4, rng)
    assert call("rollout") == 0  # begins again, and the seed gives the same weights
    again = json.loads((folder / "run" / "rollout" / "result.json").read_text())
    assert [again[name] for name in ("cross_entropy", "top_1", "top_5")] == [
        result[name] for name in ("cross_entropy", "top_1", "top_5")
    ]


# -------------------------------------------------------------------------------------------------- policies


def test_episodes_hold_the_learners_moves_and_what_came_of_them():
    """The learner takes the first free point, and wins by 0 1 2 in either seat."""
    agents = [SampledPolicy(preferring(order), np.random.default_rng(1)) for order in (np.arange(16), np.arange(16)[::-1])]
    episodes = play_episodes(*agents, GomokuBatch(4, *BOARD))
    games = [after([0, 15, 1, 14, 2]), after([15, 0, 14, 1, 13])]
    assert [game.winner[0] for game in games] == [1, 1]  # so who begins wins
    assert episodes.score == 0.5
    by_length = episodes.states[:, :2].sum(axis=(1, 2, 3))
    for length, move, z in zip(by_length.astype(int), episodes.moves, episodes.results, strict=True):
        assert move == length // 2 and z == (1 if length % 2 == 0 else -1)
        assert episodes.legal[0].shape == (16,)
    assert sorted(by_length.tolist()) == sorted([0, 2, 4, 1, 3] * 2)


def test_the_gradient_makes_moves_that_won_likelier_and_the_baseline_is_taken_off(begin):
    training, boards = begin("run"), (after([5]), after([5, 6]))
    states = np.concatenate([board.feature_planes() for board in boards])
    legal = np.concatenate([board.legal for board in boards])

    def probability(position, move):
        with torch.no_grad():
            return float(training.model(torch.from_numpy(states[position : position + 1]))[0][0, move].exp())

    before = probability(0, 6), probability(1, 9)
    training._ascend(Episodes(states, legal, np.array([6, 9]), np.array([1.0, -1.0], dtype=np.float32), 0.5))
    assert probability(0, 6) > before[0] and probability(1, 9) < before[1]
    learnt, expected = weights(training), training._baseline(states)[1]
    assert expected[0] != expected[1]  # otherwise the mean would take off a baseline of either sign
    training._ascend(Episodes(states, legal, np.array([6, 9]), expected, 0.5))
    assert same(weights(training), learnt)


def test_the_improved_policy_beats_the_supervised_one(done, folder):
    assert done("supervised")["held_back"]["top_5"] > 0.5
    result = done("reinforce")
    assert result["steps"] == 24 and result["against_supervised"]["games"] == 200
    assert result["against_supervised"]["low_95"] > 0.55
    with open(folder / "run" / "reinforce" / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["steps"] for row in rows] == ["8", "16", "24"]
    assert all(0 <= float(row["likeliest_moves_score"]) <= 1 for row in rows)
    assert [path.name for path in sorted((folder / "run" / "reinforce" / "pool").iterdir())] == [
        f"{steps:06}.pt" for steps in (5, 10, 15, 20)
    ]


def test_a_policy_gradient_that_was_killed_ends_as_one_that_was_not(begin, tmp_path):
    whole = begin("whole")
    for _ in range(8):
        whole.scores.append(whole.step())
    killed = begin("killed")
    for number in range(7):
        if number == 6:
            killed.save()  # what is done after it is lost
        killed.scores.append(killed.step())
    again = begin("killed")
    again.rows = [{"steps": 3}, {"steps": 6, "score": 0.5}]  # the first is of a version that measured less
    again.save()
    assert (tmp_path / "killed" / "reinforce" / "metrics.csv").read_text().split() == ["steps,score", "3,", "6,0.5"]
    assert again.steps == 6 and again.scores == whole.scores[:6]
    for _ in range(2):
        again.scores.append(again.step())
    assert same(weights(again), weights(whole)) and again.scores == whole.scores


def test_ctrl_c_saves_the_policy_and_the_same_command_goes_on(begin, folder, tmp_path, monkeypatch, capsys):
    begin("run")
    step = Reinforce.step
    monkeypatch.setattr(
        Reinforce, "step", lambda self: (_ for _ in ()).throw(KeyboardInterrupt) if self.steps == 3 else step(self)
    )
    command = ["reinforce", "--config", str(folder / "alphago.toml"), "--run", str(tmp_path / "run")]
    assert main(command) == 130
    assert "continues" in capsys.readouterr().err
    monkeypatch.setattr(Reinforce, "step", step)
    assert begin("run").steps == 3
    monkeypatch.setattr(reinforce, "play_lockstep_match", lambda *_, **__: pytest.fail("a measurement at 4 steps"))
    monkeypatch.setattr(
        Reinforce, "step", lambda self: (_ for _ in ()).throw(KeyboardInterrupt) if self.steps == 5 else step(self)
    )
    assert main(command) == 130
    assert begin("run").steps == 5


# ----------------------------------------------------------------------------------------------------- value network


def test_games_of_the_value_network_change_hands_at_their_time(config):
    """Before U the first free point is played, at U any, after it the last free one."""
    first, last = preferring(np.arange(16)), preferring(np.arange(16)[::-1])
    games = play_games(config, first, last, 0)
    assert [game["seed"] for game in games] == list(range(1, 257))
    at_random = []
    for game in games:
        start, moves = game["opening"], game["moves"]
        assert 1 <= start <= 8 and game["best"] == moves[start : start + 1]
        for number, move in enumerate(moves, start=1):
            free = sorted(set(range(16)) - set(moves[: number - 1]))
            if number == start:
                at_random.append(free.index(move))
            else:
                assert move == free[0 if number < start else -1]
        boards = after(moves)
        assert boards.over[0] and boards.winner[0] == (game["winner"] + 1 if game["winner"] >= 0 else -1)
    assert len(set(at_random)) > 8
    assert {game["opening"] for game in games} == set(range(1, 9))
    assert play_games(config, first, last, 0) == games != play_games(config, first, last, 1)


def test_the_value_to_learn_is_the_result_for_the_side_to_move(config, tmp_path):
    uniform = preferring(np.arange(16))
    games = play_games(config, uniform, uniform, 3)
    path = tmp_path / "games.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [{"size": 4}, *games]))
    train, held_back = load_positions([str(path)], config.rules, 1.0, 1.0)
    assert len(train) > 50 and set(np.unique(train.value)) >= {-1.0, 1.0}
    results = defaultdict(list)  # of the games that share a position
    for game in games:
        if game["best"]:
            ply, winner = game["opening"], game["winner"]
            key = int(position_keys(config.rules, game["moves"])[ply])
            results[game["seed"] % 20 == 0, key].append(0 if winner < 0 else 1 if winner == ply % 2 else -1)
    for part, apart in ((train, False), (held_back, True)):
        for game, ply, key, value in zip(part.game, part.ply, part.key, part.value, strict=True):
            assert ply == games[game]["opening"] and value == pytest.approx(np.mean(results[apart, int(key)]))


def test_all_positions_are_those_from_the_random_move_on_and_nothing_of_what_is_held_back(config):
    uniform = preferring(np.arange(16))
    games = play_games(config, uniform, uniform, 0)
    every = list(all_positions(games, config.rules, None))
    for game, more in zip(games, every, strict=True):
        assert more["best"] == (game["best"] if game["seed"] % 20 == 0 else game["moves"][game["opening"] :])
    some = list(all_positions(games, config.rules, 100))
    learnt_from = [game for game in some if game["seed"] % 20]
    different = [
        {key for game in learnt_from[:count] for key in position_keys(config.rules, game["moves"])[game["opening"] : -1]}
        for count in (len(learnt_from) - 1, len(learnt_from))
    ]
    assert len(different[0]) < 100 <= len(different[1]) < sum(len(game["best"]) for game in learnt_from)
    assert [game["seed"] for game in some if game["seed"] % 20 == 0] == list(range(20, 257, 20))


def test_games_that_a_kill_cut_off_are_played_again(done, config, folder, tmp_path):
    done("value")
    whole = (folder / "run" / "value" / "games.jsonl").read_text()
    assert len(whole.splitlines()) == 1 + 4096
    path = tmp_path / "games.jsonl"
    path.write_text(whole[: len(whole) * 9 // 10])
    write_games(config, folder / "run", path)
    assert path.read_text() == whole


def test_the_value_network_foretells_results_and_whose_they_are(done, config, folder):
    result = done("value")
    learnt = result["one_position_a_game"]
    assert result["games"] == 4096 > learnt["positions"]
    # The held-back positions are few: over six seeds the error is 0.62 to 1.00 times the mean's, so only the values tell.
    assert learnt["samples"] == 12288
    fewer, every = result["as_many_positions_of_fewer_games"], result["all_positions_of_all_games"]
    assert every["positions"] > learnt["positions"]
    assert 0 <= fewer["positions"] - learnt["positions"] < 16, "those of one more game at most"
    model = load_stage_network(folder / "run" / "value", config).eval()
    to_win, to_lose = after([5, 0, 6, 3]), after([5, 0, 6])  # first to move with an open two, and second against it
    states = torch.from_numpy(np.concatenate([to_win.feature_planes(), to_lose.feature_planes()]))
    with torch.no_grad():
        values = model(states)[1].reshape(-1).tolist()
    assert values[0] > 0.4 and values[1] < -0.2


# ----------------------------------------------------------------------------------------------------- search


def test_a_mixed_evaluator_mixes_values_and_asks_only_what_counts(fixed_evaluator):
    policy, value, rollout = (fixed_evaluator(16, seed) for seed in (1, 2, 3))
    positions = GomokuBatch(3, *BOARD)
    positions.play([0, 5, 9])
    states = positions.feature_planes()

    def broken(states):
        raise AssertionError("not to be asked")

    probs, values = MixedEvaluator(policy, value, rollout, 0.25).of_positions(positions)
    assert np.array_equal(probs, policy(states)[0])
    np.testing.assert_allclose(values, 0.75 * value(states)[1] + 0.25 * rollout(states)[1], rtol=1e-6)
    assert np.array_equal(MixedEvaluator(policy, value, broken, 0.0).of_positions(positions)[1], value(states)[1])
    assert np.array_equal(MixedEvaluator(policy, broken, rollout, 1.0).of_positions(positions)[1], rollout(states)[1])


@pytest.mark.parametrize("rollout", ROLLOUTS)
def test_rollouts_see_results_for_the_side_to_move(done, config, folder, rollout):
    """It completes a row, or faces an open two; the policy of the third kind takes the first free point."""
    done("rollout")
    config = replace(config, search=replace(config.search, rollout=rollout))
    evaluate = rollouts_for(preferring(np.arange(16)), config, folder / "run", np.random.default_rng(1))
    means = []
    for boards in (after([0, 8, 1, 15]), after([5, 0, 6])):
        values = evaluate_positions(evaluate, boards.take(np.zeros(400, dtype=int)))[1]
        assert values.dtype == np.float32 and set(values.tolist()) <= {-1.0, 0.0, 1.0}
        means.append(values.mean())
    assert means[0] > 0.1 and means[1] < -0.1
    assert rollout == "random" or (means[0] > 0.9 and means[1] < -0.9)


def test_rollouts_are_played_from_the_positions_by_the_agent():
    boards = after([0, 15, 1])
    evaluate = PlayedRollouts(SampledPolicy(preferring(np.arange(16)), np.random.default_rng(1)))
    # Second takes 2, first 3, second 4, first 5 ...: 0 5 10 or another row of the first player comes before one of the second.
    finished = after([0, 15, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert finished.over[0]
    expected = results_for(boards.side_to_move, finished.winner)
    assert evaluate.of_positions(boards)[1].tolist() == expected.tolist() and expected[0] != 0


def test_each_lambda_plays_each_other_one_and_no_game_twice(done, call, monkeypatch):
    result = done("search")
    pairings = [name.split(",")[0] for name in result if "against" in name]
    assert pairings == ["0.0 against 0.5", "0.0 against 1.0", "0.5 against 1.0"]
    assert all(result[name]["games"] == 4 for name in result if "against" in name)
    assert isinstance(result["cpu_s"], int)
    monkeypatch.setattr(mixed, "play_lockstep_match", lambda *_, **__: pytest.fail("played again"))
    assert call("search") == 0


# ----------------------------------------------------------------------------------------------------- calls


@pytest.mark.parametrize(
    ("change", "stage", "words"),
    [
        (("n_in_row = 3", "n_in_row = 5"), "reinforce", "expected n_in_row from 1 to the size, 4"),
        (("steps = 24", "stepz = 24"), "reinforce", "differing: steps, stepz"),
        (("[search]", "[seek]"), "search", "differing: search, seek"),
        (("longest_start = 8", "longest_start = 16"), "value", "longest_start of at least 1"),
        (('"pattern"', '"slow"'), "search", "rollout to be one of random, pattern, policy"),
        (("0.5, 1.0", "0.5, 1.5"), "search", "lambdas from 0 to 1"),
        (('"supervised.toml"', '"nowhere.toml"'), "supervised", "expected a configuration in"),
        (("seed = 1", "seed = "), "value", "expected a configuration in"),
        (("seed = 1", "seed = 2"), "value", "expected games of"),
        (("match_games = 200", "match_games = 201"), "value", "expected an even number of games as match_games"),
        (
            ("check_every = 8", "check_every = 0"),
            "reinforce",
            "check_every = a whole number of at least 1 in [reinforce]",
        ),
        (("games = 64", 'games = "64"'), "reinforce", "got '64'"),
        (("baseline = true", "baseline = 1"), "reinforce", "expected baseline = true or false"),
        (("[0.0, 0.5, 1.0]", "[]"), "search", "expected lambdas = a list of at least one element"),
        (("n_in_row = 3", "n_in_row = 3.0"), "reinforce", "expected n_in_row = a whole number"),
        (("pool_every = 5", "pool_every = 3"), "reinforce", "expected pool_every = 5, as when the pool in"),
        (("games = 64", "games = 64\nsharpness = 0"), "reinforce", "expected sharpness = a number above 0"),
    ],
)
def test_a_wrong_configuration_is_answered_by_a_sentence(done, folder, tmp_path, capsys, change, stage, words):
    done("search")
    capsys.readouterr()
    (tmp_path / "supervised.toml").write_text(SUPERVISED)
    (tmp_path / "alphago.toml").write_text(SETTINGS.replace(*change))
    games = ["--games", str(folder / "teacher.jsonl")] if stage == "supervised" else []
    assert main([stage, "--config", str(tmp_path / "alphago.toml"), "--run", str(folder / "run"), *games]) == 2
    told = capsys.readouterr().err
    assert words in told and told.startswith("training.alphago: ") and len(told.splitlines()) == 1


def test_ctrl_c_during_a_measurement_keeps_its_row(begin, monkeypatch):
    training = begin("run")
    training.steps = 7  # one before a measurement
    monkeypatch.setattr(Reinforce, "step", lambda self: setattr(self, "steps", self.steps + 1) or 0.5)

    def pressed(self, games):
        signal.getsignal(signal.SIGINT)(signal.SIGINT, None)  # a real signal that came too late would end the tests
        return {"games": games}

    monkeypatch.setattr(Reinforce, "measure", pressed)
    with pytest.raises(KeyboardInterrupt):
        training.run()
    assert [row["steps"] for row in training.rows] == [8] and training.scores == []


def test_an_interrupted_first_stage_names_the_command_that_continues_it(call, folder, tmp_path, monkeypatch, capsys):
    step = Training.step

    def interrupted(self):
        if self.steps == 3:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(Training, "step", interrupted)
    assert call("supervised", "--run", str(tmp_path)) == 130
    told = capsys.readouterr()
    assert "Interrupted after 96 samples; the same command continues the stage." in told.err and "--resume" not in told.err
    assert not (tmp_path / "supervised" / "result.json").exists()


@pytest.mark.parametrize("stage", ["supervised", "reinforce"])
def test_two_processes_do_not_run_one_stage(call, tmp_path, capsys, stage):
    with held_folder(tmp_path / stage, by="training"):
        assert call(stage, "--run", str(tmp_path)) == 2
    told = capsys.readouterr().err
    assert "another training (process" in told and f"is writing to {tmp_path / stage}" in told


@pytest.mark.parametrize(("stage", "missing"), [("reinforce", "supervised"), ("value", "supervised"), ("search", "supervised")])
def test_a_stage_asks_for_the_one_before(folder, tmp_path, capsys, stage, missing):
    assert main([stage, "--config", str(folder / "alphago.toml"), "--run", str(tmp_path)]) == 2
    assert f"expected a checkpoint at {tmp_path / missing}" in capsys.readouterr().err


def test_a_policy_of_another_supervised_one_is_not_gone_on_with(begin):
    training = begin("run")
    training.begun_from["samples"] = 7
    training.save()
    with pytest.raises(CallError, match="it started from"):
        begin("run")
