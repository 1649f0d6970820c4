"""Games side by side follow the rules of Board to the last plane."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from Board.game_board import Board
from games.gomoku.batch import GomokuBatch

SIZES = [(3, 3, 3), (5, 4, 4), (4, 7, 3), (9, 9, 5), (6, 6, 6), (2, 5, 1), (11, 8, 5)]


def same(boards, game, board):
    assert np.array_equal(boards.feature_planes()[game], board.current_state())
    assert boards.side_to_move[game] == board.current_player
    assert np.flatnonzero(boards.legal[game]).tolist() == board.availables
    assert (bool(boards.over[game]), boards.winner[game]) == board.game_end()


@settings(max_examples=60)
@given(st.sampled_from(SIZES), st.integers(0, 2**32 - 1))
def test_random_games_side_by_side_are_those_of_the_board(size, seed):
    width, height, n_in_row = size
    rng = np.random.default_rng(seed)
    boards = GomokuBatch(4, width, height, n_in_row)
    single = [Board(width=width, height=height, n_in_row=n_in_row) for _ in range(4)]
    planes = boards.feature_planes()
    assert planes.dtype == np.float32 and planes.shape == (4, 9, height, width)
    while not boards.over.any():
        moves = [int(rng.choice(board.availables)) for board in single]
        boards.play(moves)
        for game, (board, move) in enumerate(zip(single, moves, strict=True)):
            board.do_move(move)
            same(boards, game, board)


@settings(max_examples=40)
@given(st.sampled_from(SIZES[:5]), st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_lines_of_several_moves_are_those_moves_one_by_one(size, seed, before):
    width, height, n_in_row = size
    rng = np.random.default_rng(seed)
    start = GomokuBatch(3, width, height, n_in_row)
    single = [Board(width=width, height=height, n_in_row=n_in_row) for _ in range(3)]
    orders = [rng.permutation(width * height) for _ in single]
    played = 0

    def play_one():
        nonlocal played
        for board, order in zip(single, orders, strict=True):
            board.do_move(int(order[played]))
        played += 1
        return not any(board.game_end()[0] for board in single)

    while played < before and play_one():
        pass
    if any(board.game_end()[0] for board in single):
        return
    for number in range(played):
        start.play([order[number] for order in orders])
    # Each line ends where its game does, or earlier.
    lengths = []
    for board, order in zip(single, orders, strict=True):
        length = 0
        wanted = int(rng.integers(1, width * height - played + 1))
        while length < wanted and not board.game_end()[0]:
            board.do_move(int(order[played + length]))
            length += 1
        lengths.append(length)
    lines = np.array([order[played : played + max(lengths)] for order in orders])
    after = start.take(slice(None))
    after.play_lines(lines, np.array(lengths))
    for game, board in enumerate(single):
        same(after, game, board)
        assert start.length[game] == played


def test_a_row_longer_than_needed_wins_and_a_full_board_without_one_is_a_draw():
    boards = GomokuBatch(1, 6, 6, 3)
    for move in (0, 30, 1, 31, 4, 34, 3, 35):  # X X . X X on the bottom row, O not in a row
        boards.play([move])
    assert not boards.over[0]
    boards.play([2])
    assert boards.over[0] and boards.winner[0] == 1
    draw = GomokuBatch(1, 3, 3, 3)
    for move in (4, 0, 2, 6, 3, 5, 1, 7, 8):
        draw.play([move])
    assert draw.over[0] and draw.winner[0] == -1


@pytest.mark.parametrize("move", [4, 9, -1])
def test_an_illegal_move_is_refused_and_changes_nothing(move):
    boards = GomokuBatch(2, 3, 3, 3)
    boards.play([4, 0])
    before = boards.take([0, 1])
    with pytest.raises(ValueError, match=f"got move {move} in game 0"):
        boards.play([move, 1])
    assert np.array_equal(boards.stones, before.stones) and np.array_equal(boards.recent, before.recent)


def test_a_move_after_the_end_is_refused():
    boards = GomokuBatch(1, 3, 3, 1)
    boards.play([4])
    with pytest.raises(ValueError, match="a game that is not over"):
        boards.play([5])


def test_restarted_games_are_at_their_start_and_the_others_where_they_were():
    boards = GomokuBatch(2, 3, 3, 1)
    boards.play([4, 5])
    other = boards.feature_planes()[1]
    boards.restart([0])
    assert np.array_equal(boards.feature_planes(), [GomokuBatch(1, 3, 3, 1).feature_planes()[0], other])
    assert boards.over.tolist() == [False, True] and boards.winner.tolist() == [-1, 1]


def test_a_board_too_small_for_its_row_is_refused():
    with pytest.raises(ValueError, match="got width 5, height 3, n_in_row 4"):
        GomokuBatch(1, 5, 3, 4)
