"""An engine that speaks the Go Text Protocol, version 2, as a player of a board game.

Each command has an id. An answer with another id, output without a question, an answer without `=` or `?`, or one that is too
long is a fault of the engine, and so is a refusal of a command that it must know. Time and memory are limited in the same way
as for engines of the course's protocol (`arena.engine.engine_process`). The caller checks every move by its own rules.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass

from arena.engine.engine_process import EngineFailure, EngineSpec, Limits, TimedProcess
from arena.engine.gtp import Answer, clean, parse_answer, parse_vertex, vertex
from arena.engine.stopwatch import Spent
from arena.rules import Action, Termination
from common.harmless_text import on_screen

ANSWER_CAP = 1 << 16
REQUIRED = ("boardsize", "clear_board", "genmove", "play")
QUIT_WAIT_S = 0.2
MOST_STONES = 100  # of a period in time_settings


def time_settings(move_s: float) -> str:
    """Return the command that announces this time for a move; GTP counts whole seconds, for one stone or for several.

    It never announces more than `move_s` seconds for a stone, except that it announces 1 second for MOST_STONES stones if
    `move_s` is below that.
    """
    stones = next((n for n in range(1, MOST_STONES) if move_s * n >= 1), MOST_STONES)
    return f"time_settings 0 {max(1, int(move_s * stones))} {stones}"


@dataclass(frozen=True)
class BoardOffer:
    """What an engine is told about a game before the first move.

    Attributes:
        size: rows and columns of the board.
        komi: points that white gets; None for a game without points.
        seed: sent as `set_random_seed` if the engine lists this command, as GNU Go does; None for no seed.
    """

    size: int
    komi: float | None = None
    seed: int | None = None


class GtpEngine(TimedProcess):
    """A running GTP engine; use it as a context manager.

    Args:
        spec, limits, stopping: see TimedProcess.
        offer: the game.

    Attributes:
        commands: the names that list_commands gave; empty before `start`.
    """

    def __init__(self, spec: EngineSpec, limits: Limits, offer: BoardOffer, stopping: threading.Event | None = None) -> None:
        super().__init__(spec, limits, stopping)
        self.offer = offer
        self.commands: frozenset[str] = frozenset()
        self._number = 0
        self._lines: list[str] = []
        self._length = 0

    def start(self) -> str:
        """Start the program, prepare an empty board within the init limit, and return the engine's name and version.

        Raises:
            EngineFailure: INIT_FAILED, whatever went wrong; but UNDECIDED if the core was so busy that nobody can tell whether
                an answer was late.
        """
        self._open({"PATH": os.defpath, "LANG": "C.UTF-8", **self.spec.env})
        try:
            self.name = self._introduce()
        except EngineFailure as failure:
            doubtful = failure.termination == Termination.UNDECIDED
            termination = failure.termination if doubtful else Termination.INIT_FAILED
            raise EngineFailure(termination, f"could not be prepared: {failure}", failure.answer) from failure
        return self.name

    def _introduce(self) -> str:
        used = Spent()

        def ask(command: str) -> str:
            nonlocal used
            answer = self.command(command, self.limits.init_s, used)
            used = self.spent
            return answer

        if (version := ask("protocol_version")) != "2":
            raise EngineFailure(Termination.MALFORMED, f"speaks version {version[:20]!r} of GTP instead of 2", version)
        name = " ".join((ask("name"), ask("version"))).strip()
        self.commands = frozenset(ask("list_commands").split())
        if lacking := [command for command in REQUIRED if command not in self.commands]:
            raise EngineFailure(Termination.MALFORMED, f"does not know {', '.join(lacking)}")
        ask(f"boardsize {self.offer.size}")
        ask("clear_board")
        optional = [time_settings(self.limits.told_s)]
        if self.offer.komi is not None:
            optional.append(f"komi {self.offer.komi:g}")
        if self.offer.seed is not None:
            optional.append(f"set_random_seed {self.offer.seed}")
        for command in optional:
            if command.split()[0] in self.commands:
                ask(command)
        return on_screen(name)[:100] or os.path.basename(self.spec.argv[0])

    def answer(self, colour: int, last: Action | None) -> Action | None:
        """Tell the engine its opponent's last move, if there is one, and return its own, as `genmove` does.

        The time for a move covers both, and so does `spent`.

        Raises:
            EngineFailure: see `play` and `genmove`.
        """
        if last is None:
            return self.genmove(colour)
        self.play(1 - colour, last)
        return self.genmove(colour, self.spent)

    def play(self, colour: int, move: Action) -> None:
        """Tell the engine a move by black (0) or white (1).

        Raises:
            EngineFailure: see `command`.
        """
        self.command(f"play {'bw'[colour]} {vertex(move)}", self.limits.move_s)

    def genmove(self, colour: int, earlier: Spent | None = None) -> Action | None:
        """Return the engine's move for this colour, which may be PASS; None if the engine resigns.

        Args:
            colour: 0 for black, 1 for white.
            earlier: what it has taken of the time for this move already.

        Raises:
            EngineFailure: see `command`; MALFORMED also for an answer that is not a vertex, and ILLEGAL_MOVE for a vertex off
                the board.
        """
        text = self.command(f"genmove {'bw'[colour]}", self.limits.move_s, earlier)
        if text.lower() == "resign":
            return None
        try:
            return parse_vertex(text, self.offer.size)
        except ValueError:
            pass
        with contextlib.suppress(ValueError):
            parse_vertex(text, 100)
            size = self.offer.size
            raise EngineFailure(Termination.ILLEGAL_MOVE, f"answered {text!r}, which is off the {size}x{size} board", text)
        raise EngineFailure(Termination.MALFORMED, f"answered {text[:60]!r} instead of a vertex", text)

    def command(self, text: str, limit_s: float, earlier: Spent | None = None) -> str:
        """Send one command and return the content of the answer.

        Args:
            text: the command without an id.
            limit_s: seconds for this command and those before it that `earlier` counts.
            earlier: what these have taken; then `spent` includes it.

        Raises:
            EngineFailure: TIMEOUT, CRASH, or MALFORMED, also if the engine refuses the command; UNDECIDED if the core was so
                busy that nobody can tell whether the answer was late.
        """
        self._number += 1
        self._lines, self._length = [], 0
        try:
            self._exchange(f"{self._number} {text}\n", limit_s, earlier)
        except EngineFailure as failure:
            if failure.termination != Termination.TIMEOUT or not self._lines:
                raise
            sentence = f'{failure}; its answer "{on_screen(self._lines[0])[:60]}" was not ended by an empty line'
            raise EngineFailure(failure.termination, sentence, self._lines[0]) from failure
        answer = self._parsed(text)
        if answer.failed:
            raise EngineFailure(Termination.MALFORMED, f'refused "{text}": {on_screen(answer.text)[:160]}', answer.text)
        return answer.text

    def _parsed(self, text: str) -> Answer:
        answer = parse_answer(self._lines)
        if answer.number != self._number:
            got = "no id" if answer.number is None else f"id {answer.number}"
            raise EngineFailure(
                Termination.MALFORMED, f'answered "{text}" with {got} instead of id {self._number}', self._lines[0]
            )
        return answer

    def _is_answer(self, line: str) -> bool:
        """Collect the lines of an answer; it is complete when an empty line ends it."""
        line = clean(line)
        if not line.strip():
            return bool(self._lines)
        if not self._lines and line[0] not in "=?":
            raise EngineFailure(Termination.MALFORMED, f"answered {line[:60]!r}, which does not begin with = or ?", line)
        self._lines.append(line)
        self._length += len(line) + 1
        if self._length > ANSWER_CAP:
            raise EngineFailure(Termination.MALFORMED, f"gave an answer of more than {ANSWER_CAP} characters")
        return False

    def _unasked(self) -> bytes:
        """Return output that came without a question. Empty lines are no output."""
        self._output = bytearray(self._output.lstrip())
        return bytes(self._output)

    def close(self) -> None:
        """Send quit, give the engine a moment to exit, then kill it and everything it started."""
        self._take_leave("quit", QUIT_WAIT_S)
        super().close()
