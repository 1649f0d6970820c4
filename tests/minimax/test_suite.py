"""The suite of positions: what it claims is true, and an engine is told apart from one that cannot be asked."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from arena.engine.engine_process import EngineProcess, GameOffer, Limits
from arena.engine.gomocup_engine import GomocupEngine
from arena.engine.specs import parse_agent
from arena.match.rules import Position
from arena.suite.positions import KINDS, attempt, find_position, load_suite, run_suite
from common.errors import UsageError

SPEC = importlib.util.spec_from_file_location("verify", Path(__file__).resolve().parents[2] / "instructor/suite/verify.py")
verify = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(verify)

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.fixture(scope="session")
def threats(tmp_path_factory):
    """The judge of positions, built once."""
    program = tmp_path_factory.mktemp("suite") / "threats"
    subprocess.run(["g++", *FLAGS, str(ROOT / "instructor/suite/threats.cpp"), "-o", str(program)], check=True)
    return program


def moves_of(diagram, *, mover="X"):
    """Stones of an ASCII diagram (top row y = 14) in an order that alternates; spare stones go far from all lines."""
    stones = {"X": [], "O": []}
    rows = [row.split() for row in diagram.strip().splitlines()]
    for above, row in enumerate(rows):
        for x, mark in enumerate(row):
            if mark in stones:
                stones[mark].append([x, 14 - above])
    assert len(stones["X"]) - len(stones["O"]) == (0 if mover == "X" else 1)
    moves = [None] * (len(stones["X"]) + len(stones["O"]))
    moves[::2], moves[1::2] = stones["X"], stones["O"]
    return moves


# ------------------------------------------------------------------------------------- a second opinion on threats


class Slow:
    """The same questions answered from the rules alone: a dict of stones, rows of five counted by walking, no memory."""

    def __init__(self, moves):
        self.stones = {tuple(move): ply % 2 for ply, move in enumerate(moves)}
        self.turn = len(moves) % 2

    def empty(self):
        return [(x, y) for x in range(15) for y in range(15) if (x, y) not in self.stones]

    def makes_five(self, point, colour):
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
            run = 1
            for sign in (1, -1):
                x, y = point[0] + sign * dx, point[1] + sign * dy
                while self.stones.get((x, y)) == colour:
                    run, x, y = run + 1, x + sign * dx, y + sign * dy
            if run >= 5:
                return True
        return False

    def fives(self, colour):
        return [point for point in self.empty() if self.makes_five(point, colour)]

    def with_stone(self, point, colour):
        other = Slow([])
        other.stones = {**self.stones, point: colour}
        return other

    def near(self, colour):
        """Empty points on a line with an own stone; no other can make a four."""
        return [p for p in self.empty() if any(self.stones.get((p[0] + k * dx, p[1] + k * dy)) == colour for k in range(-4, 5)
                for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)))]  # fmt: skip

    def begins(self, colour, point, stones):
        """Whether the stone begins a win by at most so many stones that threaten a five each."""
        if stones < 1:
            return False
        if self.makes_five(point, colour):
            return True
        after = self.with_stone(point, colour)
        if stones < 2 or after.fives(1 - colour):
            return False
        fives = after.fives(colour)
        if len(fives) != 1:
            return len(fives) > 1
        reply = after.with_stone(fives[0], 1 - colour)
        return reply.wins(colour, stones - 1)

    def wins(self, colour, stones):
        return any(self.begins(colour, point, stones) for point in self.near(colour))


@cache
def suite_facts(program):
    return verify.facts([[list(m) for m in p.moves] for p in load_suite()], program)


# ---------------------------------------------------------------------------------------------------- the verifier

FOUR_TWO = """
. . . . . . . . . . . . . . .
. . . . . . . . . . . . . . .
. . . . . . . . . . . . . . .
. . . . . . . . . . . . . . .
. . . . . . . . . . . . . . .
. . . . . . . . . . . . . . .
. . . . . . X . . . . . . . .
. . . . . . X . . . . . . . .
. . . . . . X . . . . . . . .
. . . O X X . X . . . . . . .
. . . . . . O . . . . . . . .
. . . . . . . . . . . . . . .
. . . . . . . . . . . . . . .
. O . . . . . . . . . . . . .
O . . O . . . . . . . . . . O
"""


def test_a_double_four_wins_with_two_stones_and_its_first_stone_is_found(threats):
    [found] = verify.facts([moves_of(FOUR_TWO)], threats)
    assert found["depth"] == 2
    assert [6, 5] in found["winning"]


def turned(moves, i):
    """One of the eight symmetries of the board."""

    def one(x, y):
        x, y = (y, x) if i & 4 else (x, y)
        return [14 - x if i & 1 else x, 14 - y if i & 2 else y]

    return [one(x, y) for x, y in moves]


def test_all_symmetries_of_a_position_have_the_same_facts(threats):
    position = next(p for p in load_suite() if p.kind == "vcf" and p.depth == 5)
    moves = [list(m) for m in position.moves]
    plain, *others = verify.facts([turned(moves, i) for i in range(8)], threats)
    for i, other in enumerate(others, 1):
        assert (other["depth"], other["threat_depth"]) == (plain["depth"], plain["threat_depth"])
        for name in ("winning", "holding", "fours", "threes"):
            assert sorted(other[name]) == sorted(turned(plain[name], i)), name
    assert len({verify.symmetric_key(turned(moves, i)) for i in range(8)}) == 1


def test_wins_by_fours_agree_with_a_search_from_the_rules_alone(threats):
    """All first stones of wins of at most four stones, in the positions of small depth; and that nothing shorter wins."""
    small = [(p, f) for p, f in zip(load_suite(), suite_facts(threats), strict=True) if p.kind == "vcf" and p.depth <= 4]
    assert len(small) >= 3
    for position, found in small:
        slow = Slow(position.moves)
        winning = [list(p) for p in slow.empty() if slow.begins(slow.turn, p, position.depth)]
        assert winning and all(point in found["winning"] for point in winning), position.name
        assert not slow.wins(slow.turn, position.depth - 1), position.name


def test_stones_said_to_lose_do_lose_and_those_said_to_hold_meet_no_short_win(threats):
    both = zip(load_suite(), suite_facts(threats), strict=True)
    for position, found in [(p, f) for p, f in both if p.kind != "vcf" and p.depth <= 3][:2]:
        slow = Slow(position.moves)
        for point in slow.empty()[::23]:
            after = slow.with_stone(point, position.side)
            if not after.fives(position.side) and list(point) not in found["holding"]:
                assert after.wins(1 - position.side, position.depth + 2), (position.name, point)
        for point in found["holding"]:
            after = slow.with_stone(tuple(point), position.side)
            assert after.fives(position.side) or not after.wins(1 - position.side, position.depth), (position.name, point)


def test_stones_that_lose_to_a_quiet_stone_are_among_those_that_hold_and_are_no_answers(threats):
    pairs = [(p, f) for p, f in zip(load_suite(), suite_facts(threats), strict=True) if f["falling"]]
    assert pairs, "no position of the suite shows it"
    for position, found in pairs:
        assert all(point in found["holding"] and tuple(point) not in position.answers for point in found["falling"])


@pytest.mark.parametrize("line", ["7 7 7 7", "7", "15 0", "7 x", "0 0 0 9 1 0 1 9 2 0 2 9 3 0 3 9 4 0"])
def test_what_is_no_position_is_refused(threats, line):
    done = subprocess.run([threats, "verify"], input=line + "\n", capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("threats: ") and done.stdout == ""


def test_the_search_for_positions_finds_such_as_the_suite_has(threats):
    done = subprocess.run([threats, "find", "1", "60"], capture_output=True, text=True, check=True)
    rows = [list(map(int, line.split())) for line in done.stdout.splitlines()]
    chosen = verify.choose([[row[i : i + 2] for i in range(0, len(row), 2)] for row in rows], threats)
    assert chosen and {made["kind"] for made in chosen} <= set(KINDS)
    assert list(verify.differences(chosen, threats)) == []
    chosen[0]["answers"] = [[0, 0]]
    assert [sentence.split(":")[0] for sentence in verify.differences(chosen, threats)] == [chosen[0]["name"]]


# -------------------------------------------------------------------------------------------------------- the data


def test_every_position_is_what_the_exhaustive_search_says(threats):
    suite = json.loads(verify.POSITIONS.read_text())
    assert list(verify.differences(suite, threats)) == []
    assert verify.as_text(suite) == verify.POSITIONS.read_text()


def test_the_suite_has_the_kinds_and_depths_that_it_is_for():
    suite = load_suite()
    kinds = {kind: [p for p in suite if p.kind == kind] for kind in KINDS}
    assert len(suite) >= 30 and len(kinds["block"]) >= 8 and len(kinds["trap"]) >= 8
    assert {p.depth for p in kinds["vcf"]} >= set(range(3, 12)) and max(p.depth for p in kinds["vcf"]) >= 13
    assert len({p.name for p in suite}) == len(suite)
    assert len({verify.symmetric_key([list(m) for m in p.moves]) for p in suite}) == len(suite)


def test_every_position_is_a_legal_game_in_progress_and_its_answers_are_empty_points():
    for position in load_suite():
        board = position.position()
        assert not board.is_over and not board.swapped and board.turn == position.side
        assert 1 <= len(position.answers) <= 3
        for point in (*position.answers, *position.greedy):
            assert point not in board.stones
        assert bool(position.greedy) == (position.kind == "trap") and not set(position.greedy) & set(position.answers)


# ----------------------------------------------------------------------------------------------- engines in positions

PLAYERS = ["baseline", "reference", "mcts_50000"]


def solved(program, limits=None, kind=None):
    suite = [p for p in load_suite() if kind in (None, p.kind)]
    made = list(run_suite(parse_agent(str(program)), limits or Limits(move_s=1), suite))
    assert [m.position for m in made] == suite
    assert all(m.fault == "" for m in made), [(m.position.name, m.fault) for m in made if m.fault]
    return sum(m.solved for m in made), len(made)


def test_the_reference_solves_nearly_all_and_the_sample_hardly_any(engines):
    right, of = solved(engines / "reference")
    assert right >= of - 4  # it looks at a clock
    assert solved(engines / "sample")[0] <= 4


def test_the_baseline_solves_some(engines):
    right, of = solved(engines / "baseline", Limits(move_s=5))
    assert of / 4 < right < of


@pytest.mark.parametrize("name", PLAYERS)
def test_an_engine_in_a_position_knows_whose_stones_are_whose(engines, name):
    """A five to be made, for either colour, in a position of which the engine chose nothing."""
    four, scattered = [[4, 7], [5, 7], [6, 7], [7, 7]], [[12, 12], [10, 2], [13, 3], [2, 13], [0, 0]]
    black = [point for pair in zip(four, scattered[:4], strict=True) for point in pair]
    white = [*(point for pair in zip(scattered[:4], four, strict=True) for point in pair), scattered[4]]
    for moves in (black, white):
        offer = GameOffer(seed=1, position=tuple((x, y) for x, y in moves[:-1]))
        with EngineProcess(parse_agent(str(engines / name)), Limits(), offer) as engine:
            called = engine.start(len(moves) % 2)
            assert engine.took_position and "+position" not in called
            assert engine.ask((moves[-1][0], moves[-1][1])) in {(3, 7), (8, 7)}


@pytest.mark.parametrize("side", [0, 1])
def test_the_sample_moves_on_empty_points_of_a_position(engines, side):
    full = [(x, y) for x in range(15) for y in range(15)]
    free, moves = (14, 14), []
    # All points but a few, without five in a row: colours by the pattern of two columns, shifted from row to row.
    black = [p for p in full if (p[0] // 2 + p[1]) % 2 == 0 and p != free][: 110 - side]
    white = [p for p in full if (p[0] // 2 + p[1]) % 2 == 1 and p != free][: 110 - side]
    for pair in zip(black, white, strict=True):
        moves += pair
    if side == 1:
        moves.append(next(p for p in full if p not in moves and (p[0] // 2 + p[1]) % 2 == 0 and p != free))
    for seed in range(5):
        with EngineProcess(
            parse_agent(str(engines / "sample")), Limits(), GameOffer(seed, position=tuple(moves[:-1]))
        ) as engine:
            engine.start(side)
            assert engine.ask(moves[-1]) not in moves


def test_without_an_offer_nobody_speaks_of_a_position(engines):
    with EngineProcess(parse_agent(str(engines / "sample"))) as engine:
        assert engine.start(0) == "sample" and not engine.took_position


def test_a_gomocup_engine_is_told_the_position_by_board(pbrain):
    position = find_position("block-01")
    spec = parse_agent(f"gomocup:{pbrain}")
    made = attempt(spec, position, Limits(move_s=2))
    assert made.fault == "" and made.answer is not None
    with GomocupEngine(spec, Limits(move_s=2), GameOffer(position=position.moves[:-1])) as engine:
        engine.start(position.side)
        assert engine.took_position
        board = position.position()
        answer = engine.ask(position.moves[-1])
        board.play(answer)
        board.play(next((x, y) for x in range(15) for y in range(15) if (x, y) not in board.stones))
        assert engine.ask(board.actions[-1]) not in board.stones


# ------------------------------------------------------------------------------------------------ engines that cannot


@pytest.fixture
def plain(tmp_path):
    """An engine as they were written before there were positions."""
    source, program = tmp_path / "plain.cpp", tmp_path / "plain"
    source.write_text(
        '#include "AIController.h"\n'
        'std::string ai_name = "plain";\n'
        "void init() {}\n"
        "std::pair<int, int> action(std::pair<int, int>) { return {7, 7}; }\n"
    )
    subprocess.run(["g++", *FLAGS, "-I", str(ROOT / "Minimax"), str(source), "-o", str(program)], check=True)
    return program


def judge(*arguments):
    command = [sys.executable, str(ROOT / "Minimax/judge.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_an_engine_that_takes_no_positions_is_said_to_take_none(plain):
    done = judge("--suite", plain)
    assert done.returncode == 2 and done.stdout == ""
    assert "does not take positions" in done.stderr and "ai_set_stone" in done.stderr and done.stderr.count("\n") == 1


def script(tmp_path, body, name="engine"):
    path = tmp_path / name
    path.write_text(f"#!{sys.executable}\nimport os, sys, time\n{body}\n")
    path.chmod(0o755)
    return str(path)


TAKES = "input(); print('mine +position', flush=True); last = input()\n"
FAULTS = {
    "crash": TAKES + "os._exit(3)",
    "timeout": TAKES + "time.sleep(60)",
    "malformed": TAKES + "print('7 seven', flush=True)",
    "illegal_move": TAKES + "print(last, flush=True)",
    "illegal_swap": TAKES + "print('-1 -1', flush=True)",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_engine_that_fails_in_a_position_has_not_solved_it_and_the_fault_is_named(tmp_path, fault):
    limits = Limits(move_s=0.3, wall_cap_s=0.6)
    made = attempt(parse_agent(script(tmp_path, FAULTS[fault])), load_suite()[0], limits)
    assert (made.fault, made.solved) == (fault, False)


def test_a_right_answer_is_solved_and_any_other_is_not(tmp_path):
    position = load_suite()[0]
    right, wrong = position.answers[0], next(p for p in ((0, 0), (14, 14)) if p not in position.answers)
    for answer, verdict in ((right, True), (wrong, False)):
        spec = parse_agent(script(tmp_path, TAKES + f"print(*{answer}, flush=True)"))
        assert attempt(spec, position, Limits()).solved is verdict
    # An answer that would be right but came too late does not count.
    made = attempt(spec, position, Limits())
    assert not replace(made, answer=right, fault="timeout").solved


def test_an_engine_that_gives_no_name_is_not_judged(tmp_path):
    with pytest.raises(UsageError, match="expected an engine that starts"):
        attempt(parse_agent(script(tmp_path, "sys.exit(1)")), load_suite()[0], Limits())


# -------------------------------------------------------------------------------------------------------- the program


def test_the_program_prints_a_row_for_each_position_and_totals(engines):
    done = judge("--suite", engines / "sample", "--time-limit", "2")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    suite = load_suite()
    assert [row.split()[0] for row in rows[2 : 2 + len(suite)]] == [p.name for p in suite]
    assert [row.split()[0] for row in rows[2 + len(suite) :]] == [*KINDS, "all"] and f"of {len(suite)} solved" in rows[-1]


def test_a_position_is_drawn_with_what_is_right():
    position = find_position("trap-01")
    done = judge("--show", "trap-01")
    assert done.returncode == 0 and done.stdout.count("X") > 5
    assert f"Right: {position.answers[0][0]} {position.answers[0][1]}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--show", "vcf-99"], "expected a position from"),
        (["--suite", "nowhere"], "nothing is there"),
        (["--suite", "nowhere", "human", "human"], "expected two players"),
        ([], "expected two players"),
        (["human"], "expected two players"),
        (["--suite", "nowhere", "--time-limit", "0"], "above 0"),
    ],
)
def test_a_wrong_call_is_a_sentence(arguments, words):
    done = judge(*arguments)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_the_positions_offered_are_the_moves_but_the_last(tmp_path):
    position = load_suite()[0]
    heard = tmp_path / "heard"
    body = f"side = input(); open({str(heard)!r}, 'w').write(side + ';' + os.environ['GOMOKU_POSITION'])\n"
    body += f"print('mine +position', flush=True); open({str(heard)!r}, 'a').write(';' + input())"
    attempt(parse_agent(script(tmp_path, body)), position, Limits())
    side, offered, last = heard.read_text().split(";")
    numbers = [int(word) for word in f"{offered} {last}".split()]
    assert int(side) == position.side == len(position.moves) % 2
    assert numbers == [coordinate for move in position.moves for coordinate in move]


def test_the_rules_agree_that_no_position_contains_a_swap():
    assert all((-1, -1) not in p.moves and isinstance(p.position(), Position) for p in load_suite())


def test_python_players_take_positions_too(monkeypatch):
    monkeypatch.chdir(ROOT / "instructor" / "reference")
    position = load_suite()[0]
    made = attempt(parse_agent("mcts:playouts=20"), position, Limits(move_s=30, init_s=60))
    assert made.fault == "" and made.answer is not None
    assert "GOMOKU_POSITION" not in os.environ
