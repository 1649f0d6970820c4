"""Run a course engine under a Gomocup (Piskvork) manager: `python -m arena.engine.gomocup ENGINE [ARGUMENT...]`.

The manager speaks the Gomocup pipe protocol with this program, and this program speaks the course's protocol with the engine.
The two protocols differ, with these consequences:

- The engine must know its colour when it starts, so it starts at BEGIN (black), at the first TURN (white), or at a BOARD with
  at most one stone. The time it takes to start counts towards that move. GOMOKU_MOVE_TIME_S is set to the last
  `INFO timeout_turn` before the start; if there was none, to its value in this program's own environment, or else to 5 s. All
  other INFO is ignored, so the time for a turn must be short enough for the time limit of the match.
- The course's protocol cannot place the engine's own stones on its board. A BOARD is accepted if it is
    a new game: an empty board, or one with a single stone of the opponent;
    the game so far plus one stone of the opponent, with or without a RESTART before it;
    the opponent's swap: the first three stones of a game in which the engine is black, each in the other colour.
  The answer to every other BOARD is ERROR and a message, and the game so far continues.
- Gomocup has no swap. The engine finds GOMOKU_NO_SWAP=1 in its environment. If it answers -1 -1 anyway, it has changed the
  colours on its own board, so the game cannot continue: the answer is ERROR and a message, and this program ends.

GOMOKU_SEED and GOMOKU_OPENING are passed on. Exit codes: 0 END or the end of the input, 1 the engine failed (the message was
written as ERROR), 2 the call was wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import takewhile

from arena.engine.engine_process import Clock, EngineFailure, EngineProcess, EngineSpec, GameOffer, Limits
from arena.engine.protocols import open_engine
from arena.engine.specs import check_size, engine_at, parse_agent
from arena.rules import OPEN, SIZE, SWAP, SWAP_PLY, Action, Termination, from_line
from common.errors import UsageError

VERSION = "1.0"
OWN, OPPONENT = "1", "2"
PASSED_ON = ("GOMOKU_SEED", "GOMOKU_OPENING")
DEFAULT_TOLD_S = 5.0
LEAST_TOLD_S = 0.01
# Timing is up to the manager; these limits end an engine that hangs under a manager that does not time it.
PATIENCE = 10
PATIENCE_S = 60.0


class Refusal(Exception):
    """Raised for a command that cannot be carried out, with a message for the manager; the state is unchanged."""


class Adapter:
    """One conversation with a manager.

    Args:
        spec: how the engine is started.
        told_s: seconds for each move to announce to the engine if the manager gives no time.
    """

    def __init__(self, spec: EngineSpec, told_s: float) -> None:
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.spec = replace(spec, env={**passed_on, "GOMOKU_NO_SWAP": "1", **spec.env})
        self._told_s = told_s
        self._size: int | None = None
        self._engine: EngineProcess | None = None
        self._side = 0
        self._moves: dict[Action, int] = {}  # the game so far, in the order of play: point -> side
        self._is_cleared = True  # the manager wants an empty board; a BOARD may still continue the game so far

    def close(self) -> None:
        """End the engine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def about(self) -> str:
        """Answer ABOUT, with the engine's name."""
        name = os.path.basename(self.spec.path) if self._engine is None else self._engine.name
        name = name.replace('"', "'")
        return f'name="{name}", version="{VERSION}", author="a course engine behind arena.engine.gomocup"'

    def information(self, words: list[str]) -> None:
        """Take note of INFO; a new time for a turn takes effect the next time the engine starts."""
        if len(words) == 2 and words[0].lower() == "timeout_turn" and words[1].isdecimal():
            self._told_s = max(LEAST_TOLD_S, int(words[1]) / 1000)

    def start(self, text: str) -> str:
        """Answer START, which asks for an empty board of this size."""
        size = int(text) if text.isdecimal() and len(text) < 4 else 0
        if size < 5:
            raise Refusal(f"expected START with a size such as {SIZE}; got {text!r}")
        try:
            check_size((self.spec,), size)
        except UsageError as error:
            raise Refusal(str(error)) from None
        if size != self._size:
            self._forget()
        self._size, self._is_cleared = size, True
        return "OK"

    def restart(self) -> str:
        """Answer RESTART, which asks for an empty board of the same size."""
        self._started()
        self._is_cleared = True
        return "OK"

    def begin(self) -> str:
        """Answer BEGIN: the engine is black and opens the game."""
        self._started()
        if not self._is_cleared:
            raise Refusal("expected BEGIN on an empty board; send RESTART before it")
        return self._new_game(None)

    def turn(self, text: str) -> str:
        """Answer TURN, the opponent's move."""
        point = self._point(text)
        if self._is_cleared:
            return self._new_game(point)
        if point in self._moves:
            raise Refusal(f"expected an empty point; {text} is taken")
        return self._answer(point)

    def board(self, lines: list[str]) -> str:
        """Answer BOARD, a whole position, if the course's protocol can express it."""
        stones: dict[Action, int] = {}
        for line in lines:
            where, _, owner = line.rpartition(",")
            point = self._point(where)
            if owner.strip() not in (OWN, OPPONENT) or point in stones:
                raise Refusal(f"expected each stone once as x,y,1 or x,y,2; got {line!r}")
            stones[point] = self._side if owner.strip() == OWN else 1 - self._side
        new = [point for point in stones if point not in self._moves]
        old = {point: side for point, side in stones.items() if point in self._moves}
        if self._engine is not None and old == self._moves and len(new) == 1 and stones[new[0]] != self._side:
            return self._answer(new[0])
        swapped = {point: 1 - side for point, side in self._moves.items()}
        if self._engine is not None and self._side == 0 and stones == swapped and len(stones) == SWAP_PLY - 1:
            self._moves = swapped
            return self._answer(SWAP)
        if not stones:
            return self._new_game(None)
        if len(stones) == 1 and self._side not in stones.values():
            return self._new_game(next(iter(stones)))
        raise Refusal(
            "expected a BOARD that adds one stone of the opponent to the game so far, or that begins a new game with at most "
            "one stone; the engine's protocol cannot set up any other position"
        )

    def _started(self) -> int:
        if self._size is None:
            raise Refusal(f"expected START {SIZE} before anything else")
        return self._size

    def _point(self, text: str) -> Action:
        size = self._started()
        try:
            first, second = text.split(",")
            x, y = from_line(f"{first} {second}")
        except ValueError:
            raise Refusal(f"expected a point as x,y; got {text!r}") from None
        if not (0 <= x < size and 0 <= y < size):
            raise Refusal(f"expected a point of the {size}x{size} board; got {text!r}")
        return x, y

    def _forget(self) -> None:
        self.close()
        self._moves, self._is_cleared = {}, True

    def _new_game(self, first: Action | None) -> str:
        """Start the engine (as black if the opponent has not played a first stone) and return its move."""
        self._forget()
        limits = Limits(
            move_s=PATIENCE * self._told_s + PATIENCE_S, init_s=PATIENCE_S, told_move_s=self._told_s, clock=Clock.WALL
        )
        self._side = 0 if first is None else 1
        self._engine = open_engine(self.spec, limits, GameOffer(size=self._started()))
        self._engine.start(self._side)
        return self._answer(OPEN if first is None else first)

    def _answer(self, action: Action) -> str:
        """Send the opponent's action to the engine and return its answer in the manager's format."""
        assert self._engine is not None
        self._is_cleared = False
        if action != SWAP:
            self._moves[action] = 1 - self._side
        answer = self._engine.ask(action)
        if answer == SWAP:
            raise EngineFailure(
                Termination.ILLEGAL_SWAP, "answered with a swap, which Gomocup does not have; it ignores GOMOKU_NO_SWAP"
            )
        self._moves[answer] = self._side
        return f"{answer[0]},{answer[1]}"


def converse(adapter: Adapter, lines: Iterator[str], say: Callable[[str], None]) -> int:
    """Carry out a manager's commands until END or the end of the input.

    Args:
        lines: the lines that the manager sends.
        say: sends one line to the manager.

    Returns:
        The exit code: 0, or 1 if the engine failed.
    """
    for line in lines:
        command, _, rest = line.strip().partition(" ")
        command, rest = command.upper(), rest.strip()
        try:
            match command:
                case "":
                    continue
                case "END":
                    return 0
                case "INFO":
                    adapter.information(rest.split())
                    continue
                case "START":
                    answer = adapter.start(rest)
                case "RESTART":
                    answer = adapter.restart()
                case "BEGIN":
                    answer = adapter.begin()
                case "TURN":
                    answer = adapter.turn(rest)
                case "BOARD":
                    answer = adapter.board([text.strip() for text in takewhile(lambda text: not _is_done(text), lines)])
                case "ABOUT":
                    answer = adapter.about()
                case _:
                    answer = f"UNKNOWN {command}"
        except Refusal as refusal:
            answer = f"ERROR {refusal}"
        except EngineFailure as failure:
            say(f"ERROR the engine {adapter.spec.path} {failure}")
            return 1
        say(answer)
    return 0


def _is_done(line: str) -> bool:
    return line.strip().upper() == "DONE"


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and talk to the manager on standard input and output."""
    parser = argparse.ArgumentParser(
        prog="python -m arena.engine.gomocup", description="Let a course engine play under a Gomocup manager."
    )
    parser.add_argument("engine", metavar="ENGINE", help="a program, or alphazero:FILE?playouts=N, or mcts:playouts=N")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="an argument for the program")
    options = parser.parse_args(arguments)
    try:
        if options.arguments:
            spec = engine_at(options.engine)
            spec = replace(spec, command=(*spec.argv, *options.arguments))
        else:
            spec = parse_agent(options.engine)
        if spec.protocol != "course":
            raise UsageError(f"expected an engine of the course's protocol; got {options.engine}, which needs no adapter")
    except UsageError as error:
        sys.stderr.write(f"gomocup: {error}\n")
        return 2
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    adapter = Adapter(spec, _default_told_s())

    def say(text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    try:
        return converse(adapter, iter(sys.stdin), say)
    except BrokenPipeError:  # the manager is gone; do not try to write the rest of the buffer at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    finally:
        adapter.close()


def _default_told_s() -> float:
    try:
        told_s = float(os.environ["GOMOKU_MOVE_TIME_S"])
    except (KeyError, ValueError):
        return DEFAULT_TOLD_S
    return told_s if 0 < told_s < 3600 else DEFAULT_TOLD_S


if __name__ == "__main__":
    raise SystemExit(main())
