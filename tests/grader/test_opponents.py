"""The engines of [opponents], and the speed of a machine, which does not depend on them."""

import dataclasses
import os
import subprocess

import pytest

from arena.match.calibrate import Speed
from common.errors import UsageError
from grader.pipeline import machine_speed
from grader.pipeline.judging import grading_files
from grader.pipeline.opponents import build_opponent, engine_files


@pytest.fixture
def foe(tmp_path, assignment):
    """An assignment with the opponent `foe`, whose source may be rewritten, and how it is built."""
    source = tmp_path / "Minimax/foe.cpp"
    source.parent.mkdir()
    (tmp_path / "Minimax/AIController.h").write_text("")
    source.write_text("int main() {}\n")

    def build(*paths):
        opponents = {"foe": paths or ("Minimax/foe.cpp",)}
        return build_opponent("foe", dataclasses.replace(assignment, opponents=opponents), tmp_path)

    return source, build


def test_an_opponent_is_built_once_and_again_for_another_source_however_old(foe):
    source, build = foe
    binary = build()
    made = binary.stat().st_mtime_ns
    assert build() == binary and binary.stat().st_mtime_ns == made
    other = source.with_name("other.cpp")
    other.write_text("int main() { return 3; }\n")
    os.utime(other, (0, 0))
    assert subprocess.run([build("Minimax/other.cpp")]).returncode == 3 and build() == binary


@pytest.mark.parametrize("included", ["moves.h", "moves.cpp"])
def test_an_opponent_is_built_again_when_a_file_that_it_includes_changes(foe, included):
    source, build = foe
    source.write_text(f'#include "{included}"\nint main() {{ return code(); }}\n')
    for code in (3, 4):
        source.with_name(included).write_text(f"int code() {{ return {code}; }}\n")
        listed, unlisted = build("Minimax/foe.cpp", f"Minimax/{included}"), build("Minimax/foe.cpp")
        assert [subprocess.run([binary]).returncode for binary in (listed, unlisted)] == [code, code]


def test_an_opponent_that_is_missing_or_does_not_compile_gives_one_sentence(foe):
    source, build = foe
    with pytest.raises(UsageError, match=r"^expected a file of the opponent foe at .*none\.cpp: No such file or directory$"):
        build("Minimax/none.cpp")
    source.write_text("int main( {}\n")
    with pytest.raises(UsageError, match=r"the opponent foe of .* does not compile: .*foe\.cpp:1:\d+: error"):
        build()


def test_what_an_opponent_includes_is_sent_to_other_machines_and_counts_as_a_change(assignment):
    rung = ("Minimax/mcts_baselines/rung.cpp", "Minimax/mcts_baselines/mcts.cpp")  # mcts.cpp includes position.h
    assignment = dataclasses.replace(assignment, opponents={"rung": rung})
    assert {*rung, "Minimax/mcts_baselines/position.h", "Minimax/AIController.h"} == engine_files(assignment)
    assert {*engine_files(assignment), *machine_speed.BASELINE} <= set(grading_files(assignment))


def test_a_machine_is_timed_with_the_baseline_whatever_the_opponents_are(assignment, monkeypatch):
    timed = []
    monkeypatch.setattr(machine_speed, "measure", lambda engine, at_once: timed.append(engine.path) or Speed(1.0, 2.0))
    for opponents in (assignment.opponents, {"sample": ("Minimax/sample.cpp",)}):
        assert machine_speed.machine_speed(dataclasses.replace(assignment, opponents=opponents), 2) == 2.0
    assert timed[0] == timed[1] and "baseline" in timed[0]
