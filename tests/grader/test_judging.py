"""A byte changed in anything that judges makes another run, and changes the basis of the checks that it can affect."""

import gc
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from common.errors import UsageError
from grader.assignment import ROOT
from grader.pipeline import judging
from grader.pipeline.judging import bases, check_digests, files_of_checks, grader_digest, judging_files, require_tests

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


def test_each_check_of_the_assignment_needs_a_test_and_each_test_a_check(assignment, tree):
    require_tests(assignment, tree)
    first, *others = assignment.checks
    misspelt = replace(assignment, checks=(replace(first, id="minimax.buildx"), *others))
    with pytest.raises(UsageError, match=r'marked @pytest\.mark\.points\("minimax\.buildx"\), because assignment\.toml'):
        require_tests(misspelt, tree)
    removed = replace(assignment, checks=tuple(others))
    with pytest.raises(UsageError, match=r"for minimax\.build \(grader/judge/checks/test_minimax\.py\): add the table"):
        require_tests(removed, tree)
    with pytest.raises(UsageError, match=r"expected a test below grader/jugde"):
        require_tests(replace(assignment, checks_folder="grader/jugde"), tree)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"one_sid": 0.5}, r'"minimax\.protocol": one_side; got one_sid$'),
        ({}, r'"minimax\.protocol": one_side; got none$'),
        ({"one_side": 0.5, "outside": 0.5}, r'"minimax\.protocol": one_side; got one_side, outside$'),
    ],
    ids=["misspelt", "missing", "of another check"],
)
def test_the_shortcomings_of_the_assignment_are_those_that_the_tests_deduct(assignment, tree, shares, words):
    changed = replace(assignment, shares={**assignment.shares, "minimax.protocol": shares})
    with pytest.raises(UsageError, match=rf"test_minimax\.py deducts points in score\.shares of assignment\.toml, {words}"):
        require_tests(changed, tree)


def test_a_shortcoming_that_a_helper_of_the_test_deducts_counts_too(assignment, tree):
    path = tree / "grader/judge/checks/test_minimax.py"
    path.write_text(path.read_text().replace('ruling.deduct("one_side", ', "_halve(ruling, ") + HELPER)
    require_tests(assignment, tree)


HELPER = """

def _halve(ruling: Ruling, message: str) -> None:
    ruling.deduct("one_side", message)
"""


def test_a_check_that_is_not_python_is_named_with_its_line(assignment, tree):
    (tree / "grader/judge/checks/test_minimax.py").write_text("import pytest\n\ndef test_build(:\n")
    with pytest.raises(UsageError, match=r"^expected Python in grader/judge/checks/test_minimax\.py; line 3: invalid syntax"):
        require_tests(assignment, tree)


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


# ------------------------------------------------------------------------------------------- the basis of each check


def test_the_submissions_of_a_class_read_the_sources_at_the_same_time(monkeypatch):
    """A collection of garbage lets another thread go on in the middle of a tree, which CPython 3.11 takes for an error."""

    class Garbage:
        def __init__(self):
            self.itself = self

        def __del__(self):
            time.sleep(0)

    def read(path):
        Garbage()
        return judging._read_module.__wrapped__(path.read_bytes())

    before = gc.get_threshold()
    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert len(list(pool.map(read, [*(ROOT / "grader").rglob("*.py")] * 4))) > 600
    finally:
        gc.set_threshold(*before)


@pytest.fixture
def changed_by(assignment, tree):
    """`changed_by(path)`: the checks whose digest a changed file changes."""
    before = check_digests(assignment, "quick", tree)

    def changed(relative):
        content = (tree / relative).read_bytes()
        (tree / relative).write_bytes(content + b"\n# changed\n")
        after = check_digests(assignment, "quick", tree)
        (tree / relative).write_bytes(content)
        return {check for check in before if before[check] != after[check]}

    return changed


def of_parts(assignment, *names):
    return {check.id for check in assignment.checks if any(check.is_of(name) for name in names)}


def test_a_changed_file_changes_the_basis_of_the_checks_that_it_can_affect_and_of_no_others(assignment, changed_by):
    everything = {check.id for check in assignment.checks}
    minimax, training = of_parts(assignment, "minimax"), of_parts(assignment, "training")
    assert changed_by("grader/judge/checks/test_network.py") == of_parts(assignment, "network")
    assert changed_by("grader/judge/trusted/test_training.py") == training
    assert changed_by("Minimax/baseline.cpp") == changed_by("Minimax/AIController.h") == minimax
    assert changed_by("train.py") == everything - minimax
    asks_the_oracle = changed_by("grader/judge/trusted/search.py")
    assert {"mcts_pure.agreement", "mcts_alphazero.agreement", "network.outputs", *training} <= asks_the_oracle
    assert not asks_the_oracle & {*minimax, "mcts_pure.tree", "mcts_alphazero.noise"}
    for shared in ("grader/judge/conftest.py", "grader/judge/support/ruling.py", "grader/confinement/worker.py"):
        assert changed_by(shared) == everything, shared
    for silent in ("grader/pipeline/summary.py", "grader/pipeline/class_progress.py"):
        assert changed_by(silent) == set(), silent


def test_whatever_a_module_of_checks_imports_counts_for_its_checks(assignment):
    files = files_of_checks(assignment)
    for path in ("judge/checks/test_minimax", "judge/checks/test_mcts_pure", "judge/trusted/test_training"):
        name = f"grader.{path.replace('/', '.')}"
        script = IMPORT_EVERYTHING.splitlines()
        script[2:5] = [f"import {name}"]
        done = subprocess.run([sys.executable, "-c", "\n".join(script)], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        imported = set(done.stdout.split())
        checks = [check for check, paths in files.items() if f"grader/{path}.py" in paths]
        assert checks and f"grader/{path}.py" in imported
        for check in checks:
            assert imported <= set(files[check]), check


def test_a_value_of_the_assignment_changes_the_checks_that_it_concerns(assignment):
    before = check_digests(assignment, "quick")
    first, *others = assignment.checks
    dearer = replace(assignment, checks=(replace(first, points=first.points + 1), *others))
    assert {check for check, digest in check_digests(dearer, "quick").items() if digest != before[check]} == {first.id}
    assert not set(check_digests(assignment, "full").items()) & set(before.items())
    assert check_digests(replace(assignment, kit=(), title="another"), "quick") == before


def test_a_file_of_a_submission_changes_the_checks_of_its_part(assignment):
    files = {"Minimax/engine.cpp": b"1", "AlphaZero/mcts_pure.py": b"2", "AlphaZero/extra.py": b"3"}
    before = bases(files, "namespaces", assignment, "quick")

    def changed(path, level="namespaces"):
        after = bases({**files, path: b"changed"}, level, assignment, "quick")
        return {check for check in before if before[check] != after[check]}

    minimax = of_parts(assignment, "minimax")
    assert changed("Minimax/engine.cpp") == changed("submission.toml") == minimax
    # Other modules of the part may import it.
    assert changed("AlphaZero/mcts_pure.py") == changed("AlphaZero/extra.py") == before.keys() - minimax
    assert changed("AlphaZero/extra.py", "landlock") == before.keys()
