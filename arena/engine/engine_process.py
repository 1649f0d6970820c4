"""An engine's process, which is timed, and the engines that speak the line protocol of the course.

Every read has a deadline and a size limit. The engine runs only while it owes an answer; at all other times it is stopped, so
no engine thinks on the opponent's time. The clock counts the CPU time of the engine and everything it started, so an answer
is not late because another program had the core. A limit on wall-clock time ends an engine that sleeps or hangs; it does not
count time that other programs withheld (`arena.engine.stopwatch`). If the core was so busy that nobody can tell whether the
answer was late, the result is `UNDECIDED`, and neither engine is at fault.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from arena.engine.process import ProcessTree, has_cpu_clock, signal_name
from arena.engine.stopwatch import Allowance, OutOfTime, Spent, Stopwatch, cpu_allowance, wall_allowance
from arena.rules import SIZE, Action, Termination, from_line, to_line
from common.harmless_text import on_screen

LINE_CAP = 4096
PIPE_READS = 16  # a pipe holds 64 KiB
STDERR_TAIL = 2048
WITHHELD_WORTH_TELLING_S = 0.1  # messages mention withheld time above this
# What a machine lacks when it cannot start a program for a reason that is not the program's.
LACKING = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EIO}
IDLE_CPU_S = 0.05  # a late program that computed less than this may wait for input with its answer still in its buffer
NO_ANSWER = "gave no answer"
# An engine appends this to its name if it has set up the position in GOMOKU_POSITION.
POSITION_TAKEN = "+position"
NO_NAME = "(no name)"  # shown for an engine that answers its side with an empty line


class MatchStopped(Exception):
    """Raised when the match is being ended from outside; no engine is at fault."""


class EngineFailure(Exception):
    """Raised when an engine does not answer as the protocol requires.

    Attributes:
        termination: how the game ends because of it.
        answer: what the engine wrote instead of an answer.
    """

    def __init__(self, termination: Termination, sentence: str, answer: str = "") -> None:
        super().__init__(sentence)
        self.termination = termination
        self.answer = answer


class Clock(StrEnum):
    """What a limit counts."""

    CPU = "cpu"
    WALL = "wall"


@dataclass(frozen=True)
class Limits:
    """How much time and memory a seat may use.

    Attributes:
        move_s: seconds for an answer; an engine that takes longer loses.
        init_s: seconds from the start of the program to its name.
        told_move_s: seconds per move that engines read from GOMOKU_MOVE_TIME_S; `move_s` if None.
        clock: what `move_s` and `init_s` count. With CPU, it is the CPU time of all processes of the engine, or wall-clock time
            if the system does not report CPU time. With WALL, it is always wall-clock time.
        wall_cap_s: with the CPU clock, wall-clock seconds for an answer, not counting time that other programs withheld; None
            means twice the limit plus one second.
        memory_mib: limit on the address space of each process of the engine, in MiB; None for no limit.
    """

    move_s: float = 5.0
    init_s: float = 10.0
    told_move_s: float | None = None
    clock: Clock = Clock.CPU
    wall_cap_s: float | None = None
    memory_mib: int | None = None

    @property
    def told_s(self) -> float:
        """The seconds for each move that the engine's environment announces."""
        return self.move_s if self.told_move_s is None else self.told_move_s

    def allowance(self, limit_s: float) -> Allowance:
        """Return the time that an answer with this limit may take."""
        return cpu_allowance(limit_s, self.wall_cap_s) if self.clock == Clock.CPU else wall_allowance(limit_s)

    @property
    def counts_cpu(self) -> bool:
        """Whether the limits count CPU time on this system."""
        return self.clock == Clock.CPU and has_cpu_clock()


@dataclass(frozen=True)
class EngineSpec:
    """How a seat's program is started.

    Attributes:
        path: the text by which the user named the engine.
        command: program and arguments, including any sandbox prefix; if empty, the path is the whole command.
        env: environment variables in addition to PATH, LANG and GOMOKU_*.
        cwd: the program's working folder.
        protocol: "course", "gomocup" for the Piskvork pipe protocol, or "gtp" for the Go Text Protocol.
        any_size: whether the engine plays on boards other than 15x15.
        libraries_mib: address space that a limit on memory leaves out, since the program's libraries take it.
        files: full paths of the files that the program runs and its command does not name by a full path.
    """

    path: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    protocol: str = "course"
    any_size: bool = False
    libraries_mib: int = 0
    files: tuple[str, ...] = ()

    @property
    def argv(self) -> list[str]:
        """Program and arguments."""
        return list(self.command) or [os.path.abspath(self.path)]


@dataclass(frozen=True)
class GameOffer:
    """What an engine's environment says about a game; the engines of this repository follow it.

    Attributes:
        seed: GOMOKU_SEED, which determines all random choices of the engine.
        opening: GOMOKU_OPENING, `x y` of black's first stone.
        size: GOMOKU_BOARD_SIZE.
        position: GOMOKU_POSITION, the stones on the board before the first question, in the order of play, starting with black
            and without a swap. An engine that has placed them appends POSITION_TAKEN to its name.
    """

    seed: int | None = None
    opening: Action | None = None
    size: int = SIZE
    position: tuple[Action, ...] = ()

    def environment(self) -> dict[str, str]:
        """Return the environment variables: name -> value."""
        variables = {"GOMOKU_BOARD_SIZE": str(self.size)}
        if self.seed is not None:
            variables["GOMOKU_SEED"] = str(self.seed)
        if self.opening is not None:
            variables["GOMOKU_OPENING"] = to_line(self.opening).strip()
        if self.position:
            variables["GOMOKU_POSITION"] = "".join(map(to_line, self.position)).replace("\n", " ").strip()
        return variables


def environment(spec: EngineSpec, limits: Limits, offer: GameOffer) -> dict[str, str]:
    """Return all environment variables of an engine: name -> value."""
    clock = Clock.CPU if limits.counts_cpu else Clock.WALL
    told = {"GOMOKU_MOVE_TIME_S": f"{limits.told_s:g}", "GOMOKU_CLOCK": clock.value, **offer.environment()}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **told, **spec.env}


class TimedProcess:
    """A running program that is asked questions and timed; each protocol is a subclass. Use it as a context manager.

    Args:
        spec: how to start the program.
        limits: how much time and memory it may use.
        stopping: when set, waiting for an answer ends with MatchStopped.

    Attributes:
        name: the name that the program gave; empty before it has started.
        spent: the time that the program took for its last answer, even if that answer was a fault.
    """

    def __init__(self, spec: EngineSpec, limits: Limits | None = None, stopping: threading.Event | None = None) -> None:
        self.spec = spec
        self.limits = limits or Limits()
        self.name = ""
        self.spent = Spent()
        self._stopping = stopping or threading.Event()
        self._tree: ProcessTree | None = None
        self._selector = selectors.PollSelector()
        self._charged_s = 0.0
        self._output = bytearray()
        self._stderr = b""
        self._notes = b""  # what came on standard error since the last question

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, environment: Mapping[str, str]) -> None:
        """Start the program with this environment.

        Raises:
            EngineFailure: INIT_FAILED, if there is no such program or it cannot be executed; UNDECIDED, if this machine has no
                room for another process.
        """
        memory_mib = None if self.limits.memory_mib is None else self.limits.memory_mib + self.spec.libraries_mib
        try:
            self._tree = ProcessTree(self.spec.argv, env=environment, cwd=self.spec.cwd, memory_mib=memory_mib)
        except OSError as error:
            if error.errno in LACKING:
                sentence = f"could not be started, since this machine is at a limit: {error.strerror}"
                raise EngineFailure(Termination.UNDECIDED, sentence) from error
            raise EngineFailure(Termination.INIT_FAILED, f"could not be started: {error.strerror}") from error
        self._selector = selectors.PollSelector()  # each start has new pipes
        for stream in (self._tree.stdout, self._tree.stderr):
            self._selector.register(stream, selectors.EVENT_READ)

    def standard_error(self) -> str:
        """Return the end of what the program has written to standard error, at most STDERR_TAIL bytes."""
        if self._tree is not None:
            self._hear_all(self._tree)
        return self._stderr.decode("utf-8", "replace")

    def _hear(self, data: bytes) -> None:
        """Keep the end of what came on standard error."""
        self._stderr, self._notes = (self._stderr + data)[-STDERR_TAIL:], (self._notes + data)[-STDERR_TAIL:]

    def _hear_all(self, tree: ProcessTree) -> None:
        """Hear what standard error still holds; it may be closed already."""
        with contextlib.suppress(BlockingIOError, ValueError):
            for _ in range(PIPE_READS):
                if not (data := os.read(tree.stderr.fileno(), LINE_CAP)):
                    break
                self._hear(data)

    def report(self) -> str:
        """Return the last line that the program has said about its search since it was asked; an empty string if none.

        This reads nothing, so another thread may call it while the program thinks.
        """
        *finished, _ = self._notes.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(finished) if line.strip()), "")

    def close(self) -> None:
        """Kill the program and everything it started."""
        tree, self._tree = self._tree, None
        self._selector.close()
        if tree is not None:
            tree.kill()

    def _take_leave(self, command: str, wait_s: float) -> None:
        """Send the command that ends the program, and give it a moment to exit."""
        tree = self._tree
        if tree is not None and tree.popen.poll() is None:
            with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
                tree.resume()
                os.write(tree.stdin.fileno(), f"{command}\n".encode("ascii"))
                tree.popen.wait(wait_s)

    def _exchange(self, text: str, limit_s: float, earlier: Spent | None = None) -> str:
        """Send a text and read one line, both before the same deadline; the engine runs only in between.

        Args:
            text: complete lines.
            limit_s: the limit of the whole answer.
            earlier: what the earlier parts of an answer in several parts have taken; None for the first part.
        """
        tree, self.spent = self._tree, Spent()
        if tree is None:
            raise EngineFailure(Termination.CRASH, "is not running")
        self._read_now(tree)
        if unasked := self._unasked():
            unasked_text = unasked.decode("utf-8", "replace")
            raise EngineFailure(Termination.MALFORMED, f"spoke before it was asked: {unasked_text[:60]!r}", unasked_text)
        if tree.popen.poll() is not None:  # one of its children may still be there to answer, fast enough or not
            raise EngineFailure(Termination.CRASH, self._ending(tree))
        self._notes = b""
        # The engine has been stopped since its last answer, so all CPU time that it uses from now on belongs to this one.
        allowance = self.limits.allowance(limit_s)
        watch = Stopwatch(tree, allowance if earlier is None else allowance.after(earlier), self._charged_s)
        tree.resume()
        try:
            try:
                os.write(tree.stdin.fileno(), text.encode("ascii"))
            except (BrokenPipeError, BlockingIOError):
                raise EngineFailure(Termination.CRASH, self._ending(tree, "closed its input")) from None
            line = self._read_line(tree, watch)
        except OutOfTime as over:
            termination = Termination.UNDECIDED if over.doubtful else Termination.TIMEOUT
            raise EngineFailure(termination, self._late(allowance, (earlier or Spent()) + over.spent, over.doubtful)) from None
        finally:
            tree.stop()
            self.spent, self._charged_s = (earlier or Spent()) + watch.stop(), watch.charged_s
        if self.limits.counts_cpu and self.spent.cpu_s > limit_s:
            raise EngineFailure(Termination.TIMEOUT, self._late(allowance, self.spent))
        return line

    def _is_answer(self, line: str) -> bool:
        """Return whether a line is an answer; a comment is skipped, and the deadline stays the same."""
        return True

    def _unasked(self) -> bytes:
        """Return output that came without a question, which is a fault. A protocol with comments removes these first."""
        return bytes(self._output)

    def _read_line(self, tree: ProcessTree, watch: Stopwatch) -> str:
        """Read one line of the engine's output before its time is up, and drain its standard error while waiting.

        A line that has arrived counts, no matter how late this process reads it.
        """
        while True:
            ready = self._selector.select(watch.pause_s)
            if self._stopping.is_set():
                raise MatchStopped
            if not ready and tree.popen.poll() is not None:  # one of its children may still hold its output open
                raise EngineFailure(Termination.CRASH, self._ending(tree))
            for key, _ in ready:
                if key.fileobj is tree.stderr:
                    data = os.read(key.fd, LINE_CAP)
                    self._hear(data)
                    if not data:
                        self._selector.unregister(tree.stderr)
                elif not self._read_now(tree):
                    raise EngineFailure(Termination.CRASH, self._ending(tree))
            if (answer := self._first_answer()) is not None:
                return answer
            watch.look()

    def _first_answer(self) -> str | None:
        """Take the lines that have arrived, up to and including an answer, and return the answer; None if there is none."""
        while (end := self._output.find(b"\n")) >= 0:
            self._check_length(end)
            text = self._output[:end].decode("utf-8", "replace")
            del self._output[: end + 1]
            if self._is_answer(text):
                return text
        self._check_length(len(self._output))
        return None

    def _check_length(self, length: int) -> None:
        if length > LINE_CAP:
            raise EngineFailure(Termination.MALFORMED, f"wrote a line of more than {LINE_CAP} bytes")

    def _late(self, allowance: Allowance, spent: Spent, doubtful: bool = False) -> str:
        if allowance.cpu_s is None:
            return f"{NO_ANSWER} within {allowance.wall_s:g} s"
        if doubtful:
            return (
                f"{NO_ANSWER} within {allowance.longest_s:g} s of wall-clock time, during which it computed for "
                f"{spent.cpu_s:.2f} s and waited {spent.withheld_s:.1f} s for a core that other programs had: too long to tell "
                "whether it would have been in time"
            )
        if spent.cpu_s > allowance.cpu_s:
            return f"{NO_ANSWER} within {allowance.cpu_s:g} s of CPU time ({spent.wall_s:.1f} s of wall-clock time had passed)"
        busy = f", not counting {spent.withheld_s:.1f} s in which other programs had the core"
        return (
            f"{NO_ANSWER} within {allowance.wall_s:g} s of wall-clock time, during which it computed for {spent.cpu_s:.2f} s"
            + busy * (spent.withheld_s > WITHHELD_WORTH_TELLING_S)
            + self._unsent(spent)
        )

    def _unsent(self, spent: Spent) -> str:
        """Return why an answer that the program has printed may not have arrived; an empty string if nothing points to that."""
        if self._output:
            return f"; what it wrote, {self._output[:60].decode('utf-8', 'replace')!r}, has no end of line"
        return "; if it printed an answer, it did not flush its output" * (spent.cpu_s < IDLE_CPU_S)

    def _read_now(self, tree: ProcessTree) -> bool:
        """Read what the pipe holds, without waiting, and return whether the program may write more.

        One call reads no more than PIPE_READS times LINE_CAP bytes, so that a program that never stops writing does not keep
        its deadline from being looked at.
        """
        with contextlib.suppress(BlockingIOError):
            for _ in range(PIPE_READS):
                data = os.read(tree.stdout.fileno(), LINE_CAP)
                if not data:
                    return b"\n" in self._output  # the lines that have arrived come first
                self._output += data
        return True

    def _ending(self, tree: ProcessTree, otherwise: str = "closed its output without an answer") -> str:
        """Return how the program ended; if it has not, return what it did `otherwise`."""
        try:
            code = tree.popen.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return otherwise
        self._hear_all(tree)
        how = f"was ended by signal {signal_name(-code)}" if code < 0 else f"exited with exit code {code}"
        words = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return f"{how}, saying {words[-1][:160]!r}" if words else how


class EngineProcess(TimedProcess):
    """A running engine that speaks the course's protocol; use it as a context manager.

    Args:
        spec, limits, stopping: see TimedProcess.
        offer: what the engine's environment says about the game.

    Attributes:
        took_position: whether the engine said that it has placed the stones of the offered position.
    """

    def __init__(
        self,
        spec: EngineSpec,
        limits: Limits | None = None,
        offer: GameOffer | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        super().__init__(spec, limits, stopping)
        self.offer = offer or GameOffer()
        self.took_position = False

    def start(self, side: int) -> str:
        """Start the program, tell it its side (0 black, 1 white) and return its name, or NO_NAME if its line is empty.

        Raises:
            EngineFailure: INIT_FAILED, whatever went wrong; but UNDECIDED if the core was so busy that nobody can tell whether
                the answer was late.
        """
        self._open(environment(self.spec, self.limits, self.offer))
        try:
            name = self._introduce(side).strip()
        except EngineFailure as failure:
            doubtful = failure.termination == Termination.UNDECIDED
            termination = failure.termination if doubtful else Termination.INIT_FAILED
            words = str(failure)
            late = words.startswith(NO_ANSWER)
            raise EngineFailure(
                termination, "gave no name" + (words.removeprefix(NO_ANSWER) if late else f": {words}")
            ) from failure
        if self.offer.position:
            self.took_position = name.endswith(POSITION_TAKEN)
            name = name.removesuffix(POSITION_TAKEN).strip()
        self.name = on_screen(name)[:100].strip() or NO_NAME
        return self.name

    def _introduce(self, side: int) -> str:
        return self._exchange(f"{side}\n", self.limits.init_s)

    def ask(self, action: Action) -> Action:
        """Send the opponent's action and return the engine's; `arena.rules` says what (-1, -1) means.

        Raises:
            EngineFailure: TIMEOUT, CRASH or MALFORMED; UNDECIDED if the core was so busy that nobody can tell whether the
                answer was late.
        """
        line = self._exchange(to_line(action), self.limits.move_s)
        try:
            return from_line(line)
        except ValueError:
            raise EngineFailure(Termination.MALFORMED, f"answered {line[:60]!r} instead of two numbers", line) from None
