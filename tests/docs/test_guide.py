"""What docs/instructor.md states follows from the settings, the code and the records."""

import json
import re
import tomllib
from pathlib import Path

from grader.assignment_file import lab_names, load_assignment, load_named
from grader.instructor.collecting.keeping import MAX_ATTEMPT_BYTES
from grader.instructor.marking.schemes import load_scheme
from grader.instructor.notebook import COURSE, load_rubric
from grader.instructor.release import collect_kit
from grader.instructor.returning.autograde import Settings
from grader.instructor.similarity.comparison import LIMIT_S, MAX_CHARACTERS
from grader.pipeline.handed_out import answers_below
from grader.pipeline.notebook_cells import CELL_LIMIT_S, MAX_NOTEBOOK_BYTES, read_notebook
from grader.pipeline.submission import MAX_REPORT_BYTES, MAX_REPORTS_BYTES

ROOT = Path(__file__).resolve().parents[2]
GUIDE = " ".join((ROOT / "docs" / "instructor.md").read_text(encoding="utf-8").replace("\n>", "\n").split())


def test_the_points_are_those_of_the_assignment_the_rubric_and_the_labs():
    assignment = load_assignment()
    items = {item.id: item for item in load_rubric(assignment)}
    program, marks = (sum(one.points for one in several) for several in (assignment.checks, assignment.marks))
    capped = next(part.points for part in load_scheme("capped", COURSE, assignment).parts if "report" in part.counts)
    tricks = next(points for points, what in items["cleanliness"].criteria if "tricks" in what)
    explained = items["explanation"].points
    assert f"Expect all {program:g} program points" in GUIDE
    assert f"Report and code are {marks:g} of the {program + marks:g} points ({capped} with a project in `capped`)" in GUIDE
    assert f"The rubric has {explained:g} points for *explanation*" in GUIDE
    assert f"{explained:g} points for code that was not explained, and {tricks:g} for tricks" in GUIDE
    for lab in lab_names():
        points = sum(check.points for check in load_named(lab).checks)
        assert re.search(rf"\| \[{lab}\]\([^|]*\|[^|]*\| {points:g} \|", GUIDE)


def test_the_policy_on_late_submissions_is_that_of_the_usual_scheme():
    late = load_scheme("win_rate", COURSE, load_assignment()).late
    assert late.unit == "percent"
    assert f"Up to [{late.grace_minutes} minutes] late, nothing is deducted." in GUIDE
    assert f"[{late.per_day} %] of the points are deducted for each day" in GUIDE
    assert f"up to [{late.latest_days}] days; later work gets 0 points" in GUIDE


def test_the_limits_are_those_of_the_code():
    likeness = load_assignment().likeness
    for sentence in (
        f"At most {MAX_REPORT_BYTES >> 20} MiB per file and {MAX_REPORTS_BYTES >> 20} MiB in total are kept",
        f"An attempt of more than {MAX_ATTEMPT_BYTES >> 20} MiB is left out",
        f"larger than {MAX_CHARACTERS >> 10} KiB, or take more than {LIMIT_S} seconds of CPU time",
        f"the autograder stops after {Settings.minutes:g} minutes",
        f"with at most {CELL_LIMIT_S:g} seconds of CPU time each",
        f"too large ({MAX_NOTEBOOK_BYTES >> 20} MiB)",
        f"share {likeness.kit:.0%}".replace("%", " %") + " of their token fingerprints",
        f"the pairs with at least {100 * likeness.pair:g} % in common",
    ):
        assert sentence in GUIDE
    assert (likeness.submission, likeness.example) == (0.5, 0.8)
    assert "Up to half of one source may occur in the other" in GUIDE and "four fifths of the submission" in GUIDE


def test_the_samples_and_the_warm_up_have_the_size_that_the_guide_names():
    variants = sum(path.is_dir() for path in (ROOT / "instructor" / "submissions" / "variants").iterdir())
    assert f"of the reference and {variants} variants" in GUIDE
    notebooks = sorted((ROOT / "warmup").glob("*.ipynb"))
    assert [sum(cell.points for cell in read_notebook(path)) for path in notebooks] == [10, 10]
    assert "two notebooks of ten points each" in GUIDE


def test_right_solutions_that_were_not_measured_are_named():
    variants = [path for path in (ROOT / "instructor" / "submissions" / "variants").iterdir() if (path / "AlphaZero").is_dir()]
    measured = json.loads((ROOT / "bench" / "records" / "right_variants.json").read_text(encoding="utf-8"))["rows"]
    lacking = {path.name for path in variants} - {row["sample"] for row in measured}
    section = GUIDE[GUIDE.index("### How often a right solution loses points") :]
    beginning = section[: section.index("was therefore graded with many seeds")]
    assert {name for _, name in re.findall(r"(except|and|,) `([\w-]+)`", beginning)} == lacking


def test_the_guide_says_which_labs_have_answers_in_the_kit_of_the_main_assignment():
    handed_out = collect_kit(load_assignment(), ROOT).files.keys()
    labs = {lab for lab in lab_names() if handed_out & set(answers_below(ROOT, load_named(lab)))}
    assert labs == {"nogo", "go"} and "the kit of the main assignment holds our rules of NoGo and Go" in GUIDE


def test_the_hours_of_slow_engines_follow_from_the_profile():
    match = load_assignment().profile("full").match
    hours = match.games * 20 * match.move_s / 3600
    assert f"uses all its {match.move_s:g} seconds for 20 moves a game" in GUIDE
    assert f"thinks for almost two hours in {match.games} games" in GUIDE
    assert 1.7 < hours < 2 and 6.5 < 60 * hours / 16 < 7
    assert "Sixty such engines keep 16 cores busy for about seven hours" in GUIDE


def test_every_grading_of_a_whole_class_uses_the_profile_that_its_scheme_asks_for():
    text = (ROOT / "docs" / "instructor.md").read_text(encoding="utf-8")
    lines = re.findall(r"^ *python -m grader grade .*/submissions/\* .*", text, re.MULTILINE)
    labs = {lab: tomllib.loads((ROOT / "labs" / lab / "course/schemes/points.toml").read_text()) for lab in lab_names()}
    usual = load_scheme("win_rate", COURSE, load_assignment()).profile
    assert len(lines) > 3 and any("--lab" in line for line in lines)
    for line in lines:
        lab = re.search(r"--lab (\w+)", line)
        assert f"--profile {labs[lab.group(1)]['profile'] if lab else usual} " in line
