"""An engine process: every read has a deadline and a size cap, and the whole process tree is ended in the end.

The engine is put into a session of its own. Children that leave it are found through /proc and ended too, so that a match
leaves nothing running.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from Minimax.arena.rules import Action, Termination, from_line, to_line

LINE_CAP = 4096
STDERR_TAIL = 2048
STOP_POLL_S = 0.2
MARK = "GOMOKU_ENGINE_MARK"


class MatchStopped(Exception):
    """The match is being ended from outside; nobody's fault."""


class EngineFailure(Exception):
    """The engine did not answer as the protocol asks: a termination and a sentence."""

    def __init__(self, termination: Termination, sentence: str) -> None:
        super().__init__(sentence)
        self.termination = termination


@dataclass(frozen=True)
class Limits:
    """Times of a game in seconds of wall clock.

    Attributes:
        move_s: an answer that takes longer loses.
        init_s: from start to name.
        told_move_s: what engines read in GOMOKU_MOVE_TIME_S; `move_s` if None.
    """

    move_s: float = 5.0
    init_s: float = 10.0
    told_move_s: float | None = None


@dataclass(frozen=True)
class EngineSpec:
    """How a seat's program is started.

    Attributes:
        path: as the user named it.
        command: program and arguments (a confining prefix among them); the path itself if empty.
        env: what the program finds in its environment beside PATH, LANG and GOMOKU_*.
        cwd: its working folder.
    """

    path: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None

    @property
    def argv(self) -> list[str]:
        return list(self.command) or [os.path.abspath(self.path)]


class EngineProcess:
    """One running engine; use as a context manager.

    Args:
        spec: how to start it.
        limits: of its answers.
        seed: given to it as GOMOKU_SEED, if any.
        stopping: when set, a wait for an answer ends with MatchStopped.
    """

    def __init__(
        self,
        spec: EngineSpec,
        limits: Limits | None = None,
        seed: int | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        self.spec = spec
        self._stopping = stopping or threading.Event()
        self.limits = limits or Limits()
        self.seed = seed
        self.name = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._output = bytearray()
        self._stderr = b""
        self._mark = f"{os.getpid()}-{id(self)}-{time.monotonic_ns()}"

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, side: int) -> str:
        """Start the program, tell it its side (0 black, 1 white), return its name.

        Raises:
            EngineFailure: with INIT_FAILED, whatever went wrong.
        """
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8", MARK: self._mark, **self.spec.env}
        told = self.limits.told_move_s
        environment.setdefault("GOMOKU_MOVE_TIME_S", f"{self.limits.move_s if told is None else told:g}")
        if self.seed is not None:
            environment.setdefault("GOMOKU_SEED", str(self.seed))
        try:
            self._process = subprocess.Popen(
                self.spec.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=self.spec.cwd,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineFailure(Termination.INIT_FAILED, f"could not be started: {error.strerror}") from error
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        try:
            self.name = self._exchange(f"{side}\n", self.limits.init_s).strip()[:100]
        except EngineFailure as failure:
            raise EngineFailure(Termination.INIT_FAILED, f"gave no name: {failure}") from failure
        if not self.name:
            raise EngineFailure(Termination.INIT_FAILED, "gave an empty line as its name")
        return self.name

    def ask(self, x: int, y: int) -> Action:
        """Send the opponent's action and return the engine's; see `Minimax.arena.rules` for what -1 -1 means.

        Raises:
            EngineFailure: TIMEOUT, CRASH or MALFORMED.
        """
        line = self._exchange(to_line((x, y)), self.limits.move_s)
        try:
            return from_line(line)
        except ValueError:
            raise EngineFailure(Termination.MALFORMED, f"answered {line[:60]!r} in place of two numbers") from None

    def close(self) -> None:
        """End the program and everything it started."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        end_marked(self._mark)

    def _exchange(self, text: str, limit_s: float) -> str:
        """Send one line, read one line, by one deadline; standard error is drained meanwhile."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None or process.stderr is None:
            raise EngineFailure(Termination.CRASH, "is not running")
        self._read_now(process)
        if self._output:
            raise EngineFailure(Termination.MALFORMED, f"spoke before it was asked: {bytes(self._output[:60])!r}")
        deadline = time.monotonic() + limit_s
        try:
            os.write(process.stdin.fileno(), text.encode("ascii"))
        except (BrokenPipeError, BlockingIOError):
            raise EngineFailure(Termination.CRASH, self._ending(process)) from None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while True:
                remaining = deadline - time.monotonic()
                ready = selector.select(max(0.0, min(remaining, STOP_POLL_S)))
                if self._stopping.is_set():
                    raise MatchStopped
                for key, _ in ready:
                    data = os.read(key.fd, LINE_CAP)
                    if key.fileobj is process.stderr:
                        self._stderr = (self._stderr + data)[-STDERR_TAIL:]
                        if not data:
                            selector.unregister(process.stderr)
                        continue
                    if not data:
                        raise EngineFailure(Termination.CRASH, self._ending(process))
                    self._output += data
                if time.monotonic() > deadline:
                    raise EngineFailure(Termination.TIMEOUT, f"gave no answer within {limit_s:g} s")
                line, newline, rest = self._output.partition(b"\n")
                if newline:
                    self._output = bytearray(rest)
                    return line.decode("utf-8", "replace")
                if len(self._output) > LINE_CAP:
                    raise EngineFailure(Termination.MALFORMED, f"wrote a line of more than {LINE_CAP} bytes")

    def _read_now(self, process: subprocess.Popen[bytes]) -> None:
        """Take what lies in the pipe unasked."""
        assert process.stdout is not None
        with contextlib.suppress(BlockingIOError):
            self._output += os.read(process.stdout.fileno(), LINE_CAP)

    def _ending(self, process: subprocess.Popen[bytes]) -> str:
        try:
            code = process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "closed its output without an answer"
        if process.stderr is not None:
            with contextlib.suppress(BlockingIOError, ValueError):
                self._stderr = (self._stderr + os.read(process.stderr.fileno(), STDERR_TAIL))[-STDERR_TAIL:]
        how = f"was ended by signal {signal_name(-code)}" if code < 0 else f"ended itself with exit code {code}"
        words = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return f"{how}, saying {words[-1][:160]!r}" if words else how


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; the number itself for a signal without a name."""
    return next((known.name for known in signal.Signals if known == number), str(number))


def end_marked(mark: str) -> None:
    """Kill every process whose environment carries the mark: children that left the engine's session.

    Waits up to a second until none is seen any more, since a killed process takes a moment to go. Only Linux shows
    environments, under /proc; elsewhere the session's end must do.
    """
    wanted = f"{MARK}={mark}".encode()
    for _ in range(100):
        found = False
        for entry in Path("/proc").glob("[0-9]*/environ"):
            try:
                if wanted in entry.read_bytes().split(b"\0"):
                    os.kill(int(entry.parent.name), signal.SIGKILL)
                    found = True
            except (OSError, ValueError):
                continue
        if not found:
            return
        time.sleep(0.01)
