"""Programs of bench/ that are called wrongly say so before they measure anything."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.mark.parametrize(
    ("program", "arguments", "sentence"),
    [
        ("ablation.py", ["{tmp}/records", "--engine", "nowhere"], "expected an engine at nowhere; nothing is there"),
        ("protocol_check.py", ["reference", "--seeds", "0"], "expected --seeds of at least 1; got 0"),
        ("protocol_check.py", ["nobody"], "expected names or patterns of variants or mutants; none fits nobody"),
        ("sandbox.py", ["--rounds", "0"], "expected --rounds of at least 1; got 0"),
        ("verdicts.py", ["--kind", "mutants", "--record"], "expected --kind variants with --record"),
        ("versions.py", ["{tmp}/records", "nowhere", "neither"], "one of the arguments --nodes --time-limit is required"),
        ("versions.py", ["{tmp}/records", "nowhere", "neither", "--nodes", "0"], "expected --games of at least 1, and --nodes"),
        (
            "versions.py",
            ["{tmp}/records", "nowhere", "neither", "--nodes", "9"],
            "expected an engine at nowhere; nothing is there",
        ),
        ("stopping.py", ["--runs", "0"], "expected --runs, --plays and --most of at least 1"),
        ("stopping.py", ["--plays", "0"], "expected --runs, --plays and --most of at least 1"),
    ],
)
def test_a_wrong_call_gets_one_sentence(tmp_path, program, arguments, sentence):
    command = [sys.executable, str(BENCH / program), *(argument.format(tmp=tmp_path) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
