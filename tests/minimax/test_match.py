"""Matches as a whole: pairs of openings, records, rules that end them, replay, SGF, the machine's speed."""

import json
import random
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from Minimax.arena import __main__ as arena
from Minimax.arena import calibrate
from Minimax.arena.engine import EngineSpec, Limits
from Minimax.arena.match import ThreadRunner, play_match, play_task
from Minimax.arena.records import Records, read_records
from Minimax.arena.rules import SWAP, centre
from Minimax.arena.setup import MatchSetup
from Minimax.arena.sgf import game_to_sgf, write_sgf
from Minimax.arena.specs import check_size, engine_at, parse_agent
from Minimax.arena.stopping import Decided, formula_named
from Minimax.arena.usage import UsageError

FIXTURE = Path(__file__).with_name("misbehaving_engine.py")


def engine(fault="none", at=2):
    return EngineSpec(path=fault, command=(sys.executable, "-S", str(FIXTURE), fault, str(at)))


@pytest.fixture
def ours(engines):
    """Engines whose games follow from their seeds."""
    return tuple(engine_at(str(engines / name)) for name in ("sample", "baseline"))


def played(setup, **options):
    return play_match(setup, ThreadRunner(2), **options)


# ------------------------------------------------------------------------------------------------------- games


def test_a_match_goes_on_after_every_fault():
    result = played(MatchSetup((engine("exit"), engine("win")), 5, 1, Limits(move_s=0.6)))
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


def test_pairs_are_told_apart_from_games(ours):
    data = played(MatchSetup(ours, 4, 5, openings="all49")).to_json()
    assert data["agents"][1]["statistics"]["pairs"] == [0, 0, 0, 0, 2]
    assert data["agents"][1]["statistics"]["clusters"] == 2


# ------------------------------------------------------------------------------------------------------- rules


def in_any_order(tasks):
    """A runner whose games end in an order of their own."""
    tasks = list(tasks)
    random.Random(3).shuffle(tasks)
    yield from (play_task(task) for task in tasks)


def test_what_a_rule_decides_does_not_depend_on_which_game_ended_sooner(ours):
    setup = MatchSetup(ours, 12, 5)

    def rule():
        return Decided(formula_named("shifted_score"), 2, 12)

    one = play_match(setup, ThreadRunner(1), rule=rule())
    other = play_match(setup, in_any_order, rule=rule())
    assert one.stopped == other.stopped != "" and 0 < one.plays < 12
    assert [game.moves for game in one.games] == [game.moves for game in other.games]


def test_a_match_that_a_rule_ended_is_ended_when_it_is_read_again(ours, tmp_path):
    setup, file = MatchSetup(ours, 12, 5), tmp_path / "games.jsonl"
    first, again = (
        played(setup, records=Records(file, setup), rule=Decided(formula_named("shifted_score"), 2, 12)) for _ in range(2)
    )
    assert again.stopped and again.games == first.games


# ----------------------------------------------------------------------------------------------------- records


def test_programs_that_were_built_anew_do_not_go_on_with_a_match(engines, tmp_path):
    program = tmp_path / "engine"
    shutil.copy(engines / "sample", program)
    setup = MatchSetup((engine_at(str(program)), engine_at(str(program))), 2, 5)
    played(setup, records=Records(tmp_path / "games.jsonl", setup))
    shutil.copy(engines / "baseline", program)
    with pytest.raises(UsageError, match="built anew"):
        Records(tmp_path / "games.jsonl", setup)


@pytest.mark.parametrize("text", ["", "no heading\n", '{"format": 1}\n', "[]\n", '{"format": 2}\n{"index": 3}\n'])
def test_what_is_no_file_of_records_gets_one_sentence(tmp_path, text):
    (tmp_path / "file").write_text(text)
    with pytest.raises(UsageError, match=r"^expected [^\n]*$"):
        read_records(tmp_path / "file")


def test_a_setup_survives_its_records(ours):
    setup = MatchSetup(ours, 12, 5, Limits(move_s=1.5, wall_cap_s=9), openings="all49", stop="sprt:0,70,0.05,0.05")
    assert MatchSetup.from_json(json.loads(json.dumps(setup.to_json()))) == setup


# --------------------------------------------------------------------------------------------- replay, SGF, speed


def test_a_recorded_game_is_played_again_and_a_difference_is_named(ours, tmp_path, capsys):
    setup, file = MatchSetup(ours, 2, 5), tmp_path / "games.jsonl"
    played(setup, records=Records(file, setup))
    assert arena.main(["replay", str(file), "1"]) == 0
    assert "The same game" in capsys.readouterr().out
    lines = file.read_text().splitlines()
    game = json.loads(lines[2])
    index = game["index"]
    game["moves"][2] = [0, 0]
    file.write_text("\n".join([lines[0], lines[1], json.dumps(game)]) + "\n")
    assert arena.main(["replay", str(file), str(index)]) == 1
    assert "They part at ply 3" in capsys.readouterr().out
    assert arena.main(["replay", str(file), "9"]) == 2
    assert arena.main(["replay", str(tmp_path / "nothing"), "0"]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_sgf_holds_the_moves_and_the_colours_after_a_swap(tmp_path):
    result = played(MatchSetup((engine("win"), engine("swap", 2)), 1, 1, Limits(move_s=2)))
    game = result.games[0]
    assert game.moves[3] == SWAP and write_sgf(result, tmp_path / "sgf") == 1
    text = game_to_sgf(game)
    assert (tmp_path / "sgf/game_0000.sgf").read_text() == text
    letters = [chr(97 + x) + chr(97 + 14 - y) for x, y in game.moves if (x, y) != SWAP]
    assert re.findall(r";[BW]\[(..)\]", text) == letters
    swap = re.search(r";C\[White swaps\]AB(\S*?)AW(\S*?)PL\[B\]", text)
    assert swap[1] == f"[{letters[1]}]" and sorted(swap[2][1:-1].split("][")) == sorted([letters[0], letters[2]])
    assert "PB[win]PW[swap]RE[B+]" in text


def test_the_machines_speed_is_timed_by_the_recorded_engine_alone(ours, capsys):
    speed = calibrate.measure(ours[1])
    assert 0.01 < speed.factor < 100
    with pytest.raises(UsageError, match="expected the baseline that the reference figure was recorded with"):
        calibrate.measure(ours[0])
    assert arena.main(["calibrate", "--baseline", "nowhere"]) == 2
    assert "nothing is there" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------ agents


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("gomocup:nowhere", "nothing is there"),
        ("alphazero:nowhere.pt", "expected weights at nowhere.pt"),
        ("alphazero:", "expected weights at alphazero:FILE"),
        ("mcts:playouts=many", "playouts=400"),
        ("mcts:playouts=0", "playouts=N with N of at least"),
        ("mcts:plies=3", "expected playouts=N"),
        ("mcts:400", "expected options such as"),
    ],
)
def test_an_agent_that_there_is_not_gets_one_sentence(words, sentence):
    with pytest.raises(UsageError, match=sentence):
        parse_agent(words)


def test_other_boards_are_for_agents_that_know_them(ours):
    with pytest.raises(UsageError, match="only one that"):
        check_size(ours, 9, 15)
    check_size((parse_agent("mcts:playouts=3"), parse_agent("mcts:")), 9, 15)
