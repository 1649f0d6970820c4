"""The bench runs on every kind of search; speed is not tested."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench" / "selfplay.py"


def run_bench(*arguments):
    return subprocess.run([sys.executable, str(BENCH), *arguments], capture_output=True, text=True, timeout=300)


def test_the_bench_measures_each_way_to_play_beside_the_network_alone():
    done = run_bench("--boards", "3x3", "--seconds", "0.2", "--games", "4", "--playouts", "5", "--cpu-time")
    assert done.returncode == 0, done.stderr
    rows = {line.split()[2]: line.split() for line in done.stdout.splitlines() if line.strip().startswith("3x3  ")}
    assert list(rows) == ["forward", "serial", "puct", "cached", "gumbel"]
    assert all(float(number) > 0 for how in ("serial", "puct", "cached", "gumbel") for number in rows[how][4:8])
    # With a cache, more positions are requested than evaluated; without one, equally many.
    assert float(rows["cached"][4]) > float(rows["cached"][5]) and rows["puct"][4] == rows["puct"][5]
    assert "3x3: 32 MB per million positions" in done.stdout


def test_the_bench_measures_other_games_without_the_students_loop():
    done = run_bench(
        "--boards", "go_9", "--seconds", "0.1", "--games", "1", "--playouts", "2", "--cpu-time", "--libraries", "torch"
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split()[2] for line in done.stdout.splitlines() if line.strip().startswith("go_9  ")]
    assert rows == ["forward", "puct", "cached", "gumbel"]


def test_no_games_are_refused_in_one_sentence():
    done = run_bench("--games", "0")
    assert done.returncode == 2 and "expected --games of at least 1; got 0" in done.stderr
