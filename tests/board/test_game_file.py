"""Saved games: what is written is read again, and what is not a game of this board gets a sentence."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from Board.game_board import Board
from Board.play.game_file import GameFile, from_text, new_path, read_game, save_game, saved_games
from common.errors import UsageError


def until_the_end(board, actions):
    played = []
    for action in actions:
        if board.game_end()[0]:
            break
        board.swap_colours() if action == Board.SWAP else board.do_move(action)
        played.append(action)
    return tuple(played)


@settings(max_examples=60)
@given(st.integers(3, 19), st.integers(3, 19), st.booleans(), st.text(max_size=20), st.integers(0, 10**6))
def test_a_saved_game_is_read_again(width, height, swaps, name, seed):
    n_in_row = min(width, height, 5)
    moves = random.Random(seed).sample(range(width * height), 7)
    actions = until_the_end(Board(width, height, n_in_row), (*moves[:3], Board.SWAP, *moves[3:]) if swaps else moves)
    game = GameFile(width, height, n_in_row, actions, black="[a\\]", white=name, result="B+")
    again = from_text(game.to_text())
    assert (again.width, again.height, again.n_in_row, again.actions) == (width, height, n_in_row, actions)
    assert again.black == "[a\\]" and again.result == "B+" and again.white.isprintable()


def test_a_game_of_the_arena_can_be_opened():
    text = (
        "(;FF[4]GM[4]CA[UTF-8]SZ[15]PB[a]PW[b];B[hh]\n;W[hi];B[ii];C[White swaps]AB[hi]AW[hh][ii]PL[B];B[aa](;W[ab])(;W[ac]))"
    )
    assert from_text(text).actions == (112, 97, 98, "swap", 210, 195)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a game in SGF"),
        ("hello (world)", "expected a game in SGF"),
        ("(;SZ[15];B[hh", "expected SGF at character"),
        ("(;GM[4];B[hh])", "expected the size of the board"),
        ("(;SZ[40])", "expected the size of the board"),
        ("(;SZ[9]AB[aa][bb])", "stones on it"),
        ("(;SZ[9];W[aa])", "in turn, black first"),
        ("(;SZ[9];B[aa];W[aa])", "move 2 is not legal"),
        ("(;SZ[3];B[aa];W[ab];B[ba];W[bb];B[ca];W[cb])", "by the rules of this board the game ends with move 5"),
        ("(;SZ[9];B[])", "expected points"),
        ("(;SZ[9];B[zz])", "expected points"),
        ("(;SZ[9];B[aa];W[bb];AB[cc])", "that is not a swap"),
        ("(;SZ[9];B[aa]" + "x" * (8 << 20) + ")", "at most"),
    ],
)
def test_what_is_not_a_game_gets_a_sentence(text, words, tmp_path):
    path = tmp_path / "game.sgf"
    path.write_text(text)
    with pytest.raises(UsageError, match=words) as caught:
        read_game(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_gets_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_game(tmp_path / "game.sgf")
    with pytest.raises(UsageError, match=r"cannot be read: .*embedded null"):
        read_game(tmp_path / "a\0b.sgf")


def test_what_cannot_be_opened_does_not_hide_the_saved_games(tmp_path):
    path = save_game(GameFile(3, 3, 3, (4, 0)), tmp_path)
    (tmp_path / "moved_away.sgf").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.sgf").mkdir()
    assert saved_games(tmp_path, 9) == [path]


def test_saving_never_replaces_a_file(tmp_path):
    game = GameFile(3, 3, 3, (4, 0))
    paths = {save_game(game, tmp_path / "games") for _ in range(3)}
    assert len(paths) == 3 and {read_game(path).actions for path in paths} == {(4, 0)}
    assert set(saved_games(tmp_path / "games", 9)) == paths and len(saved_games(tmp_path / "games", 2)) == 2
    assert saved_games(tmp_path / "nothing", 9) == [] and not new_path(tmp_path, ".png").exists()
