"""The referee: misbehaving engines, undecided games, and the content of a record."""

import json
import os
import sys
from dataclasses import replace

import pytest
from misbehaving import PROGRAM, misbehaving

from arena.engine.engine_process import EngineSpec, Limits
from arena.engine.stopwatch import Allowance
from arena.match.referee import REPEATS, GameRecord, play_game
from arena.match.setup import GameTask
from arena.rules import SWAP

LIMITS = Limits(move_s=0.6, init_s=3.0)


@pytest.mark.parametrize(
    ("fault", "at", "black", "termination"),
    [
        ("occupied", 2, True, "illegal_move"),
        ("off_board", 2, True, "illegal_move"),
        ("negative", 2, False, "illegal_move"),
        ("corner", 1, True, "illegal_opening"),
        ("swap", 1, True, "illegal_swap"),
        ("swap", 1, False, "illegal_swap"),
        ("swap", 2, True, "illegal_swap"),
        ("swap", 3, False, "illegal_swap"),
        ("swap_twice", 2, False, "illegal_swap"),
        ("words", 2, True, "malformed"),
        ("three_numbers", 2, True, "malformed"),
        ("huge_line", 2, True, "malformed"),
        ("early_word", 2, False, "malformed"),
        ("empty_line", 1, True, "malformed"),
        ("no_newline", 2, True, "timeout"),
        ("late", 2, True, "timeout"),
        ("ignore_sigterm", 2, True, "timeout"),
        ("exit", 2, False, "crash"),
        ("exit_but_child", 2, True, "crash"),
        ("abort", 2, True, "crash"),
        ("close_stdout", 2, True, "crash"),
        ("crash_at_init", 1, True, "init_failed"),
        ("silent_at_init", 1, False, "init_failed"),
    ],
)
def test_a_misbehaving_engine_loses_by_the_right_name(fault, at, black, termination):
    limits = Limits(move_s=0.6, init_s=1.0, wall_cap_s=0.6)
    bad, good = misbehaving(fault, at), misbehaving()
    game = play_game(GameTask(*((bad, good) if black else (good, bad)), limits))
    seat = 0 if black else 1
    assert (game.termination, game.faulty, game.winner) == (termination, seat, 1 - seat)
    assert game.detail


@pytest.mark.parametrize(
    ("fault", "at", "refused"),
    [("corner", 1, "0 0"), ("off_board", 2, "15 3"), ("words", 2, "my move is 3 3"), ("early_word", 2, "7 7"), ("exit", 2, "")],
)
def test_the_answer_that_loses_the_game_is_recorded_beside_the_moves(fault, at, refused):
    game = play_game(GameTask(misbehaving(fault, at), misbehaving(), LIMITS))
    assert game.refused == refused and len(game.moves) == (0 if at == 1 or fault == "early_word" else 2)
    data = game.to_json()
    assert GameRecord.from_json(data) == game
    del data["refused"]  # older records do not have this field
    assert GameRecord.from_json(data) == replace(game, refused="")


def test_a_game_with_a_free_opening_may_begin_anywhere():
    assert play_game(GameTask(misbehaving("corner", 1), misbehaving("exit", 1), LIMITS, free_opening=True)).moves == ((0, 0),)


@pytest.mark.parametrize("fault", ["leave_child", "flood_stderr"])
def test_a_noisy_engine_plays_on_and_leaves_nothing(fault):
    game = play_game(GameTask(misbehaving("win"), misbehaving(fault), LIMITS))
    assert (game.termination, game.winner, game.faulty) == ("five", 0, None)


def test_an_engine_with_an_empty_name_plays_on_and_is_shown_without_one():
    game = play_game(GameTask(misbehaving("nameless"), misbehaving("exit", 2), LIMITS))
    assert (game.names, game.termination, game.faulty) == (("(no name)", "exit"), "crash", 1)


def test_a_legal_swap_is_no_forfeit_and_the_win_belongs_to_the_right_process():
    game = play_game(GameTask(misbehaving("win"), misbehaving("swap", 2), LIMITS))
    assert game.swapped and game.moves[3] == SWAP
    # The swap gave black's first two stones to white; black went on to make five.
    assert (game.termination, game.faulty) == ("five", None)
    own = [move for ply, move in enumerate(game.moves) if ply % 2 == 0]
    assert game.winner == 0 and len(own) > 5


def test_a_program_that_is_missing_fails_at_init():
    game = play_game(GameTask(EngineSpec(path="/nonexistent/engine"), misbehaving(), LIMITS))
    assert (game.termination, game.faulty) == ("init_failed", 0)


@pytest.fixture
def starved(monkeypatch):
    """Simulate a machine so busy that a move is doubtful after 1 s; the start of an engine takes as long as it takes."""

    def allowance(limits, limit_s):
        return Allowance(cpu_s=5.0, wall_s=60.0, longest_s=1.0 if limit_s == limits.move_s else 60.0)

    monkeypatch.setattr(Limits, "allowance", allowance)


def test_a_doubtful_answer_is_nobodys_loss_after_the_game_was_played_again(starved):
    game = play_game(GameTask(misbehaving("win"), misbehaving("late", 2), seed=3))
    assert (game.termination, game.winner, game.faulty, game.is_decided) == ("undecided", None, None, False)
    assert game.repeats == REPEATS and game.detail.startswith("white gave no answer within 1 s of wall-clock time")
    assert len(game.moves) == 3 and len(game.move_s) == len(game.withheld_s) == 4
    assert GameRecord.from_json(json.loads(json.dumps(game.to_json()))) == game


def test_a_game_that_was_doubtful_once_is_played_again_with_the_same_seeds_and_counts(starved, tmp_path):
    script = tmp_path / "late_once.sh"
    script.write_text(f"""#!/bin/sh
echo "$GOMOKU_SEED $GOMOKU_OPENING" >> {tmp_path}/told
if [ -e {tmp_path}/been ]; then exec {sys.executable} -S {PROGRAM} win; fi
touch {tmp_path}/been
exec {sys.executable} -S {PROGRAM} late 1
""")
    script.chmod(0o755)
    game = play_game(GameTask(EngineSpec(path=str(script)), misbehaving(), seed=3, opening=(5, 5)))
    told = (tmp_path / "told").read_text().splitlines()
    assert len(told) == 2 and told[0] == told[1] and told[0].endswith(" 5 5")
    assert (game.termination, game.winner, game.repeats) == ("five", 0, 1)


def test_a_crash_in_a_starved_game_is_still_named_a_crash(starved):
    game = play_game(GameTask(misbehaving("exit"), misbehaving("late", 4)))
    assert (game.termination, game.winner) == ("crash", 1)


def test_a_record_survives_json():
    game = play_game(GameTask(misbehaving("win"), misbehaving(), LIMITS, seed=5, index=3, black_agent=1))
    assert game.winner == 1
    assert GameRecord.from_json(json.loads(json.dumps(game.to_json()))) == game


def test_an_engine_does_not_see_the_environment_of_the_match(tmp_path):
    script = tmp_path / "tell.sh"
    script.write_text('#!/bin/sh\nread side\necho "secret=$SECRET_OF_THE_TEST"\n')
    script.chmod(0o755)
    os.environ["SECRET_OF_THE_TEST"] = "x"
    try:
        game = play_game(GameTask(EngineSpec(path=str(script)), misbehaving(), LIMITS))
    finally:
        del os.environ["SECRET_OF_THE_TEST"]
    assert game.names[0] == "secret="
