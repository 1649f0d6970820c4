"""The arena: rules, engine processes that misbehave, the referee, matches that go on after a kill."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arena.engine.engine_process import EngineSpec, Limits
from arena.engine.stopwatch import Allowance
from arena.match.match import ThreadRunner, play_match
from arena.match.records import Records
from arena.match.referee import REPEATS, GameRecord, play_game
from arena.match.rules import SWAP, IllegalAction, Position, Termination, from_line
from arena.match.setup import MatchSetup

FIXTURE = Path(__file__).with_name("misbehaving_engine.py")
LIMITS = Limits(move_s=0.6, init_s=3.0)


def engine(fault="none", at=2):
    return EngineSpec(path=fault, command=(sys.executable, "-S", str(FIXTURE), fault, str(at)))


def play(*actions):
    position = Position()
    for action in actions:
        position.play(action)
    return position


def test_five_in_a_row_wins_and_six_too():
    blacks = [(4, 4), (5, 4), (6, 4), (8, 4), (9, 4)]
    position = play(*[a for i, black in enumerate(blacks) for a in (black, (0, 2 * i))][:-1])
    assert position.winner is None
    position = play(*[a for i, black in enumerate(blacks) for a in (black, (0, 2 * i))], (7, 4))
    assert position.winner == 0


@pytest.mark.parametrize(
    ("actions", "termination"),
    [
        ([(3, 7)], Termination.ILLEGAL_OPENING),
        ([(7, 11)], Termination.ILLEGAL_OPENING),
        ([SWAP], Termination.ILLEGAL_SWAP),
        ([(7, 7), SWAP], Termination.ILLEGAL_SWAP),
        ([(7, 7), (0, 0), SWAP], Termination.ILLEGAL_SWAP),
        ([(7, 7), (0, 0), (1, 1), SWAP, SWAP], Termination.ILLEGAL_SWAP),
        ([(7, 7), (0, 0), (1, 1), (2, 2), (3, 3), SWAP], Termination.ILLEGAL_SWAP),
        ([(7, 7), (7, 7)], Termination.ILLEGAL_MOVE),
        ([(7, 7), (15, 0)], Termination.ILLEGAL_MOVE),
    ],
)
def test_illegal_actions_are_named_and_change_nothing(actions, termination):
    position = play(*actions[:-1])
    before = (dict(position.stones), list(position.actions), position.turn)
    with pytest.raises(IllegalAction) as fault:
        position.play(actions[-1])
    assert fault.value.termination == termination
    assert (position.stones, position.actions, position.turn) == before


def test_after_the_swap_black_owns_the_stone_that_had_been_white():
    position = play((7, 7), (8, 8), (9, 9), SWAP)
    assert position.turn == 0 and position.swapped
    assert position.stones == {(7, 7): 1, (8, 8): 0, (9, 9): 1}


def test_only_white_may_answer_outside_the_centre_first():
    assert play((7, 7), (0, 0)).stones[(0, 0)] == 1


@pytest.mark.parametrize("line", ["", "7", "7 7 7", "a b", "7.0 7", "0x7 7", "7,7", "9" * 50 + " 1"])
def test_lines_that_are_not_two_numbers_are_no_answer(line):
    with pytest.raises(ValueError):  # noqa: PT011 (any message)
        from_line(line)


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
    bad, good = engine(fault, at), engine()
    game = play_game(*((bad, good) if black else (good, bad)), limits)
    seat = 0 if black else 1
    assert (game.termination, game.faulty, game.winner) == (termination, seat, 1 - seat)
    assert game.detail


@pytest.mark.parametrize(
    ("fault", "at", "refused"),
    [("corner", 1, "0 0"), ("off_board", 2, "15 3"), ("words", 2, "my move is 3 3"), ("early_word", 2, "7 7"), ("exit", 2, "")],
)
def test_the_answer_that_loses_the_game_is_recorded_beside_the_moves(fault, at, refused):
    game = play_game(engine(fault, at), engine(), LIMITS)
    assert game.refused == refused and len(game.moves) == (0 if at == 1 or fault == "early_word" else 2)
    data = game.to_json()
    assert GameRecord.from_json(data) == game
    del data["refused"]  # records of before
    assert GameRecord.from_json(data) == replace(game, refused="")


def test_a_game_with_a_free_opening_may_begin_anywhere():
    assert play_game(engine("corner", 1), engine("exit", 1), LIMITS, free_opening=True).moves == ((0, 0),)


@pytest.mark.parametrize("fault", ["leave_child", "flood_stderr"])
def test_a_noisy_engine_plays_on_and_leaves_nothing(fault):
    game = play_game(engine("win"), engine(fault), LIMITS)
    assert (game.termination, game.winner, game.faulty) == ("five", 0, None)


def test_a_legal_swap_is_no_forfeit_and_the_win_belongs_to_the_right_process():
    game = play_game(engine("win"), engine("swap", 2), LIMITS)
    assert game.swapped and game.moves[3] == SWAP
    # Black's first two stones went to white by the swap; black went on to make five of its own.
    assert (game.termination, game.faulty) == ("five", None)
    own = [move for ply, move in enumerate(game.moves) if ply % 2 == 0]
    assert game.winner == 0 and len(own) > 5


def test_a_program_that_is_missing_fails_at_init():
    game = play_game(EngineSpec(path="/nonexistent/engine"), engine(), LIMITS)
    assert (game.termination, game.faulty) == ("init_failed", 0)


@pytest.fixture
def starved(monkeypatch):
    """A machine so busy that whoever has not answered within 0.3 s is in doubt."""
    monkeypatch.setattr(Limits, "allowance", lambda *_: Allowance(cpu_s=5.0, wall_s=30.0, longest_s=0.3))


def test_a_doubtful_answer_is_nobodys_loss_after_the_game_was_played_again(starved):
    game = play_game(engine("win"), engine("late", 2), seed=3)
    assert (game.termination, game.winner, game.faulty, game.is_decided) == ("undecided", None, None, False)
    assert game.repeats == REPEATS and game.detail.startswith("white gave no answer within 0.3 s of wall clock")
    assert len(game.moves) == 3 and len(game.move_s) == len(game.withheld_s) == 4
    assert GameRecord.from_json(json.loads(json.dumps(game.to_json()))) == game


def test_a_game_that_was_doubtful_once_is_played_again_with_the_same_seeds_and_counts(starved, tmp_path):
    script = tmp_path / "late_once.sh"
    script.write_text(f"""#!/bin/sh
echo "$GOMOKU_SEED $GOMOKU_OPENING" >> {tmp_path}/told
if [ -e {tmp_path}/been ]; then exec {sys.executable} -S {FIXTURE} win; fi
touch {tmp_path}/been
sleep 60
""")
    script.chmod(0o755)
    game = play_game(EngineSpec(path=str(script)), engine(), seed=3, opening=(5, 5))
    told = (tmp_path / "told").read_text().splitlines()
    assert len(told) == 2 and told[0] == told[1] and told[0].endswith(" 5 5")
    assert (game.termination, game.winner, game.repeats) == ("five", 0, 1)


def test_the_last_fault_of_a_starved_game_is_told_by_its_own_name(starved):
    game = play_game(engine("exit"), engine("late", 4))
    assert (game.termination, game.winner) == ("crash", 1)


def test_a_record_survives_json():
    game = play_game(engine("win"), engine(), LIMITS, seed=5, index=3, black_agent=1)
    assert game.winner == 1
    assert GameRecord.from_json(json.loads(json.dumps(game.to_json()))) == game


def test_colours_alternate_and_results_are_told_by_agent():
    result = play_match(MatchSetup((engine("win"), engine()), 4, 1, LIMITS), ThreadRunner(2))
    data = result.to_json()
    assert [game.black for game in result.games] == [0, 1, 0, 1]
    assert data["agents"][0]["wins"] == 4 and data["agents"][1]["score"] == -1.0
    assert data["plays"] == 4 and data["distinct_games"] == 2 and data["terminations"] == {"five": 4}
    assert {"path", "name", "wins", "score", "move_s"} <= set(data["agents"][0])


def test_a_killed_match_goes_on_and_repeats_nothing(tmp_path):
    file, played = tmp_path / "games.jsonl", []
    setup = MatchSetup((engine("win"), engine()), 3, 1, LIMITS)
    whole = play_match(setup, ThreadRunner(1), records=Records(file, setup))
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:2]) + lines[2][:40])  # as a kill in the middle of a write leaves it
    again = play_match(setup, ThreadRunner(1), records=Records(file, setup), on_game=played.append)
    assert len(played) == 3 and played[0] == whole.games[0]
    assert [g.moves for g in again.games] == [g.moves for g in whole.games]
    assert len(file.read_text().splitlines()) == 4
    with pytest.raises(ValueError, match="belong to another one"):
        Records(file, replace(setup, seed=2))


def test_each_game_and_seat_has_a_seed_of_its_own(tmp_path):
    script = tmp_path / "tell.sh"
    script.write_text('#!/bin/sh\nread side\necho "$GOMOKU_SEED $GOMOKU_MOVE_TIME_S"\n')
    script.chmod(0o755)
    spec = EngineSpec(path=str(script))
    limits = Limits(move_s=1, told_move_s=0.5)
    games = play_match(MatchSetup((spec, spec), 2, 7, limits), ThreadRunner(1)).games
    names = [name for game in games for name in game.names]
    assert len({name.split()[0] for name in names}) == 4
    assert {name.split()[1] for name in names} == {"0.5"}
    again = play_match(MatchSetup((spec, spec), 2, 7, limits), ThreadRunner(1)).games
    assert [game.names for game in again] == [game.names for game in games]


def test_an_engine_does_not_see_the_environment_of_the_match(tmp_path):
    script = tmp_path / "tell.sh"
    script.write_text('#!/bin/sh\nread side\necho "secret=$SECRET_OF_THE_TEST"\n')
    script.chmod(0o755)
    os.environ["SECRET_OF_THE_TEST"] = "x"
    try:
        game = play_game(EngineSpec(path=str(script)), engine(), LIMITS)
    finally:
        del os.environ["SECRET_OF_THE_TEST"]
    assert game.names[0] == "secret="
