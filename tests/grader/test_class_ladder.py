"""The round robin between the engines of a class: real engines, compiled and confined, and games that are played once."""

import re
from dataclasses import replace

import pytest
from returned_class import win_rate, write_marks, write_result

from grader.__main__ import main
from grader.confinement.sandbox import find_sandbox
from grader.instructor.returning import ladder
from grader.instructor.returning.class_results import read_class
from grader.pipeline.archive import write_archive
from grader.pipeline.submission import read_submission

# Each of them plays the first or the last free point; black's first stone lies in the centre.
ENGINE = """#include "AIController.h"
#include <utility>
std::string ai_name = "%(name)s";
static int board[16][16], own, stones;
void init() {}
std::pair<int, int> action(std::pair<int, int> location) {
    if (location.first > 0) board[location.first][location.second] = 1;
    if (ai_side == 0 && stones++ == 0) return board[8][8] = 1, std::make_pair(8, 8);
    for (int i = 0; i < 225; i++) {
        int at = %(order)s, x = at / 15 + 1, y = at %% 15 + 1;
        if (!board[x][y]) return board[x][y] = 1, std::make_pair(x, y);
    }
    return {1, 1};
}
"""
ORDERS = {"s4711": "i", "s4712": "224 - i", "s4713": "(i * 7) % 225", "s4714": "i"}
NAMES = {student: student for student in ORDERS} | {"s4714": "s4711"}  # which makes these two submissions the same


@pytest.fixture
def engines_of_a_class(tmp_path, assignment):
    results = tmp_path / "results"
    for place, (student, order) in enumerate(ORDERS.items()):
        work = tmp_path / "work" / student / "Minimax"
        work.mkdir(parents=True)
        source = ENGINE % {"name": NAMES[student], "order": order}
        (work / "engine.cpp").write_text(source if student != "s4713" else '#include "AIController.h"\nnot C++\n')
        submission = read_submission(work.parent, assignment)
        (results / student).mkdir(parents=True)
        write_archive(submission.files, results / student / "submission.zip")
        changes = win_rate(assignment, 10 + place, 54 - place, student)
        write_result(results, assignment, student, changes, digest=submission.digest)
    marks = write_marks(tmp_path / "marks.csv", assignment, [(student, "A", "B", {}) for student in ORDERS])
    return [str(word) for word in ("give-back", results, "--marks", marks, "--out", tmp_path / "back")]


def test_an_engine_is_compiled_again_only_by_another_command(engines_of_a_class, tmp_path, assignment, monkeypatch):
    built = []

    def build(workspace, submission, binary, *_):
        built.append(binary.name)
        binary.parent.mkdir(parents=True, exist_ok=True)
        binary.touch()

    monkeypatch.setattr(ladder, "build_submitted", build)
    student = read_class((tmp_path / "results" / "s4711",), None, assignment).by_student["s4711"]
    other = replace(assignment, compile_command=(*assignment.compile_command, "-O3"))
    for now in (assignment, assignment, other, other):
        order = ladder.LadderOrder(now, find_sandbox(), now.profile("quick").match, 2, tmp_path / "ladder")
        engine = ladder._built(student, order)
        assert engine.path == built[-1]
    assert len(built) == len(set(built)) == 2


def test_the_round_robin_is_on_the_page_and_its_games_are_played_once(engines_of_a_class, tmp_path, capsys, no_engine_left):
    assert main([*engines_of_a_class, "--ladder", "2"]) == 0
    said = capsys.readouterr().out
    assert "the engine of s4713 is left out: The engine does not compile" in said
    assert re.search("the engine of s471[14] is left out: another student handed in the same files", said)
    games = list((tmp_path / "back" / "ladder" / "games").iterdir())
    assert len(games) == 1 and len(games[0].read_text().splitlines()) == 1 + 2
    before = games[0].read_bytes()
    page = (tmp_path / "back" / "class" / "index.html").read_text()
    assert "A round robin of 2 games between every two engines" in page and "s471" not in page
    assert len(re.findall(r"<b>engine \d</b><span>[+-]\d+ ", page)) == 2 and "1 engines could not be built" not in page
    assert "One engine could not be built. One engine does not play because its files are those of another." in page
    assert main([*engines_of_a_class, "--ladder", "2"]) == 0
    assert games[0].read_bytes() == before
    assert (tmp_path / "back" / "class" / "index.html").read_text() == page
