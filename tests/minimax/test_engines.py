"""The C++ engines through the course protocol."""

import subprocess
from pathlib import Path

import pytest

from arena.engine.engine_process import EngineProcess, EngineSpec, GameOffer, Limits
from arena.match.match import ThreadRunner, play_match
from arena.match.setup import MatchSetup
from arena.rules import SWAP, centre

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("sample", "baseline", "reference")
LIMITS = Limits(move_s=5.0, told_move_s=0.4)


@pytest.fixture(params=NAMES)
def path(request, engines):
    return str(engines / request.param)


def dialogue(path, side, lines, seed=1):
    """The engine's answers to given lines."""
    with EngineProcess(EngineSpec(path=path), LIMITS, GameOffer(seed=seed)) as engine:
        engine.start(side)
        return [engine.ask(line) for line in lines]


def test_the_end_of_the_input_ends_the_engine(path):
    done = subprocess.run([path], input="0\n", capture_output=True, text=True, timeout=10)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1
    assert subprocess.run([path], input="", capture_output=True, timeout=10).returncode == 0


def test_black_opens_in_the_centre_and_not_always_alike(path):
    stones = {dialogue(path, 0, [SWAP], seed)[0] for seed in range(6)}
    assert all(x in centre() and y in centre() for x, y in stones) and len(stones) > 1


def test_a_seed_repeats_the_opening(path):
    assert dialogue(path, 0, [SWAP], 4) == dialogue(path, 0, [SWAP], 4)


def test_an_imposed_opening_is_played_and_one_outside_the_centre_is_not(path):
    for opening, heeded in (((5, 9), True), ((3, 7), False)):
        with EngineProcess(EngineSpec(path=path), LIMITS, GameOffer(seed=1, opening=opening)) as engine:
            engine.start(0)
            stone = engine.ask(SWAP)
            assert (stone == opening) == heeded and all(coordinate in centre() for coordinate in stone)


def test_the_stones_of_a_swap_are_not_played_over(path):
    with EngineProcess(EngineSpec(path=path), LIMITS, GameOffer(seed=1)) as engine:
        engine.start(0)
        played = {engine.ask(SWAP), (3, 3)}
        played.add(engine.ask((3, 3)))
        assert len(played) == 3
        answer = engine.ask(SWAP)
        assert answer not in played and answer != SWAP


@pytest.mark.parametrize("name", ["baseline", "reference"])
def test_a_four_is_stopped(engines, name):
    four, away = [(4, 7), (5, 7), (6, 7), (7, 7)], [(3, 7), (12, 12), (10, 2)]
    moves = [move for pair in zip(four, away, strict=False) for move in pair] + four[3:]
    offer = GameOffer(seed=3, position=tuple(moves[:-1]))
    with EngineProcess(EngineSpec(path=str(engines / name)), LIMITS, offer) as engine:
        engine.start(1)
        assert engine.ask(moves[-1]) == (8, 7)


def test_the_random_engine_wins_nothing_against_the_baseline(engines):
    agents = tuple(EngineSpec(path=str(engines / name)) for name in ("sample", "baseline"))
    result = play_match(MatchSetup(agents, 4, 11, LIMITS), ThreadRunner(2))
    assert result.wins(1) == 4 and {game.termination.value for game in result.games} == {"five"}


def test_baseline_against_itself_is_not_decided_by_forfeits(engines):
    agents = tuple(EngineSpec(path=str(engines / "baseline")) for _ in range(2))
    result = play_match(MatchSetup(agents, 2, 12, LIMITS), ThreadRunner(2))
    assert all(game.faulty is None for game in result.games) and result.distinct_games == 2


def test_the_reference_is_no_easy_prey_for_the_baseline(engines):
    """At a twentieth of the course's time; how many games it wins at the whole time is measured, not tested."""
    agents = tuple(EngineSpec(path=str(engines / name)) for name in ("reference", "baseline"))
    result = play_match(MatchSetup(agents, 4, 13, Limits(told_move_s=0.25)), ThreadRunner(2))
    assert result.wins(0) >= 2 and all(game.faulty is None for game in result.games)


def test_an_engine_of_earlier_years_compiles_unmodified(tmp_path):
    """Declares what the header declares too, and uses namespace std."""
    source = tmp_path / "old.cpp"
    source.write_text(
        """
        #include "AIController.h"
        using namespace std;
        extern int ai_side;
        string ai_name = "old";
        int board[15][15] = {};
        void init() { memset(board, -1, sizeof board); }
        pair<int, int> action(pair<int, int> loc) {
            vector<int> v(3, 1); sort(v.begin(), v.end()); srand(time(0));
            return make_pair(loc.first < 0 ? 7 : loc.first, abs(loc.second - 1));
        }
        """
    )
    command = ["g++", "-std=c++17", "-O2", "-I", str(ROOT / "Minimax"), str(source), "-o", str(tmp_path / "old")]
    subprocess.run(command, check=True)
    assert dialogue(str(tmp_path / "old"), 0, [SWAP]) == [(7, 2)]


def test_sanitizers_find_nothing(tmp_path, engines):
    sources = {
        "baseline": [ROOT / "Minimax" / "baseline.cpp"],
        "reference": sorted((ROOT / "instructor" / "reference" / "Minimax").glob("*.cpp")),
    }
    built = []
    for name, files in sources.items():
        binary = tmp_path / name
        # Without -g, which doubles the time to compile.
        flags = ["-std=c++17", "-O1", "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        subprocess.run(["g++", *flags, "-I", str(ROOT / "Minimax"), *map(str, files), "-o", str(binary)], check=True)
        built.append(EngineSpec(path=str(binary)))
    setup = MatchSetup(tuple(built), 2, 5, Limits(move_s=30.0, told_move_s=0.1))
    result = play_match(setup, ThreadRunner(2))
    assert [game.detail for game in result.games] == ["", ""]
