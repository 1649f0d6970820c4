"""The handout says what the assignment does. Its commands are looked at in tests/docs/test_references.py."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from arena.engine.engine_process import EngineSpec
from arena.rules import Position
from arena.statistics.estimates import GameResult
from common.errors import UsageError
from grader.__main__ import main
from grader.assignment_file import load_assignment, load_named
from grader.instructor import handout
from grader.instructor.notebook import load_rubric
from Minimax import evaluate, judge, ladder
from Minimax.search_wrapper import EnginePlayer

ROOT = Path(__file__).resolve().parents[2]
HANDOUT = (ROOT / "docs" / "handout.md").read_text(encoding="utf-8")


def rows_below(heading, text=HANDOUT):
    """The cells of the table whose first row begins with `heading`."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {heading}"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


# ------------------------------------------------------------------------------------------- points and sections


def test_the_points_are_those_of_the_assignment(capsys):
    assert main(["handout", "--check"]) == 0
    assert capsys.readouterr().err == ""


def test_a_changed_point_is_noticed_in_both_languages(monkeypatch, capsys):
    assignment = load_assignment()
    first, *others = assignment.checks
    changed = replace(assignment, checks=(replace(first, points=first.points + 1), *others))
    monkeypatch.setattr(handout, "load_assignment", lambda: changed)
    assert handout.main(check=True) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and all("run python -m grader handout" in line for line in said)
    assert "docs/handout.md" in said[0] and "docs/handout.zh.md" in said[1]


def test_the_command_for_the_handout_of_a_lab_names_the_lab(capsys):
    lab = load_named("nogo")
    first, *others = lab.checks
    changed = replace(lab, checks=(replace(first, points=first.points + 1), *others))
    assert handout.main(check=True, assignment=changed) == 1
    assert capsys.readouterr().err.endswith("run python -m grader handout --lab nogo\n")


def test_a_changed_criterion_is_noticed(monkeypatch, capsys):
    first, *others = load_rubric(load_assignment())
    (points, what), *rest = first.criteria
    changed = (replace(first, criteria=((points, f"{what} and its serial number"), *rest)), *others)
    monkeypatch.setattr(handout, "load_rubric", lambda assignment, course: changed)
    assert handout.main(check=True) == 1
    assert "python -m grader handout" in capsys.readouterr().err


def test_rendering_replaces_the_tables_and_nothing_else():
    assignment, rubric = load_assignment(), load_rubric(load_assignment())
    first, *others = assignment.checks
    changed = replace(assignment, checks=(replace(first, title="a | b"), *others))
    criterion = replace(rubric[0], criteria=((2.0, "c | d"),))
    for name, text in handout.texts(assignment).items():
        drifted = handout.render(text, changed, (criterion, *rubric[1:]), name)
        assert "a \\| b" in drifted and "c \\| d" in drifted
        assert handout.render(drifted, assignment, rubric, name) == text


@pytest.mark.parametrize("marker", [*handout.POINTS, *handout.CRITERIA])
@pytest.mark.parametrize("times", [0, 2])
def test_a_marker_that_is_missing_or_doubled_is_refused(marker, times):
    assignment = load_assignment()
    with pytest.raises(UsageError, match=r"once each, in handout\.md"):
        handout.render(HANDOUT.replace(marker, marker * times), assignment, load_rubric(assignment), "handout.md")


def test_every_section_that_is_named_is_a_heading():
    assert handout.missing_sections(HANDOUT, load_assignment()) == []


@pytest.mark.parametrize(("number", "who"), [("4.1", "Minimax/AIController.h"), ("5.4", "AlphaZero/mcts_alphaZero.py")])
def test_a_section_that_is_gone_is_noticed(number, who):
    text = HANDOUT.replace(f"### {number} ", f"### {number}9 ")
    assert f"{number} ({who})" in handout.missing_sections(text, load_assignment())


# --------------------------------------------------------------------------------------------- numbers in the text


def test_the_table_of_wins_follows_the_formula():
    assignment = load_assignment()
    points = assignment.check("minimax.win_rate").points
    rows = rows_below("Wins of 64")[2:]
    assert len(rows) >= 5
    for wins, score, given, _ in rows:
        lost = 64 - int(wins)
        assert float(score) == (int(wins) - lost) / 64
        assert int(given) == assignment.win_rate_points(int(wins), lost, 64, points)


def test_the_points_that_seven_wins_of_eight_may_stand_for_are_those_of_the_interval():
    assignment = load_assignment()
    games = [GameResult(1)] * 7 + [GameResult(0)]
    points = assignment.check("minimax.win_rate").points
    low, high = assignment.win_rate_points_between(games, points)
    text = " ".join(HANDOUT.split())
    assert f"7 wins give {assignment.win_rate_points(7, 1, 8, points):g} points, and anything from {low:g} to {high:g}" in text


def test_evaluate_decides_by_the_points_of_the_assignment():
    assignment = load_assignment()
    assert f"{assignment.win_rate_formula}:{assignment.check('minimax.win_rate').points:g}" == evaluate.POINTS


def test_the_table_of_losing_lines_follows_the_steps():
    head, _, shares = rows_below("Losing lines")
    steps = [(int(lines), int(share.rstrip(" %")) / 100) for lines, share in zip(head[1:-1], shares[1:-1], strict=True)]
    assert tuple(steps) == load_assignment().losing_line_steps


def test_the_shares_are_those_of_the_assignment():
    assignment = load_assignment()
    shares = sorted((check, share) for check, shares in assignment.shares.items() for share in shares.values())
    headings = ("Check | What falls short", "检查项 | 哪里不足")
    for heading, text in zip(headings, handout.texts(assignment).values(), strict=True):
        rows = rows_below(heading, text)[2:]
        assert sorted((check.strip("`"), int(share.rstrip(" %")) / 100) for check, _, share in rows) == shares


@pytest.mark.parametrize(
    ("name", "sentence"), [("handout.md", "graded with Python {}. "), ("handout.zh.md", "评分使用 Python {}。")]
)
def test_the_version_of_python_is_that_of_the_assignment(name, sentence):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert sentence.format(load_assignment().python) in text


def test_the_profiles_are_as_described():
    assignment = load_assignment()
    text = " ".join(HANDOUT.split())
    quick, full = assignment.profile("quick"), assignment.profile("full")
    assert f"In `full`, your engine plays {full.match.games} games against the baseline" in text
    assert f"`GOMOKU_MOVE_TIME_S` set to {full.match.move_s:g}; in `quick`, it plays {quick.match.games} games" in text
    assert f"with {quick.match.move_s:g}, although it still loses on time only after {quick.match.limit_s:g} seconds" in text
    assert f"at most {full.training.max_games} games (`quick`: {quick.training.max_games})" in text
    assert f"every {full.training.check_every} games (`quick`: {quick.training.check_every})" in text
    assert f"{assignment.limits.engine_memory_mib} MiB of memory" in text


def test_the_limits_of_the_programs_are_their_defaults():
    rows = {program.strip("`"): limits for program, limits in rows_below("Program | Limits")[2:]}
    match = evaluate.parser().parse_args(["--agents-path", "a", "b"])
    assert rows["evaluate.py"] == (
        f"an answer {match.time_limit:g} s (`--time-limit`), the name {match.init_limit:g} s (`--init-limit`), "
        f"memory {match.memory_mib} MiB (`--memory-mib`)"
    )
    planned = ladder.parser().parse_args(["engine"]).time_limit
    assert rows["ladder.py"] == f"{planned:g} s per move to plan for (`--time-limit`), an answer {ladder.RULE_S:g} s"
    one, suite = judge.MOVE_S, judge.SUITE_MOVE_S
    assert rows["judge.py"] == f"an answer {one:g} s, with `--suite` {suite:g} s (`--time-limit`)"
    window = EnginePlayer(EngineSpec("engine")).limits.move_s
    assert rows["human_play.py"] == f"an answer of an engine {window:g} s" and len(rows) == 4
    chinese = rows_below("程序 | 限制", (ROOT / "docs" / "handout.zh.md").read_text(encoding="utf-8"))[2:]
    assert [re.findall(r"\d+|--[a-z-]+", row) for _, row in chinese] == [
        re.findall(r"\d+|--[a-z-]+", row) for row in rows.values()
    ]


def test_the_game_of_the_protocol_is_legal_and_bob_wins():
    plies = re.findall(r"^ *\d+   (black|white) +(-?\d+ -?\d+) +(-?\d+ -?\d+)", HANDOUT, re.MULTILINE)
    position, last = Position(), "-1 -1"
    for player, read, answer in plies:
        assert not position.is_over and read == last and position.turn == ("black", "white").index(player)
        x, y = map(int, answer.split())
        position.play((x, y))
        last = answer
    assert len(plies) == 10 and position.swapped and position.winner == 1
