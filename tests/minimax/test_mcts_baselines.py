"""The UCT rungs of the ladder through the course protocol."""

import re
import subprocess
from pathlib import Path

import pytest

from arena.engine.engine_process import EngineSpec, Limits
from arena.match.match import ThreadRunner, play_match
from arena.match.setup import MatchSetup
from arena.rules import SWAP, centre

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "Minimax" / "mcts_baselines").glob("*.cpp"))
RUNGS = [f"mcts_{n}{kind}" for n in (50000, 100000, 200000, 400000, 600000, 800000) for kind in ("", "_rand")]
NOTE = re.compile(r"simulations (\d+) nodes (\d+) move (\d+) (\d+) value (\S+)")


def dialogue(path, side, lines, *, seed=1, **environment):
    """Name, answers to the lines, and notes of an engine that is told them all at once, then the end of its input."""
    text = "".join(f"{x} {y}\n" for x, y in lines)
    environment = {"GOMOKU_SEED": str(seed), "GOMOKU_VERBOSE": "1", **environment}
    done = subprocess.run([path], input=f"{side}\n{text}", capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    name, *answers = done.stdout.splitlines()
    return name, [tuple(map(int, line.split())) for line in answers], NOTE.findall(done.stderr)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Builds a rung by the handout's line: `build(simulations, more options)` gives its path."""
    folder = tmp_path_factory.mktemp("rungs")

    def build(simulations, *options):
        target = folder / "_".join(("mcts", str(simulations), *(option.strip("-").replace("=", "") for option in options)))
        command = ["g++", "-std=c++17", "-O2", "-pthread", "-I", "Minimax", f"-DSIMULATIONS={simulations}", *options]
        subprocess.run([*command, *map(str, SOURCES), "-o", str(target)], check=True, cwd=ROOT)
        return str(target)

    return build


@pytest.fixture(scope="module")
def quick(build):
    """A rung below the ladder, for what does not depend on strength."""
    return build(2000)


@pytest.mark.parametrize("rung", RUNGS)
def test_every_rung_is_built_under_its_name_and_ends_with_its_input(engines, rung):
    assert dialogue(str(engines / rung), 0, []) == (rung, [], [])
    assert subprocess.run([str(engines / rung)], input="", capture_output=True, timeout=10).returncode == 0


@pytest.mark.parametrize("rung", ["mcts_50000", "mcts_50000_rand", "mcts_200000"])
def test_every_search_has_the_simulations_of_the_name(engines, rung):
    _, answers, notes = dialogue(str(engines / rung), 0, [SWAP, (0, 0), (0, 14), (14, 0)])
    assert len(answers) == 4 and [int(note[0]) for note in notes] == [int(rung.split("_")[1])] * 3  # the first stone needs none
    assert [(int(note[2]), int(note[3])) for note in notes] == answers[1:]


def test_the_plain_rungs_open_in_the_middle_and_the_others_anywhere_in_the_centre(engines):
    def stones(rung):
        return {dialogue(str(engines / rung), 0, [SWAP], seed=seed)[1][0] for seed in range(12)}

    assert stones("mcts_50000") == {(7, 7)}
    varied = stones("mcts_50000_rand")
    assert len(varied) > 4 and all(x in centre() and y in centre() for x, y in varied)


@pytest.mark.parametrize(
    ("imposed", "stone"), [("4 10", (4, 10)), ("3 7", (7, 7)), ("-1 -1", (7, 7)), ("seven", (7, 7)), ("", (7, 7))]
)
def test_a_first_stone_is_imposed_if_it_lies_in_the_centre(quick, imposed, stone):
    assert dialogue(quick, 0, [SWAP], GOMOKU_OPENING=imposed)[1] == [stone]


def test_white_swaps_when_its_search_is_against_it_and_then_owns_the_two_stones(engines):
    """Black has a pair and white's stone is on its other side; black then leaves the pair alone, and white makes five of it."""
    path = str(engines / "mcts_400000")
    _, (white,), _ = dialogue(path, 1, [(7, 7)])
    pair = [(7, 7), beside_middle_opposite(white)]
    black = [*pair, (0, 0), (0, 2), (0, 4), (2, 0)]
    _, answers, notes = dialogue(path, 1, black)
    assert answers[1] == SWAP and float(notes[1][4]) < 0.5
    stones = [*black, white, *answers[2:]]
    assert len(set(stones)) == len(stones) and SWAP not in answers[2:]
    assert five_in({*pair, *answers[2:]})


def test_white_plays_on_where_there_is_no_swap(engines):
    """The position of the swap above."""
    path = str(engines / "mcts_400000")
    _, (white,), _ = dialogue(path, 1, [(7, 7)])
    _, answers, notes = dialogue(path, 1, [(7, 7), beside_middle_opposite(white)], GOMOKU_NO_SWAP="1")
    assert float(notes[1][4]) < 0.5 and answers[1] == (int(notes[1][2]), int(notes[1][3]))


def beside_middle_opposite(stone):
    """The neighbour of (7, 7), along the row or the column, that lies farthest from the stone."""
    neighbours = ((6, 7), (8, 7), (7, 6), (7, 8))
    return max(neighbours, key=lambda point: (point[0] - stone[0]) ** 2 + (point[1] - stone[1]) ** 2)


@pytest.mark.parametrize("waste", [(0, 0), (14, 0)])
def test_white_keeps_its_stone_when_black_has_wasted_one(engines, waste):
    """The same black stone and the same answer as above."""
    _, answers, notes = dialogue(str(engines / "mcts_400000"), 1, [(7, 7), waste])
    assert answers[1] != SWAP and float(notes[1][4]) >= 0.5


def test_black_moves_again_after_a_swap_and_plays_over_no_stone(quick):
    lines = [SWAP, (0, 0), SWAP, (14, 14), (14, 0), (0, 14)]
    _, answers, _ = dialogue(quick, 0, lines)
    stones = [*answers, *(line for line in lines if line != SWAP)]
    assert len(set(stones)) == len(stones) == 10 and SWAP not in stones


def test_a_five_is_made_at_once(engines):
    """Black leaves white alone, which wins with its fifth or sixth stone and leaves no five lying."""
    black = [(4, 4), (14, 14), (14, 0), (0, 14), (0, 0), (14, 7)]
    _, answers, _ = dialogue(str(engines / "mcts_100000"), 1, black)
    assert SWAP not in answers
    won = next(n for n in range(1, 7) if five_in(answers[:n]))
    assert not any(completing(answers[:n], black[: n + 1]) for n in range(won - 1))


def test_fives_are_made_and_stopped_in_every_position_of_games_with_swaps(engines, build):
    """Replayed by rules of this file: an engine that mistook the owner of a stone would miss some.

    The baseline swaps as white, and threatens; the rung against itself makes the fives.
    """
    rung = EngineSpec(path=build(10000, "-DRANDOM_OPENING=1"))
    games = play_match(MatchSetup((rung, EngineSpec(path=str(engines / "baseline"))), 8, 2, Limits()), ThreadRunner(1)).games
    own_games = play_match(MatchSetup((rung, rung), 2, 2, Limits()), ThreadRunner(1)).games
    made = stopped = 0
    for game in (*games, *own_games):
        assert game.faulty is None
        stones = ([], [])
        for ply, move in enumerate(game.moves):
            own, other = stones[ply % 2], stones[1 - ply % 2]
            if move == SWAP:
                stones = stones[::-1]
                continue
            if game in own_games or (ply % 2 == 0) == (game.black == 0):
                wins, losses = completing(own, other), completing(other, own)
                assert move in (wins or losses or {move})
                made += bool(wins)
                stopped += bool(losses and not wins)
            own.append(move)
    assert made > 0 and stopped > 0 and any(game.swapped for game in games)


def five_in(stones):
    lines = ((x, y, dx, dy) for x, y in stones for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)))
    return any(all((x + i * dx, y + i * dy) in stones for i in range(5)) for x, y, dx, dy in lines)


def completing(own, other):
    """Empty points where one more own stone makes five."""
    near = {(x + dx, y + dy) for x, y in own for dx in (-1, 0, 1) for dy in (-1, 0, 1)}
    free = {(x, y) for x, y in near if 0 <= x < 15 and 0 <= y < 15} - {*own, *other}
    return {point for point in free if len(own) > 3 and five_in({*own, point})}


def test_a_seed_repeats_a_game_and_another_seed_does_not(quick):
    lines = [SWAP, (3, 3), (11, 3), (3, 11), (11, 11)]
    games = [dialogue(quick, 0, lines, seed=seed) for seed in (5, 5, 6, 2**31 - 1, 2**31 - 1)]
    assert games[0] == games[1] != games[2] and games[3] == games[4] != games[0]


def test_whole_games_are_legal_on_both_sides(build, quick, engines):
    varied = build(2000, "-DRANDOM_OPENING=1")
    agents = (EngineSpec(path=varied), EngineSpec(path=quick))
    result = play_match(MatchSetup(agents, 6, 4, Limits()), ThreadRunner(1))
    assert {game.termination.value for game in result.games} <= {"five", "draw"}
    assert len({tuple(game.moves) for game in result.games}) == 6
    result = play_match(MatchSetup((EngineSpec(path=str(engines / "sample")), agents[0]), 6, 5, Limits()), ThreadRunner(1))
    assert result.wins(1) == 6 and {game.termination.value for game in result.games} == {"five"}


def test_sanitizers_find_nothing(build):
    engine = build(200, "-DRANDOM_OPENING=1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    result = play_match(MatchSetup((EngineSpec(path=engine),) * 2, 2, 5, Limits(move_s=30.0)), ThreadRunner(1))
    assert [game.detail for game in result.games] == ["", ""]
