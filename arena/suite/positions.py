"""The suite of positions: an engine is set up in each position and asked for one move (docs/arena.md, "Positions").

GOMOKU_POSITION contains all stones of a position except the last one, which is the opponent's and is sent as in any game. An
engine says whether it has placed the stones (`EngineProcess.took_position`); this is not guessed from its answers. The correct
answers were computed by exhaustive search: after any other answer the opponent wins by force.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.engine.cores import one_core
from arena.engine.engine_process import EngineFailure, EngineSpec, GameOffer, Limits
from arena.engine.protocols import open_engine
from arena.engine.stopwatch import Spent
from arena.rules import Action, IllegalAction, Position
from common.errors import UsageError

POSITIONS = Path(__file__).with_name("positions.json")
SEED = 1
KINDS = {
    "vcf": "a win by continuous fours (VCF): each stone makes a four, so each answer is forced",
    "block": "a win of the opponent by continuous fours, to be stopped",
    "trap": "the same, but the strongest threat of the side to move loses",
}
DEPTH = "the stones that the winner needs, including the one that makes five; each of them but the last forces an answer"


@dataclass(frozen=True)
class SuitePosition:
    """A position and its correct answers.

    Attributes:
        kind: one of KINDS.
        depth: number of stones, including the one that makes five, that the winner by continuous fours needs. The winner is the
            side to move (vcf), or the opponent unless stopped (block, trap).
        moves: all moves from the empty board, starting with black; the last one is the opponent's.
        answers: the correct answers; every other answer loses by force.
        line: the winner's stones in the shortest win by continuous fours.
        greedy: for a trap, the points where the side to move can make a four or an open three; all of them lose.
    """

    name: str
    kind: str
    depth: int
    moves: tuple[Action, ...]
    answers: tuple[Action, ...]
    line: tuple[Action, ...]
    greedy: tuple[Action, ...] = ()

    @property
    def side(self) -> int:
        """The side to move: 0 black, 1 white."""
        return len(self.moves) % 2

    def position(self) -> Position:
        """Return the position on a new board."""
        board = Position()
        for move in self.moves:
            board.play(move)
        return board


@dataclass(frozen=True)
class Attempt:
    """What an engine did in a position.

    Attributes:
        position: the position.
        answer: the engine's answer; None if it gave no answer that follows the protocol.
        fault: why the answer does not count; empty if it counts.
        spent: the time that the answer took.
    """

    position: SuitePosition
    answer: Action | None
    fault: str
    spent: Spent

    @property
    def solved(self) -> bool:
        """Whether the answer counts and is correct."""
        return not self.fault and self.answer in self.position.answers


def load_suite() -> list[SuitePosition]:
    """Load all positions.

    Raises:
        UsageError: the file is missing.
    """
    try:
        data = json.loads(POSITIONS.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"expected the suite's positions at {POSITIONS}: {error.strerror}") from error
    return [_position(entry) for entry in data]


def _position(entry: dict[str, Any]) -> SuitePosition:
    points = {name: tuple((int(x), int(y)) for x, y in entry[name]) for name in ("moves", "answers", "line", "greedy")}
    return SuitePosition(str(entry["name"]), str(entry["kind"]), int(entry["depth"]), **points)


def find_position(name: str) -> SuitePosition:
    """Return the position with this name.

    Raises:
        UsageError: there is no such position.
    """
    suite = load_suite()
    for position in suite:
        if position.name == name:
            return position
    raise UsageError(f"expected a position from {suite[0].name} to {suite[-1].name}, as --suite lists them; got {name!r}")


def attempt(spec: EngineSpec, position: SuitePosition, limits: Limits) -> Attempt:
    """Set up an engine in a position and ask for its answer.

    Raises:
        UsageError: the engine does not start, or it cannot set up positions, so that its answer would mean nothing.
    """
    with open_engine(spec, limits, GameOffer(seed=SEED, position=position.moves[:-1])) as engine:
        try:
            engine.start(position.side)
        except EngineFailure as failure:
            raise UsageError(f"expected an engine that starts; {spec.path} {failure}") from failure
        if not engine.took_position:
            raise UsageError(
                f"expected an engine that can set up positions, without which it cannot be tested; {spec.path} cannot: assign "
                "ai_set_stone in init() (section 4.4 of docs/handout.md) and rebuild it"
            )
        answer, fault = None, ""
        try:
            answer = engine.ask(position.moves[-1])
            position.position().play(answer)
        except (EngineFailure, IllegalAction) as failure:
            fault = failure.termination.value
        return Attempt(position, answer, fault, engine.spent)


def run_suite(spec: EngineSpec, limits: Limits, suite: list[SuitePosition]) -> Iterator[Attempt]:
    """Attempt each position with a new engine process.

    Raises:
        UsageError: see `attempt`.
    """
    with one_core():
        for position in suite:
            yield attempt(spec, position, limits)


def table(spec: EngineSpec, limits: Limits) -> Iterator[str]:
    """Run an engine on the whole suite and yield the lines of the table as soon as they are known.

    Raises:
        UsageError: see `attempt` and `load_suite`.
    """
    suite = load_suite()
    attempts: list[Attempt] = []
    for made in run_suite(spec, limits, suite):
        if not attempts:
            yield f"{spec.path}, {limits.move_s:g} s a position"
            yield from explanation()
            yield f"{'position':<10}{'kind':<7}{'depth':>5}  {'answer':<8}{'solved':<15}{'time':>7}"
        attempts.append(made)
        position, spent_s = made.position, made.spent.cpu_s if limits.counts_cpu else made.spent.wall_s
        answer = "-" if made.answer is None else f"{made.answer[0]} {made.answer[1]}"
        verdict = "yes" if made.solved else made.fault or "no"
        yield f"{position.name:<10}{position.kind:<7}{position.depth:>5}  {answer:<8}{verdict:<15}{spent_s:>5.2f} s"
    for kind in KINDS:
        yield _total(kind, [made for made in attempts if made.position.kind == kind])
    yield _total("all", attempts)


def explanation() -> Iterator[str]:
    """Yield lines that say what the kinds of positions and the depth are."""
    for kind, words in KINDS.items():
        yield f"  {kind:<6} {words}"
    yield f"  depth  {DEPTH}"


def _total(name: str, attempts: list[Attempt]) -> str:
    return f"{name:<6}{sum(made.solved for made in attempts):>3} of {len(attempts)} solved"


def describe(position: SuitePosition) -> str:
    """Describe the task of a position and its correct answers in a few sentences."""
    mover = ("black (X)", "white (O)")[position.side]
    answers, line, greedy = (
        ", ".join(f"{x} {y}" for x, y in points) for points in (position.answers, position.line, position.greedy)
    )
    winner = "it" if position.kind == "vcf" else "the opponent, unless stopped,"
    traps = f" Its strongest threats lose: {greedy}." if greedy else ""
    return (
        f"{position.name}, {KINDS[position.kind]}: {mover} is to move; {winner} wins with {position.depth} stones, by {line}.\n"
        f"Correct: {answers}. After any other stone the opponent wins by force.{traps}"
    )
