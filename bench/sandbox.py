"""Measure what confinement costs a grading run: `python bench/sandbox.py --rounds 3` prints the cost in per cent.

The same submission is graded with the same seed, alternately under the strongest level of this machine and under rlimits, so
that a machine that becomes slower affects both. Wall and CPU seconds are those of the grader and everything that it starts.
CPU time is read from /proc several times a second, since processes that end with their namespace are not counted anywhere
else. Each ratio compares two consecutive grading runs; the median and range of the ratios are printed.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from common.program_ends import Parser
from grader.assignment import ROOT
from grader.confinement.sandbox import LEVELS, find_sandbox

PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.2
SEED = 1
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_of_descendants() -> dict[tuple[int, int], float]:
    """Return (process id, start time) -> CPU seconds so far, for each process that descends from this one."""
    seconds: dict[tuple[int, int], float] = {}
    parents: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, fields = int(entry.parent.name), entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        # The fields of proc(5): 4 is ppid, 14 utime, 15 stime, 22 starttime. The first two fields are cut off here.
        parents[pid] = int(fields[1]), int(fields[19])
        seconds[pid, int(fields[19])] = (int(fields[11]) + int(fields[12])) * TICK_S

    def descends(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid][0]
            if pid == os.getpid():
                return True
        return False

    return {(pid, start): used for (pid, start), used in seconds.items() if descends(pid)}


def measure(submission: Path, profile: str, level: str) -> tuple[float, float]:
    """Grade the submission once at this level; return wall and CPU seconds."""
    with tempfile.TemporaryDirectory(prefix="bench-sandbox-") as out:
        command = [sys.executable, "-m", "grader", "grade", str(submission), "--profile", profile, "--seed", str(SEED)]
        command += ["--out", out, "--sandbox", level, "--allow-weak-sandbox"]
        used: dict[tuple[int, int], float] = {}
        started = time.monotonic()
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
            while process.poll() is None:
                used |= cpu_of_descendants()
                time.sleep(POLL_S)
            wall = time.monotonic() - started
            if process.returncode:
                log.seek(0)
                sys.exit(f"expected the grading run to succeed under {level}; got: {log.read().strip()[-500:]}")
    return wall, sum(used.values())


def main() -> None:
    """Print each round and the ratios."""
    parser = Parser(description="Measure what confinement costs a grading run.")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of grading runs (default: 3)")
    parser.add_argument("--profile", default="quick", help="a profile of assignment.toml (default: quick)")
    parser.add_argument("--submission", type=Path, default=ROOT / "instructor" / "reference", help="(default: the reference)")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"expected --rounds of at least 1; got {options.rounds}")
    # With this, processes that lose their parent remain descendants of this one.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    levels = (find_sandbox().level, LEVELS[-1])
    print(f"{'round':5}  {'level':10}  {'wall s':>7}  {'CPU s':>7}", flush=True)
    ratios: list[tuple[float, float]] = []
    for number in range(1, options.rounds + 1):
        seen = {}
        for level in levels if number % 2 else reversed(levels):
            seen[level] = measure(options.submission, options.profile, level)
            print(f"{number:5}  {level:10}  {seen[level][0]:7.1f}  {seen[level][1]:7.1f}", flush=True)
        ratios.append((seen[levels[0]][0] / seen[levels[1]][0], seen[levels[0]][1] / seen[levels[1]][1]))
    for name, values in zip(("wall", "CPU"), zip(*ratios, strict=True), strict=True):
        low, middle, high = (f"{100 * (value - 1):+.1f} %" for value in (min(values), median(values), max(values)))
        print(f"{levels[0]} against {levels[1]}, {name} time: {middle} ({low} to {high}, {options.rounds} rounds)")


if __name__ == "__main__":
    main()
