"""An assignment is a folder: what the grader makes of a lab's description, and where it looks for a lab's files."""

import json
import shutil
from dataclasses import replace

import pytest

from common.errors import UsageError
from grader.__main__ import main
from grader.assignment import LABS, ROOT
from grader.assignment_file import lab_names, load_assignment, load_named
from grader.instructor.release import collect_kit, find_leaks, read_secrets
from grader.instructor.stubs import generate
from grader.pipeline.engine_build import require_compiler
from grader.pipeline.handed_out import kit_sources
from grader.pipeline.judging import files_of_checks, grading_files, judging_files
from grader.pipeline.order import Identity
from grader.pipeline.submission import Submission
from grader.pipeline.workspace import build_workspace

TOML = """
[assignment]
id = "{id}"
title = "A lab"
handout = "chapter.md"
handout_url = ""

[files]
stubs = ["Toy/game.py"]
collected = ["Toy/**/*.py"]
protected = []
framework = []
reports = []

[files.decides]
"Toy" = ["toy"]

[parts]
Toy = ["Toy/game.py"]

[judge]
checks = "labs/toy/checks"
files = ["labs/toy/checks/*.py", "labs/toy/trusted.py"]
python = "3.11"

[release]
kit = ["Toy/*.py", "common/errors.py", "labs/toy/checks/*.py", "assignment.toml", "chapter.md"]
withheld = []
readme = "labs/toy/readme.txt"
answers = []
bank = "labs.toy.trusted"

[likeness]
submission = 0.5
example = 0.8
examples = []
pair = 0.4
kit = 0.4

[limits]
worker_memory_mib = 512
engine_memory_mib = 512
processes = 16
file_size_mib = 4

[profiles]
quick = {{ call_limit_s = 20, check_minutes = 5, budget_minutes = 20 }}
check = {{ call_limit_s = 20, check_minutes = 5, budget_minutes = 20 }}
trust = {{ call_limit_s = 20, check_minutes = 5, budget_minutes = 20 }}

[[checks]]
id = "toy.answer"
title = "The answer"
points = 2
handout = "1"
"""
SOLUTION = '''"""A toy."""


def answer():
    """Return the answer."""
    ### BEGIN SOLUTION 1
    return 42
    ### END SOLUTION
'''
CHECK = """
import pytest
from labs.toy import trusted

@pytest.mark.points("toy.answer")
def test_answer(worker, cases): ...
"""
CONFTEST = """
import pytest

@pytest.fixture
def cases():
    from labs.toy import trusted
"""


@pytest.fixture
def tree(tmp_path):
    """A tree with the main assignment and one lab, and nothing else but what the tests ask for."""
    files = {
        "assignment.toml": TOML.format(id="toy"),
        "chapter.md": "## 1 The answer\n",
        "readme.txt": "Read chapter.md.\n",
        "reference/Toy/game.py": SOLUTION,
        "Toy/game.py": "stub\n",
        "checks/test_toy.py": CHECK,
        "checks/conftest.py": CONFTEST,
        "trusted.py": "",
    }
    for name, text in files.items():
        (tmp_path / LABS / "toy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / LABS / "toy" / name).write_text(text, encoding="utf-8")
    shutil.copyfile(ROOT / "assignment.toml", tmp_path / "assignment.toml")
    shutil.copytree(ROOT / "grader", tmp_path / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "common").mkdir()
    shutil.copyfile(ROOT / "common" / "errors.py", tmp_path / "common" / "errors.py")
    return tmp_path


@pytest.fixture
def toy(tree):
    return load_named("toy", tree)


def test_an_assignment_is_found_by_its_id_and_the_main_one_without_a_name(tree, toy):
    assert lab_names(tree) == ["toy"] and toy.home == "labs/toy"
    assert load_named("", tree) == load_named("gomoku", tree) == load_assignment()
    assert load_assignment().home == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text, "expected a lab among toy; got 'chess'"),
        (lambda text: text, "got '../toy'"),
        (
            lambda text: text.replace('id = "toy"', 'id = "other"'),
            "expected the name of its folder as assignment.id; got 'other'",
        ),
        (
            lambda text: text.replace('checks = "labs/toy/', 'checks = "labs/nogo/'),
            "expected a folder below labs/toy as judge.checks; got 'labs/nogo/",
        ),
        (lambda text: text.replace("bank =", "bnak ="), "'bank' is missing"),
        (lambda text: text + '[long_checks]\ntraining = ["toy.answer"]\n', "expected training in each profile"),
        (lambda text: text + "[engine]\nfolder = 'Minimax'\n", "expected a value at engine.header"),
    ],
    ids=[
        "an unknown lab",
        "a path",
        "another id",
        "the checks of another lab",
        "a missing key",
        "a long check without limits",
        "half an engine",
    ],
)
def test_a_lab_that_cannot_be_used_gives_one_sentence(tree, change, words, request):
    path = tree / LABS / "toy" / "assignment.toml"
    path.write_text(change(path.read_text()))
    name = {"an unknown lab": "chess", "a path": "../toy"}.get(request.node.callspec.id, "toy")
    with pytest.raises(UsageError) as caught:
        load_named(name, tree)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("command", ["grade", "check", "stubs", "release", "trust", "handout", "submit", "workspace"])
def test_a_command_for_a_lab_that_does_not_exist_is_a_wrong_call(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = {"grade": ["x"], "release": ["out"], "workspace": ["x", "y"]}
    assert main([command, *places.get(command, []), "--lab", "chess"]) == 2
    assert "expected a lab among" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_lab_without_a_match_refuses_the_option_that_would_play_it(capsys):
    assert main(["check", "--lab", "nogo", "--match"]) == 2
    assert "expected --match only for an assignment with a match; nogo has none" in capsys.readouterr().err


def test_only_what_is_the_labs_own_lies_in_its_folder(toy):
    own = ("assignment.toml", "chapter.md", "Toy/game.py")
    assert [toy.place(path) for path in own] == [f"labs/toy/{path}" for path in own]
    assert toy.place("common/errors.py") == "common/errors.py"
    assert (toy.reference, toy.samples) == ("labs/toy/reference", "labs/toy/submissions")
    whole = load_assignment()
    assert [whole.place(path) for path in whole.stubs] == list(whole.stubs)
    assert (whole.reference, whole.samples) == ("instructor/reference", "instructor/submissions")


def test_the_kit_has_the_labs_files_at_the_top(tree, toy):
    kit = collect_kit(toy, tree).files
    assert set(kit) == {
        *("README.txt", "assignment.toml", "chapter.md", "Toy/game.py", "common/errors.py"),
        *("labs/toy/checks/conftest.py", "labs/toy/checks/test_toy.py"),
    }
    assert kit["Toy/game.py"] == b"stub\n" and b'id = "toy"' in kit["assignment.toml"]
    assert "Toy/game.py" in kit_sources(tree, toy)


def test_in_its_kit_the_lab_is_the_main_assignment(tree, toy):
    for path, content in collect_kit(toy, tree).files.items():
        (tree / "kit" / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / "kit" / path).write_bytes(content)
    there = load_named("", tree / "kit")
    assert there == load_named("toy", tree / "kit") == replace(toy, home="")
    assert there.place("Toy/game.py") == "Toy/game.py" and lab_names(tree / "kit") == []


def test_a_stub_in_the_kit_that_has_drifted_names_the_command_for_the_lab(tree, toy):
    leaks = find_leaks(collect_kit(toy, tree), read_secrets(toy, tree), toy)
    assert "Toy/game.py: differs from the stub that the reference gives; run python -m grader stubs --lab toy." in leaks


def test_stubs_come_from_the_labs_reference(tree, toy):
    stub = generate(tree / toy.reference, toy)["Toy/game.py"]
    assert 'raise NotImplementedError("Toy/game.py: answer: see handout section 1")' in stub and "42" not in stub


def test_the_checks_of_a_lab_rest_on_its_own_sources_and_not_on_those_of_other_assignments(tree, toy):
    assert {"labs/toy/assignment.toml", "labs/toy/checks/test_toy.py", "labs/toy/trusted.py"} <= set(judging_files(toy, tree))
    files = files_of_checks(toy, tree)["toy.answer"]
    assert {"labs/toy/checks/conftest.py", "labs/toy/trusted.py", "grader/judge/conftest.py"} <= set(files)
    assert not [path for path in files if path.startswith("grader/judge/checks/")]
    sent = set(grading_files(toy, tree))
    assert {"assignment.toml", "labs/toy/Toy/game.py"} <= sent and all((tree / path).is_file() for path in sent)


def test_an_assignment_without_an_engine_needs_no_compiler_and_no_opponents(toy, monkeypatch):
    monkeypatch.setenv("PATH", "")
    require_compiler(toy)
    assert toy.opponents == {} and toy.marks == () and toy.profile("quick").match.games == 0


def test_every_part_in_python_is_a_package_in_a_workspace(toy, tmp_path):
    place = build_workspace(toy, Submission("work", {"Toy/game.py": b"x = 1\n"}, (), (), ()), tmp_path / "work")
    assert (place / "Toy" / "__init__.py").is_file() and not (place / "AlphaZero").exists()


def test_a_run_says_which_assignment_it_is_of_and_older_records_name_none():
    identity = Identity("work", "digest", "quick", "plain", "grader", ("toy.answer",), assignment="toy")
    assert Identity.from_json(json.loads(json.dumps(identity.to_json()))) == identity
    older = {name: value for name, value in identity.to_json().items() if name != "assignment"}
    assert Identity.from_json(older).assignment == ""
