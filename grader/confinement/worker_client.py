"""The trusted side of `grader.confinement.worker`: start it in the sandbox, send requests, and explain every failure.

A worker says hello before it loads any of the student's code, so a failure before that is the machine's fault. After that, a
reply is accepted only if it is one JSON line of bounded size, with the request's nonce and a value in the layout of its
operation. Anything else is the submission's fault, since no other program writes to the pipe. A worker that died, hung or sent
nonsense is killed with its whole process tree, and the next call starts a new one, so only one check is lost. Limits count CPU
time, and time taken by other programs is subtracted from the wall clock, so nobody loses a check because another program had
the core (`arena.engine.stopwatch`). If the machine was too busy to tell, the request is sent again to a new worker or,
failing that, the check is reported as one that could not be graded. Every request carries a seed for the student's random
generators, so that the same request gets the same reply in an appeal.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import secrets
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from arena.engine.process import Descendants, signal_name
from arena.engine.stopwatch import Allowance, OutOfTime, Spent, Stopwatch, cpu_allowance
from common.files import remove
from common.harmless_text import on_screen
from common.processes import kill_group
from grader.confinement.blame import SUBMITTED
from grader.confinement.plain import decode, encode
from grader.confinement.replies import FAULT, REPLIES
from grader.confinement.sandbox import ProcessLimits, Sandbox
from grader.confinement.worker import HELLO
from grader.confinement.worker_entry import SHOWN
from grader.errors import CouldNotGrade, StudentFault

WORKER = Path(__file__).with_name("worker_entry.py")
START_LIMIT_S = 60.0
BUSY_REPEATS = 1  # how often to repeat a request if the machine was too busy; each attempt takes very long
MAX_REPLY_BYTES = 128 << 20
MAX_REPLY_PARTS = 1_000_000  # in memory, a part takes up to 30 times the size of its text; an array is one part
NOT_WRITTEN = "Not written yet:"  # how the sentence about a stub begins
MAX_DIGITS = 18  # most digits of an integer
STDERR_TAIL_BYTES = 4096
CPU_DOUBT_S = 1.0  # what of the CPU time of a process that was killed may have escaped the last look
VERSION_DEPENDENT = ("SyntaxError", "ImportError")  # faults that code for a newer Python may have in this one
FOREIGN_REPLY = "The program wrote something of its own to its connection with the grader."

# Operations that leave no state behind; a worker that has run only these can be replaced by a new one.
STATELESS = ("follow", "play_on", "copies", "refusals", "search", "choose", "self_play", "advance", "model_layout")


class Worker:
    """A student's Python behind a pipe; a context manager.

    Args:
        workspace: the tree laid out by `grader.pipeline.workspace`; read-only for the worker.
        sandbox: the level of confinement.
        limits: the limits of the worker's process tree.
        call_limit_s: the CPU seconds that one call may take by default; for wall-clock time see
            `arena.engine.stopwatch.cpu_allowance`.
        submitted: the folders of the workspace that have the submission's Python.

    Attributes:
        seed_rng: draws the seed of each call; replace it to make the seeds repeatable.
    """

    def __init__(
        self,
        workspace: Path,
        sandbox: Sandbox,
        limits: ProcessLimits,
        call_limit_s: float = 60.0,
        submitted: Sequence[str] = SUBMITTED,
    ) -> None:
        self.seed_rng = Random()
        self._submitted = tuple(submitted)
        self._call_limit_s = call_limit_s
        self._workspace, self._sandbox, self._limits = workspace, sandbox, limits
        self._process: subprocess.Popen[bytes] | None = None
        self._tree = Descendants(0)
        self._has_state = False
        self._scratch: Path | None = None
        self._stderr = b""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, operation: str, *, limit_s: float | None = None, **arguments: Any) -> Any:
        """Run one operation of `grader.confinement.worker` and return its plain value.

        Args:
            limit_s: the CPU seconds that the call may take; `call_limit_s` by default.

        Raises:
            StudentFault: the student's code raised an exception, ended the process, took longer than `limit_s` or sent
                nonsense.
            CouldNotGrade: the worker did not say hello, code that we handed out failed, or the machine was too busy to tell
                whether the reply was late.
        """
        limit_s = self._call_limit_s if limit_s is None else limit_s
        seed = self.seed_rng.getrandbits(32)
        repeats = 0
        while True:
            try:
                return self._request(operation, seed, arguments, limit_s)
            except OutOfTime as over:
                if self._has_state or repeats == BUSY_REPEATS:
                    raise CouldNotGrade(_too_busy(over)) from over
                repeats += 1

    def _request(self, operation: str, seed: int, arguments: dict[str, Any], limit_s: float) -> Any:
        """Send the request once; raise OutOfTime if it is unclear whether the reply was late."""
        if operation not in REPLIES:
            raise CouldNotGrade(
                f"expected the layout of the reply to {operation} in grader/confinement/replies.py; got none: add it to REPLIES"
            )
        if self._process is None:
            self._start()
        self._has_state |= operation not in STATELESS
        nonce = secrets.token_hex(8)
        message = {"nonce": nonce, "seed": seed, "op": operation, "args": encode(arguments)}
        request = json.dumps(message).encode("ascii") + b"\n"
        try:
            reply = _parse(self._exchange(request, limit_s), nonce)
            if "value" in reply and not REPLIES[operation].fits(reply["value"]):
                raise StudentFault(FOREIGN_REPLY)
        except (StudentFault, OutOfTime):
            self.close()
            raise
        if "fault" in reply:
            sentence = fault_sentence(reply["fault"], self._submitted)
            if reply["fault"]["ours"]:
                # It is the word of the process in which the submission's code runs.
                raise CouldNotGrade(
                    f"code that was handed out seems to have failed, unless the submission forges this: {sentence}"
                )
            raise StudentFault(sentence)
        return reply["value"]

    def close(self) -> None:
        """Kill the worker and whatever it started, and remove its scratch folder."""
        if self._process is not None:
            kill_group(self._process)
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()
            self._process = None
            self._tree.withheld.close()
        if self._scratch is not None:
            remove(self._scratch)
            self._scratch = None

    def _start(self) -> None:
        """Start the process and read its hello."""
        self._scratch = Path(tempfile.mkdtemp(prefix="grader-scratch-")).resolve()
        self._stderr, self._has_state = b"", False
        command = [sys.executable, "-I", "-B", str(WORKER), str(self._workspace), *self._submitted]
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self._scratch),
            "TMPDIR": str(self._scratch),
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",  # verdicts must not depend on a GPU, and solutions may use one if they find it
        }
        shown = [self._workspace, *(WORKER.with_name(name) for name in SHOWN)]
        wrapped = self._sandbox.wrap(command, limits=self._limits, read_only=shown, scratch=self._scratch)
        try:
            self._process = subprocess.Popen(
                wrapped,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise CouldNotGrade(f"the worker process did not start: {error}") from error
        self._tree = Descendants(self._process.pid)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        try:
            hello = self._exchange(b"", START_LIMIT_S)
        except StudentFault as error:
            self.close()
            raise CouldNotGrade(f"the worker process did not start or could not be confined{self._last_words}") from error
        except OutOfTime as over:
            self.close()
            raise CouldNotGrade(_too_busy(over)) from over
        if hello != HELLO:
            self.close()
            raise CouldNotGrade(f"the worker process began with {hello[:60]!r} instead of its hello")

    def _exchange(self, request: bytes, limit_s: float) -> bytes:
        """Send the request, if there is one, and read one line within the limit, while draining standard error.

        Raises:
            StudentFault: there was no reply within the limit, or the program ended without a reply, or the reply was too long.
            OutOfTime: there was no reply, and the machine was too busy to tell whether it would have come in time.
        """
        process = self._process
        assert process and process.stdin and process.stdout and process.stderr
        watch = Stopwatch(self._tree, cpu_allowance(limit_s))
        unsent, received = memoryview(request), bytearray()
        with selectors.DefaultSelector() as selector:
            if request:
                selector.register(process.stdin, selectors.EVENT_WRITE)
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(watch.pause_s):
                    if key.fileobj is process.stdin:
                        try:
                            unsent = unsent[os.write(key.fd, unsent[: 1 << 16]) :]
                        except BrokenPipeError:
                            unsent = memoryview(b"")
                        if not unsent:
                            selector.unregister(process.stdin)
                        continue
                    data = os.read(key.fd, 1 << 20)
                    if key.fileobj is process.stderr:
                        self._stderr = (self._stderr + data)[-STDERR_TAIL_BYTES:]
                        if not data:
                            selector.unregister(process.stderr)
                    elif not data:
                        raise StudentFault(self._ending(process))
                    else:
                        received += data
                        if len(received) > MAX_REPLY_BYTES:
                            raise StudentFault(f"The reply was longer than {MAX_REPLY_BYTES >> 20} MiB.")
                        if received.endswith(b"\n"):
                            return bytes(received)
                try:
                    watch.look()
                except OutOfTime as over:
                    if over.doubtful:
                        raise
                    raise StudentFault(_no_reply(over.spent, watch.allowance)) from over

    def _ending(self, process: subprocess.Popen[bytes]) -> str:
        used_s = self._tree.cpu_s()  # while the process is not yet waited for
        try:
            code = process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "The program closed its connection to the grader."
        assert process.stderr
        with contextlib.suppress(BlockingIOError):
            self._stderr = (self._stderr + os.read(process.stderr.fileno(), 1 << 20))[-STDERR_TAIL_BYTES:]
        how = f"killed by signal {signal_name(-code)}" if code < 0 else f"exit code {code}"
        if code == -signal.SIGKILL and used_s > self._limits.cpu_s - CPU_DOUBT_S:
            how = f"it used up the {self._limits.cpu_s} s of CPU time of one process"
        return f"The program ended in the middle of a check ({how}{self._last_words})."

    @property
    def _last_words(self) -> str:
        """The last line of standard error as the end of a sentence, or "" if there is no output."""
        tail = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return f"; its last words: {_one_line(tail[-1], 200)}" if tail else ""


def _no_reply(spent: Spent, allowance: Allowance) -> str:
    """Name the limit that was reached, without what was measured, so that the sentence is the same in each run."""
    if allowance.cpu_s is None:
        return f"No reply within {allowance.wall_s:g} s of wall-clock time."
    if spent.cpu_s > allowance.cpu_s:
        return f"No reply within {allowance.cpu_s:g} s of CPU time."
    return (
        f"No reply within {allowance.wall_s:g} s of wall-clock time, although less than {allowance.cpu_s:g} s of CPU time "
        "were used: the program was waiting."
    )


def _too_busy(over: OutOfTime) -> str:
    spent = over.spent
    return (
        f"this machine was too busy: the program computed for {spent.cpu_s:.0f} of {spent.wall_s:.0f} s, and other programs "
        f"had the core for {spent.withheld_s:.0f} s; grade it again when fewer programs are running"
    )


def _parse(line: bytes, nonce: str) -> dict[str, Any]:
    """Return a reply with either a value or a fault as in `blame.describe`; raise StudentFault for anything else."""
    try:
        if sum(line.count(character) for character in b"[{,") > MAX_REPLY_PARTS:
            raise ValueError("too many parts")
        reply = json.loads(line, parse_int=_whole_number)
        if not isinstance(reply, dict) or reply.get("nonce") != nonce:
            raise ValueError("not the reply to this request")
        if reply.keys() == {"nonce", "value"}:
            return {"value": decode(reply["value"])}
        if reply.keys() == {"nonce", "fault"} and FAULT.fits(reply["fault"]):
            return {"fault": reply["fault"]}
        raise ValueError("neither a value nor a fault")
    except (ValueError, RecursionError) as error:
        raise StudentFault(FOREIGN_REPLY) from error


def _whole_number(digits: str) -> int:
    """Return an integer in a reply; raise ValueError if it has more digits than any reply needs."""
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)


def _one_line(text: str, most: int) -> str:
    """Return the text on one line, made safe for a terminal and cut to `most` characters."""
    return " ".join(on_screen(text[:most]).split())


def fault_sentence(fault: dict[str, Any], submitted: Sequence[str] = SUBMITTED) -> str:
    """Return a worker's fault in the words that the student reads."""
    kind, message, place = (_one_line(fault[key], most) for key, most in (("type", 100), ("message", 500), ("place", 200)))
    if kind == "NotImplementedError" and "handout section" in message:
        return f"{NOT_WRITTEN} {message}."
    missing = re.match(r"No module named '([\w.]+)'", message)
    if kind == "ModuleNotFoundError" and missing and missing[1].split(".")[0] in submitted:
        file = missing[1].replace(".", "/")
        return f"{file}{'/' if file in submitted else '.py'} is missing from the submission."
    reader = f"read by Python {platform.python_version()}" if kind in VERSION_DEPENDENT else ""
    where = f" ({', '.join(filter(None, (place, reader)))})" if place or reader else ""
    return f"{kind}: {message}{where}." if message else f"{kind}{where}."
