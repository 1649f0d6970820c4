"""The searches of AlphaZero/ as engines: alone by the line protocol, in matches, and wrong calls."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from arena.engine.engine_process import EngineProcess, GameOffer, Limits
from arena.engine.specs import parse_agent
from arena.match.referee import play_game
from arena.match.setup import GameTask
from arena.rules import SWAP, centre
from Minimax import python_player
from training.exact import board_after

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "instructor" / "reference"  # a folder with an AlphaZero/ that is written
PROGRAM = ROOT / "Minimax" / "python_player.py"
LIMITS = Limits(move_s=5.0, memory_mib=4096)


@pytest.fixture(scope="module")
def weights(load_module, tmp_path_factory):
    """Random weights of one block for 9x9 and 15x15."""
    import torch

    module = load_module(REFERENCE / "AlphaZero" / "policy_value_net_torch.py")
    torch.manual_seed(1)
    files = {size: tmp_path_factory.mktemp("weights") / f"{size}.pt" for size in (9, 15)}
    for size, file in files.items():
        module.PolicyValueNet(size, size, 1).save_model(str(file))
    return files


def agent(words):
    return replace(parse_agent(words), cwd=str(REFERENCE))


def dialogue(spec, side, lines, offer=None):
    with EngineProcess(spec, LIMITS, offer) as engine:
        engine.start(side)
        return [engine.ask(line) for line in lines]


def run(program, *arguments, cwd=REFERENCE, stdin=""):
    command = [sys.executable, str(ROOT / "Minimax" / program), *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=cwd, timeout=120)


# ------------------------------------------------------------------------------------------------ the seat, by a fake search


class Tree:
    def __init__(self):
        self.update_with_move(-1)

    def update_with_move(self, last_move):
        self._root = SimpleNamespace(_children={})


class Search:
    """Plays the first free point; its tree says what it is told of each move."""

    def __init__(self, value=0.0, keeps_tree=False):
        self.value, self.keeps_tree, self.seen, self.mcts = value, keeps_tree, [], Tree()

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.seen.append(board)
        move = board.availables[0]
        self.mcts._root = SimpleNamespace(_children={move: SimpleNamespace(_n_visits=3, _Q=[[self.value]])})
        if not self.keeps_tree:
            self.mcts.update_with_move(-1)
        return move, None


def test_white_swaps_where_its_own_best_move_is_below_zero_for_white():
    for value, keeps_tree, swaps in ((-0.1, False, True), (-0.1, True, True), (0.1, False, False), (0.0, False, False)):
        seat = python_player.Seat(Search(value, keeps_tree), 1, 15)
        seat.answer((7, 7))
        assert (seat.answer((8, 8)) == SWAP) == swaps


def test_a_swap_is_for_white_at_the_fourth_ply_alone():
    black, white = python_player.Seat(Search(-1), 0, 15), python_player.Seat(Search(-1), 1, 15)
    last = SWAP
    actions = [last := seat.answer(last) for seat in (black, white) * 4]
    assert [ply for ply, action in enumerate(actions, start=1) if action == SWAP] == [4]


def test_without_a_swap_in_the_game_white_plays_on():
    seat = python_player.Seat(Search(-1), 1, 15, may_swap=False)
    assert SWAP not in [seat.answer((7, 7)), seat.answer((8, 8))]


def test_a_search_that_hides_its_tree_does_not_swap():
    search = Search(-1)
    search.get_action = lambda board, **_: (board.availables[0], None)
    seat = python_player.Seat(search, 1, 15)
    assert SWAP not in [seat.answer((7, 7)), seat.answer((8, 8))]


@pytest.mark.parametrize(
    "root",
    [
        None,
        SimpleNamespace(),
        SimpleNamespace(_children=None),
        SimpleNamespace(_children={1: SimpleNamespace(_Q=-1.0)}),
        SimpleNamespace(_children={1: SimpleNamespace(_n_visits=3)}),
        SimpleNamespace(_children={1: SimpleNamespace(_n_visits=3, _Q=None)}),
    ],
)
def test_a_search_whose_tree_is_of_another_kind_does_not_swap(root):
    class Hidden(Search):
        def get_action(self, board, is_selfplay=False, print_probs_value=0):
            self.mcts._root = root
            self.mcts.update_with_move(-1)
            return board.availables[0], None

    seat = python_player.Seat(Hidden(), 1, 15)
    assert [seat.answer((7, 7)), seat.answer((8, 8))] == [(0, 0), (1, 0)]


@pytest.mark.parametrize("slots", [(), ("_root",)])
def test_a_search_may_have_slots_and_further_parameters(slots):
    class OwnTree(Tree if not slots else object):
        __slots__ = slots

        def update_with_move(self, last_move, forget=False):
            if forget and not slots:
                self._root = SimpleNamespace(_children={})

    class Own(Search):
        def get_action(self, board, is_selfplay=False, print_probs_value=0):
            move = board.availables[0]
            self.mcts._root = SimpleNamespace(_children={move: SimpleNamespace(_n_visits=3, _Q=self.value)})
            self.mcts.update_with_move(-1, forget=True)
            return move, None

    search = Own(-0.1)
    search.mcts = OwnTree()
    seat = python_player.Seat(search, 1, 15)
    assert [seat.answer((7, 7)), seat.answer((8, 8))] == [(0, 0), SWAP]


def test_a_search_without_a_root_plays():
    search = Search(-1)
    search.mcts = SimpleNamespace(update_with_move=lambda last_move: None)
    search.get_action = lambda board, **_: (search.mcts.update_with_move(-1), (board.availables[0], None))[1]
    seat = python_player.Seat(search, 1, 15)
    assert [seat.answer((7, 7)), seat.answer((8, 8))] == [(0, 0), (1, 0)]


def test_blacks_second_stone_is_chosen_to_be_even_where_white_may_swap():
    for may_swap, second in ((True, (3, 9)), (False, (0, 0))):
        seat = python_player.Seat(Search(), 0, 15, opening=(7, 7), may_swap=may_swap, even_move=lambda board: 9 * 15 + 3)
        assert [seat.answer(SWAP), seat.answer((7, 8)), seat.answer((9, 2))[1]] == [(7, 7), second, 0]
    assert SWAP not in python_player.Seat(Search(), 1, 15, even_move=lambda board: 5 / 0).answer((7, 7))


def by_row_of_the_latest_stone(states, *_):
    """A network's values for the side to move: the further from the top row the opponent's latest stone lies, the higher."""
    latest = states[:, 0] - states[:, 2]
    return None, latest.any(axis=2).argmax(axis=1)[:, None] / 4 - 1.05


class BoardReader(Search):
    """A search in which the side to move is worth 0.45 more than by the network of `by_row_of_the_latest_stone`."""

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.value = 0.45 + float(by_row_of_the_latest_stone(board.current_state()[None])[1][0, 0])
        assert board.get_current_player() == self.player
        return super().get_action(board)


def test_the_even_point_is_the_one_after_which_a_short_search_sees_an_even_game():
    board = board_after((0, 1, *range(54, 62)), (9, 9, 5))
    net = SimpleNamespace(policy_value=by_row_of_the_latest_stone, action_fc_test=2, evaluation_fc2_test=3)
    player = BoardReader()
    assert python_player.even_move(net, player, board) == 62  # in the row worth 2 / 4 - 1.05 + 0.45, the point that is free
    assert 1 < len(player.seen) <= python_player.searches_of_even_move(9)
    assert len(board.states) == 10, "the board that was asked about has changed"


def test_the_even_point_is_the_networks_where_the_tree_cannot_be_read():
    board = board_after((0, 1, *range(36, 44)), (9, 9, 5))
    net = SimpleNamespace(policy_value=by_row_of_the_latest_stone, action_fc_test=2, evaluation_fc2_test=3)
    player = BoardReader()
    player.mcts = SimpleNamespace(update_with_move=lambda last_move: None, _root=None)
    player.get_action = lambda board, **_: (board.availables[0], None)
    assert python_player.even_move(net, player, board) == 44  # in the row worth 4 / 4 - 1.05, the point that is free


def test_after_the_opponents_swap_the_stone_that_had_been_white_is_the_own_one():
    search = Search()
    seat = python_player.Seat(search, 0, 15)
    first, second = seat.answer(SWAP), seat.answer((8, 8))
    seat.answer(SWAP)
    at = {(move % 15, move // 15): player for move, player in search.seen[-1].states.items()}
    assert at == {first: 2, (8, 8): 1, second: 2} and search.seen[-1].get_current_player() == 1 == search.player


def test_the_first_stone_is_sought_in_the_centre_and_the_rest_of_the_board_is_free_after_it():
    for size in (5, 9, 15):
        search = Search()
        seat = python_player.Seat(search, 0, size)
        x, y = seat.answer(SWAP)
        assert {(move % size, move // size) for move in search.seen[0].availables} == {
            (a, b) for a in centre(size) for b in centre(size)
        }
        board = search.seen[0].copy()
        board.do_move(y * size + x)
        assert board.availables == [move for move in range(size * size) if move != y * size + x]


# ---------------------------------------------------------------------------------------------------- the program


@pytest.mark.parametrize("number", ["0", "1"])
def test_pure_search_answers_by_the_protocol(number):
    done = run("python_player.py", "mcts", "--playouts", 20, stdin=f"{number}\n" + ("-1 -1\n" if number == "0" else "3 4\n"))
    name, answer = done.stdout.splitlines()
    assert name == "mcts 20" and len(answer.split()) == 2 and (done.returncode, done.stderr) == (0, "")


def test_a_seed_repeats_the_choices_and_an_opening_is_played():
    spec = agent("mcts:playouts=30")
    offers = [GameOffer(seed=3), GameOffer(seed=3), GameOffer(seed=4), GameOffer(seed=3, opening=(10, 4))]
    stones = [dialogue(spec, 0, [SWAP, (0, 0)], offer) for offer in offers]
    assert stones[0] == stones[1] != stones[2] and stones[3][0] == (10, 4)
    assert all(x in centre() and y in centre() for (x, y), _ in stones)
    assert dialogue(spec, 0, [SWAP], GameOffer(opening=(3, 3)))[0] != (3, 3)


WORDY = """
from types import SimpleNamespace
print("hello")
class MCTSPlayer:
    def __init__(self, c_puct, n_playout):
        self.mcts = SimpleNamespace(_root=None, update_with_move=print)
    set_player_ind = print
    def reset_player(self):
        print("8 8")
    def get_action(self, board, is_selfplay, print_probs_value):
        move = board.availables[-1]
        self.mcts._root = SimpleNamespace(_children={move: SimpleNamespace(_n_visits=1, _Q=-0.5)})
        print(7, 7)
        return move, None
"""


@pytest.mark.parametrize(("env", "answers"), [({}, ["14 14", "-1 -1"]), ({"GOMOKU_NO_SWAP": "1"}, ["14 14", "13 14"])])
def test_no_swap_is_heeded_and_what_a_student_prints_stays_out_of_the_protocol(tmp_path, monkeypatch, env, answers):
    (tmp_path / "AlphaZero").mkdir()
    (tmp_path / "AlphaZero" / "__init__.py").touch()
    (tmp_path / "AlphaZero" / "mcts_pure.py").write_text(WORDY)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    done = run("python_player.py", "mcts", "--playouts", 5, cwd=tmp_path, stdin="1\n7 7\n8 8\n")
    assert done.stdout.splitlines() == ["mcts 5", *answers]
    assert done.stderr.splitlines()[0] == "hello" and done.returncode == 0


def test_stubs_fail_at_the_start_with_what_to_write_first():
    if "NotImplementedError" not in (ROOT / "AlphaZero" / "mcts_pure.py").read_text():
        pytest.skip("this tree's AlphaZero/ is written")
    game = play_game(GameTask(replace(parse_agent("mcts:playouts=5"), cwd=str(ROOT)), agent("mcts:playouts=5"), LIMITS))
    assert (game.termination, game.faulty) == ("init_failed", 0)
    assert "AlphaZero/mcts_pure.py comes first and is not written yet" in game.detail


def test_weights_of_another_board_fail_at_the_start_in_a_sentence(weights):
    game = play_game(GameTask(agent(f"alphazero:{weights[9]}?playouts=8"), agent("mcts:playouts=8"), LIMITS))
    assert (game.termination, game.faulty) == ("init_failed", 0)
    assert "python_player.py: expected weights for the board 15x15" in game.detail and "81 points" in game.detail


def test_a_command_that_is_no_text_is_answered(monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")  # as in a usual locale
    command = [sys.executable, str(PROGRAM), "mcts", "--playouts", "2", "--gtp", "go"]
    done = subprocess.run(command, input=b"\xff\nquit\n", capture_output=True, cwd=REFERENCE, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith(b"? unknown command"), done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["alphazero", "--playouts", "9"], "", "expected --model with alphazero"),
        (["mcts", "--playouts", "1"], "", "of at least 2; got 1"),
        (["alphazero", "--model", "x.pt", "--backend", "torch"], "", "expected --fast with --backend"),
        (["mcts", "--playouts", "5"], "2\n", "expected 0 or 1 as the first line; got '2'"),
        (["mcts", "--playouts", "5"], "1\n7,7\n", "expected two numbers such as 7 7; got '7,7'"),
        (["mcts", "--playouts", "5"], "1\n7 15\n", "expected an empty point of the board; got 7 15"),
        (["mcts", "--playouts", "5"], "1\n7 7\n-1 -1\n", "expected a swap with 3 stones on the board; there are 2"),
    ],
)
def test_a_wrong_call_gets_one_sentence(arguments, stdin, words):
    done = run("python_player.py", *arguments, stdin=stdin)
    assert done.returncode == 2 and words in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_the_board_size_of_the_environment_is_checked(monkeypatch):
    monkeypatch.setenv("GOMOKU_BOARD_SIZE", "4")
    done = run("python_player.py", "mcts", "--playouts", 5)
    assert done.returncode == 2 and "expected GOMOKU_BOARD_SIZE from 5 to 30; got '4'" in done.stderr


# ------------------------------------------------------------------------------------------------------ matches


def test_a_match_of_both_searches_on_the_full_board(weights):
    agents = ("--agents-path", f"alphazero:{weights[15]}?playouts=6", "mcts:playouts=20")
    done = run("evaluate.py", *agents, "--num-plays", 1, "--seed", 2)
    assert done.returncode == 0, done.stderr
    assert "(alphazero 6)" in done.stdout and "(mcts 20)" in done.stdout and "lost by: 1 five" in done.stdout


def test_the_limit_on_memory_leaves_out_the_libraries_of_torch(weights):
    agents = ("--agents-path", f"alphazero:{weights[9]}?playouts=2", "mcts:playouts=2")
    done = run("evaluate.py", *agents, "--num-plays", 1, "--board-size", 9, "--memory-mib", 512)
    assert done.returncode == 0, done.stderr
    assert "Terminations: 1 five" in done.stdout


def test_a_match_on_a_small_board(pbrain):
    agents = ("--agents-path", "mcts:playouts=20", f"gomocup:{pbrain}")
    done = run("evaluate.py", *agents, "--num-plays", 2, "--seed", 2, "--board-size", 9)
    assert done.returncode == 0, done.stderr
    assert "Terminations: 2 five" in done.stdout and "lost by: 2 five" in done.stdout


def test_judge_on_a_small_board(weights, pbrain):
    done = run("judge.py", f"gomocup:{pbrain}", f"alphazero:{weights[9]}?playouts=4", "--board-size", 9)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and "is windows of five" in lines[0] and "alphazero 4" in lines[0]
    assert lines[10].split() == [str(number) for number in range(9)] and "wins with five in a row" in lines[-1]


@pytest.mark.parametrize(("size", "words"), [(9, "expected a board of 15x15"), (4, "expected --board-size from 5 to 26")])
def test_judge_refuses_a_size_that_an_agent_does_not_know(engines, size, words):
    done = run("judge.py", "human", engines / "sample", "--board-size", size)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
