"""`python -m grader grade` over several submissions: what is finished stays, what is kept, and the table at the end."""

import errno
import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from course_tools import enter
from packing import ENGINE, WORK

from common.locks import held_folder
from grader.__main__ import main
from grader.assignment import ROOT
from grader.pipeline import class_grading, grading
from grader.pipeline.class_grading import ClassOrder
from grader.pipeline.class_progress import ClassProgress, in_words
from grader.pipeline.kept_reports import kept_names, read_reports
from grader.pipeline.run_folder import RECORDS, REFUSAL_FILE, keep_earlier
from grader.pipeline.summary import SummaryRow, summary_lines

GRADED = "2 in all: 2 graded."


@pytest.mark.parametrize("command", ["grade x", "release x", "trust", "rehearse 3 --out x"])
def test_a_seed_below_0_is_refused(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--seed", "-5"])
    assert ended.value.code == 2
    assert "--seed: expected a whole number of at least 0; got '-5'" in capsys.readouterr().err


def test_a_whole_match_is_refused_where_there_is_no_match(pack, capsys):
    assert main(["grade", str(pack(".zip", WORK, "ada")), "--lab", "nogo", "--whole-match"]) == 2
    assert capsys.readouterr().err == (
        "grader: expected --whole-match for an assignment with a match; Lab: AlphaZero plays NoGo has none: leave "
        "--whole-match out\n"
    )


def test_what_is_finished_is_not_graded_again_and_that_is_said(pack, runs, grade, tmp_path):
    class_ = [pack(".zip", WORK, "ada"), pack(".tar.gz", WORK, "bob")]
    assert grade(*class_)[0] == 0
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file() and path.name != ".lock"}
    code, out, _ = grade(*class_)
    assert code == 0 and sorted(runs) == ["ada", "bob"] and GRADED in out
    assert "ada: already graded (" in out and "bob: already graded (" in out
    assert {path: path.read_bytes() for path in before} == before
    assert not (tmp_path / "out/ada/earlier").exists()


def test_what_is_asked_for_again_is_graded_and_the_earlier_result_is_kept_whole(pack, runs, grade, results, tmp_path):
    path = pack(".zip", {**WORK, "report.pdf": b"%PDF"}, "ada")
    grade(path)
    first = {name: (tmp_path / "out/ada" / name) for name in RECORDS}
    first = {name: place.read_bytes() for name, place in first.items() if place.is_file()}
    assert {"results.json", "verdicts.jsonl", "run.json", "submission.zip", "report.html"} <= first.keys()
    seeds = [results("ada")["seed"]]
    for number in (1, 2):
        code, out, _ = grade(path, "--again")
        assert code == 0 and f"ada/earlier/{number}." in out
        seeds.append(results("ada")["seed"])
    assert runs == ["ada"] * 3 and [results("ada", f"earlier/{n}")["seed"] for n in (1, 2)] == seeds[:2]
    kept = tmp_path / "out/ada/earlier/1"
    assert {name: (kept / name).read_bytes() for name in first} == first
    assert (kept / "reports/report.pdf").read_bytes() == b"%PDF"


def test_on_a_full_disk_no_submission_is_refused_and_the_same_command_goes_on(pack, runs, grade, monkeypatch, tmp_path):
    path, with_room = pack(".zip", WORK, "ada"), grading.run_checks_here

    def run_checks(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(grading, "run_checks_here", run_checks)
    code, out, err = grade(path)
    assert code == 2 and "refused" not in out and not (tmp_path / "out/ada" / REFUSAL_FILE).exists()
    assert err == "grader: nothing can be written (No space left on device): make room, and give the same command again\n"
    monkeypatch.setattr(grading, "run_checks_here", with_room)
    assert grade(path)[0] == 0 and runs == ["ada"]


@pytest.mark.parametrize("change", ["submission", "profile", "grader"])
def test_another_work_profile_or_grader_is_graded_and_the_earlier_result_is_kept(
    pack, runs, grade, results, change, monkeypatch, tmp_path
):
    grade(pack(".zip", WORK, "ada"))
    before = results("ada")
    if change == "submission":
        pack(".zip", {**WORK, ENGINE: b"int other;\n"}, "ada")
    if change == "grader":
        monkeypatch.setattr("grader.pipeline.order.grader_digest", lambda *_: "another")
    code, out, _ = grade(tmp_path / "ada.zip", profile="quick" if change == "profile" else "smoke")
    assert code == 0 and results("ada", "earlier/1") == before and results("ada") != before
    assert f"was graded before, and is graded again because this has changed: {change}" in out


def test_another_seed_than_the_finished_one_is_said_and_needs_again(pack, runs, grade, results):
    path = pack(".zip", WORK, "ada")
    grade(path, "--seed", "5")
    code, out, err = grade(path, "--seed", "7")
    assert code == 2 and runs == ["ada"] and results("ada")["seed"] == 5
    assert err == "ada was graded with seed 5: to grade it with seed 7 as well, add --again\n"
    assert "graded with seed 5, not 7; add --again." in out
    assert grade(path, "--seed", "5")[0] == 0 and runs == ["ada"]
    assert grade(path, "--seed", "7", "--again")[0] == 0
    assert (results("ada")["seed"], results("ada", "earlier/1")["seed"]) == (7, 5)


def test_a_profile_with_fewer_games_than_the_finished_one_is_said_and_needs_again(pack, runs, grade, results):
    path = pack(".zip", WORK, "ada")
    grade(path, profile="full")
    code, out, err = grade(path, profile="quick")
    assert code == 2 and runs == ["ada"] and results("ada")["profile"] == "full"
    assert err == "ada was graded with profile full: to grade it with profile quick as well, add --again\n"
    assert "graded with profile full, not quick; add --again." in out
    assert grade(path, "--again", profile="quick")[0] == 0
    assert (results("ada")["profile"], results("ada", "earlier/1")["profile"]) == ("quick", "full")
    assert grade(path, profile="full")[0] == 0 and len(runs) == 3


def test_a_lab_has_no_match_so_that_any_other_profile_than_the_finished_one_needs_again(pack, runs, grade, results):
    path = pack(".zip", WORK, "ada")
    grade(path, "--lab", "nogo", profile="full")
    code, _, err = grade(path, "--lab", "nogo", profile="quick")
    assert code == 2 and "was graded with profile full: to grade it with profile quick as well, add --again" in err
    assert runs == ["ada"] and results("ada")["profile"] == "full"


def test_another_python_than_the_one_that_students_are_told_is_named(pack, runs, grade, assignment, monkeypatch):
    assert assignment.python_notes(tuple(map(int, assignment.python.split(".")))) == []
    monkeypatch.setattr("grader.pipeline.commands.load_named", lambda _: replace(assignment, python="3.9"))
    out = grade(pack(".zip", WORK, "ada"))[1]
    assert " is running; assignment.toml and the handout say that 3.9 grades: a solution that is right there may lose" in out


@pytest.mark.parametrize("plan", [(), ("--plan",)], ids=["grade", "plan"])
def test_the_results_of_another_assignment_are_left_alone(pack, runs, grade, results, plan):
    archive = pack(".zip", WORK, "ada")
    grade(archive)
    code, _, err = grade(archive, "--lab", "nogo", "--again", *plan)
    assert code == 2 and "ada was graded there as 'gomoku': give --lab gomoku, or another folder after --out" in err
    assert runs == ["ada"] and results("ada")["assignment"] == "gomoku"


def test_a_lab_without_marks_leaves_none_to_a_person(pack, runs, grade):
    archive = pack(".zip", WORK, "ada")
    assert "0 points are" not in grade(archive, "--lab", "nogo")[1]


def test_an_altered_result_is_kept_and_graded_again(pack, runs, grade, results, tmp_path):
    path = pack(".zip", WORK, "ada")
    grade(path)
    record = tmp_path / "out/ada/results.json"
    record.write_text(record.read_text(encoding="utf-8").replace('"seed"', '"sown"'), encoding="utf-8")
    code, out, _ = grade(path)
    assert code == 0 and "the record itself, which was altered or is damaged" in out
    assert runs == ["ada", "ada"] and "sown" in results("ada", "earlier/1")


def test_an_unfinished_run_with_another_seed_is_kept_too(pack, runs, grade, tmp_path):
    path = pack(".zip", WORK, "ada")
    grade(path, "--seed", "5")
    (tmp_path / "out/ada/results.json").unlink()
    decided = (tmp_path / "out/ada/verdicts.jsonl").read_bytes()
    grade(path, "--seed", "7")
    assert (tmp_path / "out/ada/earlier/1/verdicts.jsonl").read_bytes() == decided


def test_a_line_that_a_full_disk_cut_off_is_dropped_before_the_run_continues(pack, runs, grade, tmp_path):
    path, folder = pack(".zip", WORK, "ada"), tmp_path / "out/ada"
    grade(path, "--seed", "5")
    (folder / "results.json").unlink()
    whole = {"verdicts.jsonl": (folder / "verdicts.jsonl").read_text(), "games.jsonl": "{}\n"}
    for name, lines in whole.items():
        (folder / name).write_text(lines + '{"cut')
    grade(path)
    for name, lines in whole.items():
        assert (folder / name).read_text().startswith(lines) and "cut" not in (folder / name).read_text()


@pytest.mark.parametrize("moved", range(len(RECORDS) + 1))
def test_a_kill_while_an_earlier_result_is_moved_loses_none_of_it(pack, runs, grade, moved, tmp_path):
    path = pack(".zip", {**WORK, "report.pdf": b"%PDF"}, "ada")
    grade(path)
    folder = tmp_path / "out/ada"
    before = {name: (folder / name).read_bytes() for name in RECORDS if (folder / name).is_file()}
    moving = folder / "earlier" / ".moving"
    moving.mkdir(parents=True)
    for name in RECORDS[:moved]:
        if (folder / name).exists():
            (folder / name).rename(moving / name)
    assert grade(path)[0] == 0
    kept = folder / "earlier" / "1"
    assert {name: (kept / name).read_bytes() for name in before} == before and (kept / "reports/report.pdf").exists()
    assert (folder / "results.json").exists() and not moving.exists()


def test_nothing_decided_is_nothing_to_keep(tmp_path):
    (tmp_path / "verdicts.jsonl").touch()
    (tmp_path / "run.json").write_text("{}")
    assert keep_earlier(tmp_path) is None and not (tmp_path / "earlier").exists()


# -------------------------------------------------------------------------------------------------------- locks


def test_a_second_grader_in_the_same_folder_is_refused_and_harms_nothing(pack, runs, grade, tmp_path):
    path = pack(".zip", WORK, "ada")
    with held_folder(tmp_path / "out", by="grader"):
        code, _, err = grade(path)
        assert code == 2 and err.count("\n") == 1
        assert err.startswith(f"grader: another grader (process {os.getpid()} on ") and "name another folder" in err
        assert runs == [] and not (tmp_path / "out/ada").exists()
    assert grade(path)[0] == 0 and runs == ["ada"]


def test_the_lock_of_a_killed_grader_is_gone_also_where_its_programs_live_on(pack, runs, grade, tmp_path):
    code = (
        "import os, subprocess, sys, time; from pathlib import Path; from common.locks import held_folder\n"
        "with held_folder(Path(sys.argv[1]), by='grader'):\n"
        "    child = subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL)\n"
        "    print(child.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, tmp_path / "out"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        child = int(other.stdout.readline())
        path = pack(".zip", WORK, "ada")
        assert grade(path)[0] == 2
        other.kill()
        other.wait()
        try:
            assert grade(path)[0] == 0
        finally:
            os.kill(child, 9)


# ----------------------------------------------------------------------------------- what a command comes to


def test_the_table_tells_graded_unsure_and_refused_apart_with_the_reasons(pack, runs, grade, results, tmp_path):
    damaged = pack(".zip", WORK, "cem")
    damaged.write_bytes(damaged.read_bytes()[:200])
    half = {path: content for path, content in WORK.items() if "Minimax" not in path}
    class_ = [pack(".zip", WORK, "ada"), pack(".zip", half, "bob"), damaged, pack(".zip", {}, "dan")]
    code, out, err = grade(*class_)
    lines = out[out.index("submission  outcome") :].splitlines()
    assert code == 2 and err.count("\n") == 1 and sorted(runs) == ["ada", "bob", "dan"]
    assert lines[1].split(maxsplit=5)[:5] == ["ada", "graded", "70", "of", "70"]
    assert lines[2].startswith("bob         could not grade  35 of 70  ")
    assert "minimax (4 checks): No required file was found in Minimax/: expected Minimax/*.cpp" in lines[2]
    assert lines[3].startswith("cem         refused") and "interrupted upload" in lines[3]
    assert lines[4].startswith("dan         could not grade  0 of 70") and "the submission is empty" in lines[4]
    assert lines[5] == "4 in all: 1 graded, 2 could not grade, 1 refused."
    assert results("bob")["points"] == 35 and len(results("dan")["could_not_grade"]) == 25
    assert "interrupted upload" in (tmp_path / "out/cem/refused.txt").read_text(encoding="utf-8")
    assert grade(*class_[1:2])[0] == 1 and grade(*class_[:1])[0] == 0
    pack(".zip", WORK, "cem")
    assert grade(damaged)[0] == 0 and not (tmp_path / "out/cem/refused.txt").exists()


def test_a_fault_of_the_grader_with_one_submission_does_not_keep_the_others_from_being_graded(
    pack, runs, grade, results, monkeypatch, capsys
):
    class_ = [pack(".zip", WORK, name) for name in ("ada", "bob", "cem")]

    def read(path, assignment, real=class_grading.read_submission):
        if path.name.startswith("ada"):
            raise RuntimeError("never thought of")
        return real(path, assignment)

    monkeypatch.setattr(class_grading, "read_submission", read)
    with pytest.raises(RuntimeError, match="never thought of"):
        grade(*class_, "--jobs", "1")
    assert runs == ["bob", "cem"] and results("bob")["points"] == results("cem")["points"] == 70
    err = capsys.readouterr().err
    assert f"{class_[0]}: the grader itself failed (RuntimeError('never thought of')); the other submissions" in err


def test_a_file_that_is_missing_in_a_part_is_told_in_the_table(pack, runs, grade):
    assert "without AlphaZero/mcts_alphaZero.py, AlphaZero/policy_value_net_torch.py." in grade(pack(".zip", WORK))[1]


def test_a_long_or_hostile_name_keeps_the_table_in_one_line_each():
    rows = [SummaryRow("n" * 300, "refused", reasons=("a reason",)), SummaryRow("\x1b[2J", "graded", "1 of 70")]
    lines = list(summary_lines(rows))
    assert len(lines) == 4 and lines[1].index("refused") == lines[2].index("graded") == lines[0].index("outcome")


def test_a_name_that_looks_like_an_option_does_not_reach_the_terminal_as_it_is(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["grade", "--\x1b[2Jx.zip", "y"])
    err = capsys.readouterr().err
    assert ended.value.code == 2 and "x.zip" in err and "\x1b" not in err


# ------------------------------------------------------------------------------------------------------ reports


def test_reports_are_kept_and_a_later_one_does_not_make_the_programs_graded_again(pack, runs, grade, results, tmp_path):
    path = pack(".zip", {**WORK, "report.pdf": b"first", "report/a.png": b"png"}, "ada")
    grade(path)
    folder = tmp_path / "out/ada"
    assert read_reports(folder) == {"report.pdf": b"first", "report/a.png": b"png"}
    before = results("ada")
    pack(".zip", {**WORK, "report.pdf": b"second"}, "ada")
    code, out, _ = grade(path)
    assert code == 0 and runs == ["ada"] and "its reports have changed" in out
    after = results("ada")
    assert after["files"]["reports"] == ["report.pdf"] and "report/a.png" not in (folder / "report.html").read_text()
    assert {key for key in before if before[key] != after[key]} == {"files", "checksum"}
    assert read_reports(folder) == {"report.pdf": b"second"}
    assert read_reports(folder / "earlier/1") == {"report.pdf": b"first", "report/a.png": b"png"}


def test_a_first_report_that_comes_after_the_grading_reaches_the_marking_sheet(
    pack, runs, grade, results, tmp_path, course, api
):
    path = pack(".zip", WORK, "ada")
    grade(path)
    assert results("ada")["files"]["reports"] == []
    pack(".zip", {**WORK, "report.pdf": b"late"}, "ada")
    assert grade(path)[0] == 0 and runs == ["ada"]
    enter(course, tmp_path / "out")
    sheet = (course / "autograded/ada/gomoku/report.ipynb").read_text(encoding="utf-8")
    assert "See the report that was handed in." in sheet and "No report was handed in." not in sheet
    assert "reports/report.pdf" in sheet and "only in the archive" not in sheet
    assert "Files for a person to read: report.pdf" in (tmp_path / "out/ada/report.html").read_text(encoding="utf-8")


def test_reports_get_names_that_are_names_and_nothing_acts():
    names = ["report/index.html", "a/../b.svg", "x\x1b[2J=1.pdf", ".bashrc", "-rf.md", "n" * 300 + ".pdf", "report.ipynb"]
    names += ["A.md", "a.md", "con|<>:.docx", "report/b.png", "noname", "报告.pdf"]
    kept = kept_names(names)
    assert kept.keys() == set(names)
    assert len({path.casefold() for path in kept.values()}) == len(names)
    for path in kept.values():
        assert path.isprintable() and not set(path) & set("\\:*?\"<>|=[]'`$&;") and len(path) < 120
        assert all(part and not part.startswith((".", "-")) for part in path.split("/"))
    assert kept["report/index.html"] == "report/index.html.txt" and kept["report.ipynb"] == "report.ipynb.txt"
    assert kept["报告.pdf"] == "报告.pdf" and kept["report/b.png"] == "report/b.png"
    assert kept_names(["a.txt", "a.txt/b.md", "a.txt (2)"]).keys() == {"a.txt", "a.txt/b.md", "a.txt (2)"}


def test_links_in_the_place_of_reports_are_not_followed(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "run/reports").mkdir(parents=True)
    (tmp_path / "run/reports/a.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "run/reports/b.md").write_text("mine")
    assert read_reports(tmp_path / "run") == {"b.md": b"mine"}
    (tmp_path / "other").mkdir()
    (tmp_path / "other/reports").symlink_to(tmp_path, target_is_directory=True)
    assert read_reports(tmp_path / "other") == {}


# -------------------------------------------------------------------------------------------------- several at once


@pytest.mark.parametrize(("jobs", "submissions", "expected"), [(None, 9, 4), (None, 3, 3), (2, 9, 2), (9, 9, 9), (1, 5, 1)])
def test_submissions_graded_at_once_share_no_core(monkeypatch, jobs, submissions, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 4, 6, 7})
    monkeypatch.setattr("grader.pipeline.class_grading.available_cores", lambda: 4)
    slots = ClassOrder(order=None, jobs=jobs).slots(submissions)
    assert len(slots) == expected and all(slots) and set().union(*slots) == {3, 4, 6, 7}
    assert expected > 4 or sum(map(len, slots)) == 4


def test_submissions_are_graded_at_the_same_time_each_on_cores_of_its_own(pack, grade, monkeypatch, runs):
    together = threading.Barrier(2, timeout=60)
    cores = []

    def run_checks(run, listener, stopping):
        together.wait()  # fails unless the other submission is being graded now
        cores.append(os.sched_getaffinity(0))
        return grading.Ended(0, "", grading.environment(run.assignment))

    monkeypatch.setattr(grading, "run_checks_here", run_checks)
    before = os.sched_getaffinity(0)
    code, out, _ = grade(pack(".zip", WORK, "ada"), pack(".zip", WORK, "bob"), "--jobs", "2")
    assert code == 1 and "2 submissions, 2 at a time, profile smoke" in out
    assert len(cores) == 2 and (len(before) < 2 or not cores[0] & cores[1])
    assert os.sched_getaffinity(0) == before


# Grades with checks that wait until grading stops, and presses Ctrl-C itself when those of ada begin. A program of its own:
# a KeyboardInterrupt that came too late would end the tests.
INTERRUPTED = """
import os, signal, sys
from grader.__main__ import main
from grader.pipeline import grading

def run_checks(run, listener, stopping):
    os.write(1, f"begun {run.folder.name}\\n".encode())  # at once, as two threads write
    if run.folder.name == "ada":
        os.kill(os.getpid(), signal.SIGINT)
    assert stopping.wait(60)
    os.write(1, f"ended {run.folder.name}\\n".encode())
    raise KeyboardInterrupt

grading.build_opponent = lambda *_: None
grading.run_checks_here = run_checks
sys.exit(main(sys.argv[1:]))
"""


def test_an_interruption_ends_every_submission_at_work_and_starts_no_other(pack, tmp_path):
    names = ("ada", "bob", "cem", "dan")
    words = [
        "grade",
        *(pack(".zip", WORK, name) for name in names),
        "--profile",
        "smoke",
        "--jobs",
        "2",
        "--out",
        tmp_path / "out",
    ]
    command = [sys.executable, "-c", INTERRUPTED, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 130 and "Interrupted" in done.stderr, done.stderr
    assert "Stopping; every verdict so far is kept." in done.stdout and "submissions done" not in done.stdout
    begun, ended = ({name for name in names if f"{word} {name}" in done.stdout} for word in ("begun", "ended"))
    assert begun == ended and "ada" in begun and len(begun) <= 3


def test_the_estimate_counts_the_submissions_that_wait_and_what_is_left_of_those_at_work():
    said, now = [], [0.0]
    progress = ClassProgress(said.append, total=5, jobs=2, clock=lambda: now[0])
    progress.begin("ada")
    progress.begin("bob")
    assert progress.left_s() is None and said[-1] == "\r0 of 5 done | ada: starting; bob: starting"
    now[0] = 100.0
    progress.note("bob", "12/25 checks")
    progress.end("ada", graded=True)
    # Three wait, 100 s each; bob has been at work for as long as ada took; two at a time.
    assert progress.left_s() == 150 and "1 of 5 submissions done, about 2 min left." in said
    progress.begin("cem")
    now[0] = 140.0
    assert progress.left_s() == (2 * 100 + 60) / 2
    progress.end("cem", graded=False)  # finished before: it says nothing about the time of others
    assert progress.left_s() == 2 * 100 / 2
    assert said[-1] == "\r2 of 5 done, about 2 min left | bob: 12/25 checks"


def test_nothing_is_foretold_of_submissions_that_take_longer_than_the_mean():
    now = [0.0]
    progress = ClassProgress(lambda _: None, total=2, jobs=1, clock=lambda: now[0])
    progress.begin("ada")
    now[0] = 10.0
    progress.end("ada", graded=True)
    progress.begin("bob")
    now[0] = 19.0
    assert progress.left_s() == 1
    now[0] = 21.0
    assert progress.left_s() is None


def test_results_are_never_written_into_a_submission(pack, runs, grade, tmp_path):
    (tmp_path / "out").mkdir()
    folder = pack("folder", {**WORK, "report.html": b"mine"}, "out/ada")
    code, _, err = grade(folder)
    assert (code, runs) == (2, []) and f"results would be written into {folder}" in err
    assert not (folder / "run.json").exists() and (folder / "report.html").read_bytes() == b"mine"


def test_a_mistyped_path_is_a_wrong_call_and_files_nothing(pack, runs, grade, tmp_path):
    code, _, err = grade(pack(".zip", WORK, "ada"), tmp_path / "bbo.zip")
    assert code == 2 and f"at {tmp_path / 'bbo.zip'}; nothing is there" in err
    assert runs == [] and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (89, "89 s"), (90, "2 min"), (3599, "1 h 0 min"), (11400, "3 h 10 min")]
)
def test_durations_are_told_in_words(seconds, words):
    assert in_words(seconds) == words


@pytest.mark.parametrize("jobs", ["0", "-1", "two"])
def test_a_wrong_number_of_jobs_is_a_sentence(pack, jobs, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["grade", str(pack(".zip", WORK, "ada")), "--out", str(tmp_path / "out"), "--jobs", jobs])
    assert ended.value.code == 2
    assert f"expected a whole number of at least 1; got '{jobs}'" in capsys.readouterr().err


def test_a_name_that_the_terminal_cannot_show_does_not_end_the_command(pack, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    command = [sys.executable, "-m", "grader", "workspace", pack(".zip", WORK, "王"), tmp_path / "tree"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "files of \\u738b on top of it" in done.stdout and done.stderr == ""


def test_a_reader_that_ends_early_ends_the_command_without_a_traceback(pack, tmp_path):
    absent = [str(pack(".zip", WORK, f"student{number}")) for number in range(3)]
    plan = f"{sys.executable} -m grader grade {' '.join(absent)} --profile smoke --out {tmp_path / 'out'} --plan | head -1"
    done = subprocess.run(plan, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert "Programs run" in done.stdout and done.stderr == ""
