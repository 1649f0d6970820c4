"""A player behind GTP: the conversation, the games, and the searches of AlphaZero/ as its players."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arena import __main__ as arena
from arena.engine.engine_process import Limits
from arena.engine.gtp import parse_command
from arena.engine.gtp_server import GtpServer, serve
from arena.engine.specs import parse_player
from arena.match.board_game import BoardGame
from arena.match.referee import play_game
from arena.match.setup import GameTask
from Minimax import python_player

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "instructor" / "reference"
GNUGO = Path("/usr/games/gnugo")
LIMITS = Limits(move_s=20.0, init_s=30.0)


class First:
    """Plays the first legal action, or one that it was given."""

    name, version = "First", "3"

    def __init__(self, plays=None):
        self.plays, self.seeds = plays, []

    def prepare(self, size):
        if size > 9:
            raise ValueError(size)

    def seed(self, seed):
        self.seeds.append(seed)

    def choose(self, position):
        return position.availables[0] if self.plays is None else self.plays


def server(game="nogo", size=3, player=None):
    return GtpServer(game, lambda size, komi: python_player.gtp_rules(game, size, komi), player or First(), size)


def said(served, text):
    answers = []
    serve(served, text.split("\n"), answers.append)
    assert all(answer.endswith("\n\n") and "\n\n" not in answer[:-1].rstrip("\n") for answer in answers)
    return [answer.strip("\n") for answer in answers]


# ---------------------------------------------------------------------------------------------------- the conversation


def test_a_game_of_nogo_is_kept_by_its_rules_and_a_refused_command_changes_nothing():
    script = """1 play b A1
play B B1
play w pass
play w Z9
play red B1
2 play w b1
genmove B
undo
genmove b
play w A2
final_score
all_legal w
all_legal b"""
    assert said(server(), script) == [
        "=1 ",
        "? illegal move: it is white's turn",
        "? illegal move: this game has no pass",
        "? invalid vertex",
        "? invalid color",
        "=2 ",
        "= C1",
        "= ",
        "= C1",
        "? illegal move",  # it would capture A1
        "? cannot score: the game is not over",
        "= B2 A3 B3 C3",  # C2 would capture C1
        "? illegal move: it is white's turn",
    ]


def test_what_a_front_end_asks_first_is_answered():
    served = server("go", 5)
    commands = said(served, "list_commands")[0].removeprefix("= ").split()
    assert {"boardsize", "clear_board", "genmove", "komi", "play", "quit", "undo", "final_score", "showboard"} <= set(commands)
    script = "protocol_version\nname\nversion\nknown_command play\nknown_command fly\nfly\n7\ntime_settings 0 5 1\nquit\nname"
    assert said(served, script) == [
        "= 2",
        "= First",
        "= 3",
        "= true",
        "= false",
        "? unknown command",
        "?7 unknown command",
        "= ",
        "= ",  # nothing is answered after quit
    ]
    assert all(said(served, f"known_command {name}") == ["= true"] for name in commands)


def test_a_front_end_that_does_not_know_the_game_learns_its_rules():
    script = """play b A1
gogui-rules_game_id
gogui-rules_board_size
gogui-rules_side_to_move
gogui-rules_legal_moves
gogui-rules_board
gogui-rules_final_result"""
    assert said(server(size=2), script) == ["= ", "= nogo", "= 2", "= white", "= B1 A2 B2", "= \n. .\nX .", "= unknown"]


def test_go_counts_captures_komi_and_passes_and_takes_them_back():
    script = """boardsize 5
komi 0.5
play b A1
play w B1
play b E5
play w A2
final_score
play b pass
play w pass
final_score
genmove b
play b C3
undo
gogui-rules_final_result
komi 30
final_score
komi x
boardsize 1
boardsize 10"""
    assert said(server("go"), script)[6:] == [
        "= W+2.5",  # two white stones and the corner they own, one black stone, komi
        "= ",
        "= ",
        "= W+2.5",
        "= pass",
        "? illegal move: the game is over",
        "= ",
        "= unknown",
        "= ",
        "= W+32",
        "? syntax error: expected a komi in steps of half a point",
        "? unacceptable size",
        "? unacceptable size",
    ]


def test_gomoku_ends_with_five_in_a_row_anywhere_and_has_no_swap():
    moves = [f"play {'bw'[ply % 2]} {'ABCDE'[ply // 2]}{1 + ply % 2}" for ply in range(9)]
    script = "\n".join(["boardsize 6", *moves, "gogui-rules_final_result", "final_score", "genmove w", "play w F6"])
    answers = said(server("gomoku", 6), script)
    assert answers[:10] == ["= "] * 10
    assert answers[10:] == ["= black", "= B+", "= resign", "? illegal move: the game is over"]


def test_an_illegal_choice_of_the_player_is_an_error_and_the_game_is_unchanged():
    served = server(player=First(plays=0))
    assert said(served, "genmove b\ngenmove w\ngenmove w") == ["= A1"] + ["? the player chose the illegal action 0"] * 2


def test_a_seed_reaches_the_player():
    player = First()
    assert said(server(player=player), "set_random_seed 7\nset_random_seed -1\nset_random_seed")[0] == "= "
    assert player.seeds == [7]
    assert parse_command("set_random_seed 7").name == "set_random_seed"


# ---------------------------------------------------------------------------------------- the searches of AlphaZero/


def mcts(game, playouts):
    return replace(parse_player(f"mcts:playouts={playouts}", game), cwd=str(REFERENCE))


def run(*arguments, cwd=REFERENCE, stdin="quit\n"):
    command = [sys.executable, "-m", "arena", "gtp", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/bin:/usr/bin"}
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=cwd, env=environment, timeout=120)


def test_a_students_search_plays_nogo_against_our_player_and_seeds_decide_the_game(engines, no_engine_left):
    game = BoardGame("nogo", 4)
    task = GameTask(mcts("nogo", 30), parse_player("nogo:random", "nogo"), LIMITS, seed=5, size=4, game=game)
    first, second = play_game(task), play_game(task)
    assert first.termination == "no_move" and first.faulty is None and first.names == ("mcts 30", "NoGo random 1")
    assert first.moves == second.moves


def test_the_command_serves_a_search_to_a_front_end():
    script = "boardsize 7\nset_random_seed 1\ngenmove b\ngenmove w\nundo\nplay w A1\ngogui-rules_game_id\nquit\n"
    done = run("--game", "gomoku", "--player", "mcts:playouts=20", stdin=script)
    answers = done.stdout.split("\n\n")
    assert done.returncode == 0 and answers[6] == "= Gomoku", done.stderr
    assert all(answer.startswith("=") for answer in answers[:-1])
    assert run("--game", "gomoku", "--player", "mcts:playouts=20", stdin=script).stdout == done.stdout


@pytest.mark.slow
def test_a_network_plays_gomoku_on_the_board_of_its_weights_alone(load_module, tmp_path):
    import torch

    module = load_module(REFERENCE / "AlphaZero" / "policy_value_net_torch.py")
    torch.manual_seed(1)
    module.PolicyValueNet(6, 6, 1).save_model(str(tmp_path / "6.pt"))
    script = "gogui-rules_board_size\ngenmove b\nboardsize 9\nboardsize 6\ngenmove b\nquit\n"
    done = run("--game", "gomoku", "--player", f"alphazero:{tmp_path / '6.pt'}?playouts=8", stdin=script)
    answers = done.stdout.split("\n\n")
    assert (answers[0], answers[2], answers[3]) == ("= 6", "? unacceptable size", "= "), done.stderr
    assert answers[1][0] == answers[4][0] == "="


@pytest.mark.parametrize(
    ("arguments", "cwd", "sentence"),
    [
        (["--game", "go", "--player", "alphazero:w.pt"], ROOT, "the network of alphazero:w.pt plays only Gomoku"),
        (["--game", "nogo", "--player", "mcts:playouts=1"], ROOT, "expected playouts=N"),
        (["--game", "nogo", "--player", "mcts:playouts=20"], ROOT, "is not written yet"),
    ],
)
def test_a_player_that_cannot_be_served_gets_one_sentence(arguments, cwd, sentence):
    done = run(*arguments, cwd=cwd)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


@pytest.mark.slow
@pytest.mark.skipif(not GNUGO.exists(), reason=f"GNU Go is not installed at {GNUGO}")
def test_gnu_go_plays_a_whole_game_of_go_against_a_students_search(tmp_path, monkeypatch, capsys):
    sgf = pytest.importorskip("sgfmill.sgf", reason="sgfmill is not installed")
    monkeypatch.chdir(REFERENCE)
    players = [f"gtp:{GNUGO} --mode gtp --level 1 --chinese-rules", "mcts:playouts=4"]
    terms = ["--game", "go", "--board", "9x9", "--games", "1", "--seed", "1", "--time-limit", "20", "--init-limit", "30"]
    assert arena.main(["play", *players, *terms, "--json", str(tmp_path / "r.json"), "--sgf", str(tmp_path)]) == 0
    (game,) = json.loads((tmp_path / "r.json").read_text())["games"]
    assert game["faulty"] is None and game["termination"] in ("score", "move_limit", "resigned"), game["detail"]
    assert len(game["moves"]) > 20 and game["names"] == ["GNU Go 3.8", "mcts 4"]
    read = sgf.Sgf_game.from_bytes((tmp_path / "game_0000.sgf").read_bytes())
    assert read.get_winner() == ("b" if game["winner"] == 0 else "w")
    assert len(read.get_main_sequence()) == len(game["moves"]) + 1
