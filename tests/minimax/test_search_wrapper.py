"""A C++ engine as a player at the Board."""

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


def test_another_board_and_a_game_in_progress_are_refused(board):
    small = Board(width=3, height=3, n_in_row=3)
    small.init_board()
    with pytest.raises(ValueError, match="expected a 15x15 board"):
        engine_player("none").get_action(small)
    for move in (0, 1):
        board.do_move(move)
    with pytest.raises(ValueError, match="from the first move"):
        engine_player("none").get_action(board)
