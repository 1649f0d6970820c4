"""An engine that speaks the Gomocup (Piskvork) pipe protocol, as a player in a game of this course.

The protocol consists of lines: START n, BEGIN, TURN x,y, BOARD .. DONE, INFO, ABOUT, RESTART, END. Its coordinates are the
course's x y. Besides its answers, an engine may send MESSAGE, DEBUG, ERROR, UNKNOWN and SUGGEST at any time. Such lines, and
empty ones, are skipped without extending the deadline of the question. They are allowed when no question is pending.

Such an engine does not know two rules of the course:
- The swap. As white, it never swaps. If its opponent swaps, the engine receives RESTART (or START, if it does not know
  RESTART), then the whole position as a BOARD in which its own stones are 1. It answers with its move.
- The central 7x7. It may open anywhere, and it loses by illegal_opening if its first stone lies outside the central 7x7.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection

from arena.engine.engine_process import POSITION_TAKEN, EngineFailure, EngineProcess
from arena.engine.stopwatch import Spent
from arena.rules import SWAP, Action, IllegalAction, Position, Termination, from_line

REPORT = "MESSAGE"
COMMENTS = (REPORT, "DEBUG", "ERROR", "UNKNOWN", "SUGGEST")
REFUSALS = ("ERROR", "UNKNOWN")
READS = 64  # at most this many times 64 KiB; a pipe holds less
END_WAIT_S = 0.2
# Engines read 32-bit numbers; the largest one stands for no limit.
LARGEST = 2**31 - 1
RULE_FREESTYLE = 0
GAME_TYPE_ENGINE = 1


class GomocupEngine(EngineProcess):
    """A running engine that speaks the Gomocup protocol. It is used in the same way as EngineProcess."""

    _side: int
    _position: Position
    _preamble = ""  # lines that need no answer, sent before the next question
    _answers: Collection[str] = ()  # first words of comments that count as answers to the current question
    _comment = ""
    _message = ""

    def report(self) -> str:
        """Return the last MESSAGE since the question, which is where such engines say what they think; see TimedProcess."""
        return self._message

    def _introduce(self, side: int) -> str:
        self._side = side
        self._position = Position(size=self.offer.size, free_opening=True)  # the referee checks the opening
        self._start_board(f"START {self.offer.size}")
        about = self._say("ABOUT\n", self.limits.init_s, REFUSALS, self.spent)
        self._preamble = self._information()
        for move in self.offer.position:
            self._position.play(move)
        named = re.search(r'name\s*=\s*"([^"]*)"', about, re.IGNORECASE)
        name = (named[1].strip() if named else "") or os.path.basename(self.spec.path.rpartition(":")[2])
        # BOARD is part of the protocol: the first question will contain the position.
        return f"{name} {POSITION_TAKEN}" if self.offer.position else name

    def _start_board(self, command: str) -> None:
        """Send START or RESTART to get an empty board; the engine answers OK, possibly followed by other words."""
        answer = self._say(f"{command}\n", self.limits.init_s, REFUSALS)
        if answer.split()[:1] != ["OK"]:
            raise EngineFailure(Termination.MALFORMED, f"answered {answer[:60]!r} instead of OK to {command}")

    def _information(self) -> str:
        turn_ms = min(LARGEST, max(1, round(1000 * self.limits.told_s)))
        memory = 0 if self.limits.memory_mib is None else min(LARGEST, self.limits.memory_mib << 20)
        known = {
            "timeout_turn": turn_ms,
            "timeout_match": 0,
            "max_memory": memory,
            "rule": RULE_FREESTYLE,
            "game_type": GAME_TYPE_ENGINE,
            "time_left": LARGEST,
        }
        return "".join(f"INFO {key} {value}\n" for key, value in known.items())

    def ask(self, action: Action) -> Action:
        """Send the opponent's action and return the engine's; see EngineProcess.

        Raises:
            EngineFailure: see EngineProcess; also ILLEGAL_MOVE for -1,-1, which is a swap in the course's protocol but a point
                off the board in this one.
        """
        if action != SWAP:
            is_offered = self._position.actions == list(self.offer.position) != []
            self._position.play(action)
            question = self._board() if is_offered else f"TURN {action[0]},{action[1]}\n"
        elif not self._position.actions:
            question = "BEGIN\n"
        else:
            self._position.play(SWAP)
            self._restart()
            question = self._board()
        line = self._say(self._preamble + question, self.limits.move_s)
        self._preamble = ""
        answer = self._point(line)
        with contextlib.suppress(IllegalAction):  # the referee also notices it and ends the game
            self._position.play(answer)
        return answer

    def _restart(self) -> None:
        """Clear the board, within the init limit, before a new position is sent; RESTART is optional, START is not."""
        try:
            self._start_board("RESTART")
        except EngineFailure as failure:
            if failure.termination != Termination.MALFORMED:
                raise
            self._start_board(f"START {self.offer.size}")
            self._preamble = self._information()

    def _board(self) -> str:
        lines = [f"{x},{y},{1 if owner == self._side else 2}\n" for (x, y), owner in self._position.stones.items()]
        return "".join(["BOARD\n", *lines, "DONE\n"])

    def _point(self, line: str) -> Action:
        try:
            x, y = line.split(",")
            answer = from_line(f"{x} {y}")
        except ValueError:
            raise EngineFailure(Termination.MALFORMED, f"answered {line[:60]!r} instead of x,y", line) from None
        if answer == SWAP:
            raise EngineFailure(Termination.ILLEGAL_MOVE, f'answered "{line.strip()}", which is off the board', line)
        return answer

    def close(self) -> None:
        """Send END, give the engine a moment to exit, then kill it and everything it started."""
        self._take_leave("END", END_WAIT_S)
        super().close()

    def _say(self, text: str, limit_s: float, answers: Collection[str] = (), earlier: Spent | None = None) -> str:
        """Send one question and return the answer; the message of a failure includes the engine's last comment."""
        self._answers, self._comment, self._message = answers, "", ""
        try:
            return self._exchange(text, limit_s, earlier)
        except EngineFailure as failure:
            if not self._comment:
                raise
            sentence = f"{failure}; its last comment was {self._comment[:160]!r}"
            raise EngineFailure(failure.termination, sentence, failure.answer) from failure

    def _is_answer(self, line: str) -> bool:
        word = _first_word(line)
        if word and (word not in COMMENTS or word in self._answers):
            return True
        self._comment = line.strip() or self._comment
        if word == REPORT:
            self._message = line.strip()[len(REPORT) :].strip()
        return False

    def _unasked(self) -> bytes:
        """Return the first pending output that is not a comment. Comments are removed, except an incomplete one at the end."""
        assert self._tree is not None
        for _ in range(READS):
            *lines, rest = bytes(self._output).split(b"\n")
            for line in lines:
                if _first_word(line.decode("utf-8", "replace")) not in ("", *COMMENTS):
                    return line
            self._output = bytearray(rest)
            self._read_now(self._tree)
            if self._output == rest:
                break
        begun = self._output.decode("utf-8", "replace")
        word = _first_word(begun)
        finished = begun.lstrip().upper() != word
        known = word in COMMENTS if finished else any(name.startswith(word) for name in COMMENTS)
        return b"" if known else bytes(self._output)


def _first_word(line: str) -> str:
    """Return the first word of a line in capitals, or an empty string for an empty line."""
    return line.split(maxsplit=1)[0].upper() if line.strip() else ""
