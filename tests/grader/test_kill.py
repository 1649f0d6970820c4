"""`kill -9` of the grader at random moments of one grading: the same command goes on, gives the same grade, leaves nothing.

A few moments and a small submission in each run of the tests; with TRUST=all in the environment 20 moments of a grading of
every check, and a table of them. A kill comes soon after some number of verdicts, however long a machine takes for them.
"""

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from outcomes import outcomes

from common.errors import UsageError
from grader.assignment_file import load_assignment
from grader.confinement.sandbox import LEVELS, find_sandbox

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "instructor" / "submissions" / "attacks" / "bases" / "engine"  # it is deterministic and ignores the clock
ALL = os.environ.get("TRUST") == "all"
MOMENTS = 20 if ALL else 2
SEED = 5
FIRST_STONE = """    const char *seed = std::getenv("GOMOKU_SEED");
    const int first = seed != nullptr && seed[0] % 2 == 0 ? 112 : 111;
"""
GONE_S = 15
SOON_S = 1.0


pytestmark = pytest.mark.alone


@pytest.fixture
def handed_in(tmp_path):
    """The reference with an engine that plays the same games again; of Part 2 the pure search alone where time is short."""
    folder = tmp_path / "in" / "killed"
    shutil.copytree(ROOT / "instructor" / "reference" / "AlphaZero", folder / "AlphaZero")
    shutil.copytree(ENGINE, folder, dirs_exist_ok=True)
    # Its first stone varies with the seed: a check that sees the same stone again and again goes on for twenty seconds more.
    header = folder / "Minimax" / "plain.h"
    text = header.read_text().replace("(i + 112)", "(i + first)").replace("    for (", FIRST_STONE + "    for (", 1)
    header.write_text(text)
    if not ALL:
        for name in ("policy_value_net_torch.py", "mcts_alphaZero.py"):
            (folder / "AlphaZero" / name).unlink()
    return folder


def processes(place):
    """Those that run something of this repository or in the test's folder, by number: the grader's, and what it started."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = entry.read_bytes()
            if any(os.fsencode(name) in line for name in (f"{ROOT}/", place)):
                found[int(entry.parent.name)] = line[:120]
    return found


def left_after(before, place):
    """What is still there after a while: processes, and files in the folder for temporary ones."""
    until = time.monotonic() + GONE_S
    while (left := {pid: line for pid, line in processes(place).items() if pid not in before}) and time.monotonic() < until:
        time.sleep(0.1)
    return [*left.values(), *(path.name for path in (place / "tmp").iterdir())]


@pytest.mark.machine
def test_a_grading_killed_again_and_again_ends_as_one_that_was_not(handed_in, tmp_path, engines, capfd):
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}

    def start(out):
        command = [sys.executable, "-m", "grader", "grade", str(handed_in), "--profile", "trust", "--seed", str(SEED)]
        command += ["--out", str(out)]
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)

    before = processes(tmp_path)
    assert start(tmp_path / "whole").wait() == 0
    whole = json.loads((tmp_path / "whole/killed/results.json").read_text())

    folder = tmp_path / "out" / "killed"
    verdicts = folder / "verdicts.jsonl"

    def decided_so_far():
        return verdicts.read_text().count("\n") if verdicts.exists() else 0

    checks = {check.id for check in load_assignment().checks}
    numbers = random.Random(os.environ.get("KILL_SEED", "1"))
    # None in the second half, so that a grading does not end before its kill; and one of them after a verdict.
    awaited = [numbers.randrange(len(checks) // 2) for _ in range(MOMENTS - 1)]
    table = []
    for number in sorted([*awaited, numbers.randrange(1, len(checks) // 2)]):
        started, process = time.monotonic(), start(tmp_path / "out")
        while process.poll() is None and decided_so_far() < number:
            time.sleep(0.02)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=numbers.uniform(0, SOON_S))
        assert process.poll() is None, "the grading has ended before its kill"
        process.kill()
        process.wait()
        table.append((time.monotonic() - started, decided_so_far(), left_after(before, tmp_path)))
    assert start(tmp_path / "out").wait() == 0
    results = json.loads((folder / "results.json").read_text())
    with capfd.disabled():
        print("\nkilled after  decided  left behind")
        for moment, decided, left in table:
            print(f"{moment:10.1f} s  {decided:7}  {', '.join(map(str, left)) or 'nothing'}")
        print(f"{results['points']:g} points, {whole['points']:g} without a kill")

    assert [left for _, _, left in table if left] == [] and left_after(before, tmp_path) == []
    assert any(0 < count < len(checks) for _, count, _ in table)
    assert all(earlier <= later for (_, earlier, _), (_, later, _) in pairwise(table))
    assert outcomes(folder) == outcomes(tmp_path / "whole/killed") and results["points"] == whole["points"]
    decided = [json.loads(line)["id"] for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    assert sorted(decided) == sorted(checks)
    assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "whole/killed").iterdir()}


ENDLESS = """
import subprocess, sys, time
from grader.confinement.sandbox import ProcessLimits, find_sandbox
limits = ProcessLimits(memory_mib=512, cpu_s=60, processes=8, file_size_mib=1)
program = [sys.executable, "-I", "-S", "-c", "print('ready', flush=True)\\nwhile True: pass", sys.argv[2]]
subprocess.Popen(find_sandbox(sys.argv[1]).wrap(program, limits=limits), start_new_session=True)
time.sleep(60)
"""


@pytest.mark.machine
@pytest.mark.parametrize("level", LEVELS)
def test_a_program_in_an_endless_loop_does_not_outlive_the_grader(level, tmp_path):
    try:
        find_sandbox(level)
    except UsageError:
        pytest.skip(f"no {level} here")
    before = processes(tmp_path)
    (tmp_path / "tmp").mkdir()
    parent = subprocess.Popen([sys.executable, "-c", ENDLESS, level, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout.readline() == "ready\n"
        assert len(processes(tmp_path).keys() - before.keys()) > 1
        parent.kill()
    assert left_after(before, tmp_path) == []


def test_a_verdict_that_a_kill_cut_off_is_decided_again_and_spoils_no_other(handed_in, tmp_path, engines):
    for name in ("policy_value_net_torch.py", "mcts_alphaZero.py"):
        (handed_in / "AlphaZero" / name).unlink(missing_ok=True)
    shutil.rmtree(handed_in / "Minimax")
    command = [sys.executable, "-m", "grader", "grade", str(handed_in), "--profile", "smoke", "--out", str(tmp_path / "out")]
    done = subprocess.run([*command, "--seed", "5"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # nothing of one part was handed in
    folder = tmp_path / "out" / "killed"
    (folder / "results.json").unlink()
    lines = (folder / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "verdicts.jsonl").write_bytes(b"".join(lines[:6]) + lines[6][:20])
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "continuing an unfinished run; checks decided so far: 6." in done.stdout
    again = (folder / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
    assert again[:6] == lines[:6] and len(again) == len(lines)
    results = json.loads((folder / "results.json").read_text())
    assert results["seed"] == 5 and len(results["could_not_grade"]) == 4
