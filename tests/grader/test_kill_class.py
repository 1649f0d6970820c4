"""`kill -9` of the grader at random moments of a class: nothing finished is graded again or lost. And two graders at once.

Two moments in each run of the tests; with TRUST=all in the environment 20, and a table of them. A kill comes after a share of
the time that a whole run takes here, and every second or third time not before some of the class is finished. The submissions
are small: what is looked at is which of them are graded, not their points.
"""

import contextlib
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from outcomes import outcomes

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "instructor" / "reference" / "AlphaZero" / "mcts_pure.py"
ALL = os.environ.get("TRUST") == "all"
MOMENTS = 20 if ALL else 2
NAMES = ("ada", "bob", "cem") if ALL else ("ada", "bob")
SOME = () if ALL else ("--only", "mcts_pure.tree")
MOST_ROUNDS = 60
RECORDS = ("results.json", "run.json", "verdicts.jsonl", "submission.zip", "report.html", "reports/report.md")


def hand_in(place, version):
    """Submissions of which one module can be graded; every version is another work."""
    paths = []
    for name in NAMES:
        folder = place / name
        (folder / "AlphaZero").mkdir(parents=True, exist_ok=True)
        text = SOURCE.read_text(encoding="utf-8")
        (folder / "AlphaZero" / "mcts_pure.py").write_text(f"{text}\n# {name} {version}\n", encoding="utf-8")
        (folder / "report.md").write_text(f"# {name} {version}\n", encoding="utf-8")
        paths.append(folder)
    return paths


def start(paths, out, *options, **streams):
    command = [sys.executable, "-m", "grader", "grade", *map(str, paths), "--profile", "smoke", "--out", str(out), *options]
    return subprocess.Popen(command, cwd=ROOT, start_new_session=True, **streams)


def digests(folder):
    """What a finished run has left, by name; nothing where it is not finished."""
    if not (folder / "results.json").exists():
        return {}
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in RECORDS}


def test_a_class_killed_again_and_again_grades_nothing_twice_and_loses_nothing(tmp_path, engines, capfd):
    out, version = tmp_path / "out", 1
    paths = hand_in(tmp_path / "in", version)
    numbers = random.Random(os.environ.get("KILL_SEED", "1"))
    finished: dict[tuple[str, int], dict[str, str]] = {}
    graded_again, table = set(), []

    def is_finished(name):
        with contextlib.suppress(OSError, ValueError):  # the grader may be moving or writing these files
            run = json.loads((out / name / "run.json").read_text())
            return run["identity"]["digest"] == wanted[name] and (out / name / "results.json").exists()
        return False

    def look():
        """Note which runs are finished, and which earlier ones have changed since."""
        for name in NAMES:
            now, before = digests(out / name), finished.get((name, version))
            if before is not None and now != before:
                graded_again.add((name, version))
            if now and is_finished(name):
                finished.setdefault((name, version), now)

    def finished_of(number):
        return sum(of == number for _, of in finished)

    wanted = submission_digests(paths)
    began = time.monotonic()
    start(paths, out, *SOME, stdout=subprocess.DEVNULL).wait()
    whole_s = time.monotonic() - began
    look()
    while len(table) < MOMENTS and version < MOST_ROUNDS:
        if all((name, version) in finished for name in NAMES):
            version += 1  # handed in again: what is finished has to be moved, and the next kill comes at some moment of that
            paths = hand_in(tmp_path / "in", version)
            wanted = submission_digests(paths)
        awaited = (len(table) + 1) % len(NAMES)  # so many are to be finished before the kill
        one_by_one = ("--jobs", "1") if awaited else ()
        began = time.monotonic()
        process = start(paths, out, *SOME, *one_by_one, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and sum(map(is_finished, NAMES)) < awaited:
            time.sleep(0.05)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=whole_s * (numbers.uniform(0, 1 / len(NAMES)) if awaited else numbers.uniform(0.25, 0.75)))
        killed, moment = process.poll() is None, time.monotonic() - began
        process.kill()
        process.wait()
        look()
        if killed and finished_of(version) < len(NAMES):
            table.append((moment, version, finished_of(version)))
    wanted = submission_digests(paths)
    assert start(paths, out, *SOME, stdout=subprocess.DEVNULL).wait() == (1 if ALL else 0)  # 1: other parts are missing
    look()

    kept = [digests(folder) for name in NAMES for folder in (out / name, *(out / name).glob("earlier/*"))]
    lost = [key for key, files in finished.items() if files not in kept]
    with capfd.disabled():
        print("\nkilled after  version handed in  finished of it")
        for moment, number, count in table:
            print(f"{moment:10.1f} s  {number:17}  {count} of {len(NAMES)}")
        print(f"{len(table)} kills, {len(finished)} finished: {len(graded_again)} graded again, {len(lost)} lost")
    assert len(table) == MOMENTS and any(count for _, _, count in table)
    assert not graded_again and not lost
    assert all((name, version) in finished for name in NAMES)


def submission_digests(paths):
    from grader.assignment_file import load_assignment
    from grader.pipeline.submission import read_submission

    assignment = load_assignment()
    return {path.name: read_submission(path, assignment).digest for path in paths}


def test_two_graders_at_once_refuse_the_same_folder_and_do_not_touch_each_other_in_two(tmp_path, engines):
    paths = hand_in(tmp_path / "in", 1)[:1]
    name = paths[0].name
    some = ("--seed", "5", "--only", "mcts_pure.tree", "--only", "mcts_pure.reuse")
    assert start(paths, tmp_path / "alone", *some, stdout=subprocess.DEVNULL).wait() == 0
    first = start(paths, tmp_path / "one", *some, stdout=subprocess.PIPE, text=True)
    other = start(paths, tmp_path / "two", *some, stdout=subprocess.DEVNULL)
    while "profile smoke" not in (line := first.stdout.readline()):
        assert line
    same = start(paths, tmp_path / "one", stderr=subprocess.PIPE, text=True)
    _, said = same.communicate()
    assert same.returncode == 2 and said.count("\n") == 1 and f"grader: another grader (process {first.pid} on " in said
    first.stdout.read()
    assert (first.wait(), other.wait()) == (0, 0)
    assert outcomes(tmp_path / "one" / name) == outcomes(tmp_path / "two" / name) == outcomes(tmp_path / "alone" / name)
