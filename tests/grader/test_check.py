"""`python -m grader check` in the student kit: on the stubs, on a solution, and which checks it chooses."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from course_tools import make_results

from common.errors import UsageError
from grader.__main__ import main
from grader.assignment_file import load_assignment, load_named
from grader.instructor import trust
from grader.pipeline.results import Verdict
from grader.student.check import choose_checks, next_step, version_advice, what_to_do_first

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "instructor" / "reference"
LONG = {"minimax.win_rate", "training.never_loses", "training.own_search"}
MORE = pytest.mark.thorough("one more slip in a search or a network")
VERDICT = re.compile(r"^\[ *\d+/(\d+)\] (\S+) +(passed|partial|failed|could_not_grade) +\S+  (\S.*)$", re.MULTILINE)


def lines_of(done):
    """Check -> (status, sentence), as it was printed."""
    return {check: (status, sentence) for _, check, status, sentence in VERDICT.findall(done.stdout)}


# -------------------------------------------------------------------------------------------- in the kit itself


def test_on_the_stubs_nothing_passes_and_the_first_thing_to_write_is_named_for_each_part(kit):
    shutil.rmtree(kit.folder / "build")
    before = {path.relative_to(kit.folder) for path in kit.folder.rglob("*")}
    done = kit("check")
    assert done.returncode == 1 and done.stderr == ""
    assert set(lines_of(done)) == {check.id for check in load_assignment().checks} - LONG
    assert {status for status, _ in lines_of(done).values()} == {"failed"}
    assert "0 of 22 checks passed" in done.stdout and "run them with --match and --training." in done.stdout
    engine, stub, report, points = done.stdout.split("What to do first:\n")[1].splitlines()
    assert points == "0 of 32 points in these checks. Nearest gain: minimax.build, 1 more."
    assert engine.startswith("  minimax.build (section 4.3 of docs/handout.md): There is no engine")
    assert stub == "  Write AlphaZero/mcts_pure.py: TreeNode.expand, section 5.1 of docs/handout.md."
    assert Path(report.split(": ")[1]).is_file()
    made = {path.relative_to(kit.folder) for path in kit.folder.rglob("*")} - before
    assert {path.parts[0] for path in made if "__pycache__" not in path.parts} == {"build"}


def test_on_the_references_files_everything_passes(kit):
    shutil.copytree(REFERENCE / "AlphaZero", kit.folder / "AlphaZero", dirs_exist_ok=True)
    # An engine that answers at once: the kit has answers of its own for the checks of Part 2 alone.
    shutil.copyfile(kit.folder / "Minimax/sample.cpp", kit.folder / "Minimax/mine.cpp")
    done = kit("check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "22 of 22 checks passed" in done.stdout and "first" not in done.stdout
    points, after = done.stdout.splitlines()[-2:]
    assert points == "32 of 32 points in these checks."
    assert after.startswith("Next: python -m grader report-draft") and after.endswith("grader submit packs what you hand in.")


def test_one_failing_check_is_what_to_do_first(kit):
    shutil.copytree(REFERENCE, kit.folder, dirs_exist_ok=True)
    search = kit.folder / "AlphaZero/mcts_pure.py"
    search.write_text(search.read_text().replace("            leaf_value = -leaf_value\n", ""))
    done = kit("check", "--only", "mcts_pure.tree")
    assert done.returncode == 1 and set(lines_of(done)) == {"mcts_pure.tree"}
    first, _, points = done.stdout.split("What to do first:\n")[1].splitlines()
    assert points == "0 of 2 points in these checks. Nearest gain: mcts_pure.tree, 2 more."
    assert first.startswith("  mcts_pure.tree (section 5.1 of docs/handout.md): ")
    assert "--match" not in done.stdout  # one who names a part has chosen


@pytest.mark.parametrize(
    "name",
    ["no-square-root", pytest.param("pure-ucb1", marks=MORE), pytest.param("no-permute", marks=MORE), "value-broadcast"],
)
def test_a_slip_is_named_by_the_answers_that_the_kit_holds(kit, name):
    (mutant,) = trust.load_samples(("mutants",), [name])
    shutil.copytree(REFERENCE, kit.folder, dirs_exist_ok=True)
    for path, content in mutant.files.items():
        (kit.folder / path).write_bytes(content)
    check = next(iter(mutant.expected))
    done = kit("check", "--only", check)
    status, sentence = lines_of(done)[check]
    assert (done.returncode, status) == (1, "failed") and mutant.says in sentence


def test_what_the_kit_leaves_out_is_said_in_a_sentence(kit):
    for command in (["-m", "training.selfplay", "tictactoe"], ["-m", "training.matches"], ["train.py", "--fast"]):
        done = subprocess.run([sys.executable, *command], cwd=kit.folder, capture_output=True, text=True)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
        assert done.stderr.endswith(("section 5.5).\n", "leave --fast out (see --help)\n"))


def test_the_lines_that_a_network_loses_are_counted_under_the_own_search(kit):
    command = [sys.executable, "-m", "training.losing_lines", "model/3_3_3.model"]
    done = subprocess.run(command, cwd=kit.folder, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "section 5." in done.stderr
    shutil.copytree(REFERENCE, kit.folder, dirs_exist_ok=True)
    done = subprocess.run([*command, "--playouts", "50", "2"], cwd=kit.folder, capture_output=True, text=True)
    counted = [line.split() for line in done.stdout.splitlines() if line.split()[0] in ("50", "2")]
    assert done.returncode == 1 and counted[0][1] == "0" and int(counted[1][1]) > 0
    done = subprocess.run([*command[:-1], "gone.model"], cwd=kit.folder, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("losing_lines: expected weights at gone.model")


def test_what_was_handed_out_is_named_beforehand_and_checked_all_the_same(kit):
    (kit.folder / "Minimax/mine.cpp").write_text('#include "AIController.h"\n#include "baseline.cpp"\n')
    done = kit("check", "--only", "minimax.build")
    assert "Minimax/mine.cpp includes Minimax/baseline.cpp" in done.stdout and "a person decides what counts" in done.stdout
    shutil.copyfile(kit.folder / "Minimax/baseline.cpp", kit.folder / "Minimax/mine.cpp")
    done = kit("check", "--only", "minimax.build")
    assert "Minimax/mine.cpp has 100% in common with Minimax/baseline.cpp" in done.stdout
    assert lines_of(done)["minimax.build"][0] == "passed"


def test_a_match_that_lasts_is_played_in_the_kit(kit):
    engine = "build/engines/baseline"
    command = ["Minimax/evaluate.py", "--agents-path", engine, engine, "--num-plays", "2", "--records", "match.jsonl"]
    done = subprocess.run([sys.executable, *command], cwd=kit.folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert json.loads((kit.folder / "match.jsonl").read_text().splitlines()[0])["machine"]["speed"] > 0


def test_a_command_that_the_kit_does_not_have_is_not_offered(kit):
    done = kit("stubs")
    assert done.returncode == 2 and "choose from" in done.stderr and "Traceback" not in done.stderr
    assert not {"stubs", "release", "notebook", "gradebook", "handout"} & set(re.findall(r"\w+", kit("--help").stdout))


def test_after_the_checks_of_a_lab_without_a_report_it_is_handed_in():
    assert next_step(load_named("nogo")) == "python -m grader submit --lab nogo packs what you hand in"


# ---------------------------------------------------------------------------------------------- what is chosen


@pytest.mark.parametrize(
    ("only", "asked", "ids"),
    [
        ("network", [], {"network.layers", "network.load", "network.outputs", "network.legal_moves"}),
        ("network.load", [], {"network.load"}),
        ("minimax", [], {"minimax.build", "minimax.protocol", "minimax.opening"}),
        ("minimax", ["match"], {"minimax.build", "minimax.protocol", "minimax.opening", "minimax.win_rate"}),
        ("minimax.win_rate", [], {"minimax.win_rate"}),
        ("training", [], {"training.never_loses", "training.own_search"}),
    ],
)
def test_a_part_is_chosen_by_the_beginning_of_its_checks(assignment, only, asked, ids):
    assert {check.id for check in choose_checks(assignment, [only], asked)} == ids


def test_several_parts_are_chosen_together(assignment):
    chosen = [check.id for check in choose_checks(assignment, ["network.load", "minimax.win_rate", "mcts_pure.tree"], [])]
    assert chosen == ["minimax.win_rate", "mcts_pure.tree", "network.load"]


def test_without_a_part_all_are_chosen_but_the_long_ones_that_are_not_asked_for(assignment):
    everything = {check.id for check in assignment.checks}
    assert {check.id for check in choose_checks(assignment, (), [])} == everything - LONG
    assert {check.id for check in choose_checks(assignment, (), ["training"])} == everything - {"minimax.win_rate"}
    assert {check.id for check in choose_checks(assignment, (), ["match", "training"])} == everything


def test_the_long_checks_are_checks_of_the_assignment(assignment):
    assert {i for ids in assignment.long_checks.values() for i in ids} == LONG
    assert set(assignment.long_checks) == {"match", "training"}


@pytest.mark.parametrize("only", ["nothing", "net", "network.", ""])
def test_a_part_that_there_is_not_gets_one_sentence(assignment, only, capsys):
    with pytest.raises(UsageError, match="or a part among minimax, mcts_pure, network"):
        choose_checks(assignment, [only], [])
    assert main(["check", "--only", only]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_comes_first_is_a_method_only_where_the_check_fell_short_of_that_file():
    outcomes = {
        "a.one": ("passed", "4.1", "As expected."),
        "a.two": ("partial", "4.2", "It varies little."),
        "b.one": ("failed", "5.1", "Not written yet: p/b.py: later: see section 5.1."),
        "b.two": ("failed", "5.2", "Wrong."),
        "c.one": ("failed", "6.1", "RuntimeError: the shapes do not fit (p/c.py, line 9)."),
        "report": ("awaiting_marks", "6", "Marked by a person."),
    }
    verdicts = tuple(
        Verdict(i, status, 0.0, 1.0, message=message, handout=handout) for i, (status, handout, message) in outcomes.items()
    )
    results = replace(make_results(load_assignment(), "mine"), verdicts=verdicts)
    unwritten = {"p/b.py": ["first, section 5.1", "later, section 5.1"], "p/c.py": ["x, section 5.3"]}
    assert what_to_do_first(results, unwritten, "docs/handout.md") == [
        "a.two (section 4.2 of docs/handout.md): It varies little.",
        "Write p/b.py: first, section 5.1 of docs/handout.md.",
        "c.one (section 6.1 of docs/handout.md): RuntimeError: the shapes do not fit (p/c.py, line 9).",
    ]


@pytest.mark.parametrize(("running", "said"), [((3, 9), False), ((3, 11), False), ((3, 12), True), ((4, 0), True)])
def test_a_newer_python_than_the_one_that_grades_is_named(assignment, running, said):
    sentence = f"You run Python {running[0]}.{running[1]}, but grading uses 3.11: code that needs a newer Python earns nothing."
    assert version_advice(replace(assignment, python="3.11"), running) == [sentence] * said
