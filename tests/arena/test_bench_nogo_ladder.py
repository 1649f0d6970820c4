"""The ladder of NoGo rungs plays neighbours, continues, and writes a record from which the tables are made."""

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench" / "nogo_ladder.py"
RUNGS = ["random", "uct?simulations=50", "rave?simulations=100"]


def run_bench(*arguments):
    return subprocess.run([sys.executable, str(BENCH), *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_neighbours_play_and_more_games_are_added(engines, tmp_path):
    terms = [tmp_path / "games", "--board", "5x5", "--rungs", *RUNGS]
    assert run_bench(*terms, "--games", 1).returncode == 0
    done = run_bench(*terms, "--games", 2, "--record", tmp_path / "record.json")
    assert done.returncode == 0 and "| rave?simulations=100 | uct?simulations=50 | 2 |" in done.stdout, done.stderr
    record = json.loads((tmp_path / "record.json").read_text())
    assert [engine["name"] for engine in record["engines"]] == RUNGS
    assert [match["games"] for match in record["matches"]] == [2, 2]
    assert all(match["lost_otherwise"] == 0 for match in record["matches"])


def test_a_wrong_call_gets_one_sentence(engines, tmp_path):
    assert "expected at least two --rungs" in run_bench(tmp_path, "--rungs", "random").stderr
    done = run_bench(tmp_path, "--rungs", "random", "best")
    assert done.returncode == 2 and done.stderr.startswith("nogo_ladder.py: expected nogo:uct")
