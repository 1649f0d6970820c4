"""Matches of NoGo and Go between players that speak GTP: our rules decide every game."""

import json
import sys
from pathlib import Path

import pytest
from gnugo import GNUGO, needs_gnugo

from arena import __main__ as arena
from arena.engine.engine_process import EngineSpec, Limits
from arena.engine.gtp import PASS, vertex
from arena.engine.specs import parse_agent, parse_player
from arena.match.board_game import BoardGame, parse_board
from arena.match.match import ThreadRunner, play_match
from arena.match.records import Records, read_records
from arena.match.referee import play_game
from arena.match.setup import GameTask, MatchSetup
from arena.match.sgf import game_to_sgf
from common.errors import UsageError

PROGRAM = Path(__file__).parents[1] / "misbehaving_gtp.py"
LIMITS = Limits(move_s=5.0, init_s=10.0, wall_cap_s=20.0)
NOGO, GO = BoardGame("nogo", 5), BoardGame("go", 5, komi=7.5)


@pytest.fixture
def nogo(engines):
    """Return a function that makes the spec of our NoGo player; engines are built first."""
    return lambda text: parse_player(f"nogo:{text}", "nogo")


def faulty(fault="none", at=2):
    return EngineSpec(fault, (sys.executable, "-S", str(PROGRAM), fault, str(at)), protocol="gtp")


def played(black, white, game, limits=LIMITS):
    return play_game(GameTask(black, white, limits, seed=1, size=game.size, game=game))


def replayed(record):
    """Return the position at the end of a recorded game; an illegal move raises."""
    position = record.game.rules().position()
    for move in record.moves:
        position.do_move(record.game.action(move))
    return position


# ------------------------------------------------------------------------------------------------------- the games


def test_nogo_ends_when_a_player_has_no_move_and_colours_alternate(nogo):
    setup = MatchSetup((nogo("uct?simulations=200"), nogo("random")), 4, 3, LIMITS, size=5, game=NOGO)
    result = play_match(setup, ThreadRunner(2))
    assert [game.black for game in result.games] == [0, 1, 0, 1] and result.distinct_games == 4
    for game in result.games:
        position = replayed(game)
        assert position.game_end()[0] and position.availables == []
        assert game.termination == "no_move" and game.faulty is None and game.size == 5
        assert (game.winner == game.black) == (len(game.moves) % 2 == 1)
    assert result.wins(0) >= 3 and result.statistics(0).games == 4


def test_a_match_has_the_same_games_with_the_same_seed_and_other_games_with_another(nogo):
    def moves(seed):
        setup = MatchSetup((nogo("rave?simulations=50"), nogo("uct?simulations=50")), 2, seed, LIMITS, size=5, game=NOGO)
        return [game.moves for game in play_match(setup, ThreadRunner(1)).games]

    assert moves(1) == moves(1) != moves(2)


def test_both_games_of_a_pair_begin_with_the_same_random_stones_and_form_one_cluster(nogo):
    players = (nogo("uct?simulations=50"), nogo("uct?simulations=50"))
    setup = MatchSetup(players, 4, 3, LIMITS, size=5, game=NOGO, opening_stones=3)
    result = play_match(setup, ThreadRunner(2))
    openings = [game.moves[:3] for game in result.games]
    assert openings[0] == openings[1] != openings[2] == openings[3]
    for game in result.games:
        assert replayed(game).game_end()[0] and game.termination == "no_move"  # both players knew all stones
        assert game.imposed == 3 and game.move_s[:3] == (0, 0, 0) and min(game.move_s[3:]) > 0
    assert result.statistics(0).clusters <= 2 and sum(result.statistics(0).pairs) == 2
    assert MatchSetup.from_json(json.loads(json.dumps(setup.to_json()))).task(2) == setup.task(2)


def test_a_player_that_refuses_a_stone_of_the_opening_loses():
    task = GameTask(faulty("refuse_play"), faulty(), LIMITS, seed=1, size=5, game=NOGO, imposed=((0, 0), (1, 1), (2, 2)))
    game = play_game(task)
    assert (game.termination, game.winner, game.faulty, len(game.moves)) == ("malformed", 1, 0, 3)


def test_two_passes_end_a_game_of_go_and_area_and_komi_decide_it():
    game = played(faulty("pass", 1), faulty("pass", 1), GO)
    assert (game.moves, game.termination, game.winner) == ((PASS, PASS), "score", 1)
    assert "KM[7.5]" in game_to_sgf(game) and "RE[W+7.5]" in game_to_sgf(game) and game_to_sgf(game).count("[]") == 2
    one_stone = played(faulty("pass", 2), faulty("pass", 1), BoardGame("go", 5, komi=0.5))
    assert one_stone.winner == 0 and "RE[B+24.5]" in game_to_sgf(one_stone)


def test_a_drawn_game_of_go_has_no_winner():
    game = played(faulty("pass", 1), faulty("pass", 1), BoardGame("go", 5, komi=0))
    assert game.winner is None and game.is_decided and "RE[0]" in game_to_sgf(game)


# --------------------------------------------------------------------------------------- players that break the rules


@pytest.mark.parametrize(
    ("fault", "game", "termination", "detail"),
    [
        ("taken", NOGO, "illegal_move", 'answered "A1" at ply 3, a point already taken'),
        ("pass", NOGO, "illegal_move", 'answered "pass" at ply 3, which the rules of nogo forbid there'),
        ("off_board", GO, "illegal_move", "off the 5x5 board"),
        ("words", GO, "malformed", "instead of a vertex"),
        ("exit", NOGO, "crash", "exit code 3"),
    ],
)
def test_a_fault_loses_the_game_under_its_name(fault, game, termination, detail):
    record = played(faulty(fault), faulty(), game)
    assert (record.termination, record.winner, record.faulty) == (termination, 1, 0)
    assert detail in record.detail and len(record.moves) == 2 and len(record.move_s) == 3


def test_a_player_that_refuses_a_legal_move_loses_and_one_that_resigns_is_not_at_fault():
    refused = played(faulty(), faulty("refuse_play"), NOGO)
    assert (refused.termination, refused.winner, refused.faulty) == ("malformed", 0, 1)
    assert 'refused "play b A1": illegal move' in refused.detail
    resigned = played(faulty("resign"), faulty(), NOGO)
    assert (resigned.termination, resigned.winner, resigned.faulty) == ("resigned", 1, None)
    assert "RE[W+R]" in game_to_sgf(resigned)


def test_a_capture_in_nogo_is_illegal_whatever_the_players_believe():
    # Both play A1, B1, C1, A2 in turn and know no rules; A2 would capture A1.
    record = played(faulty(), faulty(), BoardGame("nogo", 3))
    assert record.termination == "illegal_move" and "rules of nogo forbid" in record.detail
    assert [vertex(move) for move in record.moves] == ["A1", "B1", "C1"] and record.winner == 0


def test_a_sleeper_loses_on_time_and_nothing_is_left_running(no_engine_left):
    record = played(faulty("sleep"), faulty("child"), GO, Limits(move_s=0.4, init_s=10.0, wall_cap_s=0.4))
    assert (record.termination, record.winner) == ("timeout", 1) and "RE[W+T]" in game_to_sgf(record)


# ------------------------------------------------------------------------------------------------------- the records


def test_a_match_is_continued_from_its_records_and_game_by_game_they_say_the_same(nogo, tmp_path):
    file = tmp_path / "games.jsonl"
    setup = MatchSetup((nogo("uct?simulations=20"), nogo("random")), 3, 3, LIMITS, size=5, game=NOGO)
    first = play_match(setup, ThreadRunner(1), records=Records(file, setup))
    heading, games = read_records(file)
    assert MatchSetup.from_json(heading["match"]) == setup and tuple(games.values()) == first.games
    file.write_text("".join(f"{line}\n" for line in file.read_text().splitlines()[:2]) + '{"torn')
    again = play_match(setup, ThreadRunner(1), records=Records(file, setup))
    assert [game.moves for game in again.games] == [game.moves for game in first.games]
    other = MatchSetup(setup.agents, 3, 3, LIMITS, size=6, game=BoardGame("nogo", 6))
    with pytest.raises(UsageError, match="belong to another match"):
        Records(file, other)


def test_records_of_gomoku_say_nothing_of_other_games(ours):
    setup = MatchSetup(ours, 1, 1)
    game = play_game(setup.task(0))
    assert "game" not in setup.to_json() and "game" not in game.to_json()


# ------------------------------------------------------------------------------------------------------- the command


def test_the_command_plays_a_match_and_continues_it(engines, tmp_path, capsys):
    call = ["play", "nogo:rave?simulations=50", "nogo:random", "--game", "nogo", "--board", "5x5"]
    call += ["--records", str(tmp_path / "r.jsonl"), "--json", str(tmp_path / "r.json"), "--sgf", str(tmp_path / "sgf")]
    assert arena.main([*call, "--games", "2", "--seed", "4"]) == 0
    assert "Seed 4, 2 games" in capsys.readouterr().out
    assert arena.main([*call, "--games", "3"]) == 0
    said = capsys.readouterr().out
    assert "Seed 4, 3 games" in said and "Number of plays: 3" in said and "Terminations: 3 no_move" in said
    assert len(list((tmp_path / "sgf").iterdir())) == 3
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["game"] == {"name": "nogo", "size": 5, "komi": None, "superko": False}
    assert arena.main(["replay", str(tmp_path / "r.jsonl"), "2"]) == 0
    report = tmp_path / "report.md"
    report.write_text("My report")
    assert arena.main([*call, "--games", "3", "--json", str(report)]) == 2 and report.read_text() == "My report"
    other = ["play", "nogo:random", "nogo:random", "--game", "nogo", "--board", "5x5", "--games", "1"]
    for option, words in (("--json", "r.json"), ("--sgf", "sgf")):
        assert arena.main([*other, option, str(tmp_path / words)]) == 2
    assert json.loads((tmp_path / "r.json").read_text()) == result


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nogo:uct", "nogo:best"], "expected nogo:uct, nogo:rave or nogo:random"),
        (["nogo:uct", "nogo:uct?simulations=many"], "expected an option such as simulations=10000"),
        (["nogo:uct", "nogo:uct?simulations=0"], "simulations from 1 to 2000000"),
        (["nogo:uct", "gtp:no-such-program --fast"], "there is no such program"),
        (["nogo:uct", "gtp:"], "there is no such program"),
        (["nogo:uct", "gtp:'"], "balanced quotes"),
        (["nogo:uct", "build/engines/baseline"], "expected a player of nogo such as"),
        (["nogo:uct", "nogo:uct", "--board", "9x7"], "expected a square board such as 9x9; got '9x7'"),
        (["nogo:uct", "nogo:uct", "--board", "20"], "expected a board of 2x2 to 19x19"),
        (["nogo:uct", "nogo:uct", "--komi", "7"], "expected komi and superko only for Go"),
        (["nogo:uct", "nogo:uct", "--games", "0"], "expected --games of at least 1"),
        (["nogo:uct", "nogo:uct", "--time-limit", "nan"], "expected --time-limit in seconds"),
        (["nogo:uct", "nogo:uct", "--seed", "-1"], "expected --seed from 0"),
        (["nogo:uct", "nogo:uct", "--records", "/nonexistent/r"], "expected a folder at /nonexistent for"),
        (["nogo:uct", "nogo:uct", "--records", "r.jsonl", "--json", "./r.jsonl"], "expected different files"),
    ],
)
def test_a_wrong_call_gets_one_sentence(engines, capsys, arguments, sentence):
    assert arena.main(["play", *arguments, "--game", "nogo"]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def test_players_of_one_game_are_refused_in_another(engines):
    for text in ("gtp:gnugo", "nogo:uct"):
        with pytest.raises(UsageError, match="expected a player of Gomoku"):
            parse_agent(text)
    with pytest.raises(UsageError, match="plays only NoGo"):
        parse_player("nogo:uct", "go")
    for komi in (7.3, float("nan"), float("inf"), None):
        with pytest.raises(UsageError, match=r"a komi such as 7\.5"):
            BoardGame("go", 9, komi=komi)
    assert parse_board("9") == parse_board("9X9") == 9


# ------------------------------------------------------------------------------------------------------- other programs


@needs_gnugo
def test_gnu_go_plays_itself_and_an_independent_reader_of_sgf_agrees_with_the_record():
    sgf = pytest.importorskip("sgfmill.sgf", reason="sgfmill is not installed")
    boards = pytest.importorskip("sgfmill.boards")
    command = f"gtp:{GNUGO} --mode gtp --level 1 --chinese-rules --capture-all-dead"
    game = played(parse_player(command, "go"), parse_player(command, "go"), BoardGame("go", 7, komi=9))
    read = sgf.Sgf_game.from_string(game_to_sgf(game))
    assert (read.get_size(), read.get_komi(), read.get_player_name("b")) == (7, 9.0, "GNU Go 3.8")
    assert read.get_winner() == (None if game.winner is None else "bw"[game.winner])
    board = boards.Board(7)
    for node, move in zip(read.get_main_sequence()[1:], game.moves, strict=True):
        colour, point = node.get_move()
        assert point == (None if move == PASS else (move[1], move[0]))
        if point is not None:
            board.play(*point, colour)
    score = replayed(game).score()
    assert game.termination == "score" and board.area_score() - 9 == score
    assert read.get_root().get("RE") == ("0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score):g}")
