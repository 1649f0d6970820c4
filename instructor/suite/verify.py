"""Choose the suite's positions from candidates, or verify the existing ones (docs/arena.md, "Positions").

    make build/suite/threats
    timeout 400 build/suite/threats find 7 1000000 > found.txt
    build/suite/threats deepen 1 < found.txt >> deeper.txt  finds deeper wins from those in found.txt
    python instructor/suite/verify.py choose found.txt      writes positions.json (with build/engines/reference)
    python instructor/suite/verify.py                       recomputes everything in positions.json and compares

The facts about a position come from `threats verify`, which searches exhaustively. This program only classifies positions by
their facts. If a win of the opponent has to be stopped, an answer may lose even though neither fours nor one quiet stone refute
it. So `choose` leaves out a position if the reference engine proves that one of its answers loses.
Exit codes: 0 done, 1 the file differs from the search, 2 the call was wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from Board.symmetries import Symmetries  # noqa: E402

POSITIONS = ROOT / "arena" / "suite" / "positions.json"
THREATS = ROOT / "build" / "suite" / "threats"
REFERENCE = ROOT / "build" / "engines" / "reference"
PROVEN = 900_000  # a larger score of the reference is a proven win
REFUTATION_S = 5.0  # the time for each move given to the reference
SIZE = 15
SYMMETRIES = Symmetries(SIZE, SIZE).moves.tolist()
LARGEST_SET = 3  # most correct answers of a position; with more, a guess might be correct
LEAST_WIN = 3  # fewest stones of a win that an engine has to find
MANY_FOURS = 8  # if the side to move can make more fours than this, the position is not ranked any higher
OPENING = 6  # plies; two positions that begin with the same plies come from one game
# How many positions to choose: by depth of the win, by depth of the win to be stopped, and by kind of the greedy threats.
WANTED_WINS = {3: 2, 4: 2, 5: 2, 6: 2, 7: 2, 8: 2, 9: 2, 10: 1, 11: 1, 12: 1, 13: 1, 14: 1, 15: 1}
WANTED_BLOCKS = {2: 1, 3: 2, 4: 2, 5: 2, 6: 2, 7: 1}
WANTED_TRAPS = {"fours": 8, "threes": 2}

Moves = list[list[int]]
Facts = dict[str, Any]


def facts(positions: Iterable[Moves], program: Path = THREATS) -> list[Facts]:
    """Return the facts about each position, found by exhaustive search."""
    text = "".join(" ".join(f"{x} {y}" for x, y in moves) + "\n" for moves in positions)
    done = subprocess.run([str(program), "verify"], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def entry(moves: Moves, found: Facts) -> dict[str, Any] | None:
    """Return the suite's entry for a position, without its name, or None if the position belongs to no kind.

    vcf     The side to move wins by continuous fours, and loses by force after every other stone.
    trap    The side to move has no such win, and the opponent has one unless it is stopped. All fours that the side to move
            can make lose by force (or all open threes, if it can make no four).
    block   Like a trap, but without such a temptation.
    """
    if "unknown" in found or not 1 <= len(found["holding"]) <= LARGEST_SET:
        return None
    holding, greedy = found["holding"], found["fours"] or found["threes"]
    answers = [point for point in holding if point not in found["falling"]]
    if not answers:
        return None
    common = {"moves": moves, "answers": answers}
    if found["depth"]:
        if found["depth"] < LEAST_WIN or found["winning"] != holding:
            return None
        return {"kind": "vcf", "depth": found["depth"], **common, "line": found["line"], "greedy": []}
    common |= {"depth": found["threat_depth"], "line": found["threat_line"]}
    if not found["threat_depth"]:
        return None
    if greedy and not any(point in answers for point in greedy):
        return {"kind": "trap", **common, "greedy": greedy}
    return {"kind": "block", **common, "greedy": []}


def is_refuted(moves: Moves, answer: list[int], engine: Path = REFERENCE) -> bool:
    """Return whether the engine proves, within its time for a move, that this answer loses."""
    score, reply, depth = _search([*moves, answer], engine)
    if depth <= 1 and abs(score) <= PROVEN:  # the reply was the only move, so nothing was searched
        return _search([*moves, answer, reply], engine)[0] < -PROVEN
    return score > PROVEN


def _search(moves: Moves, engine: Path) -> tuple[int, list[int], int]:
    """Return the score for the side to move, its answer, and the depth of the last iteration."""
    offered = " ".join(f"{x} {y}" for x, y in moves[:-1])
    environment = {"GOMOKU_POSITION": offered, "GOMOKU_REPORT": "1", "GOMOKU_MOVE_TIME_S": str(REFUTATION_S)}
    question = f"{len(moves) % 2}\n{moves[-1][0]} {moves[-1][1]}\n"
    done = subprocess.run([str(engine)], input=question, capture_output=True, text=True, check=True, env=environment)
    words = done.stderr.splitlines()[-1].split()
    score, depth = (int(words[words.index(name) + 1]) for name in ("score", "depth"))
    return score, [int(word) for word in done.stdout.splitlines()[1].split()], depth


def symmetric_key(moves: Moves) -> tuple[tuple[int, int], ...]:
    """Return the stones and their colours in a form that is the same under all eight symmetries."""
    stones = [(x * SIZE + y, ply % 2) for ply, (x, y) in enumerate(moves)]
    return min(tuple(sorted((image[point], colour) for point, colour in stones)) for image in SYMMETRIES)


def choose(positions: list[Moves], program: Path = THREATS) -> list[dict[str, Any]]:
    """Choose a suite from candidates: prefer those with few answers, and take at most one from each game."""
    ranked = []
    for moves, found in zip(positions, facts(positions, program), strict=True):
        if made := entry(moves, found):
            # The more fours there are, the less likely a guess is to be correct.
            ranked.append((len(made["answers"]), -min(len(found["fours"]), MANY_FOURS), len(moves), moves, made))
    known = [made for *_, made in sorted(ranked, key=itemgetter(0, 1, 2, 3))]
    chosen: list[dict[str, Any]] = []
    games: set[object] = set()

    def take(kind: str, count: int, fits: Any) -> None:
        for made in known:
            marks = {symmetric_key(made["moves"]), str(made["moves"][:OPENING])}
            if count and made["kind"] == kind and fits(made) and not marks & games:
                if kind != "vcf" and any(is_refuted(made["moves"], answer) for answer in made["answers"]):
                    continue
                games.update(marks)
                chosen.append(made)
                count -= 1

    # The deepest positions are the rarest, so their games are chosen first.
    for depth, count in sorted(WANTED_WINS.items(), reverse=True):
        take("vcf", count, lambda made, depth=depth: made["depth"] == depth)
    for depth, count in sorted(WANTED_BLOCKS.items(), reverse=True):
        take("block", count, lambda made, depth=depth: made["depth"] == depth)
    fours = {id(made) for made in known if made["kind"] == "trap" and _makes_four(made)}
    for which, count in WANTED_TRAPS.items():
        take("trap", count, lambda made, which=which: (id(made) in fours) == (which == "fours"))
    order = ("vcf", "block", "trap")
    chosen.sort(key=lambda made: (order.index(made["kind"]), made["depth"], len(made["moves"])))
    numbers = dict.fromkeys(order, 0)
    suite = []
    for made in chosen:
        numbers[made["kind"]] += 1
        suite.append({"name": f"{made['kind']}-{numbers[made['kind']]:02}", **made})
    return suite


def _makes_four(made: dict[str, Any]) -> bool:
    """Return whether the greedy stones make fours: four own stones and an empty point in some window of five."""
    stones = {(x, y): ply % 2 for ply, (x, y) in enumerate(made["moves"])}
    own = len(made["moves"]) % 2
    x, y = made["greedy"][0]
    for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
        for first in range(-4, 1):
            window = [(x + (first + i) * dx, y + (first + i) * dy) for i in range(5)]
            owners = [stones.get(point) for point in window]
            inside = all(0 <= a < SIZE and 0 <= b < SIZE for a, b in window)
            if inside and owners.count(own) == 3 and owners.count(None) == 2:
                return True
    return False


def differences(suite: list[dict[str, Any]], program: Path = THREATS) -> Iterator[str]:
    """Yield a sentence for each position whose entry differs from the search."""
    for made, found in zip(suite, facts([made["moves"] for made in suite], program), strict=True):
        computed = entry(made["moves"], found)
        if computed is None or {"name": made["name"], **computed} != made:
            yield f"{made['name']}: the search found {computed if computed else found}."


def as_text(suite: list[dict[str, Any]]) -> str:
    """Return JSON with one position on each line."""
    return "[\n" + ",\n".join(json.dumps(made) for made in suite) + "\n]\n"


def main(arguments: list[str] | None = None) -> int:
    """Verify or choose."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("command", nargs="?", choices=("verify", "choose"), default="verify")
    parser.add_argument("found", nargs="?", type=Path, help="for choose: the candidates that threats find printed")
    options = parser.parse_args(arguments)
    if (options.command == "choose") != (options.found is not None):
        parser.error("expected choose FOUND, or verify without FOUND")
    for program, target in ((THREATS, "build/suite/threats"), (REFERENCE, "build/engines/reference")):
        if not program.exists() and (program == THREATS or options.command == "choose"):
            parser.error(f"expected the program {program}; build it with make {target}")
    if options.command == "choose":
        rows = [list(map(int, line.split())) for line in options.found.read_text().splitlines()]
        suite = choose([[row[i : i + 2] for i in range(0, len(row), 2)] for row in rows])
        POSITIONS.write_text(as_text(suite), encoding="utf-8")
        print(f"{len(suite)} positions out of {len(rows)} candidates")
        return 0
    suite = json.loads(POSITIONS.read_text(encoding="utf-8"))
    wrong = list(differences(suite))
    print("\n".join(wrong) if wrong else f"{len(suite)} positions verified")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
