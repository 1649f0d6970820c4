"""The ladder plays the missing games and reports if the engines are not in the given order."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench" / "ladder.py"


def run_bench(*arguments):
    return subprocess.run([sys.executable, str(BENCH), *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_more_games_are_added_to_those_played_and_a_wrong_order_is_reported(engines, tmp_path):
    terms = [tmp_path, "--engines-path", engines, "--engines", "baseline", "sample", "--seed", "3"]
    first = run_bench(*terms, "--games", 1)
    assert first.returncode == 0 and "The order is NOT monotone." in first.stdout, first.stderr
    records = tmp_path / "sample-baseline.jsonl"
    before = records.read_text()
    again = run_bench(*terms, "--games", 2)
    assert again.returncode == 0 and "| sample | baseline | 2 | 2 | 0 : 2 |" in again.stdout
    assert records.read_text().startswith(before)


def test_a_wrong_call_gets_one_sentence(tmp_path):
    done = run_bench(tmp_path, "--engines", "alone")
    assert done.returncode == 2 and "expected at least two --engines" in done.stderr
    done = run_bench(tmp_path, "--engines", "nowhere", "neither", "--games", "1")
    assert done.returncode == 2 and "Traceback" not in done.stderr
