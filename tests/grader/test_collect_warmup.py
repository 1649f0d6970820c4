"""`python -m grader collect --warmup`: from a class download to the folder of nbgrader."""

import json

import pytest
from class_downloads import at, tree
from course_tools import nbgrader

from grader.assignment import ROOT
from grader.instructor.collecting import notebooks

BOARDS, NETWORK = ((ROOT / "warmup" / f"{name}.ipynb").read_bytes() for name in ("boards", "network"))
OTHER = json.dumps({"cells": []}).encode()


@pytest.fixture
def warmup(collect, course):
    """Collects the warm-up; `warmup.submitted()` has what lies in nbgrader's folder."""

    def run(*arguments):
        return collect(*arguments, "--warmup", "--course", course)

    run.submitted = lambda: tree(course / "submitted") if (course / "submitted").exists() else {}
    run.note = lambda student: collect.rows()[student]["note"]
    run.collect = collect
    return run


def test_two_loose_notebooks_of_canvas_are_one_attempt_and_a_resubmission_counts(warmup, download):
    first = download(
        {"jr_101_1_boards.ipynb": BOARDS, "jr_101_2_network.ipynb": NETWORK, "zhangwei_104_3_boards.ipynb": BOARDS}
    )
    assert warmup(first) == 0
    assert set(warmup.submitted()) == {"s1/warmup/boards.ipynb", "s1/warmup/network.ipynb", "s4/warmup/boards.ipynb"}
    assert warmup.note("s1") == "" and "network.ipynb is missing." in warmup.note("s4")
    assert warmup.collect.rows()["s2"]["outcome"] == "missing"
    before = tree(warmup.collect.out), warmup.submitted()
    assert warmup(first) == 0 and (tree(warmup.collect.out), warmup.submitted()) == before
    later = download(
        {"zhangwei_LATE_104_4_boards-1.ipynb": BOARDS + b" ", "zhangwei_LATE_104_5_network.ipynb": NETWORK}, name="b"
    )
    assert warmup(later) == 0
    assert warmup.submitted()["s4/warmup/boards.ipynb"] == BOARDS + b" " and "Canvas marks it as late" in warmup.note("s4")
    assert "attempt 2 of 2 counts" in warmup.note("s4") and warmup.submitted()["s4/warmup/network.ipynb"] == NETWORK


def test_renamed_damaged_and_other_files_have_their_sentence(warmup, download, monkeypatch):
    monkeypatch.setattr(notebooks, "MAX_NOTEBOOK_BYTES", len(NETWORK))
    path = download(
        [
            (at("s1/boards (1).ipynb"), BOARDS),
            (at("s1/network-2.ipynb"), NETWORK),
            (at("s1/notes.txt"), b"x"),
            (at("s3/boards.ipynb"), b"<html>"),
            (at("s4/boards.ipynb"), BOARDS),
            (at("s4/boards (1).ipynb"), OTHER),
            (at("s6/warmup/network.ipynb"), NETWORK + b" "),
            (at("2024007_boards.ipynb", (2026, 12, 1, 11, 0, 0)), BOARDS),
            (at("2024007_network.ipynb", (2026, 12, 1, 12, 0, 0)), NETWORK),
        ]
    )
    assert warmup(path, "--due", "2026-12-01T11:30+00:00") == 1
    assert "no such notebook: notes.txt." in warmup.note("s1")
    assert "expected a Jupyter notebook (format 4) at boards.ipynb" in warmup.note("s3")
    assert "differ, and nothing says which one counts" in warmup.note("s4")
    assert "is larger than" in warmup.note("s6")
    assert warmup.collect.rows()["2024007"]["late_minutes"] == "30"
    found = warmup.submitted()
    assert {name.split("/")[0] for name in found} == {"s1", "2024007"}
    assert found["2024007/warmup/timestamp.txt"] == b"2026-12-01T12:00:00+00:00"


def test_the_collection_remembers_that_it_is_the_warm_up(warmup, download, course):
    path = download({"s1/boards.ipynb": BOARDS, "s6/warmup/boards.ipynb": BOARDS})
    assert warmup(path) == 0
    assert warmup.collect(path, "--course", course) == 0
    assert warmup.collect(path, "--lab", "nogo") == 2 and "holds submissions of the warm-up" in warmup.collect.complaint
    assert warmup(path, "--lab", "nogo") == 2 and "got both" in warmup.collect.complaint


@pytest.mark.slow
def test_a_collected_notebook_is_graded_by_nbgrader(warmup, download, opened, course):
    solved = (course / "source" / "warmup" / "boards.ipynb").read_bytes()
    assert warmup(download({"s1/boards (1).ipynb": solved, "s6/notes.txt": b"x"})) == 1
    nbgrader(course, "generate_assignment", "warmup")
    nbgrader(course, "autograde", "warmup")
    with opened() as gradebook:
        assert gradebook.find_submission("warmup", "s1").score == 10
