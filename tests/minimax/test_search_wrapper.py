"""A C++ engine as a player at the Board."""

import threading
import time
from dataclasses import replace

import pytest
from misbehaving import misbehaving

from arena.engine.engine_process import EngineSpec
from Board.game_board import Board, Game
from Minimax.search_wrapper import EngineError, EnginePlayer


def engine_player(fault, at=2):
    return EnginePlayer(misbehaving(fault, at), move_s=1.0)


@pytest.fixture
def board():
    board = Board(width=15, height=15, n_in_row=5)
    board.init_board()
    return board


def test_two_engines_play_a_whole_game_on_the_board(engines, board):
    players = [EnginePlayer(EngineSpec(path=str(engines / "sample"))) for _ in range(2)]
    winner = Game(board).start_play(*players, is_shown=0)
    for player in players:
        player.reset_player()
    assert winner in (1, 2, -1) and board.game_end() == (True, winner)


def test_the_second_player_of_a_game_that_player_2_begins_is_white(board):
    black, white = engine_player("win"), engine_player("none")
    assert Game(board).start_play(white, black, start_player=1, is_shown=0) == 2
    for player in (black, white):
        player.reset_player()


def test_a_swap_changes_the_colours_and_the_human_moves_again(board, capsys):
    class Human:
        def __init__(self):
            self.moves, self.seen = iter([112, 113, 0]), []

        def set_player_ind(self, p):
            pass

        def reset_player(self):
            pass

        def get_action(self, board, **_):
            self.seen.append(dict(board.states))
            return next(self.moves), None

    human, engine = Human(), engine_player("swap", 2)
    with pytest.raises(StopIteration):
        Game(board).start_play(human, engine)
    engine.reset_player()
    before, after = human.seen[1], human.seen[2]
    assert after == {move: 3 - player for move, player in (before | {113: 1}).items()}
    assert "Player 2 swaps" in capsys.readouterr().out


def test_a_new_game_starts_the_engine_anew(board):
    engine = engine_player("none")
    first, _ = engine.get_action(board)
    board.do_move(first)
    board.init_board()
    assert engine.get_action(board)[0] == first
    engine.reset_player()


@pytest.mark.parametrize(("fault", "words"), [("exit", "crash"), ("words", "malformed"), ("off_board", "not an empty point")])
def test_a_fault_of_the_engine_is_one_sentence(board, fault, words):
    engine = engine_player(fault, 1)
    with pytest.raises(EngineError, match=words):
        engine.get_action(board)
    engine.reset_player()


def test_an_engine_that_failed_gets_no_further_question(board):
    player = engine_player("words", 2)
    board.do_move(player.get_action(board)[0])
    first, second, *_ = board.availables
    board.do_move(first)
    with pytest.raises(EngineError, match="malformed"):
        player.get_action(board)
    # The person takes the move back and plays another: the engine, which has seen the first, does not hear of it.
    board.init_board()
    board.do_move(112)
    board.do_move(second)
    with pytest.raises(EngineError, match="cannot start from a position"):
        player.get_action(board)


def test_another_board_and_a_game_in_progress_are_refused(board):
    small = Board(width=3, height=3, n_in_row=3)
    small.init_board()
    with pytest.raises(ValueError, match="expected a square board"):
        engine_player("none").get_action(small)
    for move in (0, 1):
        board.do_move(move)
    player = engine_player("none")
    with pytest.raises(EngineError, match="cannot start from a position"):
        player.get_action(board)
    player.reset_player()


@pytest.mark.parametrize("name", ["sample", "baseline", "reference"])
def test_after_moves_were_taken_back_the_engine_begins_in_the_position(engines, board, name):
    player = EnginePlayer(EngineSpec(path=str(engines / name)), move_s=2.0)
    for move in (112, 113):
        board.do_move(move)
    board.do_move(player.get_action(board)[0])
    board.do_move(next(iter(board.availables)))
    board.do_move(player.get_action(board)[0])
    board.init_board()
    for move in (112, 113, 98, 0):
        board.do_move(move)
    assert player.get_action(board)[0] in board.availables
    player.reset_player()


def test_a_swap_of_the_opponent_reaches_the_engine(engines, board):
    player = EnginePlayer(EngineSpec(path=str(engines / "sample")))
    board.do_move(player.get_action(board)[0])
    board.do_move(next(iter(board.availables)))
    board.do_move(player.get_action(board)[0])
    board.swap_colours()
    move, _ = player.get_action(board)
    board.do_move(move)
    assert board.states[move] == board.players[0] and list(board.states.values()) == [2, 1, 2, 1]
    board.do_move(next(iter(board.availables)))
    assert player.get_action(board)[0] in board.availables
    player.reset_player()


@pytest.mark.parametrize("name", ["baseline", "reference"])
def test_an_engine_that_begins_after_a_swap_does_not_swap_again(engines, board, name):
    player = EnginePlayer(EngineSpec(path=str(engines / name)), move_s=1.0)
    for move in (112, 113, 128):
        board.do_move(move)
    assert player.get_action(board)[0] == board.SWAP
    player.reset_player()
    board.swap_colours()
    assert player.get_action(board)[0] in board.availables
    player.reset_player()


def test_a_search_in_another_thread_can_be_cancelled(board):
    engine = engine_player("late", 1)
    raised = []

    def search():
        try:
            engine.get_action(board)
        except EngineError as error:
            raised.append(str(error))

    thread = threading.Thread(target=search)
    thread.start()
    while engine._engine is None or not engine._engine.name:
        time.sleep(0.01)
    engine.cancel()
    thread.join(10)
    assert raised == ["the engine late was ended"]
    engine.reset_player()


def test_what_an_engine_says_of_its_search_is_kept_until_the_next_question(engines, pbrain, board):
    board.do_move(112)
    player = EnginePlayer(EngineSpec(path=str(engines / "reference")), move_s=1.0)
    assert player.report() == ("", ())
    move, _ = player.get_action(board)
    words, line = player.report()
    assert words.startswith("depth ") and " score " in words and board.location_to_move([line[0][1], line[0][0]]) == move
    board.do_move(move)
    board.do_move(next(iter(board.availables)))
    player.get_action(board)
    assert player.report()[0] not in ("", words)
    player.reset_player()
    assert player.report() == ("", ())
    silent = EnginePlayer(EngineSpec(path=str(engines / "sample")))
    gomocup = EnginePlayer(EngineSpec(path=str(pbrain), protocol="gomocup"))
    said = []
    for other in (silent, gomocup):
        board.init_board()
        other.get_action(board)
        said.append(other.report())
        other.reset_player()
    assert said == [("", ()), ("move 1", ())], "MESSAGE is a report, DEBUG is not"


def test_a_board_that_an_engine_cannot_play_on_is_known_before_a_game(pbrain, no_engine_left):
    gomocup = EngineSpec(path="gomocup:p", command=(str(pbrain),), protocol="gomocup", any_size=True)
    EnginePlayer(gomocup).try_board(19, 19, 5)
    with pytest.raises(EngineError, match="the engine gomocup:p gave no name: answered 'ERROR this size"):
        EnginePlayer(replace(gomocup, command=(str(pbrain), "no_start", "1"))).try_board(19, 19, 5)
    with pytest.raises(EngineError, match="expected a square board with 5 in a row; got 9x8 with 5"):
        EnginePlayer(gomocup).try_board(9, 8, 5)
