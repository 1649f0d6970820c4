"""A player behind GTP: the conversation, the games, and the searches of AlphaZero/ as its players."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from gnugo import GNUGO, needs_gnugo

from arena import __main__ as arena
from arena.engine.engine_process import Limits
from arena.engine.gtp import parse_command
from arena.engine.gtp_server import GtpServer, serve
from arena.engine.specs import parse_player
from arena.match.board_game import BoardGame
from arena.match.records import read_records
from arena.match.referee import play_game
from arena.match.setup import GameTask
from common.torch_libraries import torch_libraries_mib
from games.go.rules import GoRules
from games.nogo.rules import NoGoRules
from Minimax import python_player

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "instructor" / "reference"
LIMITS = Limits(move_s=20.0, init_s=30.0)


class First:
    """Plays the first legal action, or one that it was given."""

    name, version = "First", "3"

    def __init__(self, plays=None):
        self.plays, self.seeds = plays, []

    def prepare(self, rules):
        if rules.width > 9 and rules.name != "gomoku":
            raise ValueError("too large for me")
        if getattr(rules, "komi", 0) > 40:
            raise ValueError("too much for me")

    def seed(self, seed):
        self.seeds.append(seed)

    def choose(self, position):
        return position.availables[0] if self.plays is None else self.plays


def server(game="nogo", size=3, player=None):
    return GtpServer(game, lambda size, komi: python_player.gtp_rules(game, False, size, komi), player or First(), size)


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


@pytest.mark.parametrize(("size", "accepted"), [(25, True), (26, False), (99, False)])
def test_a_board_of_gomoku_has_no_more_columns_than_gtp_has_letters(size, accepted):
    boardsize, genmove = said(server("gomoku", 15), f"boardsize {size}\ngenmove b\n")
    assert boardsize.startswith("=" if accepted else "? unacceptable size") and genmove.startswith("=")


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
komi 41
final_score
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
        "? unacceptable komi: too much for me",
        "= W+32",
        "? unacceptable size: expected 2 to 25; got 1",
        "? unacceptable size: too large for me",
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


def test_a_network_plays_gomoku_on_the_board_of_its_weights_alone(load_module, tmp_path):
    import torch

    module = load_module(REFERENCE / "AlphaZero" / "policy_value_net_torch.py")
    torch.manual_seed(1)
    module.PolicyValueNet(6, 6, 1).save_model(str(tmp_path / "6.pt"))
    script = "gogui-rules_board_size\ngenmove b\nboardsize 9\nboardsize 6\ngenmove b\nquit\n"
    done = run("--game", "gomoku", "--player", f"alphazero:{tmp_path / '6.pt'}?playouts=8", stdin=script)
    answers = done.stdout.split("\n\n")
    assert (answers[0], answers[3]) == ("= 6", "= ") and answers[2].startswith("? unacceptable size: "), done.stderr
    assert answers[1][0] == answers[4][0] == "="


def test_a_network_for_a_board_without_five_in_a_row_gets_a_sentence():
    done = run("--game", "gomoku", "--player", f"alphazero:{ROOT / 'model' / '3_3_3.model'}")
    sentence = "expected a board of at least 5 by 5 for 5 in a row; got width 3, height 3"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"python_player.py: {sentence}\n")


# ------------------------------------------------------------------------------------- networks of runs, in NoGo and Go


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """Untrained networks for NoGo and Go on 5x5, the latter with the manifest of a run with a komi of 24.5."""
    import torch

    from training.inference.networks import new_model

    folder = tmp_path_factory.mktemp("networks")
    torch.manual_seed(1)
    for rules in (NoGoRules(5, 5), GoRules(5, 5)):
        torch.save(new_model("residual", rules, 1, 8).state_dict(), folder / f"{rules.name}.model")
    settings = {"komi": 24.5, "search_depth": 60}
    (folder / "go.json").write_text(json.dumps({"configurations": [{"komi": 0.5}, settings]}))
    return folder


@pytest.fixture(params=["mcts:playouts=2", "gumbel:"])
def front_end(request, networks):
    """A player that `arena gtp` has started, and that has answered a command."""
    player = request.param if request.param != "gumbel:" else f"gumbel:{networks / 'nogo.model'}?playouts=2"
    command = [sys.executable, "-m", "arena", "gtp", "--game", "nogo", "--player", player]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/bin:/usr/bin"}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, cwd=REFERENCE, env=environment, **pipes) as process:
        process.stdin.write("name\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("= ")
        yield process


def test_ctrl_c_ends_a_served_player_with_one_sentence(front_end):
    front_end.send_signal(signal.SIGINT)
    _, errors = front_end.communicate(timeout=60)
    assert (front_end.returncode, errors.strip()) == (130, "Interrupted.")


def test_a_served_player_ends_quietly_when_nobody_reads_its_answers(front_end):
    front_end.stdout.close()
    front_end.stdin.write("name\n")
    front_end.stdin.flush()
    assert (front_end.stderr.read(), front_end.wait(60)) == ("", 128 + signal.SIGPIPE)


def test_a_network_of_a_run_plays_nogo_against_our_player(engines, networks, tmp_path, no_engine_left, capsys):
    players = [f"gumbel:{networks / 'nogo.model'}?playouts=8", "nogo:uct?simulations=20"]
    terms = ["--game", "nogo", "--board", "5x5", "--seed", "1", "--time-limit", "20", "--init-limit", "60"]
    file = tmp_path / "r.jsonl"
    assert arena.main(["play", *players, *terms, "--games", "2", "--records", str(file)]) == 0
    _, games = read_records(file)
    assert [game.termination for game in games.values()] == ["no_move"] * 2, [game.detail for game in games.values()]
    assert games[0].names == ("gumbel nogo playouts=8", "NoGo uct 20") and games[1].black == 1


def test_the_network_of_a_player_leaves_the_gpu_alone_and_gets_the_memory_of_its_libraries(networks):
    spec = parse_player(f"gumbel:{networks / 'nogo.model'}?playouts=8", "nogo")
    assert spec.env["CUDA_VISIBLE_DEVICES"] == "" and spec.libraries_mib == torch_libraries_mib()


def test_a_network_of_go_keeps_to_its_board_its_komi_and_its_seed(networks):
    script = [
        "showboard",
        "final_score",
        "komi 7.5",
        "boardsize 9",
        "set_random_seed 3",
        "genmove b",
        "play w pass",
        "genmove b",
    ]
    done = run(
        "--game", "go", "--player", f"alphazero:{networks / 'go.model'}?playouts=8", stdin="\n".join([*script, "quit\n"])
    )
    board, score, komi, size, *rest = done.stdout.split("\n\n")
    assert board.count(".") == 25 and score == "= W+24.5", done.stderr
    assert komi.startswith("? unacceptable komi: expected a komi of 24.5, with which ") and komi.endswith("got 7.5")
    assert size.startswith("? unacceptable size: expected weights of a network for go on 9x9 in ")
    assert all(answer.startswith("= ") for answer in rest[:4])


@pytest.mark.parametrize(
    ("player", "terms", "sentence"),
    [
        ("policy:nogo.model", ["--game", "nogo", "--board", "6x6"], "expected weights of a network for nogo on 6x6 in"),
        ("gumbel:go.model", ["--game", "go", "--board", "5x5", "--komi", "9"], "expected a komi of 24.5, with which"),
        ("gumbel:nogo.model?playouts=1", ["--game", "nogo", "--board", "5x5"], "with N of at least 2"),
    ],
)
def test_a_network_that_does_not_fit_is_refused_before_the_match(networks, capsys, player, terms, sentence):
    kind, _, file = player.partition(":")
    assert arena.main(["play", f"{kind}:{networks}/{file}", "nogo:uct" if "nogo" in terms else "mcts:playouts=2", *terms]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def test_our_players_know_superko_where_the_match_forbids_repetitions():
    command = BoardGame("go", 5, komi=0.5, superko=True).player("mcts:playouts=2").command
    assert "--superko" in command and "--superko" not in parse_player("mcts:playouts=2", "go").command
    moves = [f"play {'bw'[ply % 2]} {point}" for ply, point in enumerate(("A1", "B1", "A2", "B2", "A1", "A2"))]
    for superko, legal in ((False, "= A1 pass"), (True, "= pass")):  # black's A1 would capture everything, as after move 1
        served = GtpServer("Go", lambda size, komi: python_player.gtp_rules("go", superko, size, komi), First(), 2)  # noqa: B023
        assert said(served, "\n".join([*moves, "all_legal b"]))[-1] == legal


@pytest.mark.parametrize(
    ("arguments", "cwd", "sentence"),
    [
        (["--game", "go", "--player", "gumbel:w.pt"], ROOT, "expected weights at w.pt; nothing is there"),
        (["--game", "gomoku", "--player", "gumbel:w.pt"], ROOT, "expected a player of gomoku such as gtp:COMMAND"),
        (["--game", "nogo", "--player", "mcts:playouts=1"], ROOT, "expected playouts=N"),
        (["--game", "nogo", "--player", "mcts:playouts=20"], ROOT, "is not written yet"),
    ],
)
def test_a_player_that_cannot_be_served_gets_one_sentence(arguments, cwd, sentence):
    done = run(*arguments, cwd=cwd)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


@needs_gnugo
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
