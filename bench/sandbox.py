"""What confinement costs a whole grading: `python bench/sandbox.py --rounds 3` prints it in per cent.

The same submission is graded with one seed under the strongest level of this machine and under rlimits alone, in turn, so that
a machine that grows slower meets both. Wall and CPU seconds are those of the grader with all that it starts, also of what is
ended with its process namespace. A pair's ratio is of two gradings next to each other; told are their median and spread.
Matches take the time that engines are told, whatever the level.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grader.assignment import ROOT
from grader.sandbox import LEVELS, find_sandbox

PR_SET_CHILD_SUBREAPER = 36
SEED = 1


def cpu_s() -> float:
    """CPU seconds of all processes that were started here and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(submission: Path, profile: str, level: str) -> tuple[float, float]:
    """Wall and CPU seconds of one grading at that level."""
    with tempfile.TemporaryDirectory(prefix="bench-sandbox-") as out:
        command = [sys.executable, "-m", "grader", "grade", str(submission), "--profile", profile, "--seed", str(SEED)]
        command += ["--out", out, "--sandbox", level, "--allow-weak-sandbox"]
        before, started = cpu_s(), time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        wall = time.monotonic() - started
        if done.returncode:
            sys.exit(f"expected a grading that ends well under {level}; got: {(done.stderr or done.stdout).strip()[-500:]}")
    # What was killed with its namespace comes here as an orphan.
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return wall, cpu_s() - before


def main() -> None:
    """Print each round and the ratios."""
    parser = argparse.ArgumentParser(description="What confinement costs a whole grading.")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of gradings (default: 3)")
    parser.add_argument("--profile", default="quick", help="of assignment.toml (default: quick)")
    parser.add_argument("--submission", type=Path, default=ROOT / "instructor" / "reference", help="(default: the reference)")
    options = parser.parse_args()
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
