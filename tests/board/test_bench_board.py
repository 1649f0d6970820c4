"""The board benchmark runs, and its two boards agree. Speed is not tested here."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench" / "board.py"


def run_bench(*arguments):
    return subprocess.run([sys.executable, str(BENCH), *arguments], capture_output=True, text=True, timeout=120)


def test_the_bench_measures_every_size_and_filling():
    done = run_bench("--repeats", "1")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.rstrip().endswith("x")]
    fillings = {"3x3": (0,), "8x8": (0, 10, 60), "11x11": (0, 10, 60, 120), "15x15": (0, 10, 60, 120)}
    assert {(row[0], int(row[1])) for row in rows} == {(size, stones) for size in fillings for stones in fillings[size]}
    assert sum("rollout" in row for row in rows) == 4 and all(float(row[-3]) > 0 for row in rows)


def test_zero_repeats_are_refused_in_one_sentence():
    done = run_bench("--repeats", "0")
    assert done.returncode == 2 and "expected --repeats of at least 1; got 0" in done.stderr
