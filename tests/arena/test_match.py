"""Whole matches: paired openings, stopping rules, undecided games, and a busy machine."""

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from match_tools import FOUR, played, record_of, runner_of
from misbehaving import misbehaving

from arena.engine.engine_process import EngineSpec, Limits
from arena.match.match import MOST_UNDECIDED, Load, MatchResult, ThreadRunner, play_match
from arena.match.records import Records
from arena.match.referee import GameRecord, play_game
from arena.match.setup import MatchSetup
from arena.match.summary import summary
from arena.rules import Termination, centre
from arena.statistics.stopping import Decided
from common.scoring import formula_named

ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits(move_s=0.6, init_s=3.0)


# ------------------------------------------------------------------------------------------------------- games


def test_a_match_goes_on_after_every_fault():
    result = played(MatchSetup((misbehaving("exit"), misbehaving("win")), 5, 1, Limits(move_s=0.6)))
    assert result.plays == 5 and result.wins(1) == 5
    assert {game.termination.value for game in result.games} == {"crash"}


def test_one_seed_gives_one_match_and_another_seed_another(ours):
    setup = MatchSetup(ours, 4, 17)
    first, second = ([game.moves for game in played(setup).games] for _ in range(2))
    assert first == second
    assert [game.moves for game in played(replace(setup, seed=18)).games] != first
    assert [game.moves for game in played(replace(setup, plays=2)).games] == first[:2]


def test_all49_gives_both_colours_the_same_first_stone_and_each_stone_its_turn(ours):
    setup = MatchSetup(ours, 98, 5, openings="all49")
    openings = [setup.task(index).opening for index in range(98)]
    assert openings[::2] == openings[1::2]
    assert sorted(openings[::2]) == [(x, y) for x in centre() for y in centre()]
    assert openings != [replace(setup, seed=6).task(index).opening for index in range(98)]
    games = played(replace(setup, plays=4)).games
    assert [game.moves[0] for game in games] == openings[:4] == [game.opening for game in games]


def test_pairs_are_counted_apart_from_games(ours):
    data = played(MatchSetup(ours, 4, 5, openings="all49")).to_json()
    assert data["agents"][1]["statistics"]["pairs"] == [0, 0, 0, 0, 2]
    assert data["agents"][1]["statistics"]["clusters"] == 2


def record(index, winner, moves=(), refused=""):
    """Make a game of a match in which agent 0 is always black."""
    return GameRecord(
        index, 0, winner, Termination.FIVE, None, "", moves, (), (), (), ("a", "b"), 1, None, 15, False, 0.0, refused=refused
    )


@pytest.mark.parametrize(
    ("refused", "distinct", "low", "high"),
    [([f"0 {i}" for i in range(22)], 64, 0.05, 0.21), (["0 0"] * 22, 43, 0.02, 0.38)],
    ids=["different openings", "one opening again and again"],
)
def test_games_that_end_by_different_refused_answers_are_different_games(refused, distinct, low, high):
    setup = MatchSetup((misbehaving(), misbehaving()), 64, 1)
    lost = [record(i, 1, refused=answer) for i, answer in enumerate(refused)]
    ended = [record(i, 0 if i < 29 else 1, moves=((7, 7), (i // 15, i % 15))) for i in range(22, 64)]
    seen = MatchResult(setup, (*lost, *ended)).statistics(0)
    assert seen.wins == 7 and seen.distinct_games == distinct
    assert [round(end, 2) for end in seen.interval_95] == [low, high]


def test_colours_alternate_and_results_are_given_by_agent():
    result = play_match(MatchSetup((misbehaving("win"), misbehaving()), 4, 1, LIMITS), ThreadRunner(2))
    data = result.to_json()
    assert [game.black for game in result.games] == [0, 1, 0, 1]
    assert data["agents"][0]["wins"] == 4 and data["agents"][1]["score"] == -1.0
    assert data["plays"] == 4 and data["distinct_games"] == 2 and data["terminations"] == {"five": 4}
    assert {"path", "name", "wins", "score", "move_s"} <= set(data["agents"][0])


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


# ------------------------------------------------------------------------------------------------------- rules


def in_any_order(tasks):
    """Make a runner whose games end in a random order."""
    tasks = list(tasks)
    random.Random(3).shuffle(tasks)
    yield from (play_game(task) for task in tasks)


def test_what_a_rule_decides_does_not_depend_on_which_game_ended_first(ours):
    setup = MatchSetup(ours, 12, 5)

    def rule():
        return Decided(formula_named("shifted_score"), 2, 12)

    one = play_match(setup, ThreadRunner(1), rule=rule())
    other = play_match(setup, in_any_order, rule=rule())
    assert one.stopped == other.stopped != "" and 0 < one.plays < 12
    assert [game.moves for game in one.games] == [game.moves for game in other.games]


# ------------------------------------------------------------------------------------------------ a busy machine


def test_a_game_that_could_not_be_decided_counts_neither_as_a_win_nor_as_a_loss_nor_as_a_draw():
    games = [record_of(0), record_of(1, decided=False), record_of(2, winner=1), record_of(3)]
    result = play_match(FOUR, runner_of(*games))
    data = result.to_json()
    assert (data["plays"], data["draws"], data["undecided"]) == (3, 0, 1)
    assert [agent["wins"] for agent in data["agents"]] == [2, 1] and data["agents"][0]["losses"] == 1
    assert data["agents"][0]["score"] == pytest.approx(1 / 3) and data["agents"][0]["statistics"]["games"] == 3
    assert data["terminations"] == {"five": 3, "undecided": 1} and len(data["games"]) == 4
    said = summary(result)
    assert "Number of plays: 3 " in said
    assert said.count("1 game could not be decided") == 1 and "counts neither as a win nor as a loss" in said


def test_a_match_on_a_machine_that_decides_nothing_ends():
    setup = replace(FOUR, plays=10)
    played_games = [record_of(0), *(record_of(i, decided=False) for i in range(1, 10))]
    result = play_match(setup, runner_of(*played_games))
    assert (result.plays, len(result.games)) == (1, 1 + MOST_UNDECIDED) and "could not be decided" in result.stopped


def test_a_match_ends_if_games_must_be_played_again_too_often(tmp_path):
    setup = replace(FOUR, plays=10)
    games = [record_of(i, repeats=2) for i in range(10)]
    records = Records(tmp_path / "games.jsonl", setup)
    result = play_match(setup, runner_of(*games), records=records)
    assert result.plays == 3 and "had to be played again 6 times" in result.stopped
    again = play_match(setup, runner_of(*(record_of(i) for i in range(3, 10))), records=records)
    assert (again.plays, again.stopped) == (10, "")


def test_a_rule_sees_no_game_beyond_one_that_could_not_be_decided():
    setup = replace(FOUR, plays=8)
    rule = Decided(formula_named("shifted_score"), 2, 8)
    games = [record_of(i, decided=i != 1) for i in range(8)]
    result = play_match(setup, runner_of(*games), rule=rule)
    assert result.stopped == "" and result.plays == 7


@pytest.mark.parametrize(
    ("withheld", "sentence"),
    [
        ([(0.0, 0.0), (0.02, 0.0)], ""),
        ([(4.0, 4.0), (0.0, 0.0), (3.0, 1.0)], "Other programs withheld 60 % of the time in 2 of 3 games."),
    ],
)
def test_a_match_tells_of_the_games_played_on_a_busy_machine(withheld, sentence):
    games = [record_of(i, move_s=(5.0, 5.0), withheld_s=each) for i, each in enumerate(withheld)]
    result = play_match(replace(FOUR, plays=len(games)), runner_of(*games))
    assert Load.of(games).sentence == sentence
    assert ("withheld" in summary(result)) == bool(sentence) and sentence in summary(result)
    assert result.to_json()["load"]["busy_games"] == (2 if sentence else 0)
    assert result.to_json()["agents"][0]["withheld_s"]["max"] == max(each[0] for each in withheld)


def test_games_of_a_few_milliseconds_tell_nothing_of_the_machine():
    assert Load.of([record_of(0, move_s=(0.01, 0.01), withheld_s=(0.008, 0.008))]).busy_games == 0


INTERRUPTED_MATCH = """
import os, signal, threading, time
from types import SimpleNamespace

from arena.match import match

match.play_game = lambda task, stopping: time.sleep(0.001) or SimpleNamespace(index=task)
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
before = threading.active_count()
for time_s in range(40):
    games = match.ThreadRunner(2)(range(4000))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05 + 0.0023 * time_s)
        for game in games:
            pass
    except KeyboardInterrupt:
        assert threading.active_count() == before, "a thread is left"
    else:
        raise SystemExit("the match ended before it was interrupted")
"""


def test_ctrl_c_ends_a_match_whenever_it_comes():
    subprocess.run([sys.executable, "-c", INTERRUPTED_MATCH], cwd=ROOT, timeout=120, check=True)
