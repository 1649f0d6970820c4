"""The student kit: the same bytes each time, no leak, and nothing written when there is one."""

import io
import os
import posixpath
import random
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tqdm import tqdm

from grader.assignment import matches
from grader.assignment_file import lab_names, load_assignment, load_named
from grader.errors import CouldNotGrade
from grader.instructor import release
from grader.instructor.bank import FAMILIES, make_bank
from grader.instructor.release import collect_kit, find_leaks, read_secrets
from grader.judge.support.agreement import slip_name
from grader.judge.support.oracle import Bank
from grader.judge.trusted.answers import answers_of
from grader.pipeline.handed_out import answers_below
from grader.pipeline.workspace import framework_files

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = "instructor/reference/AlphaZero/mcts_pure.py"


def release_kit(out, root, seed=1):
    """A release with a small bank of expected values."""
    return release.main(out, root, seed=seed, cases=2, jobs=1)


@pytest.fixture(scope="module")
def bank():
    """A bank of two cases of each family."""
    return make_bank(5, cases=2)


@pytest.fixture
def tree(tmp_path):
    """A copy of what a release reads, to be spoilt; the bank of a release from it has a single family."""
    root = tmp_path / "tree"
    shutil.copytree(ROOT / "instructor" / "reference", root / "instructor" / "reference")
    for name in ("shared_lines.txt", "course/rubric.toml"):
        (root / "instructor" / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / "instructor" / name, root / "instructor" / name)
    assignment = load_assignment()
    for relative in (*collect_kit(assignment, ROOT).files, assignment.kit_readme):
        if relative != release.README:
            (root / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / relative, root / relative)
    for relative in answers_below(ROOT, assignment):
        (root / relative).parent.mkdir(parents=True, exist_ok=True)
        (root / relative).touch()
    (root / "grader" / "instructor").mkdir()
    (root / "grader" / "instructor" / "bank.py").touch()  # a release imports the bank of this tree
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr("grader.instructor.bank.FAMILIES", {"symmetries": FAMILIES["symmetries"]})
        yield root


def everything_in(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# ----------------------------------------------------------------------------------------------------- the kit


def test_two_releases_of_one_seed_are_equal_byte_for_byte_whatever_the_times_and_modes(tree, tmp_path, monkeypatch):
    assert release_kit(tmp_path / "one", tree) == 0
    for i, path in enumerate(sorted(tree.rglob("*"))):
        if path.is_file():
            path.chmod(0o600 if i % 2 else 0o755)
            os.utime(path, (10**9 + i, 10**9 + i))
    previous = os.umask(0o077)
    try:
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("TZ", "FAR-11:50")  # no machine is in this zone
            time.tzset()
            assert release_kit(tmp_path / "two", tree) == 0
    finally:
        os.umask(previous)
        time.tzset()
    archive = (tmp_path / "one" / "gomoku.zip").read_bytes()
    assert archive == (tmp_path / "two" / "gomoku.zip").read_bytes()
    one, two = tmp_path / "one" / "gomoku", tmp_path / "two" / "gomoku"
    assert everything_in(one) == everything_in(two)
    stamps = {(p.stat().st_mtime, oct(p.stat().st_mode)) for kit in (one, two) for p in [kit, *kit.rglob("*")]}
    assert stamps == {(release.FIXED_TIME_S, "0o100644"), (release.FIXED_TIME_S, "0o40755")}


def test_each_release_draws_other_cases_for_its_checks_and_says_by_which_seed(tree, tmp_path, capsys):
    seeds = []
    for name in ("one", "two"):
        assert release_kit(tmp_path / name, tree, seed=None) == 0
        seeds += re.findall(r"--seed (\d+) makes this kit again", capsys.readouterr().out)
    assert release_kit(tmp_path / "again", tree, seed=int(seeds[0])) == 0
    one, two, again = (everything_in(tmp_path / name / "gomoku") for name in ("one", "two", "again"))
    assert one == again and {path for path in one if one[path] != two[path]} == {release.BANK_PATH}


def test_the_bank_is_the_same_whoever_makes_it_and_holds_no_object(bank):
    assert bank == make_bank(5, cases=2, jobs=2)
    with np.load(io.BytesIO(bank), allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file} <= set("uf")
        assert {len(file[name]) for name in file} == {2} and {name.split("/")[0] for name in file} == set(FAMILIES)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_bar_counts_the_families_of_the_bank(monkeypatch, jobs):
    bars = []

    class Bar(tqdm):
        def __init__(self, **options):
            super().__init__(**options | {"disable": False, "file": io.StringIO()})
            bars.append(self)

    monkeypatch.setattr("grader.instructor.bank.tqdm", Bar)
    monkeypatch.setattr("grader.instructor.bank.FAMILIES", {family: FAMILIES[family] for family in ("symmetries", "layers")})
    make_bank(5, cases=1, jobs=jobs)
    assert [(bar.n, bar.total) for bar in bars] == [(2, 2)]


def test_the_bank_says_of_a_case_what_the_grader_says(bank, tmp_path):
    (tmp_path / "bank.npz").write_bytes(bank)
    oracle = Bank.read(tmp_path / "bank.npz")
    for family, draw in FAMILIES.items():
        case, answers = oracle.ask(family, draw, random.Random(3))
        right = answers_of(case)
        for name in set(answers) - {"seeds"}:
            size = right[name].shape[-1]
            assert np.array_equal(answers[name][..., :size], right[name]) and not answers[name][..., size:].any()
    asked = {family: oracle.ask(family, draw, random.Random(1))[1] for family, draw in FAMILIES.items()}
    explained = {family for family, answers in asked.items() if slip_name("UCB1") in answers}
    assert {family.split()[0] for family in explained} == {"certain", "search"}


def test_a_bank_that_is_missing_or_damaged_is_said_to_be(bank, tmp_path):
    with pytest.raises(CouldNotGrade, match="unpack the assignment again"):
        Bank.read(tmp_path / "gone.npz")
    (tmp_path / "cut.npz").write_bytes(bank[:500])
    with pytest.raises(CouldNotGrade, match="unpack the assignment again"):
        Bank.read(tmp_path / "cut.npz")


def test_the_zip_holds_the_folder_in_order_of_names_and_nothing_lies_beside_them(tree, tmp_path):
    assert release_kit(tmp_path / "out", tree) == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["gomoku", "gomoku.zip"]
    with zipfile.ZipFile(tmp_path / "out" / "gomoku.zip") as archive:
        names = archive.namelist()
        held = {name.removeprefix("gomoku/"): archive.read(name) for name in names}
    assert names == sorted(names) and all(name.startswith("gomoku/") for name in names)
    assert held == everything_in(tmp_path / "out" / "gomoku")


def test_the_kit_of_this_tree_has_no_leak_and_holds_what_a_student_needs():
    assignment = load_assignment()
    kit = collect_kit(assignment, ROOT)
    assert find_leaks(kit, read_secrets(assignment, ROOT), assignment) == []
    needed = {*assignment.stubs, *(source for sources in assignment.opponents.values() for source in sources)}
    needed |= {"assignment.toml", assignment.handout, "README.txt", "LICENSE", "model/3_3_3.model"}
    needed |= {name for name in framework_files(assignment) if not name.startswith("model/")}
    assert needed <= set(kit.files)
    hidden = ("instructor/", "tests/", "bench/", "grader/instructor/", "grader/judge/trusted/", "Makefile")
    assert [name for name in kit.files if name.startswith(hidden)] == []
    training = {name for name in kit.files if name.startswith("training/")}
    alone = {"training/__init__.py", "training/exact.py", "training/losing_lines.py"}
    assert alone <= training and all(name.startswith(("training/loop/", "training/look/")) for name in training - alone)
    # The pages are made of templates, and the example needs none of a student's.
    assert {"training/look/__main__.py", "training/look/templates/search.html.j2"} <= training
    assert {"arena/view/page.py", "arena/view/templates/viewer.js.j2"} <= set(kit.files)
    # What a student's README is called is no report of the student's.
    assert not any(matches(name, assignment.reports) for name in kit.files)


@pytest.mark.parametrize("lab", ["", *lab_names()])
def test_every_link_in_a_document_of_a_kit_leads_to_a_file_of_the_kit(lab):
    files = collect_kit(load_named(lab) if lab else load_assignment(), ROOT).files
    links = [
        (name, posixpath.normpath(posixpath.join(posixpath.dirname(name), link)))
        for name in files
        if name.endswith(".md")
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", re.sub(r"^```.*?^```$", "", files[name].decode(), flags=re.S | re.M))
    ]
    assert [link for link in links if link[1] not in files] == []


def test_every_module_that_the_kits_grader_imports_is_in_the_kit():
    names = {name for name in collect_kit(load_assignment(), ROOT).files if name.startswith("grader/") and name.endswith(".py")}
    modules = [name[:-3].replace("/", ".").removesuffix(".__init__") for name in names if "/test_" not in name]
    probe = f"import importlib, sys; [importlib.import_module(m) for m in {modules}]; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imported = {m for m in done.stdout.split() if m.startswith("grader.")}
    assert imported <= set(modules)


# ------------------------------------------------------------------------------------------------ planted leaks


def spoil(root, path, text):
    """Put a line at the end of a file of the kit."""
    with open(root / path, "a", encoding="utf-8") as file:
        file.write(f"\n{text}\n")


def solution_line():
    lines = (ROOT / REFERENCE).read_text().splitlines()
    return next(lines[i + 1].strip() for i, line in enumerate(lines) if "BEGIN SOLUTION" in line and len(lines[i + 1]) > 30)


def engine_line():
    lines = (ROOT / "instructor/reference/Minimax/search.cpp").read_text().splitlines()
    return max((line.strip() for line in lines if not line.strip().startswith("//")), key=len)


def copied(root):
    shutil.copyfile(root / "instructor/reference/Minimax/search.cpp", root / "Minimax/sample.cpp")


def filled_stub(root):
    shutil.copyfile(root / REFERENCE, root / "AlphaZero/mcts_pure.py")


def linked_file(root):
    (root / "Board/more.py").symlink_to(root / "train.py")


def linked_folder(root):
    (root / "Minimax/old").symlink_to(root / "instructor", target_is_directory=True)


def linked_place(root):
    shutil.move(root / "model", root / "elsewhere")
    (root / "model").symlink_to(root / "elsewhere", target_is_directory=True)


def cached(root):
    allow(root, "Board/**")
    (root / "Board/__pycache__").mkdir()
    (root / "Board/__pycache__/game_board.cpython-311.pyc").write_bytes(b"\xa7\r\r\n\0")


def binary(root):
    allow(root, "Minimax/engine")
    (root / "Minimax/engine").write_bytes(b"\x7fELF\0\0")


def binary_with_the_name_of_a_picture(root):
    shutil.copyfile(root / "model/3_3_3.model", root / "docs/pictures/engine.png")


def allow(root, pattern):
    path = root / "assignment.toml"
    path.write_text(path.read_text().replace("kit = [", f'kit = [\n    "{pattern}",'))


LEAKS = {
    "a marker": (lambda root: spoil(root, "Board/game_board.py", "# BEGIN SOLUTION 5.1"), "Board/game_board.py: line"),
    "a marker written otherwise": (lambda root: spoil(root, "Minimax/baseline.cpp", "// end-solution"), "a marker"),
    "a marker in one word": (lambda root: spoil(root, "docs/handout.md", "beginSolution"), "a marker"),
    "a marker turned round": (lambda root: spoil(root, "train.py", "# Solution begins"), "a marker"),
    "a marker misspelt": (lambda root: spoil(root, "human_play.py", "    ### BEGNI SOLTUION"), "a marker"),
    "a line of the solution": (lambda root: spoil(root, "train.py", f"        {solution_line()}  "), f"({REFERENCE})"),
    "a line of the engine": (lambda root: spoil(root, "Minimax/sample.cpp", engine_line()), "Minimax/search.cpp)"),
    "a copy of an instructor's file": (copied, "Minimax/sample.cpp: a copy of instructor/reference/Minimax/search.cpp."),
    "a filled stub": (filled_stub, "AlphaZero/mcts_pure.py: differs from the stub"),
    "a path": (lambda root: spoil(root, "Minimax/judge.py", 'X = "instructor/reference"'), "the instructor's folder"),
    "a path in parts": (lambda root: spoil(root, "train.py", 'X = ROOT / "instructor"'), "the instructor's folder"),
    "a linked file": (linked_file, "Board/more.py: a symbolic link"),
    "a linked folder": (linked_folder, "Minimax/old: a symbolic link"),
    "a linked top folder": (linked_place, "model: a symbolic link"),
    "a cache": (cached, "Board/__pycache__/game_board.cpython-311.pyc: a cache"),
    "a binary": (binary, "Minimax/engine: a binary file."),
    "no picture": (binary_with_the_name_of_a_picture, "docs/pictures/engine.png: a binary file."),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_found_in_a_sentence_and_nothing_is_written(tree, tmp_path, capsys, leak):
    plant, words = LEAKS[leak]
    plant(tree)
    assert release_kit(tmp_path / "out", tree) == 1
    said = capsys.readouterr()
    assert any(words in line and line.endswith(".") for line in said.err.splitlines()), said.err
    assert said.err.splitlines()[-1].startswith("Nothing was written, because of ") and " 1 leaks" not in said.err
    assert not (tmp_path / "out").exists() and said.out == ""


def test_a_file_that_the_list_does_not_name_is_a_leak():
    assignment = load_assignment()
    kit = collect_kit(assignment, ROOT)
    kit.files["notes.txt"] = b"mine"
    leaks = find_leaks(kit, read_secrets(assignment, ROOT), assignment)
    assert leaks == ["notes.txt: not named by release.kit in assignment.toml."]


# ------------------------------------------------------------------------------------------------- wrong calls


def sentence(tree, out, capsys):
    with pytest.raises(release.UsageError) as caught:
        release_kit(out, tree)
    assert "\n" not in str(caught.value) and capsys.readouterr().out == ""
    return str(caught.value)


def test_a_kit_that_is_there_is_not_touched(tree, tmp_path, capsys):
    (tmp_path / "gomoku").mkdir()
    (tmp_path / "gomoku" / "mine.py").write_text("my work")
    assert "expected no gomoku" in sentence(tree, tmp_path, capsys)
    assert everything_in(tmp_path / "gomoku") == {"mine.py": b"my work"} and not (tmp_path / "gomoku.zip").exists()


def test_a_pattern_that_finds_nothing_is_named(tree, tmp_path, capsys):
    (tree / "LICENSE").unlink()
    assert sentence(tree, tmp_path / "out", capsys).endswith("no file matches LICENSE")


def test_an_opponent_that_the_kit_lacks_is_refused_since_no_check_of_a_student_would_run(tree, tmp_path, capsys):
    path = tree / "assignment.toml"
    path.write_text(path.read_text().replace("[opponents]\n", '[opponents]\nrung = ["rungs/rung.cpp"]\n'))
    (tree / "rungs").mkdir()
    (tree / "rungs" / "rung.cpp").write_text('#include "AIController.h"\n')
    assert sentence(tree, tmp_path / "out", capsys).endswith("it lacks rungs/rung.cpp")


def test_a_handout_with_other_points_than_the_assignment_is_not_released(tree, tmp_path, capsys):
    path = tree / "assignment.toml"
    path.write_text(path.read_text().replace("points = 30", "points = 31", 1))
    assert release_kit(tmp_path / "out", tree) == 1 and not (tmp_path / "out").exists()
    errors = capsys.readouterr().err
    assert "docs/handout.zh.md are out of date; run python -m grader handout" in errors
    assert errors.endswith("Nothing was written, because students would read the wrong points.\n")


def test_a_bank_that_makes_nothing_is_named(tree, tmp_path, capsys):
    text = (tree / "assignment.toml").read_text()
    (tree / "assignment.toml").write_text(text.replace('"grader.instructor.bank"', '"grader.assignment"'))
    assert "expected a function make_bank in grader.assignment, the release.bank of" in sentence(tree, tmp_path, capsys)


def test_without_a_reference_there_is_no_release(tree, tmp_path, capsys):
    shutil.rmtree(tree / "instructor")
    assert "expected the reference solution" in sentence(tree, tmp_path / "out", capsys)


def test_a_folder_that_cannot_be_written_gets_one_sentence(tree, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert "cannot be written" in sentence(tree, tmp_path / "file", capsys)


@pytest.fixture(params=["bank", "folder", "zip", "rename"])
def stopped(request, monkeypatch, tree):
    """Interrupts a release while it computes, while it writes, or between the folder and its .zip."""

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    real = Path.rename

    def rename(path, target):
        return interrupted() if path.suffix == ".zip" else real(path, target)

    place = {
        "bank": ("grader.instructor.bank.make_bank", interrupted),
        "folder": ("os.utime", interrupted),
        "zip": ("zipfile.ZipFile.writestr", interrupted),
        "rename": ("pathlib.Path.rename", rename),
    }
    monkeypatch.setattr(*place[request.param])


def test_an_interrupted_release_leaves_nothing(stopped, tree, tmp_path):
    out = tmp_path / "new" / "kits"
    with pytest.raises(KeyboardInterrupt):
        release_kit(out, tree)
    assert not out.parent.exists()


def test_what_a_killed_release_left_is_removed_by_the_next_one(stopped, monkeypatch, tree, tmp_path):
    with monkeypatch.context() as killed:  # nobody cleans up after a kill
        killed.setattr(release, "remove_unfinished", lambda name, out: None)
        with pytest.raises(KeyboardInterrupt):
            release_kit(tmp_path / "kits", tree)
    monkeypatch.undo()
    assert release_kit(tmp_path / "kits", tree) == 0
    assert sorted(path.name for path in (tmp_path / "kits").iterdir()) == ["gomoku", "gomoku.zip"]
