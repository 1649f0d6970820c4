"""`python -m grader collect --warmup`: from a class download to the folder of nbgrader."""

import csv
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
        {
            "adajralice_101_1_boards.ipynb": BOARDS,
            "adajralice_101_2_network.ipynb": NETWORK,
            "zhangwei_104_3_boards.ipynb": BOARDS,
        }
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


def test_a_notebook_under_another_name_is_found_by_its_tests(warmup, download, monkeypatch):
    path = download(
        {
            "s1/homework1.ipynb": BOARDS,
            "s1/network.ipynb": NETWORK,
            "s2/boards.ipynb.txt": BOARDS,
            "s2/Untitled.ipynb": NETWORK,
            "s2/Untitled1.ipynb": NETWORK,  # the same content does no harm
            "s4/first.ipynb": BOARDS,
            "s4/second.ipynb": BOARDS + b" ",
            "s6/boards.ipynb": BOARDS,
            "s6/scratch.ipynb": OTHER,
            "2024007/boards.ipynb": BOARDS,
            "2024007/copy of my work.ipynb": BOARDS + b" ",
            "2024007/network.ipynb": NETWORK,
        }
    )
    assert warmup(path) == 1
    found = warmup.submitted()
    assert found["s1/warmup/boards.ipynb"] == found["s2/warmup/boards.ipynb"] == BOARDS
    assert found["s2/warmup/network.ipynb"] == NETWORK and found["2024007/warmup/boards.ipynb"] == BOARDS
    assert warmup.note("s1") == "boards.ipynb was found by its tests, in homework1.ipynb."
    assert "network.ipynb was found by its tests, in Untitled.ipynb and Untitled1.ipynb." in warmup.note("s2")
    assert "first.ipynb and second.ipynb differ" in warmup.note("s4") and "s4/warmup/boards.ipynb" not in found
    assert "network.ipynb is missing. Left out" in warmup.note("s6") and "scratch.ipynb" in warmup.note("s6")
    looked_at = next(line for line in warmup.collect.said.splitlines() if " in all: " in line)
    assert "5 collected, 2 missing" in looked_at
    monkeypatch.setattr(notebooks, "MOST_OPENED", 0)
    assert warmup(path) == 1 and "s1/warmup/boards.ipynb" not in warmup.submitted()


def test_a_notebook_that_may_be_the_missing_one_needs_a_person_and_a_missing_one_alone_does_not(warmup, download):
    assert warmup(download({"s1/boards.ipynb": BOARDS, "s1/notes.txt": b"x"})) == 0
    assert warmup(download({"s6/boards.ipynb": BOARDS, "s6/scratch.ipynb": OTHER}, name="b")) == 1


def test_the_copies_that_jupyter_keeps_are_left_out_without_a_word(warmup, download):
    members = {"s1/warmup/boards.ipynb": BOARDS, "s1/warmup/network.ipynb": NETWORK}
    kept = {
        f"s1/warmup/.ipynb_checkpoints/{name}-checkpoint.ipynb": BOARDS + b" " for name in ("boards", "network", "homework")
    }
    assert warmup(download(members | kept)) == 0 and warmup.note("s1") == ""


def test_the_collection_remembers_that_it_is_the_warm_up(warmup, download, course):
    path = download({"s1/boards.ipynb": BOARDS, "s6/warmup/boards.ipynb": BOARDS})
    assert warmup(path) == 0
    assert warmup.collect(path, "--course", course) == 0
    assert warmup.collect(path, "--lab", "nogo") == 2 and "holds submissions of the warm-up" in warmup.collect.complaint
    assert warmup(path, "--lab", "nogo") == 2 and "got both" in warmup.collect.complaint


def as_colab_saves(notebook):
    """The notebook in format 4.0, whose cells have no ids of their own."""
    data = json.loads(notebook)
    for cell in data["cells"]:
        cell["metadata"]["id"] = cell.pop("id")
    data["cells"].insert(0, {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": ["1 / 0"]})
    return json.dumps(data | {"nbformat_minor": 0, "metadata": {"colab": {"provenance": []}}}).encode()


def test_collected_notebooks_are_graded_by_nbgrader_and_exported(warmup, download, opened, course):
    solved = (course / "source" / "warmup" / "boards.ipynb").read_bytes()
    members = {"s1/boards (1).ipynb": solved, "s2/Copy of boards.ipynb": as_colab_saves(solved), "s6/notes.txt": b"x"}
    assert warmup(download(members)) == 1
    nbgrader(course, "generate_assignment", "warmup")
    nbgrader(course, "autograde", "warmup")
    with opened() as gradebook:
        assert [gradebook.find_submission("warmup", student).score for student in ("s1", "s2")] == [10, 10]
        gradebook.add_student("s4")
        gradebook.update_or_create_submission("warmup", "s4")  # as nbgrader leaves it if the notebook cannot be run
    nbgrader(course, "export", "--assignment=warmup", "--to=warmup.csv")
    with (course / "warmup.csv").open(encoding="utf-8-sig", newline="") as file:
        scores = {row["student_id"]: row["score"] for row in csv.DictReader(file)}
    assert scores == {"s1": "10.0", "s2": "10.0", "s4": ""}
