"""train.py from the command line (stubs, short runs with the reference, Ctrl-C, given weights), and its symmetries."""

import csv
import pickle
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import train
from common.errors import UsageError
from common.unwritten import REMINDER
from common.weights import load_weights, read_sizes
from grader.judge.support.drawn_weights import random_weights
from train import TrainPipeline

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ["games", "loss", "entropy", "opponent_playouts", "win_ratio", "losing_lines", "exact_playouts"]


def save_weights(path, *sizes):
    torch.save({key: torch.as_tensor(value) for key, value in random_weights(*sizes, seed=1).items()}, path)
    return path


# ------------------------------------------------------------------------------------------------------- stubs


def test_on_stubs_one_sentence_names_the_first_file_and_method():
    done = subprocess.run([sys.executable, "train.py", "--games", "1"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "train.py: AlphaZero/mcts_pure.py comes first and is not written yet: TreeNode.expand; "
        "see docs/handout.md, section 5.1.\n"
    )


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ([], "AlphaZero/mcts_pure.py comes first and is not written yet: TreeNode.expand; see docs/handout.md, section 5.1"),
        (
            ["mcts_pure"],
            "AlphaZero/policy_value_net_torch.py comes first and is not written yet: PolicyValueNetModel.__init__; "
            "see docs/handout.md, section 5.2",
        ),
        (
            ["mcts_pure", "policy_value_net_torch"],
            "AlphaZero/mcts_alphaZero.py comes first and is not written yet: MCTS._playout; see docs/handout.md, section 5.4",
        ),
        (
            ["policy_value_net_torch", "mcts_alphaZero"],
            "AlphaZero/mcts_pure.py comes first and is not written yet: TreeNode.expand; see docs/handout.md, section 5.1",
        ),
        (["mcts_pure", "policy_value_net_torch", "mcts_alphaZero"], "not written yet: somewhere else"),
    ],
)
def test_the_first_unwritten_file_is_named_whichever_raised_the_error(tmp_path, written, sentence):
    shutil.copytree(ROOT / "AlphaZero", tmp_path / "AlphaZero")
    for name in written:
        shutil.copy(ROOT / f"instructor/reference/AlphaZero/{name}.py", tmp_path / "AlphaZero")
    (tmp_path / "common").mkdir()
    shutil.copy(ROOT / "common/unwritten.py", tmp_path / "common")
    first_unwritten = runpy.run_path(str(tmp_path / "common/unwritten.py"))["first_unwritten"]
    assert first_unwritten(NotImplementedError("somewhere else")) == sentence


def test_a_reminder_in_a_comment_is_no_unwritten_method():
    reminder = 'raise NotImplementedError("AlphaZero/mcts_pure.py: TreeNode.expand: see handout section 5.1")'
    written = f"def expand(self):\n    # {reminder}\n    self.x = 1  # {reminder}\n"
    assert REMINDER.search(written) is None
    found = list(REMINDER.finditer(f"{written}    {reminder}\ndef f(): {reminder}\n"))
    assert [match["method"] for match in found] == ["TreeNode.expand"] * 2


def test_a_missing_stub_is_reported(tmp_path):
    (tmp_path / "common").mkdir()
    shutil.copy(ROOT / "common/unwritten.py", tmp_path / "common")
    first_unwritten = runpy.run_path(str(tmp_path / "common/unwritten.py"))["first_unwritten"]
    assert first_unwritten(NotImplementedError()) == "AlphaZero/mcts_pure.py is missing; unpack the assignment again"


# ---------------------------------------------------------------------------------------------------- training


def test_a_training_writes_weights_and_learning_curves_and_a_seed_repeats_them(workspace, call, tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    command = [sys.executable, workspace / "train.py", "--games", "6", "--seed", "3"]
    done = subprocess.run(command, cwd=first, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and "Seed 3, 6 games" in done.stdout
    code, out, err = call("train.py", "--games", 6, "--seed", 3)
    assert (code, out, err) == (0, done.stdout, "")
    weights, again = (load_weights(folder / "tmp/current_policy.model") for folder in (first, tmp_path))
    assert read_sizes(weights) == (3, 3, 1)
    assert {key: value.tobytes() for key, value in weights.items()} == {k: v.tobytes() for k, v in again.items()}
    table = (tmp_path / "tmp/training.csv").read_text()
    assert table == (first / "tmp/training.csv").read_text()
    rows = list(csv.DictReader(table.splitlines()))
    assert list(rows[0]) == COLUMNS and rows[-1]["games"] == "6"
    assert all(float(row["loss"]) > 0 and float(row["entropy"]) > 0 for row in rows)
    assert code == call("train.py", "--games", 6, "--seed", 4)[0]
    other = load_weights(tmp_path / "tmp/current_policy.model")
    assert any(not np.array_equal(other[key], weights[key]) for key in weights)


def test_fast_self_play_replaces_the_serial_one_and_a_seed_repeats_it(call, tmp_path, monkeypatch):
    monkeypatch.delattr("Board.game_board.Game.start_self_play")
    tables = []
    for seed in (5, 5, 6):
        code, out, err = call("train.py", "--games", 12, "--seed", seed, "--fast")
        assert (code, err) == (0, "") and f"Seed {seed}, 12 games" in out
        assert out.count("In self-play, the network is computed by torch, float32 on cpu.") == 1
        tables.append((tmp_path / "tmp/training.csv").read_text())
    assert tables[0] == tables[1] != tables[2] and tables[0].count("\n") > 5


@pytest.mark.parametrize(("preset", "sizes"), [("tictactoe", (3, 3, 3)), ("five", (5, 5, 4))])
def test_the_lines_of_the_theory_score_a_network(workspace, run_file, tmp_path, capsys, monkeypatch, preset, sizes):
    theory = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```python\n(from train import .*?)^```$", theory, re.MULTILINE | re.DOTALL)
    for placeholder in ("tictactoe", "model/best_policy.model"):
        assert re.search(rf"in\splace\sof\s`{placeholder}`", theory)
    weights = save_weights(tmp_path / "weights.model", *sizes[:2], 1)
    replaced = {
        "model/best_policy.model": str(weights),
        "tictactoe": preset,
        "num = 100": "num = 10",
        "n_games=100": "n_games=2",
    }
    for written, here in replaced.items():
        assert written in lines
        lines = lines.replace(written, here)
    names = ("board_width", "board_height", "n_in_row")
    settings = replace(train.PRESETS["tictactoe"], **dict(zip(names, sizes, strict=True)))
    monkeypatch.setitem(train.PRESETS, preset, settings)
    (workspace / "score.py").write_text(lines, encoding="utf-8")
    run_file("score.py")
    assert float(capsys.readouterr().out) in {0, 0.25, 0.5, 0.75, 1}


def test_each_update_moves_the_average_towards_the_network_that_learns(run_file):
    pipeline = run_file("train.py")["TrainPipeline"]()
    pipeline.averaging, pipeline.updates_per_game = 0.75, 2
    learning, average = (net.model.state_dict() for net in (pipeline.policy_value_net, pipeline.average_net))
    assert all(torch.equal(average[name], learning[name]) for name in learning)
    expected = {name: value.clone() for name, value in learning.items()}
    train_step = pipeline.policy_value_net.train_step

    def followed(*batch):
        results = train_step(*batch)
        for name, value in expected.items():
            expected[name] = 0.75 * value + 0.25 * learning[name]
        return results

    pipeline.policy_value_net.train_step = followed
    while pipeline.step() is None:
        pass
    for name in learning.keys() - {name for name in learning if name.endswith("num_batches_tracked")}:
        assert torch.allclose(average[name], expected[name], atol=1e-6), name
        assert not torch.equal(average[name], learning[name]), name


@pytest.mark.parametrize(("remember_games", "evaluations"), [(0, 4), (1, 4), (2, 2), (9, 1)])
def test_a_position_is_evaluated_once_in_remember_games_games(run_file, remember_games, evaluations):
    pipeline = run_file("train.py")["TrainPipeline"]()
    pipeline.remember_games, pipeline.n_playout = remember_games, 5
    evaluate = pipeline.policy_value_net.policy_value_fn_random
    lines = []

    def listen(board, *handles):
        lines.append(tuple(board.states))
        return evaluate(board, *handles)

    pipeline.policy_value_net.policy_value_fn_random = listen
    pipeline.collect_selfplay_data(4)
    assert lines.count(()) == evaluations and pipeline.games_played == 4
    if remember_games == 9:
        assert len(lines) == len(set(lines)) > 20


def test_an_evaluation_appears_in_the_learning_curves_and_keeps_the_best_network(run_file, tmp_path):
    pipeline = run_file("train.py")["TrainPipeline"]()
    pipeline.check_freq, pipeline.game_batch_num, pipeline.verify_from, pipeline.verify_playouts = 1, 6, 5, (20,)
    pipeline.n_playout = 20
    pipeline.run()
    rows = {row["games"]: row for row in csv.DictReader((tmp_path / "tmp/training.csv").read_text().splitlines())}
    assert 0 <= float(rows["6"]["win_ratio"]) <= 1 and rows["5"]["win_ratio"] == ""
    assert int(rows["6"]["losing_lines"]) > 0 and rows["6"]["exact_playouts"] == "20"
    assert 0 <= float(rows["4"]["win_ratio"]) <= 1 and rows["4"]["losing_lines"] == ""  # too early to play every line
    best, average = load_weights(tmp_path / "model/best_policy.model"), pipeline.average_net.model.state_dict()
    assert all(np.array_equal(best[name], average[name].numpy()) for name in average)


@pytest.fixture
def skilled(run_file):
    """Return a pipeline that starts from the published network and verifies quickly."""
    pipeline = run_file("train.py")["TrainPipeline"](init_model=ROOT / "model" / "3_3_3.model")
    pipeline.verify_playouts, pipeline.verify_from, pipeline.game_batch_num = (50, 100), 0, 6
    net = pipeline.average_net
    net.policy_value_fn_random = net.policy_value_fn  # each draw of symmetries makes a different agent, which might lose
    return pipeline


def test_a_network_that_loses_no_line_is_verified_and_ends_the_training(skilled, tmp_path, capsys):
    skilled.check_freq = 1
    skilled.policy_evaluate = lambda: 0.5
    skilled.batch_size = 10**6  # more than the buffer will hold, so nothing is learnt and the network does not change
    skilled.run()
    assert skilled.verified and skilled.games_played == 2
    out = capsys.readouterr().out
    assert "losing lines at 100 playouts: 0" in out and "no line of replies at 50, 100 playouts" in out
    best, given = load_weights(tmp_path / "model/best_policy.model"), load_weights(ROOT / "model/3_3_3.model")
    assert all(np.array_equal(best[key], given[key]) for key in given)


def test_losing_lines_decide_which_network_is_the_best_and_the_win_ratio_between_equals(skilled, tmp_path):
    skilled.pure_mcts_playout_num = 5000
    skilled.verify_playouts = (10,)
    path = tmp_path / "model/best_policy.model"

    def kept(win_ratio, weights):
        skilled.average_net.restore_model(weights)
        skilled.policy_evaluate = lambda: win_ratio
        path.unlink(missing_ok=True)
        skilled.check()
        return path.exists()

    weak, strong = save_weights(tmp_path / "weak.model", 3, 3, 1), ROOT / "model" / "3_3_3.model"
    assert kept(0.9, weak) and not skilled.verified
    assert not kept(0.8, weak) and kept(0.9, weak)
    assert kept(0.1, strong)
    assert not kept(1.0, weak)


def test_on_boards_with_too_many_games_only_the_win_ratio_decides(skilled, tmp_path):
    skilled.verify_playouts = ()
    for win_ratio, better in ((0.5, True), (0.4, False), (0.6, True)):
        skilled.policy_evaluate = lambda win_ratio=win_ratio: win_ratio
        (tmp_path / "model/best_policy.model").unlink(missing_ok=True)
        assert skilled.check() == (win_ratio, None, None)
        assert (tmp_path / "model/best_policy.model").exists() == better
    assert not skilled.verified


def test_ctrl_c_saves_and_ends_cleanly(workspace, tmp_path):
    command = [sys.executable, workspace / "train.py", "--seed", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    table = tmp_path / "tmp/training.csv"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not (table.exists() and table.read_text().count("\n") > 1):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in err
    assert err.strip().startswith("Interrupted after ") and "tmp/current_policy.model" in out
    assert read_sizes(load_weights(tmp_path / "tmp/current_policy.model")) == (3, 3, 1)
    assert table.read_text().splitlines()[0] == ",".join(COLUMNS)


def test_a_training_that_diverges_stops_in_a_sentence_and_keeps_what_it_had_saved(run_file, tmp_path):
    pipeline = run_file("train.py")["TrainPipeline"]()
    pipeline.check_freq, pipeline.game_batch_num = 1, 6
    pipeline.policy_evaluate = lambda: 0.5
    learn, saved = pipeline.policy_update, []

    def diverging():
        if pipeline.games_played == 4:
            pipeline.learn_rate = 1e30
            saved.append((tmp_path / "tmp/current_policy.model").read_bytes())
        return learn()

    pipeline.policy_update = diverging
    with pytest.raises(UsageError, match=r"expected finite weights after 4 games; .* in tmp/training_state.pt: look for a log"):
        pipeline.run()
    assert (tmp_path / "tmp/current_policy.model").read_bytes() == saved[0]
    networks = torch.load(tmp_path / "tmp/training_state.pt", weights_only=True)["networks"]
    assert all(tensor.isfinite().all() for network in networks for tensor in network["weights"].values())


# --------------------------------------------------------------------------------------------- wrong and right calls


def test_a_training_continues_from_given_weights(call, tmp_path):
    given = save_weights(tmp_path / "given.model", 3, 3, 1)
    code, _, err = call("train.py", "--games", 1, "--init-model", given)
    assert (code, err) == (0, "")
    before, after = load_weights(given), load_weights(tmp_path / "tmp/current_policy.model")
    # One game changes the weights little: at most five steps of 1e-3.
    assert np.abs(before["conv2d_1.weight"] - after["conv2d_1.weight"]).max() < 0.01


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "no file is there"),
        (lambda path: path.mkdir(), "no file is there"),
        (lambda path: save_weights(path, 4, 4, 1), "expected weights for the board 3x3; those in"),
        (lambda path: save_weights(path, 3, 3, 2), "resnet.1."),
        (lambda path: path.write_bytes(pickle.dumps([1, 2])), "it holds something else"),
        (lambda path: path.write_bytes(b"weights\n" * 9), "it holds something else"),
        (lambda path: path.write_bytes(b""), "it holds something else"),
        (lambda path: path.write_bytes(b"PK\3\4"), "it holds something else"),
    ],
    ids=["missing", "a folder", "another board", "another depth", "a list", "text", "empty", "half an archive"],
)
def test_weights_that_do_not_fit_this_board_are_refused_in_a_sentence(refusal, tmp_path, make, reason):
    path = tmp_path / "other.model"
    make(path)
    sentence = refusal("train.py", "--games", 1, "--init-model", path)
    assert "expected weights" in sentence and str(path) in sentence and reason in sentence
    assert not (tmp_path / "tmp").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--games", "0"], "--games of at least 1; got 0"),
        (["--games", "many"], "'many'"),
        (["--preset", "chess"], "'chess'"),
        (["--backend", "torch"], "expected --fast with --backend"),
        (["--device", "tpu"], "'tpu'"),
    ],
)
def test_a_wrong_call_is_refused(refusal, arguments, words):
    assert words in refusal("train.py", *arguments)


def test_a_gpu_that_there_is_not_is_refused_in_a_sentence(refusal, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for program in ("train.py", "human_play.py"):
        assert "expected a GPU that torch can use for --device cuda" in refusal(program, "--device", "cuda")


def test_a_gpu_that_there_is_computes_both_networks(run_file, monkeypatch):
    seen = []
    module = run_file("train.py")
    from AlphaZero import policy_value_net_torch

    network = policy_value_net_torch.PolicyValueNet
    monkeypatch.setattr(
        policy_value_net_torch, "PolicyValueNet", lambda *size, cuda, **more: seen.append(cuda) or network(*size, **more)
    )
    module["TrainPipeline"](cuda=True)
    assert seen == [True, True]


def test_a_resumed_run_keeps_its_backend_and_says_if_another_is_forced(openvino, call):
    assert call("train.py", "--games", 2, "--seed", 5, "--fast", "--backend", "openvino")[0] == 0
    code, out, err = call("train.py", "--resume", "--games", 3, "--fast")
    assert (code, err) == (0, "") and "computed by openvino, float32 on cpu." in out and "The network was" not in out
    code, out, err = call("train.py", "--resume", "--games", 4, "--fast", "--backend", "torch")
    assert (code, err) == (0, "") and "The network was computed by openvino, float32 on cpu; from now on" in out


# -------------------------------------------------------------------------------------------------- symmetries


def equi_data(width, height, play_data):
    pipeline = TrainPipeline.__new__(TrainPipeline)
    pipeline.board_width, pipeline.board_height = width, height
    return pipeline.get_equi_data(play_data)


def sample(width, height, z):
    """Make a state whose planes are multiples of one picture, and probabilities that show the same picture in move order."""
    picture = np.random.default_rng(7).random((height, width)).astype(np.float32)
    state = np.stack([picture * (plane + 1) for plane in range(9)])
    return state, picture[::-1].flatten(), z


@pytest.mark.parametrize("probs", [None, {0: 1.0}, np.zeros(10), np.zeros((1, 9)), 0.5])
def test_probabilities_of_another_form_are_named(probs):
    with pytest.raises(ValueError, match=r"get_action .* with 9 probabilities; got \w+ of shape \[") as raised:
        equi_data(3, 3, [(sample(3, 3, 1.0)[0], probs, 1.0)])
    assert type(probs).__name__ in str(raised.value)


def pictures_of(extended, width, height):
    """Check that states and probabilities show the same pictures, and return the distinct ones."""
    pictures = set()
    for state, probs, _ in extended:
        assert state.shape == (9, height, width) and probs.shape == (width * height,)
        assert state.dtype == np.float32 and state.flags["C_CONTIGUOUS"]
        assert all(np.array_equal(plane, state[0] * (k + 1)) for k, plane in enumerate(state))
        assert np.array_equal(state[0], probs.reshape(height, width)[::-1])  # moves count rows from the bottom
        pictures.add(state[0].tobytes())
    return pictures


def test_a_square_board_has_eight_symmetries_and_states_and_probabilities_turn_as_one():
    play_data = [sample(3, 3, 1.0)]
    extended = equi_data(3, 3, iter(play_data))
    picture = play_data[0][0][0]
    flips = [p[::v, ::h] for p in (picture, picture.T) for v in (1, -1) for h in (1, -1)]
    assert len(extended) == 8 and pictures_of(extended, 3, 3) == {np.ascontiguousarray(p).tobytes() for p in flips}


def test_another_board_has_four():
    play_data = [sample(4, 3, 0.0)]
    extended = equi_data(4, 3, play_data)
    picture = play_data[0][0][0]
    flips = [picture[::v, ::h] for v in (1, -1) for h in (1, -1)]
    assert len(extended) == 4 and pictures_of(extended, 4, 3) == {np.ascontiguousarray(p).tobytes() for p in flips}


def test_the_result_and_the_sample_itself_are_kept():
    play_data = [sample(3, 3, z) for z in (1.0, -1.0, 0.0)]
    extended = equi_data(3, 3, play_data)
    assert [z for _, _, z in extended] == [1.0] * 8 + [-1.0] * 8 + [0.0] * 8
    for i, (state, probs, _) in enumerate(play_data):
        assert np.array_equal(extended[8 * i][0], state) and np.array_equal(extended[8 * i][1], probs)
