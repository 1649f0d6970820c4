"""Rules, feature planes and the game loop, compared with a slow model that is obviously correct."""

import copy
import pickle

import numpy as np
import pytest
from definition import winner_by_definition
from hypothesis import given, settings
from hypothesis import strategies as st

from Board.game_board import Board, Game


def new_board(width, height, n_in_row, moves=()):
    board = Board(width=width, height=height, n_in_row=n_in_row)
    board.init_board()
    for move in moves:
        board.do_move(move)
    return board


def model_planes(moves, width, height):
    """Compute the nine planes from all (move, player), newest last; the number of stones determines the side to move."""
    side = 1 if len(moves) % 2 == 0 else 2
    planes = np.zeros((9, height, width))
    for first_plane, player in ((0, 3 - side), (1, side)):
        own = [move for move, p in moves if p == player]
        for k in range(4):
            for move in own[: max(0, len(own) - k)]:
                planes[first_plane + 2 * k, height - 1 - move // width, move % width] = 1
    if len(moves) % 2 == 0:
        planes[8] = 1
    return planes


@st.composite
def games(draw):
    width, height = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    n_in_row = draw(st.integers(1, min(width, height)))
    order = draw(st.permutations(range(width * height)))
    return width, height, n_in_row, order


@given(games())
@settings(max_examples=150)
def test_winner_and_planes_agree_with_the_model_in_every_position(game):
    width, height, n_in_row, order = game
    board, states, played = new_board(width, height, n_in_row), {}, []
    for move in order:
        player = board.get_current_player()
        board.do_move(move)
        states[move] = player
        played.append((move, player))
        winner = winner_by_definition(states, width, height, n_in_row)
        assert board.has_a_winner() == (winner != -1, winner)
        assert board.game_end() == (winner != -1 or len(states) == width * height, winner)
        np.testing.assert_array_equal(board.current_state(), model_planes(played, width, height))
        assert board.availables == sorted(set(range(width * height)) - set(board.states))
        if winner != -1:
            break


@given(games(), st.integers(0, 3), st.booleans())
@settings(max_examples=60)
def test_a_rotated_or_mirrored_game_has_the_same_result_and_rotated_or_mirrored_planes(game, turns, mirror):
    width, height, n_in_row, order = game
    turned_size = (height, width) if turns % 2 else (width, height)
    numbers = np.arange(width * height).reshape(height, width)[::-1]  # top row first, as planes are
    picture = np.rot90(numbers, turns)
    picture = picture[:, ::-1] if mirror else picture
    new_of_old = {int(old): new for new, old in enumerate(picture[::-1].reshape(-1))}
    board, twin = new_board(width, height, n_in_row), new_board(*turned_size, n_in_row)
    for move in order:
        board.do_move(move)
        twin.do_move(new_of_old[move])
        assert board.game_end() == twin.game_end()
        planes = np.rot90(board.current_state(), turns, axes=(1, 2))
        np.testing.assert_array_equal(planes[:, :, ::-1] if mirror else planes, twin.current_state())
        if board.game_end()[0]:
            break


def from_diagram(text, n_in_row):
    """Make a board from rows, top row first. X moved first, and * is the last stone of X."""
    rows = [row.split() for row in text.strip().splitlines()]
    height, width = len(rows), len(rows[0])
    stones = {"X": [], "O": [], "*": []}
    for r, row in enumerate(rows):
        for w, mark in enumerate(row):
            if mark in stones:
                stones[mark].append((height - 1 - r) * width + w)
    board = new_board(width, height, n_in_row)
    for x, o in zip(stones["X"], stones["O"], strict=True):
        board.do_move(x)
        board.do_move(o)
    (last,) = stones["*"]
    board.do_move(last)
    return board


@pytest.mark.parametrize(
    "diagram",
    [
        """
        . . . . .
        . . . . .
        O O O . .
        . . . . .
        X X X * .""",
        """
        . . . . *
        . O . . X
        . O . . X
        . O . . X
        . . . . .""",
        """
        . . . . X
        O . . X .
        . O * . .
        . X . . .
        . . . O .""",
        """
        . X . . .
        . . X . O
        . O . * .
        . . . . X
        O . . . .""",
        """
        X X * X X
        O . O . O
        . . . . .
        . . . O .
        . . . . .""",
    ],
    ids=["row at the edge", "column at the edge", "rising diagonal", "falling diagonal", "five where four win"],
)
def test_a_line_wins_in_every_direction(diagram):
    assert from_diagram(diagram, 4).game_end() == (True, 1)


def test_a_line_does_not_wrap_around_the_edge():
    assert new_board(4, 4, 3, [2, 12, 3, 13, 4]).game_end() == (False, -1)


def test_the_last_stone_of_a_full_board_can_win():
    board = new_board(3, 3, 3, [0, 1, 2, 3, 4, 6, 5, 7])
    assert board.game_end() == (False, -1)
    board.do_move(8)
    assert board.game_end() == (True, 1)


def test_a_full_board_without_a_line_is_a_draw():
    assert new_board(3, 3, 3, [0, 1, 2, 4, 3, 5, 7, 6, 8]).game_end() == (True, -1)


@pytest.mark.parametrize("move", [-1, 9, 4, 1.5, True, np.float64(3), np.array([3]), None, "3"], ids=repr)
def test_a_refused_move_changes_nothing(move):
    board = new_board(3, 3, 3, [4])
    before = pickle.dumps(board.__dict__)
    with pytest.raises(ValueError, match="expected"):
        board.do_move(move)
    assert pickle.dumps(board.__dict__) == before


def test_numpy_integers_are_moves():
    board = new_board(3, 3, 3)
    board.do_move(np.int64(4))
    assert board.states == {4: 1} and type(next(iter(board.states))) is int


def test_playing_on_after_the_end_keeps_the_first_winner():
    board = new_board(3, 3, 3, [0, 3, 1, 4, 2])
    board.do_move(5)  # the other player completes a line too late
    assert board.has_a_winner() == (True, 1) and board.game_end() == (True, 1)


@given(games(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_exactly_the_played_moves_leave_a_shuffled_list_of_empty_points(game, rng):
    width, height, n_in_row, order = game
    board = new_board(width, height, n_in_row)
    rng.shuffle(board.availables)
    for count, move in enumerate(order, start=1):
        board.do_move(move)
        assert sorted(board.availables) == sorted(order[count:])


def test_empty_points_index_an_array():
    board = new_board(3, 2, 2, [0, 4])
    assert np.arange(10, 16)[board.availables].tolist() == [11, 12, 13, 15]


@pytest.mark.parametrize("duplicate", [Board.copy, copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_copies_are_equal(duplicate):
    board = new_board(5, 4, 3, [0, 7, 3])
    twin = duplicate(board)
    for name in ("states", "availables", "states_sequence", "current_player", "last_move"):
        assert getattr(twin, name) == getattr(board, name)
    np.testing.assert_array_equal(twin.current_state(), board.current_state())


@pytest.mark.parametrize("duplicate", [Board.copy, copy.copy, copy.deepcopy])
def test_a_copy_is_independent(duplicate):
    board = new_board(5, 4, 3, [0, 7, 3])
    before = board.current_state()
    twin = duplicate(board)
    twin.do_move(5)
    twin.states_sequence[1][0] = 19
    assert board.states_sequence[0] == [3, 1] and 5 in board.availables and 5 not in board.states
    np.testing.assert_array_equal(board.current_state(), before)


def copied_by_hand(board):
    twin = Board(width=board.width, height=board.height, n_in_row=board.n_in_row)
    return with_attributes_of(board, twin)


def with_attributes_of(board, twin):
    twin.states, twin.availables = dict(board.states), list(board.availables)
    twin.states_sequence = copy.deepcopy(board.states_sequence)
    twin.current_player, twin.last_move = board.current_player, board.last_move
    return twin


@pytest.mark.parametrize(
    "duplicate", [copied_by_hand, lambda board: with_attributes_of(board, copy.copy(board))], ids=["new board", "copy.copy"]
)
@given(game=games())
@settings(max_examples=30)
def test_a_copy_of_the_attributes_is_the_same_position(duplicate, game):
    """Searches copied boards in this way when copy.deepcopy was slow."""
    width, height, n_in_row, order = game
    board = new_board(width, height, n_in_row)
    for move in order:
        twin = duplicate(board)
        assert twin.game_end() == board.game_end() and twin.has_a_winner() == board.has_a_winner()
        np.testing.assert_array_equal(duplicate(board).current_state(), board.current_state())
        before = board.current_state()
        twin.do_move(move)
        np.testing.assert_array_equal(board.current_state(), before)
        board.do_move(move)
        assert twin.game_end() == board.game_end()
        np.testing.assert_array_equal(twin.current_state(), board.current_state())


def test_a_stone_that_is_taken_back_by_hand_is_gone():
    board = new_board(3, 3, 3, [0, 3, 1, 4, 2])
    assert board.game_end() == (True, 1)
    del board.states[2]
    board.availables, board.current_player, board.last_move = [2, 5, 6, 7, 8], 1, 4
    assert board.game_end() == (False, -1)
    board.do_move(5)
    assert board.game_end() == (False, -1)


def test_stones_that_are_tried_out_by_hand_count_one_at_a_time():
    board = new_board(3, 3, 3, [0, 8, 1, 5])
    winners = {}
    for point in list(board.availables):
        for player in board.players:
            board.states[point] = player
            winners[point, player] = board.has_a_winner()[1]
        del board.states[point]
    assert {tried: winner for tried, winner in winners.items() if winner != -1} == {(2, 1): 1, (2, 2): 2}
    assert board.game_end() == (False, -1)


def test_a_board_that_gets_the_attributes_of_one_position_after_another_is_always_the_latest():
    reused = new_board(3, 3, 3)
    for moves in ([0, 3, 1, 4, 2], [0, 3, 1, 4, 8], [0, 8, 1, 4, 3], [3, 0, 4, 1, 5]):
        board = new_board(3, 3, 3, moves)
        with_attributes_of(board, reused)
        assert reused.game_end() == board.game_end()
        np.testing.assert_array_equal(reused.current_state(), board.current_state())


def test_the_history_holds_the_last_eight_moves_newest_first():
    board = new_board(5, 5, 5, [0, 1])
    assert list(board.states_sequence) == [[1, 2], [0, 1]] + [[-1, -1]] * 6
    for move in range(2, 11):
        board.do_move(move)
    assert [move for move, _ in board.states_sequence] == list(range(10, 2, -1))


def test_planes_are_contiguous_float32():
    planes = new_board(5, 4, 3, [0, 7]).current_state()
    assert planes.shape == (9, 4, 5) and planes.dtype == np.float32 and planes.flags.c_contiguous


def test_locations_count_from_the_bottom_left():
    board = new_board(5, 4, 3)
    assert board.move_to_location(7) == [1, 2] and board.location_to_move([1, 2]) == 7
    for strange in ([4, 0], [0, 5], [-1, 0], [1], [1, 2, 3], "ab", None, [0.5, 1]):
        assert board.location_to_move(strange) == -1


def test_a_board_smaller_than_the_line_is_refused():
    with pytest.raises(ValueError, match="at least 5 by 5"):
        new_board(5, 4, 5)


def test_a_line_of_no_stones_is_refused():
    with pytest.raises(ValueError, match="n_in_row of at least 1"):
        new_board(3, 3, 0)


def test_the_size_may_be_changed_before_init_board():
    board = Board()
    board.width, board.height, board.n_in_row = 4, 3, 3
    board.init_board()
    for move in (11, 0, 10, 1, 9):
        board.do_move(move)
    assert board.game_end() == (True, 1) and board.current_state().shape == (9, 3, 4)


def test_the_second_player_may_move_first():
    board = Board(width=3, height=3, n_in_row=3)
    board.init_board(start_player=1)
    assert board.get_current_player() == 2


class Scripted:
    """Plays given moves."""

    def __init__(self, moves):
        self.moves = iter(moves)
        self.resets = 0

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.resets += 1

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        probs = np.zeros(board.width * board.height)
        move = next(self.moves)
        probs[move] = 1
        return move, probs


def test_start_play_returns_the_number_of_the_winner(capsys):
    board = Board(width=3, height=3, n_in_row=3)
    first, second = Scripted([3, 4, 8]), Scripted([0, 1, 2])
    assert Game(board).start_play(first, second, start_player=1, is_shown=1) == 2
    assert first.player == 1 and second.player == 2
    assert first.resets == second.resets == 1, "what a player remembers belongs to another game"
    assert "Winner is player 2" in capsys.readouterr().out


def test_the_error_for_an_illegal_move_names_the_player():
    with pytest.raises(ValueError, match="player 2 answered with an illegal move"):
        Game(Board(width=3, height=3, n_in_row=3)).start_play(Scripted([0, 1, 2]), Scripted([0]), is_shown=0)


def test_self_play_gives_each_state_the_result_of_its_side_to_move():
    player = Scripted([0, 3, 1, 4, 2])
    winner, data = Game(Board(width=3, height=3, n_in_row=3)).start_self_play(player)
    states, probs, results = zip(*data, strict=True)
    assert winner == 1 and list(results) == [1, -1, 1, -1, 1] and player.resets == 1
    assert states[0].sum() == 9 and states[1][0].sum() == 1 and probs[4][2] == 1


def test_a_drawn_self_play_game_has_the_value_zero_for_both_sides():
    _, data = Game(Board(width=3, height=3, n_in_row=3)).start_self_play(Scripted([0, 1, 2, 4, 3, 5, 7, 6, 8]))
    assert [z for *_, z in data] == [0] * 9
