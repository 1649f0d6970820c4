"""The trusted side of `grader.worker`: starts it in the sandbox, asks, and turns every way to fail into a sentence.

A reply is accepted only if it is one JSON line of bounded size with the nonce of the question; everything else is a fault
of the submission, since no other program writes there. A worker that died, hung or answered nonsense is ended with its
whole process tree and a fresh one is started for the next call, so that a check loses only itself.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from grader.errors import CouldNotGrade, StudentFault
from grader.sandbox import ProcessLimits, Sandbox
from grader.worker import decode, encode

WORKER = Path(__file__).with_name("worker.py")
MAX_REPLY_BYTES = 128 << 20
STDERR_TAIL_BYTES = 4096


class Worker:
    """A student's Python behind a pipe; use as a context manager.

    Args:
        workspace: the tree laid out by `grader.workspace`; read-only for the worker.
        sandbox: level of confinement.
        limits: of the worker's process tree.
        call_limit_s: seconds that one call may take unless it says otherwise.
    """

    def __init__(self, workspace: Path, sandbox: Sandbox, limits: ProcessLimits, call_limit_s: float = 60.0) -> None:
        self._call_limit_s = call_limit_s
        self._workspace, self._sandbox, self._limits = workspace, sandbox, limits
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: Path | None = None
        self._stderr = b""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, operation: str, *, limit_s: float | None = None, **arguments: Any) -> Any:
        """Run one operation of `grader.worker` and return its plain value, by default within `call_limit_s`.

        Raises:
            StudentFault: the student's code raised, ended the process, took longer than `limit_s` or answered nonsense.
            CouldNotGrade: the worker could not be started.
        """
        limit_s = self._call_limit_s if limit_s is None else limit_s
        if self._process is None:
            self._start()
        nonce = secrets.token_hex(8)
        request = json.dumps({"nonce": nonce, "op": operation, "args": encode(arguments)}).encode("ascii") + b"\n"
        try:
            line = self._exchange(request, limit_s)
            reply = _parse(line, nonce)
        except StudentFault:
            self.close()
            raise
        if "fault" in reply:
            raise StudentFault(_sentence(reply["fault"]))
        return reply["value"]

    def close(self) -> None:
        """End the worker, whatever it started, and its scratch folder."""
        if self._process is not None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()
            self._process = None
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def _start(self) -> None:
        self._scratch = Path(tempfile.mkdtemp(prefix="grader-scratch-")).resolve()
        self._stderr = b""
        command = [sys.executable, "-I", "-B", str(WORKER), str(self._workspace)]
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self._scratch),
            "TMPDIR": str(self._scratch),
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        wrapped = self._sandbox.wrap(command, limits=self._limits, read_only=[self._workspace, WORKER], scratch=self._scratch)
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
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)

    def _exchange(self, request: bytes, limit_s: float) -> bytes:
        """Send the request and read one line, draining standard error, all by one deadline."""
        process = self._process
        assert process and process.stdin and process.stdout and process.stderr
        deadline = time.monotonic() + limit_s
        unsent, received = memoryview(request), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdin, selectors.EVENT_WRITE)
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while True:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise StudentFault(f"No answer within {limit_s:g} s.")
                for key, _ in selector.select(remaining):
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
                            raise StudentFault(f"The answer was longer than {MAX_REPLY_BYTES >> 20} MiB.")
                        if received.endswith(b"\n"):
                            return bytes(received)

    def _ending(self, process: subprocess.Popen[bytes]) -> str:
        try:
            code = process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "The program closed its side of the exchange."
        tail = self._stderr.decode("utf-8", "replace").strip().splitlines()
        last = f"; its last words: {tail[-1][:200]}" if tail else ""
        if code in (126, 127) or (code == 1 and tail and tail[-1].startswith(("bwrap:", "unshare:"))):
            raise CouldNotGrade(f"the worker process could not be confined{last}")
        how = f"killed by signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"The program ended itself in the middle of a check ({how}{last})."


def _parse(line: bytes, nonce: str) -> dict[str, Any]:
    try:
        reply = json.loads(line)
        if not isinstance(reply, dict) or reply.get("nonce") != nonce or len(reply) != 2:
            raise ValueError("not the reply to the question asked")
        return decode(reply)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StudentFault("The program wrote something of its own into the grader's exchange.") from error


def _sentence(fault: Any) -> str:
    """A fault as the student reads it."""
    kind, message, place = (str(fault.get(key, "")) for key in ("type", "message", "place"))
    if kind == "NotImplementedError" and "handout section" in message:
        return f"Not written yet: {message}."
    if kind == "ModuleNotFoundError" and message.startswith("No module named 'AlphaZero"):
        file = message.split("'")[1].replace(".", "/")
        return f"{file}{'/' if file == 'AlphaZero' else '.py'} is missing from the submission."
    where = f" ({place})" if place else ""
    return f"{kind}: {message}{where}." if message else f"{kind}{where}."
