"""An engine's process: the line protocol of the course, by a clock.

Every read has a deadline and a size cap. The engine runs only while it is asked: before and after it is stopped, so nobody
thinks on the opponent's time. The clock counts the CPU time of everything the engine started, so that an answer is not late
because another program had the core; a cap of wall-clock time ends one that sleeps or hangs, and does not count what other
programs withheld (`arena.engine.stopwatch`). Where the core was so busy that nothing can be said, the answer is doubtful:
`UNDECIDED`, which is no fault.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from arena.engine.process import ProcessTree, has_cpu_clock, signal_name
from arena.engine.stopwatch import Allowance, OutOfTime, Spent, Stopwatch, cpu_allowance, wall_allowance
from arena.match.rules import SIZE, Action, Termination, from_line, to_line

LINE_CAP = 4096
STDERR_TAIL = 2048
TOLD_WITHHELD_S = 0.1  # from which on a sentence speaks of it
# What an engine that stands in the position of GOMOKU_POSITION says behind its name.
POSITION_TAKEN = "+position"


class MatchStopped(Exception):
    """The match is being ended from outside; nobody's fault."""


class EngineFailure(Exception):
    """The engine did not answer as the protocol asks: a termination, a sentence, and what it wrote in place of an answer."""

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
    """What a seat may use.

    Attributes:
        move_s: an answer that takes longer loses.
        init_s: from start to name.
        told_move_s: what engines read in GOMOKU_MOVE_TIME_S; `move_s` if None.
        clock: what `move_s` and `init_s` count. CPU time of all the engine's processes; where the system does not show
            it, and with WALL, seconds of wall clock.
        wall_cap_s: wall-clock seconds an answer, with the CPU clock, less what other programs withheld; twice the limit and
            a second if None.
        memory_mib: address space of each of the engine's processes, unlimited if None.
    """

    move_s: float = 5.0
    init_s: float = 10.0
    told_move_s: float | None = None
    clock: Clock = Clock.CPU
    wall_cap_s: float | None = None
    memory_mib: int | None = None

    @property
    def told_s(self) -> float:
        """Seconds a move that engines are told to plan with."""
        return self.move_s if self.told_move_s is None else self.told_move_s

    def allowance(self, limit_s: float) -> Allowance:
        """What an answer with this limit may take."""
        return cpu_allowance(limit_s, self.wall_cap_s) if self.clock == Clock.CPU else wall_allowance(limit_s)

    @property
    def counts_cpu(self) -> bool:
        return self.clock == Clock.CPU and has_cpu_clock()


@dataclass(frozen=True)
class EngineSpec:
    """How a seat's program is started.

    Attributes:
        path: as the user named it.
        command: program and arguments (a confining prefix among them); the path itself if empty.
        env: what the program finds in its environment beside PATH, LANG and GOMOKU_*.
        cwd: its working folder.
        protocol: "course", or "gomocup" for the Piskvork pipe protocol.
        any_size: whether it plays on other boards than 15x15.
    """

    path: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    protocol: str = "course"
    any_size: bool = False

    @property
    def argv(self) -> list[str]:
        return list(self.command) or [os.path.abspath(self.path)]


@dataclass(frozen=True)
class GameOffer:
    """What engines are told of a game in their environment; those of ours heed it.

    Attributes:
        seed: GOMOKU_SEED, from which all its choices follow.
        opening: GOMOKU_OPENING, `x y` of black's first stone.
        size: GOMOKU_BOARD_SIZE.
        position: GOMOKU_POSITION, stones that lie already when the engine is asked first, black's first and no swap among
            them; the engine says POSITION_TAKEN behind its name if it has set them.
    """

    seed: int | None = None
    opening: Action | None = None
    size: int = SIZE
    position: tuple[Action, ...] = ()

    def environment(self) -> dict[str, str]:
        """Name -> value."""
        found = {"GOMOKU_BOARD_SIZE": str(self.size)}
        if self.seed is not None:
            found["GOMOKU_SEED"] = str(self.seed)
        if self.opening is not None:
            found["GOMOKU_OPENING"] = to_line(self.opening).strip()
        if self.position:
            found["GOMOKU_POSITION"] = "".join(map(to_line, self.position)).replace("\n", " ").strip()
        return found


class EngineProcess:
    """One running engine that speaks the course's protocol; use as a context manager.

    Args:
        spec: how to start it.
        limits: of its answers.
        offer: of the game.
        stopping: when set, a wait for an answer ends with MatchStopped.

    Attributes:
        name: as it called itself, empty before.
        took_position: whether it said that it has set the stones of the offered position.
        spent: on its last answer, also on one that was no answer.
    """

    def __init__(
        self,
        spec: EngineSpec,
        limits: Limits | None = None,
        offer: GameOffer | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        self.spec = spec
        self.limits = limits or Limits()
        self.offer = offer or GameOffer()
        self.name = ""
        self.took_position = False
        self.spent = Spent()
        self._stopping = stopping or threading.Event()
        self._tree: ProcessTree | None = None
        self._selector = selectors.PollSelector()
        self._charged_s = 0.0
        self._output = bytearray()
        self._stderr = b""

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, side: int) -> str:
        """Start the program, tell it its side (0 black, 1 white), return its name.

        Raises:
            EngineFailure: with INIT_FAILED, whatever went wrong, but for UNDECIDED.
        """
        clock = Clock.CPU if self.limits.counts_cpu else Clock.WALL
        told = {"GOMOKU_MOVE_TIME_S": f"{self.limits.told_s:g}", "GOMOKU_CLOCK": clock.value}
        offered = {**told, **self.offer.environment()}
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8", **offered, **self.spec.env}
        try:
            self._tree = ProcessTree(self.spec.argv, env=environment, cwd=self.spec.cwd, memory_mib=self.limits.memory_mib)
        except OSError as error:
            raise EngineFailure(Termination.INIT_FAILED, f"could not be started: {error.strerror}") from error
        self._selector = selectors.PollSelector()  # a program that is started again has other pipes
        for stream in (self._tree.stdout, self._tree.stderr):
            self._selector.register(stream, selectors.EVENT_READ)
        try:
            name = self._introduce(side).strip()
        except EngineFailure as failure:
            doubtful = failure.termination == Termination.UNDECIDED
            termination = failure.termination if doubtful else Termination.INIT_FAILED
            raise EngineFailure(termination, f"gave no name: {failure}") from failure
        if self.offer.position:
            self.took_position = name.endswith(POSITION_TAKEN)
            name = name.removesuffix(POSITION_TAKEN).strip()
        self.name = name[:100]
        if not self.name:
            raise EngineFailure(Termination.INIT_FAILED, "gave an empty line as its name")
        return self.name

    def _introduce(self, side: int) -> str:
        return self._exchange(f"{side}\n", self.limits.init_s)

    def ask(self, action: Action) -> Action:
        """Send the opponent's action and return the engine's; see `arena.match.rules` for what (-1, -1) means.

        Raises:
            EngineFailure: TIMEOUT, CRASH or MALFORMED; UNDECIDED where the core was too busy to tell.
        """
        line = self._exchange(to_line(action), self.limits.move_s)
        try:
            return from_line(line)
        except ValueError:
            raise EngineFailure(Termination.MALFORMED, f"answered {line[:60]!r} in place of two numbers", line) from None

    def close(self) -> None:
        """End the program and everything it started."""
        tree, self._tree = self._tree, None
        self._selector.close()
        if tree is not None:
            tree.kill()

    def _exchange(self, text: str, limit_s: float) -> str:
        """Send a text, read one line, by one deadline; before and after, the engine is stopped."""
        tree = self._tree
        if tree is None:
            raise EngineFailure(Termination.CRASH, "is not running")
        self._read_now(tree)
        if unasked := self._unasked():
            unasked_text = unasked.decode("utf-8", "replace")
            raise EngineFailure(Termination.MALFORMED, f"spoke before it was asked: {unasked_text[:60]!r}", unasked_text)
        # It has been stopped since it was charged last, so what came on top since then is this answer's.
        watch = Stopwatch(tree, self.limits.allowance(limit_s), self._charged_s)
        tree.resume()
        try:
            try:
                os.write(tree.stdin.fileno(), text.encode("ascii"))
            except (BrokenPipeError, BlockingIOError):
                raise EngineFailure(Termination.CRASH, self._ending(tree)) from None
            line = self._read_line(tree, watch)
        except OutOfTime as over:
            termination = Termination.UNDECIDED if over.doubtful else Termination.TIMEOUT
            raise EngineFailure(termination, self._late(watch.allowance, over.spent, over.doubtful)) from None
        finally:
            tree.stop()
            self.spent, self._charged_s = watch.stop(), watch.charged_s
        if self.limits.counts_cpu and self.spent.cpu_s > limit_s:
            raise EngineFailure(Termination.TIMEOUT, self._late(watch.allowance, self.spent))
        return line

    def _is_answer(self, line: str) -> bool:
        """Whether a line is an answer, and not a comment to be passed over within the same deadline."""
        return True

    def _unasked(self) -> bytes:
        """What lies read and is a fault before a question is asked; a protocol with comments takes those away."""
        return bytes(self._output)

    def _read_line(self, tree: ProcessTree, watch: Stopwatch) -> str:
        """One line of its output before its time is over; standard error is drained meanwhile.

        A line that is there counts, however late this process came to read it.
        """
        while True:
            line, newline, rest = self._output.partition(b"\n")
            if newline:
                self._output = bytearray(rest)
                text = line.decode("utf-8", "replace")
                if self._is_answer(text):
                    return text
                continue
            if len(self._output) > LINE_CAP:
                raise EngineFailure(Termination.MALFORMED, f"wrote a line of more than {LINE_CAP} bytes")
            ready = self._selector.select(watch.pause_s)
            if self._stopping.is_set():
                raise MatchStopped
            if not ready and tree.popen.poll() is not None:  # a child of its may still hold its output open
                raise EngineFailure(Termination.CRASH, self._ending(tree))
            for key, _ in ready:
                data = os.read(key.fd, LINE_CAP)
                if key.fileobj is tree.stderr:
                    self._stderr = (self._stderr + data)[-STDERR_TAIL:]
                    if not data:
                        self._selector.unregister(tree.stderr)
                elif data:
                    self._output += data
                else:
                    raise EngineFailure(Termination.CRASH, self._ending(tree))
            if b"\n" not in self._output:
                watch.look()

    def _late(self, allowance: Allowance, spent: Spent, doubtful: bool = False) -> str:
        if allowance.cpu_s is None:
            return f"gave no answer within {allowance.wall_s:g} s"
        if doubtful:
            return (
                f"gave no answer within {allowance.longest_s:g} s of wall clock, of which it was computing for "
                f"{spent.cpu_s:.2f} s and waiting for a core, which other programs had, for {spent.withheld_s:.1f} s: too long "
                "to tell whether it would have been in time"
            )
        if spent.cpu_s > allowance.cpu_s:
            return f"gave no answer within {allowance.cpu_s:g} s of CPU time ({spent.wall_s:.1f} s of wall clock had passed)"
        busy = f", besides {spent.withheld_s:.1f} s in which other programs had the core"
        return (
            f"gave no answer within {allowance.wall_s:g} s of wall clock, of which it was computing for {spent.cpu_s:.2f} s"
            + busy * (spent.withheld_s > TOLD_WITHHELD_S)
        )

    def _read_now(self, tree: ProcessTree) -> None:
        """Take what lies in the pipe unasked."""
        with contextlib.suppress(BlockingIOError):
            self._output += os.read(tree.stdout.fileno(), LINE_CAP)

    def _ending(self, tree: ProcessTree) -> str:
        try:
            code = tree.popen.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "closed its output without an answer"
        with contextlib.suppress(BlockingIOError, ValueError):
            self._stderr = (self._stderr + os.read(tree.stderr.fileno(), STDERR_TAIL))[-STDERR_TAIL:]
        how = f"was ended by signal {signal_name(-code)}" if code < 0 else f"ended itself with exit code {code}"
        words = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return f"{how}, saying {words[-1][:160]!r}" if words else how
