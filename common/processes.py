"""Ending the process group of a program that was started in a session of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill every process of the program's group and wait for the program; a group that has ended already is left alone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
