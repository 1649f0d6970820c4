"""Every lab on its own samples: the reference, the variants, the mutants, and the kit as a student uses it.

`TRUST=all` grades all samples; without it, a few of each lab.
"""

import csv
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from grader.__main__ import main
from grader.assignment import ROOT
from grader.assignment_file import lab_names, load_named
from grader.confinement.sandbox import find_sandbox
from grader.instructor import release, trust
from grader.instructor.release import likest_secret, read_secrets
from grader.pipeline.handed_out import find_resemblances
from grader.pipeline.results import read_results
from grader.pipeline.submission import read_submission

LABS = lab_names()
AS_NOGO = pytest.mark.thorough("a kit with the same parts as that of NoGo")
ALL = os.environ.get("TRUST") == "all"
# The references are graded by their command in another test, and searches with a mistake in the lab NoGo in test_one_cause.py.
FEW = {
    "go": ("superko-forgotten", "double-pass-ends-a-simulation", "winner-seen-by-the-wrong-player"),
    "nogo": ("copy-shares-its-chains", "planes-upside-down", "sign-not-turned"),
    "muzero": ("old-values-stay", "gradient-not-halved", "draw-is-a-loss"),
}
# What only the reference has to pass there: a training with each of these samples.
SLOW = () if ALL else ("training.learns",)
# What a student checks in the walk through a lab's kit: before anything is written, and at the end, by default everything.
FIRST = {} if ALL else {"go": ("--only", "rules"), "nogo": ("--only", "rules"), "muzero": ("--only", "targets")}
LAST = {} if ALL else {"muzero": FIRST["muzero"]}


def samples():
    """(lab, kind, name) of the samples to grade."""
    found = [(lab, sample) for lab in LABS for sample in trust.load_samples(assignment=load_named(lab))]
    return [(lab, sample.kind, sample.name) for lab, sample in found if ALL or sample.name in FEW[lab]]


@pytest.mark.parametrize(("lab", "kind", "name"), samples())
def test_a_sample_gets_what_it_must(lab, kind, name, tmp_path, checks_run_here):
    assignment = load_named(lab)
    (sample,) = trust.load_samples((kind,), [name], assignment=assignment)
    assignment = replace(assignment, checks=tuple(check for check in assignment.checks if check.id not in SLOW))
    row = trust.run_sample(sample, tmp_path, find_sandbox(), seed=1, assignment=assignment)
    assert row.wrong == "", row.failed


@pytest.mark.parametrize("lab", LABS)
def test_there_are_enough_samples_and_each_names_its_misconception(lab):
    found = trust.load_samples(assignment=load_named(lab))
    mutants = [sample for sample in found if sample.kind == "mutants"]
    assert len(mutants) >= 12 and len(found) - len(mutants) > 3, "the reference is one of the variants"
    assert all(sample.why.endswith(".") for sample in found) and all(sample.says for sample in mutants)
    assert {check for sample in mutants for check in list(sample.expected)[:1]} >= {
        check.id for check in load_named(lab).checks if check.id.startswith("rules.")
    }, "each check of the rules is the first to notice some mutant"


@pytest.mark.parametrize("lab", LABS)
def test_the_reference_gets_full_marks_by_the_commands_for_a_class(lab, tmp_path, capsys):
    archive = shutil.make_archive(str(tmp_path / "in" / "ann"), "zip", ROOT / "labs" / lab / "reference")
    (tmp_path / "roster.csv").write_text("id,first_name\nann,Ann\nbob,Bob\n")
    places = {name: str(tmp_path / name) for name in ("class", "results", "marks", "back")}
    roster, collected = str(tmp_path / "roster.csv"), str(tmp_path / "class" / "collected.csv")
    marks = ["--students", roster, "--collected", collected, "--unknown-as-on-time", "--out", places["marks"]]
    assert main(["collect", archive, "--lab", lab, "--roster", roster, "--out", places["class"]]) == 0
    submission = f"{places['class']}/submissions/ann.zip"
    assert main(["grade", "--lab", lab, submission, "--profile", "smoke", "--out", places["results"]]) == 0
    assert "by a person" not in capsys.readouterr().out
    assert main(["marks", places["results"], "--lab", lab, *marks]) == 1, "smoke is not the profile of the scheme"
    given = ["--marks", f"{places['marks']}/marks.csv", "--out", places["back"]]
    assert main(["give-back", places["results"], "--lab", lab, *given]) == 1
    assert main(["give-back", places["results"], "--lab", lab, *given, "--ladder", "2"]) == 2
    most = sum(check.points for check in load_named(lab).checks)
    results = read_results(tmp_path / "results" / "ann" / "results.json")
    assert (results.assignment, results.points) == (lab, most)
    assert load_named(lab).title in (tmp_path / "results" / "ann" / "report.html").read_text(encoding="utf-8")
    with open(tmp_path / "marks" / "marks.csv", encoding="utf-8-sig", newline="") as file:
        ann, bob = csv.DictReader(file)
    assert (float(ann["total"]), ann["final"], bob["total"], bob["final"]) == (most, "no", "0", "yes")
    page = (tmp_path / "back" / "ann" / "marks.html").read_text(encoding="utf-8")
    assert "not final" in page and "--profile" not in page
    assert "Engines" not in (tmp_path / "back" / "class" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("lab", LABS)
def test_stubs_and_handout_are_up_to_date(lab, capsys):
    assert main(["stubs", "--lab", lab, "--check"]) == main(["handout", "--lab", lab, "--check"]) == 0


@pytest.mark.parametrize("lab", [pytest.param(lab, marks=AS_NOGO) if lab == "go" else lab for lab in LABS])
def test_a_student_walks_through_the_kit(lab, tmp_path):
    assert release.main(tmp_path, seed=1, cases=8, jobs=1, lab=lab) == 0
    folder = tmp_path / lab

    def command(*words):
        call = [sys.executable, "-m", "grader", *words]
        return subprocess.run(call, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})

    done = command("check", *FIRST.get(lab, ()))
    assert done.returncode == 1 and "Not written yet" in done.stdout and "What to do first" in done.stdout, done.stderr
    shutil.copytree(ROOT / "labs" / lab / "reference", folder, dirs_exist_ok=True)
    done = command("check", *LAST.get(lab, ()))
    assert done.returncode == 0, done.stdout + done.stderr
    assert command("submit").returncode == command("env").returncode == 0
    drafted = command("report-draft")
    assert drafted.returncode == 2 and drafted.stderr.count("\n") == 1
    own, assignment = read_submission(ROOT / "labs" / lab / "reference", load_named(lab)), load_named(lab)
    assert read_submission(folder / "submission.zip", assignment).digest == own.digest, "so it is graded as the reference is"


@pytest.mark.parametrize("lab", LABS)
def test_no_right_solution_resembles_what_is_handed_out_and_no_rules_of_ours_are(lab, tmp_path):
    assignment = load_named(lab)
    for sample in trust.load_samples(("variants",), assignment=assignment):
        trust.lay_out(sample, tmp_path / sample.name, assignment)
        assert find_resemblances(read_submission(tmp_path / sample.name, assignment), assignment) == [], sample.name
    kit = release.collect_kit(assignment, ROOT)
    assert not [path for path in kit.files if path.startswith(("games/", "instructor/", f"labs/{lab}/trusted"))]
    solutions = {path: (ROOT / assignment.reference / path).read_bytes() for path in assignment.stubs}
    source = max(solutions, key=lambda path: len(solutions[path]))
    solution = solutions[source]
    likest = likest_secret(source, solution, read_secrets(assignment, ROOT))
    assert likest is not None and likest[0] == 1.0, "the reference itself would be noticed in a kit"
