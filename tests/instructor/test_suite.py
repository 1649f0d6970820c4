"""The search that computed the suite's positions, and the program that chooses and verifies them."""

import json
import subprocess
from pathlib import Path

import pytest

from arena.suite.positions import KINDS, load_suite

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.fixture(scope="session")
def threats(tmp_path_factory):
    """The judge of positions, built once."""
    program = tmp_path_factory.mktemp("suite") / "threats"
    subprocess.run(["g++", *FLAGS, str(ROOT / "instructor/suite/threats.cpp"), "-o", str(program)], check=True)
    return program


def moves_of(diagram, *, mover="X"):
    """Return the stones of an ASCII diagram (top row y = 14) in an order that alternates; `mover` is the side to move."""
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


@pytest.fixture(scope="module")
def verify(load_module):
    return load_module(ROOT / "instructor" / "suite" / "verify.py")


@pytest.fixture(scope="module")
def suite_facts(verify, threats):
    """Each position of the suite with what the search says about it."""
    suite = load_suite()
    return list(zip(suite, verify.facts([[list(m) for m in p.moves] for p in suite], threats), strict=True))


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


def test_a_double_four_wins_with_two_stones_and_its_first_stone_is_found(threats, verify):
    [found] = verify.facts([moves_of(FOUR_TWO)], threats)
    assert found["depth"] == 2
    assert [6, 5] in found["winning"]


def turned(moves, i):
    """One of the eight symmetries of the board."""

    def one(x, y):
        x, y = (y, x) if i & 4 else (x, y)
        return [14 - x if i & 1 else x, 14 - y if i & 2 else y]

    return [one(x, y) for x, y in moves]


def test_all_symmetries_of_a_position_have_the_same_facts(threats, verify):
    position = next(p for p in load_suite() if p.kind == "vcf" and p.depth == 5)
    moves = [list(m) for m in position.moves]
    plain, *others = verify.facts([turned(moves, i) for i in range(8)], threats)
    for i, other in enumerate(others, 1):
        assert (other["depth"], other["threat_depth"]) == (plain["depth"], plain["threat_depth"])
        for name in ("winning", "holding", "fours", "threes"):
            assert sorted(other[name]) == sorted(turned(plain[name], i)), name
    assert len({verify.symmetric_key(turned(moves, i)) for i in range(8)}) == 1


def test_wins_by_fours_agree_with_a_search_from_the_rules_alone(suite_facts):
    """All first stones of wins of at most four stones, in the positions of small depth; and that nothing shorter wins."""
    small = [(p, f) for p, f in suite_facts if p.kind == "vcf" and p.depth <= 4]
    assert len(small) >= 3
    for position, found in small:
        slow = Slow(position.moves)
        winning = [list(p) for p in slow.empty() if slow.begins(slow.turn, p, position.depth)]
        assert winning and all(point in found["winning"] for point in winning), position.name
        assert not slow.wins(slow.turn, position.depth - 1), position.name


def test_stones_said_to_lose_do_lose_and_those_said_to_hold_meet_no_short_win(suite_facts):
    lost, held = [], []
    for position, found in [(p, f) for p, f in suite_facts if p.kind != "vcf" and p.depth <= 3][:2]:
        slow = Slow(position.moves)
        for point in slow.empty()[::23]:
            after = slow.with_stone(point, position.side)
            if not after.fives(position.side) and list(point) not in found["holding"]:
                lost.append(point)
                assert after.wins(1 - position.side, position.depth + 2), (position.name, point)
        for point in found["holding"]:
            after = slow.with_stone(tuple(point), position.side)
            held.append(point)
            assert after.fives(position.side) or not after.wins(1 - position.side, position.depth), (position.name, point)
    assert lost and held


def test_stones_that_lose_to_a_quiet_stone_are_among_those_that_hold_and_are_no_answers(suite_facts):
    pairs = [(p, f) for p, f in suite_facts if f["falling"]]
    assert pairs, "no position of the suite shows it"
    for position, found in pairs:
        assert all(point in found["holding"] and tuple(point) not in position.answers for point in found["falling"])


@pytest.mark.parametrize("line", ["7 7 7 7", "7", "15 0", "7 x", "0 0 0 9 1 0 1 9 2 0 2 9 3 0 3 9 4 0"])
def test_what_is_no_position_is_refused(threats, line):
    done = subprocess.run([threats, "verify"], input=line + "\n", capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("threats: ") and done.stdout == ""


def test_the_search_for_positions_finds_such_as_the_suite_has(threats, verify):
    done = subprocess.run([threats, "find", "1", "60"], capture_output=True, text=True, check=True)
    rows = [list(map(int, line.split())) for line in done.stdout.splitlines()]
    chosen = verify.choose([[row[i : i + 2] for i in range(0, len(row), 2)] for row in rows], threats)
    assert chosen and {made["kind"] for made in chosen} <= set(KINDS)
    assert list(verify.differences(chosen, threats)) == []
    chosen[0]["answers"] = [[0, 0]]
    assert [sentence.split(":")[0] for sentence in verify.differences(chosen, threats)] == [chosen[0]["name"]]


def test_every_position_is_what_the_exhaustive_search_says(threats, verify):
    suite = json.loads(verify.POSITIONS.read_text())
    assert list(verify.differences(suite, threats)) == []
    assert verify.as_text(suite) == verify.POSITIONS.read_text()


def test_no_two_positions_are_the_same_but_for_a_symmetry(verify):
    suite = load_suite()
    assert len({verify.symmetric_key([list(m) for m in p.moves]) for p in suite}) == len(suite)
