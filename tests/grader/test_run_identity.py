"""What a run is identified by: a byte changed in anything that judges makes it another run."""

import shutil
import subprocess
import sys

import pytest

from grader.assignment import ROOT
from grader.pipeline.order import grader_digest, judging_files

# Imports what the grader, its checks and its workers import, as they do, and prints the files of this tree.
IMPORT_EVERYTHING = """
import importlib, pathlib, sys
import grader.pipeline.commands, grader.confinement.commands, grader.confinement.worker, train
for path in pathlib.Path("grader/judge").rglob("*.py"):
    importlib.import_module(".".join(path.with_suffix("").parts))
root = pathlib.Path.cwd()
files = (pathlib.Path(module.__file__) for module in sys.modules.values() if getattr(module, "__file__", None))
own = {path.relative_to(root).as_posix() for path in files if path.is_relative_to(root)}
print(*sorted(path for path in own if "site-packages" not in path), sep=chr(10))
"""


@pytest.fixture
def tree(assignment, tmp_path):
    """A copy of everything that judges."""
    for relative in judging_files(assignment):
        (tmp_path / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / relative, tmp_path / relative)
    return tmp_path


def test_a_byte_changed_in_any_file_that_judges_changes_the_digest(assignment, tree):
    before = grader_digest(assignment, tree)
    assert before == grader_digest(assignment)
    for relative in judging_files(assignment):
        path = tree / relative
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if content else b"#")
        assert grader_digest(assignment, tree) != before, relative
        path.write_bytes(content)
    assert grader_digest(assignment, tree) == before


def test_a_file_renamed_or_added_changes_the_digest(assignment, tree):
    before = grader_digest(assignment, tree)
    (tree / "grader/judge/support/drawn_positions.py").rename(tree / "grader/judge/support/places.py")
    renamed = grader_digest(assignment, tree)
    (tree / "Board/extra.py").touch()
    assert len({before, renamed, grader_digest(assignment, tree)}) == 3


def test_whatever_the_grader_and_its_workers_import_of_this_tree_is_hashed(assignment):
    done = subprocess.run([sys.executable, "-c", IMPORT_EVERYTHING], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.split())
    assert {"grader/judge/trusted/search.py", "training/exact.py", "Board/game_board.py", "train.py"} <= imported
    student = {path for path in imported if assignment.is_collected(path)}
    assert imported - student <= set(judging_files(assignment))


def test_the_opponents_and_the_header_are_hashed(assignment):
    assert {"assignment.toml", "Minimax/baseline.cpp", "Minimax/AIController.h"} <= set(judging_files(assignment))
