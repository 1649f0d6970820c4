"""Ctrl-C in `python -m grader trust`."""

import signal
import subprocess
import sys
import time

from common.program_starts import INTERRUPTED
from grader.assignment import ROOT
from grader.instructor.trust import ROWS


def test_ctrl_c_does_not_wait_for_the_samples_in_progress(tmp_path):
    name = "pure-sign-not-turned"
    command = [sys.executable, "-m", "grader", "trust", "--only", name, "--out", str(tmp_path), "--jobs", "1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        run = tmp_path / "seed_1/mutants" / name
        while not (run / "verdicts.jsonl").exists():
            assert program.poll() is None
            time.sleep(0.01)
        program.send_signal(signal.SIGINT)  # not to its processes, as a terminal would
        said, _ = program.communicate(timeout=60)
    assert program.returncode == INTERRUPTED and said.endswith("\nInterrupted.\n") and "Traceback" not in said
    assert not (run / "results.json").exists() and not (tmp_path / ROWS).exists()
