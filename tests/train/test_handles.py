"""Networks of published solutions accept only the two handles for testing, so the framework must pass no others."""

import shutil
from pathlib import Path

import pytest

from Board.game_board import Board
from grader.assignment_file import load_assignment
from grader.pipeline.submission import read_submission
from grader.pipeline.workspace import build_workspace

ROOT = Path(__file__).resolve().parents[2]
INSTRUCTOR = ROOT / "instructor"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Return a workspace with the framework, the searches of the reference and a network that asserts its handles."""
    folder = tmp_path_factory.mktemp("published")
    shutil.copytree(INSTRUCTOR / "reference", folder / "submission")
    shutil.copytree(INSTRUCTOR / "submissions/variants/network-as-handed-out", folder / "submission", dirs_exist_ok=True)
    assignment = load_assignment()
    submission = read_submission(folder / "submission", assignment)
    assert b"assert actin_fc == self.action_fc_test" in submission.files["AlphaZero/policy_value_net_torch.py"]
    shutil.copytree(
        ROOT / "training", build_workspace(assignment, submission, folder / "workspace") / "training", dirs_exist_ok=True
    )
    return folder / "workspace"


def test_self_play_updates_and_evaluation(run_file, tmp_path):
    pipeline = run_file("train.py")["TrainPipeline"]()
    pipeline.n_playout, pipeline.pure_mcts_playout_num, pipeline.batch_size = 5, 5, 16
    pipeline.verify_playouts, pipeline.verify_from = (2,), 0
    while pipeline.step() is None:
        pass
    _, losing_lines, playouts = pipeline.check()
    assert losing_lines > 0 and playouts == 2
    assert (tmp_path / "model/best_policy.model").is_file()


def test_self_play_side_by_side(call):
    code, out, err = call("train.py", "--games", 6, "--seed", 1, "--fast")
    assert (code, err) == (0, "") and "Seed 1, 6 games" in out


def test_a_game_against_a_person(call):
    code, out, err = call("human_play.py", "--terminal", "--playouts", 10, "--start", "ai", stdin="0,0\n")
    assert code == 0 and err.count("the network is computed by") == err.count("\n") == 1 and "(0,0)" not in out and "[X]" in out


def test_a_player_of_an_engine_match(run_file):
    from AlphaZero.policy_value_net_torch import PolicyValueNet

    player = run_file("Minimax/python_player.py")
    network = PolicyValueNet(6, 6, 1)
    board = Board(width=6, height=6, n_in_row=4)
    board.init_board()
    assert player["even_move"](network, player["make_player"](network, 5), board) in board.availables
    assert player["make_player"](network, 5).get_action(board)[0] in board.availables
