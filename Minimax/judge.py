"""Play one game on the screen: `python Minimax/judge.py AI0|human AI1|human`, where AI0 is black.

`--suite ENGINE` runs an engine on each position of the suite; `--show NAME` draws one of the positions.

A human types `x y`, or `swap` where the rules allow it. If the input ends, the game is left unfinished.
Exit codes: 0 the game ended or was left, or the suite was completed; 2 the call was wrong, or the engine accepts no positions.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if __name__ == "__main__":
    from common.program_starts import expect_packages, leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")
    expect_packages("judge.py", "numpy")

from arena.engine.engine_process import EngineFailure, EngineSpec, GameOffer, Limits
from arena.engine.protocols import open_engine
from arena.engine.specs import check_size, parse_agent
from arena.match.as_text import draw
from arena.rules import FIVE, LARGEST_SIZE, SIZE, SWAP, SWAP_PLY, Action, IllegalAction, Position, Termination
from arena.suite import positions as suite
from common.errors import UsageError
from common.program_ends import Parser, run_program
from common.program_starts import INTERRUPTED
from common.typed import half_width, integer

COLOURS = ("black (X)", "white (O)")
MOVE_S, SUITE_MOVE_S = 5.0, 1.0


class HumanSeat:
    """The seat of a person at the keyboard."""

    name = "human"

    def start(self, side: int) -> None:
        """Do nothing: a person needs no start."""

    def answer(self, position: Position, last: Action) -> Action:
        """Ask for an action until the person types two numbers or `swap`.

        Raises:
            EOFError: the input has ended.
        """
        hint = ", or swap" if position.ply == SWAP_PLY else ""
        while True:
            text = half_width(input(f"{COLOURS[position.turn]}, ply {position.ply}: x y{hint}? ")).strip().lower()
            try:
                x, y = SWAP if text == "swap" else (integer(part) for part in text.split())
                return x, y
            except ValueError:
                print(f'expected two numbers from 0 to {position.size - 1} such as "7 7"{hint}; got {text!r}')

    def close(self) -> None:
        """Do nothing: there is no process to end."""


class EngineSeat:
    """The seat of an engine."""

    def __init__(self, spec: EngineSpec, limits: Limits, size: int) -> None:
        self._process = open_engine(spec, limits, GameOffer(size=size))
        self.name = spec.path

    def start(self, side: int) -> None:
        self.name = self._process.start(side)

    def answer(self, position: Position, last: Action) -> Action:
        return self._process.ask(last)

    def close(self) -> None:
        self._process.close()


def play(seats: list[HumanSeat | EngineSeat], size: int = SIZE) -> str:
    """Play to the end; return a sentence with the result and the reason for it."""
    position, last = Position(size=size), SWAP
    for side, seat in enumerate(seats):
        try:
            seat.start(side)
        except EngineFailure as failure:
            return _ended_by(side, seat.name, failure)
    print(f"{COLOURS[0]} is {seats[0].name}, {COLOURS[1]} is {seats[1].name}")
    print(draw(position, None))
    while not position.is_over:
        side = position.turn
        seat = seats[side]
        try:
            action = seat.answer(position, last)
            position.play(action)
        except IllegalAction as fault:
            if isinstance(seat, HumanSeat):
                print(f"Not allowed: {fault}.")
                continue
            return f"{COLOURS[1 - side]} wins: {seat.name} {fault} ({fault.termination})."
        except EngineFailure as failure:
            return _ended_by(side, seat.name, failure)
        last = action
        if action == SWAP:
            print(f"{seat.name} swaps: every stone changes colour and {COLOURS[0]} is to move again.")
        else:
            print(f"{COLOURS[side]} {seat.name}: {action[0]} {action[1]}")
        print(draw(position, None if action == SWAP else action))
    if position.winner is None:
        return "Draw: the board is full."
    return f"{COLOURS[position.winner]} {seats[position.winner].name} wins with five in a row."


def _ended_by(side: int, name: str, failure: EngineFailure) -> str:
    """Return the result of a game that ended because an engine failed."""
    result = "Undecided" if failure.termination == Termination.UNDECIDED else f"{COLOURS[1 - side]} wins"
    return f"{result}: {name} {failure} ({failure.termination})."


def examine(engine: str | None, shown: str | None, limits: Limits) -> int:
    """Run an engine on the suite, or draw one of the positions."""
    try:
        if shown is not None:
            position = suite.find_position(shown)
            print(draw(position.position(), position.moves[-1]))
            print(suite.describe(position))
        if engine is not None:
            for line in suite.table(parse_agent(engine), limits):
                print(line, flush=True)
    except UsageError as error:
        print(f"judge.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, then play one game or run the suite."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("black", metavar="AI0", nargs="?", help="the engine that plays black, or human")
    parser.add_argument("white", metavar="AI1", nargs="?", help="the engine that plays white, or human")
    parser.add_argument(
        "--time-limit",
        type=float,
        help=f"seconds that an engine has for each move (default {MOVE_S:g}; {SUITE_MOVE_S:g} with --suite)",
    )
    parser.add_argument("--board-size", type=int, default=SIZE, help=f"for agents that play on other sizes (default {SIZE})")
    parser.add_argument(
        "--suite", metavar="ENGINE", help="instead of a game, show which positions of the suite the engine solves"
    )
    parser.add_argument("--show", metavar="NAME", help="instead of a game, draw this position of the suite")
    options = parser.parse_args(arguments)
    examines = options.suite is not None or options.show is not None
    if examines != (options.black is None) or (options.black is None) != (options.white is None):
        parser.error("expected two players, or --suite ENGINE, or --show NAME")
    if options.time_limit is None:
        options.time_limit = SUITE_MOVE_S if examines else MOVE_S
    if not 0 < options.time_limit < 3600:
        parser.error(f"expected --time-limit in seconds, above 0 and below 3600; got {options.time_limit:g}")
    if examines:
        return examine(options.suite, options.show, Limits(move_s=options.time_limit))
    size = options.board_size
    if not FIVE <= size <= LARGEST_SIZE:
        parser.error(f"expected --board-size from {FIVE} to {LARGEST_SIZE}; got {size}")
    limits = Limits(move_s=options.time_limit)
    try:
        specs = [None if who == "human" else parse_agent(who) for who in (options.black, options.white)]
        check_size([spec for spec in specs if spec is not None], size)
    except UsageError as error:
        print(f"judge.py: {error}", file=sys.stderr)
        return 2
    seats = [HumanSeat() if spec is None else EngineSeat(spec, limits, size) for spec in specs]
    try:
        print(play(seats, size))
    except EOFError:
        print("\nThe game was left unfinished.")
    except KeyboardInterrupt:
        print("\nThe game was left unfinished.")
        return INTERRUPTED
    finally:
        for seat in seats:
            seat.close()
    return 0


if __name__ == "__main__":
    sys.exit(run_program("judge.py", main))
