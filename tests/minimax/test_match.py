"""Matches as a whole: pairs of openings, records, rules that end them, replay, SGF, the machine's speed."""

import json
import random
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arena import __main__ as arena
from arena.engine import calibrate
from arena.engine.engine_process import EngineSpec, Limits
from arena.engine.specs import check_size, engine_at, parse_agent
from arena.match.match import MOST_UNDECIDED, Load, MatchResult, ThreadRunner, play_match, play_task
from arena.match.records import Records, read_records
from arena.match.referee import REPEATS, GameRecord
from arena.match.rules import SWAP, Termination, centre
from arena.match.setup import MatchSetup
from arena.match.sgf import game_to_sgf, write_sgf
from arena.statistics.stopping import Decided, formula_named
from common.errors import UsageError
from Minimax import evaluate

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


def record(index, winner, moves=(), refused=""):
    """A game of a match in which agent 0 is always black."""
    return GameRecord(
        index, 0, winner, Termination.FIVE, None, "", moves, (), (), (), ("a", "b"), 1, None, 15, False, 0.0, refused=refused
    )


@pytest.mark.parametrize(
    ("refused", "distinct", "low", "high"),
    [([f"0 {i}" for i in range(22)], 64, 0.05, 0.21), (["0 0"] * 22, 43, 0.02, 0.38)],
    ids=["different openings", "one opening again and again"],
)
def test_games_that_end_by_different_refused_answers_are_different_games(refused, distinct, low, high):
    setup = MatchSetup((engine(), engine()), 64, 1)
    lost = [record(i, 1, refused=answer) for i, answer in enumerate(refused)]
    ended = [record(i, 0 if i < 29 else 1, moves=((7, 7), (i // 15, i % 15))) for i in range(22, 64)]
    seen = MatchResult(setup, (*lost, *ended)).statistics(0)
    assert seen.wins == 7 and seen.distinct_games == distinct
    assert [round(end, 2) for end in seen.interval_95] == [low, high]


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


# ------------------------------------------------------------------------------------------------ a busy machine


def record_of(index, *, winner=0, decided=True, move_s=(1.0, 1.0), withheld_s=(0.0, 0.0)):
    """A game in which agent 0 plays black."""
    termination = Termination.FIVE if decided else Termination.UNDECIDED
    return GameRecord(
        index=index,
        black=0,
        winner=winner if decided else None,
        termination=termination,
        faulty=None,
        detail="" if decided else "white gave no answer",
        moves=((7, 7), (index, 0)),
        move_s=move_s,
        move_cpu_s=(0.1, 0.1),
        withheld_s=withheld_s,
        names=("first", "second"),
        seed=index,
        opening=None,
        size=15,
        swapped=False,
        seconds=2.0,
    )


def runner_of(*games):
    """Plays what is asked for by these records."""

    def play(tasks):
        asked = {task.index for task in tasks}
        yield from (game for game in games if game.index in asked)

    return play


FOUR = MatchSetup((EngineSpec("a"), EngineSpec("b")), 4, 1)


def test_a_game_that_could_not_be_decided_counts_neither_as_a_win_nor_as_a_loss_nor_as_a_draw():
    games = [record_of(0), record_of(1, decided=False), record_of(2, winner=1), record_of(3)]
    result = play_match(FOUR, runner_of(*games))
    data = result.to_json()
    assert (data["plays"], data["draws"], data["undecided"]) == (3, 0, 1)
    assert [agent["wins"] for agent in data["agents"]] == [2, 1] and data["agents"][0]["losses"] == 1
    assert data["agents"][0]["score"] == pytest.approx(1 / 3) and data["agents"][0]["statistics"]["games"] == 3
    assert data["terminations"] == {"five": 3, "undecided": 1} and len(data["games"]) == 4
    said = evaluate.summary(result)
    assert "Number of plays: 3 " in said
    assert said.count("1 game could not be decided") == 1 and "counts neither as a win nor as a loss" in said


def test_a_match_goes_on_with_the_games_that_could_not_be_decided(tmp_path):
    file = tmp_path / "games.jsonl"
    first = play_match(FOUR, runner_of(*(record_of(i, decided=i != 2) for i in range(4))), records=Records(file, FOUR))
    assert first.plays == 3
    asked = []

    def runner(tasks):
        asked.extend(task.index for task in tasks)
        yield record_of(2)

    again = play_match(FOUR, runner, records=Records(file, FOUR))
    assert asked == [2] and again.plays == 4
    assert play_match(FOUR, runner_of(), records=Records(file, FOUR)).games == again.games


def test_a_match_on_a_machine_that_decides_nothing_ends(tmp_path):
    setup = replace(FOUR, plays=10)
    played_games = [record_of(0), *(record_of(i, decided=False) for i in range(1, 10))]
    result = play_match(setup, runner_of(*played_games))
    assert (result.plays, len(result.games)) == (1, 1 + MOST_UNDECIDED) and "could not be decided" in result.stopped


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
    assert ("withheld" in evaluate.summary(result)) == bool(sentence) and sentence in evaluate.summary(result)
    assert result.to_json()["load"]["busy_games"] == (2 if sentence else 0)
    assert result.to_json()["agents"][0]["withheld_s"]["max"] == max(each[0] for each in withheld)


def test_games_of_a_few_milliseconds_tell_nothing_of_the_machine():
    assert Load.of([record_of(0, move_s=(0.01, 0.01), withheld_s=(0.008, 0.008))]).busy_games == 0


def test_sgf_gives_no_winner_to_a_game_that_could_not_be_decided():
    assert "RE[Void]GC[undecided white gave no answer]" in game_to_sgf(record_of(0, decided=False))


# ----------------------------------------------------------------------------------------------------- records


def test_programs_that_were_built_anew_do_not_go_on_with_a_match(engines, tmp_path):
    program = tmp_path / "engine"
    shutil.copy(engines / "sample", program)
    setup = MatchSetup((engine_at(str(program)), engine_at(str(program))), 2, 5)
    played(setup, records=Records(tmp_path / "games.jsonl", setup))
    shutil.copy(engines / "baseline", program)
    with pytest.raises(UsageError, match="built anew"):
        Records(tmp_path / "games.jsonl", setup)


@pytest.mark.parametrize(
    "text", ["", "no heading\n", "{}\n", '{"format": 2}\n', "[]\n", '{"format": null}\n', '{"format": 3}\n{"index": 3}\n']
)
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


@pytest.mark.parametrize("busy_now", [True, False])
def test_a_game_that_went_otherwise_is_repeated_on_a_busy_machine_and_load_is_named(tmp_path, capsys, monkeypatch, busy_now):
    setup, file = MatchSetup((engine("win"), engine()), 1, 5), tmp_path / "games.jsonl"
    busy = {"move_s": (5.0, 5.0), "withheld_s": (4.0, 4.0)}
    Records(file, setup).append(record_of(0, **busy))
    heading, game = file.read_text().splitlines()
    heading = heading.replace('"win", "none"', f'"{sys.executable}", "{sys.executable}"')
    file.write_text(f"{heading}\n{game}\n")
    tasks = []
    other = replace(record_of(0, **(busy if busy_now else {})), moves=((7, 7), (3, 3)))
    monkeypatch.setattr(arena, "play_task", lambda task: tasks.append(task) or other)
    assert arena.main(["replay", str(file), "0"]) == 1
    said = capsys.readouterr().out
    assert len(tasks) == (1 + REPEATS if busy_now else 1) and "They part at ply 2" in said
    assert "When it was recorded other programs withheld 80 % of the time, which may be why." in said
    assert ("Now other programs withheld 80 %" in said) == busy_now


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
