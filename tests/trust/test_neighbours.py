"""Submissions that exhaust the machine, among others of a class: the others get the verdicts that they get alone."""

import json
import shutil
import subprocess
import sys

import pytest
from outcomes import outcomes

from grader.assignment import ROOT
from grader.instructor.trust import load_samples

ATTACKS = ROOT / "instructor" / "submissions" / "attacks"
BOMBS = ("fork_bomb", "memory_bomb", "endless")
NEIGHBOURS = 17
SEED = "3"

pytestmark = [
    pytest.mark.alone,
    pytest.mark.thorough("a class of 20, graded twice"),
]


def grade(paths, out):
    command = [
        sys.executable,
        "-m",
        "grader",
        "grade",
        *map(str, paths),
        "--profile",
        "smoke",
        "--seed",
        SEED,
        "--out",
        str(out),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr


def lay(files, folder):
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder


def test_bombs_in_a_class_change_no_verdict_of_the_others(tmp_path, capfd):
    samples = [sample for sample in load_samples() if set(sample.files) == {"AlphaZero/mcts_pure.py"}][:NEIGHBOURS]
    others = [lay(sample.files, tmp_path / "in" / sample.name) for sample in samples]
    assert len(others) == NEIGHBOURS
    ignored = shutil.ignore_patterns("expected.toml")
    bombs = [shutil.copytree(ATTACKS / name, tmp_path / "in" / name, ignore=ignored) for name in BOMBS]
    paths = list(others)
    for number, bomb in enumerate(bombs):
        paths.insert(6 * number, bomb)
    grade(paths, tmp_path / "class")
    for path in others:
        grade([path], tmp_path / "alone")
    changed = [
        path.name for path in others if outcomes(tmp_path / "class" / path.name) != outcomes(tmp_path / "alone" / path.name)
    ]
    gained = {bomb.name: json.loads((tmp_path / "class" / bomb.name / "results.json").read_text())["points"] for bomb in bombs}
    with capfd.disabled():
        print(f"\n{len(others)} neighbours, {len(changed)} with other verdicts than alone; points of the bombs: {gained}")
    assert changed == [] and set(gained.values()) == {0}
