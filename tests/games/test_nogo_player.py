"""The NoGo player in C++: its rules against a search of the whole board written here, and its two searches."""

import random
import subprocess

import pytest

from arena.engine.engine_process import EngineSpec, Limits
from arena.engine.gtp import parse_vertex
from arena.engine.gtp_engine import BoardOffer, GtpEngine

LIMITS = Limits(move_s=20, init_s=20)


@pytest.fixture
def player(engines):
    """Return a function that starts the player on a board of this size."""
    running = []

    def start(size, search="uct", simulations=100, seed=1):
        options = ("--search", search, "--simulations", str(simulations), "--seed", str(seed))
        spec = EngineSpec("gtp:nogo", (str(engines / "nogo"), *options), protocol="gtp")
        running.append(GtpEngine(spec, LIMITS, BoardOffer(size)))
        running[-1].start()
        return running[-1]

    yield start
    for engine in running:
        engine.close()


# ----------------------------------------------------------------- the rules by flood fill, with nothing kept between moves


def neighbours(point, size):
    x, y = point
    return [(a, b) for a, b in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)) if 0 <= a < size and 0 <= b < size]


def every_chain_breathes(stones, size):
    for start, colour in stones.items():
        chain, waiting = {start}, [start]
        while waiting:
            new = {p for p in neighbours(waiting.pop(), size) if stones.get(p) == colour} - chain
            chain |= new
            waiting += new
        if not any(p not in stones for stone in chain for p in neighbours(stone, size)):
            return False
    return True


def legal_moves(stones, colour, size):
    points = [(x, y) for y in range(size) for x in range(size) if (x, y) not in stones]
    return [p for p in points if every_chain_breathes({**stones, p: colour}, size)]


def sequences(stones, colour, size, depth):
    """Return the number of legal sequences of moves of each length from 0 to depth."""
    counts = [1] + [0] * depth
    if depth:
        for point in legal_moves(stones, colour, size):
            for length, count in enumerate(sequences({**stones, point: colour}, 1 - colour, size, depth - 1)):
                counts[length + 1] += count
    return counts


@pytest.mark.parametrize(("size", "depth"), [(2, 4), (3, 4)])
def test_it_counts_as_many_legal_sequences_as_a_search_of_the_whole_board(player, size, depth):
    engine = player(size)
    counted = [int(engine.command(f"perft b {moves}", 20)) for moves in range(depth + 1)]
    assert counted == sequences({}, 0, size, depth)


@pytest.mark.parametrize("size", [2, 4, 5, 9])
def test_random_games_have_the_legal_moves_of_flood_fill_until_nobody_can_move(player, size):
    rng, engine = random.Random(size), player(size)
    for _ in range(1 if size == 9 else 3):
        engine.command("clear_board", 1)
        stones, colour = {}, 0
        while moves := legal_moves(stones, colour, size):
            for side in (0, 1) if len(moves) < 12 or rng.random() < 0.2 else ():
                named = engine.command(f"all_legal {'bw'[side]}", 1).split()
                assert sorted(parse_vertex(name, size) for name in named) == sorted(legal_moves(stones, side, size))
            stones[rng.choice(moves)] = colour
            engine.play(colour, list(stones)[-1])
            colour = 1 - colour
        assert engine.genmove(colour) is None
        assert engine.command("final_score", 1) == ("W+", "B+")[colour]


# --------------------------------------------------------------------------------------------------------- the searches


def wins(first, second, games):
    """Return how many games the first engine wins; the colours alternate."""
    won = 0
    for game in range(games):
        for engine in (first, second):
            engine.command("clear_board", 1)
        seats, colour = ((first, second), (second, first))[game % 2], 0
        while (move := seats[colour].genmove(colour)) is not None:
            seats[1 - colour].play(colour, move)
            colour = 1 - colour
        won += seats[1 - colour] is first
    return won


@pytest.mark.parametrize("search", ["uct", "rave"])
def test_a_search_wins_against_random_moves(player, search):
    assert wins(player(5, search, 200), player(5, "random"), 10) >= 9


def test_rave_wins_against_uct_with_as_many_simulations(player):
    assert wins(player(9, "rave", 300), player(9, "uct", 300), 6) >= 5


def wins_by_force(stones, colour, size):
    """Return the moves after which the opponent loses whatever it plays."""
    moves = legal_moves(stones, colour, size)
    return [move for move in moves if not wins_by_force({**stones, move: colour}, 1 - colour, size)]


def test_uct_finds_a_move_that_wins_by_force(player):
    rng, engine, seen = random.Random(2), player(3, "uct", 2000), 0
    while seen < 6:
        stones = {}
        for ply in range(3):
            stones[rng.choice(legal_moves(stones, ply % 2, 3))] = ply % 2
        winning = wins_by_force(stones, 1, 3)
        if 0 < len(winning) < len(legal_moves(stones, 1, 3)):
            seen += 1
            engine.command("clear_board", 1)
            for point, colour in stones.items():
                engine.play(colour, point)
            assert engine.genmove(1) in winning


@pytest.mark.parametrize("search", ["uct", "rave", "random"])
def test_a_seed_determines_the_game_and_another_seed_another_game(player, search):
    def game(seed):
        engine = player(6, search, 50)
        engine.command(f"set_random_seed {seed}", 1)
        moves, colour = [], 0
        while (move := engine.genmove(colour)) is not None:
            moves.append(move)
            colour = 1 - colour
        return moves

    assert game(3) == game(3) != game(4)


# ----------------------------------------------------------------------------------------------------- the conversation


def test_wrong_commands_are_refused_and_change_nothing(engines):
    lines = ["boardsize 1", "boardsize 20", "boardsize 3", "play b pass", "play b C4", "play b I1", "play red A1", "undo"]
    lines += ["play B a1", "play W A1", "fly", "12", "7 known_command genmove", "known_command fly", "# a comment", "", "undo"]
    lines += ["play w A1", "play b A2", "play b b2", "play b B1", "final_score", "quit"]
    done = subprocess.run([engines / "nogo"], input="\n".join(lines), capture_output=True, text=True, check=True)
    assert done.stdout.split("\n\n")[:-1] == [
        "? unacceptable size",
        "? unacceptable size",
        "= ",
        "? illegal move",
        "? invalid vertex",
        "? invalid vertex",
        "? invalid color",
        "? cannot undo",
        "= ",
        "? illegal move",
        "? unknown command",
        "?12 unknown command",
        "=7 true",
        "= false",
        "= ",
        "= ",
        "= ",
        "= ",
        "? illegal move",  # it would capture A1
        "? the game is not over",
        "= ",
    ]


def test_control_characters_are_discarded_and_numbers_are_expected_of_commands_that_change_nothing(engines):
    lines = ["na\x01me\r", "play\tb\x7f a1", "undo\v", "komi 6.5", "komi -7", "time_settings 0 5.5 1"]
    lines += ["komi", "komi abc", "komi 6.5x", "time_settings 0 5"]
    done = subprocess.run([engines / "nogo"], input="\n".join(lines), capture_output=True, text=True, check=True)
    assert done.stdout.split("\n\n")[:-1] == ["= NoGo uct", *["= "] * 5, *["? syntax error"] * 4]


@pytest.mark.parametrize("words", [["--simulations", "0"], ["--search", "best"], ["--seed"], ["--seed", "-1"], ["x", "1"]])
def test_a_wrong_call_gets_one_sentence_and_exit_code_2(engines, words):
    done = subprocess.run([engines / "nogo", *words], input="", capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("expected [--search uct|rave|random]") and done.stderr.count("\n") == 1
