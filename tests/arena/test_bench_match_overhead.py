"""The benchmark runs, and its referees play the same games; their speed does not matter here."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench" / "match_overhead.py"


def run_bench(*arguments):
    return subprocess.run([sys.executable, str(BENCH), *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_the_bench_compares_all_referees_on_the_same_games(engines):
    done = run_bench("--rounds", 1, "--games", 1, "--program", engines / "sample")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith("seed 1, 1 rounds of 1 games")
    for name in ("arena ", "arena, bare", "windows", "shifts", "pipes"):
        assert any(line.startswith(name) for line in lines)
    assert sum("(aim: " in line for line in lines) == 3


def test_no_rounds_and_no_engine_are_refused_in_one_sentence():
    done = run_bench("--rounds", "0")
    assert done.returncode == 2 and "expected --rounds of at least 1; got 0" in done.stderr
    done = run_bench("--program", "nowhere")
    assert done.returncode == 2 and "nothing is there" in done.stderr
