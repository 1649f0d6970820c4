"""assignment.toml: its points, its checks, what a mistake in it gives, and its formulas."""

import ast
import dataclasses
from collections import Counter
from pathlib import Path

import pytest

from common.errors import UsageError
from grader.assignment import ROOT, matches
from grader.assignment_file import load_assignment, load_named

TEXT = (ROOT / "assignment.toml").read_text(encoding="utf-8")


@pytest.fixture
def changed(tmp_path):
    """An assignment file that differs from the real one in one place."""

    def write(old, new):
        assert TEXT.count(old) >= 1, f"{old!r} does not stand in assignment.toml"
        path = tmp_path / "changed.toml"
        path.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
        return path

    return write


JUDGE = ROOT / "grader" / "judge"


def decided_checks(without):
    """The id of `@pytest.mark.points` for every test below grader/judge, None where a test has no such mark."""
    for file in sorted({*JUDGE.rglob("*.py")} - {JUDGE / without}):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
                marks = [d for d in node.decorator_list if isinstance(d, ast.Call) and "mark.points" in ast.unparse(d.func)]
                yield from (ast.literal_eval(mark.args[0]) for mark in marks) if marks else [None]


def named_shortcomings():
    """Every first argument of `ruling.deduct` below grader/judge."""
    for file in sorted(JUDGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "ruling.deduct":
                yield ast.literal_eval(node.args[0])


# ------------------------------------------------------------------------------------------- points and checks


def test_minimax_alphazero_and_marks_are_worth_35_35_and_30(assignment):
    minimax = sum(check.points for check in assignment.checks if check.id.startswith("minimax."))
    others = sum(check.points for check in assignment.checks if not check.id.startswith("minimax."))
    assert (minimax, others, sum(mark.points for mark in assignment.marks)) == (35, 35, 30)


@pytest.mark.parametrize(
    "elsewhere", ["checks/test_own_training.py", "trusted/test_training.py"], ids=["in grading", "in a kit"]
)
def test_every_check_is_decided_by_exactly_one_test_and_every_test_decides_one(assignment, elsewhere):
    assert Counter(decided_checks(elsewhere)) == Counter(check.id for check in assignment.checks)


def test_the_shares_of_the_assignment_are_those_that_the_checks_deduct(assignment):
    assert set(named_shortcomings()) == {name for shares in assignment.shares.values() for name in shares}


def test_every_stub_is_collected_and_what_is_handed_out_as_framework_is_not(assignment):
    assert all(assignment.is_collected(stub) for stub in assignment.stubs)
    framework = ["Minimax/AIController.h", "Board/game_board.py", "train.py"]
    answers = ["Minimax/baseline.cpp", "Minimax/sample.cpp"]
    assert not any(assignment.is_collected(path) for path in framework + answers)
    assert all(matches(path, assignment.framework) for path in framework)
    assert not any(matches(path, assignment.framework) for path in answers)


def test_a_check_that_is_not_named_is_no_check(assignment):
    assert assignment.check("minimax.win_rate").points == 30
    with pytest.raises(KeyError):
        assignment.check("report")


# ------------------------------------------------------------------------------------ mistakes in the description

MISTAKES = {
    "not TOML": ("[files]", "[files", "not valid TOML"),
    "a missing table": ("[limits]", "[limit]", "'limits'"),
    "a missing key": ('formula = "shifted_score"', "", "'formula'"),
    "a misspelt table": ('[[marks]]\nid = "code', '[[mark]]\nid = "code', "mark is unknown; the keys are assignment, files"),
    "a misspelt key of a table": ("withheld = [", "kits = []\nwithheld = [", "in release: kits is unknown; the keys are kit,"),
    "a missing key of a check": ('handout = "4.3"', "", "handout"),
    "a misspelt key of a check": ('handout = "4.3"', 'handuot = "4.3"', "handuot"),
    "a missing key of a profile": (", own_playouts = 400", "", "own_playouts"),
    "an unknown key of a profile": ("games = 8", "games = 8, rounds = 2", "rounds"),
    "an unknown formula": ('formula = "shifted_score"', 'formula = "elo"', "among shifted_score, straight; got 'elo'"),
    "a check named twice": ('id = "minimax.protocol"', 'id = "minimax.build"', "twice: minimax.build"),
    "a mark named as a check": ('id = "code_review"', 'id = "network.load"', "twice: network.load"),
    "a mark named as a part of the checks": ('id = "code_review"', 'id = "minimax"', "no part of the checks has; got minimax"),
    "a profile that check uses, renamed": ("[profiles.check]", "[profiles.own]", "a profile check, which python -m"),
    "a profile that grade uses, renamed": ("[profiles.quick]", "[profiles.quik]", "grader grade uses; got quik, full"),
    "a step that is no pair": ("[2, 0.8]", "[2]", "changed.toml"),
    "a number that is a word": ("compile_limit_s = 120", 'compile_limit_s = "soon"', "soon"),
    "a version of Python that is a number": ('python = "3.11"', "python = 3.11", "expected text for judge.python; got 3.11"),
    "a version of Python with a patch": ('python = "3.11"', 'python = "3.11.2"', "such as 3.11 as judge.python; got '3.11.2'"),
    "points that are a word": ('compiles"\npoints = 1', 'compiles"\npoints = "one"', "checks[minimax.build].points; got 'one'"),
    "games that are a word": ("games = 8", 'games = "eight"', "changed.toml"),
    "points below 0": ('compiles"\npoints = 1', 'compiles"\npoints = -1', "points; got -1"),
    "a check without points": (
        'compiles"\npoints = 1',
        'compiles"\npoints = 0',
        "for points in checks (minimax.build); got 0; to remove a check, delete its table and its test",
    ),
    "a match without games": ("games = 8", "games = 0", "above 0 for games in profiles.quick.match; got 0"),
    "a training without a try": ("seeds = 3", "seeds = 0", "above 0 for seeds in profiles.quick.training; got 0"),
    "a network that plays nobody": ("playouts = [400]", "playouts = []", "in profiles.quick.training; got an empty list"),
    "a pace beyond the limit": ("move_s = 1.0", "move_s = 9.0", "move_s of at most limit_s (5) in profiles.quick.match"),
    "no steps": ("steps = [[0, 1.0], [2, 0.8], [6, 0.5], [12, 0.25]]", "steps = []", "score.losing_lines.steps to begin"),
    "a step beyond all points": ("[[0, 1.0]", "[[0, 2.0]", "to begin with the share 1.0"),
    "steps without full points": ("[[0, 1.0], ", "[", "to begin with the share 1.0 and to give less for more losing lines"),
    "steps whose shares rise": ("[6, 0.5]", "[6, 0.9]", "such as [[0, 1.0], [2, 0.8]]; got [[0, 1.0], [2, 0.8], [6, 0.9]"),
    "steps out of order": ("[[0, 1.0], [2, 0.8]", "[[2, 1.0], [0, 0.8]", "give less for more losing lines"),
    "a likeness in percent": ("pair = 0.4", "pair = 40", "at most 1 for likeness.pair; got 40"),
    "no opponent": ('baseline = ["Minimax/baseline.cpp"]', "", "at least one entry in opponents; got none"),
    "a compiler that is not named": ('compile = ["g++", ', "compile = []\n#", "at least one entry in engine.compile; got none"),
    "an opponent with a slash": ('baseline = ["Min', '"a/b" = ["Min', "letters, digits, dots, _ and - in opponents"),
    "an opponent that is not protected": (
        '    "Minimax/baseline.cpp",\n    "Minimax/mcts_baselines/**",',
        '    "Minimax/mcts_baselines/**",',
        "each file of opponents.baseline in files.protected, so that no submission hands it in as its own; Minimax/baseline",
    ),
    "an opponent without sources": ('baseline = ["Minimax/baseline.cpp"]', "baseline = []", "entry in opponents.baseline"),
    "an id that is empty": (
        'id = "minimax.build"',
        'id = ""',
        "single dots between them, for 'The engine compiles'; got ''",
    ),
    "an address that runs": (
        'handout_url = ""',
        'handout_url = "javascript:x"',
        "https:// or http:// as assignment.handout_url",
    ),
    "a pattern from the top": ('reports = ["*.pdf"', 'reports = ["/etc/*.pdf"', "below it in files.reports; got '/etc/*.pdf'"),
    "a pattern that leaves": ("kit = [", 'kit = ["../x/*.py",', "relative to the root and below it in release.kit; got '../x"),
    "two stars in a name": ("kit = [", 'kit = [\n    "a/**.py",', "in place of whole folders, as in a/**/*.py, in release.kit"),
    "a check that no file decides": ('id = "network.load"', 'id = "load.network"', "in files.decides; load.network"),
    "a check apart from its part": (
        '[[checks]]\nid = "minimax.build"',
        '[[checks]]\nid = "network.first"\ntitle = ""\npoints = 1\nhandout = "5"\n\n[[checks]]\nid = "minimax.build"',
        "one after another; others are between those of network",
    ),
    "points that are no number": ('compiles"\npoints = 1', 'compiles"\npoints = nan', "points; got nan"),
    "points that are true": ('compiles"\npoints = 1', 'compiles"\npoints = true', "points; got True"),
    "a share of a check that is none": ('"train_step.loss" = {', '"train_step.los" = {', "in score.shares; got train_step.los"),
    "a share that takes nothing": ("entropy = 0.75", "entropy = 1", "below 1 in score.shares; train_step.loss"),
    "half a game": ("games = 8", "games = 7.5", "games; got 7.5"),
    "a title that is a number": ('title = "Gomoku AI: Minimax and AlphaZero"', "title = 3", "text for assignment.title; got 3"),
    "a limit misspelt": ("processes = 128", "proceses = 128", "in limits: processes is missing"),
    "a long check that is none": ('"training.own_search"]', '"training.own"]', "in long_checks.training; got training.own"),
    "an unknown kind of long check": ('match = ["min', 'games = ["min', "expected match or training in long_checks; got games"),
    "one pattern in place of a list": (
        'reports = ["*.pdf", "*.md", "*.docx", "report/**"]',
        'reports = "*.pdf"',
        "list for files.reports; got '*.pdf'",
    ),
    "one source in place of a list": (
        'baseline = ["Minimax/baseline.cpp"]',
        'baseline = "Minimax/baseline.cpp"',
        "list for opponents.baseline; got 'Minimax/baseline.cpp'",
    ),
    "a value in place of a table": ('[opponents]\nbaseline = ["Minimax/baseline.cpp"]', "[other]", "'opponents'"),
    "a table that is a number": ("[profiles.quick]\ncall_limit_s = 60", "[profiles]\nquick = 3\n[unused]", "changed.toml"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_description_gives_one_sentence(changed, mistake):
    old, new, words = MISTAKES[mistake]
    with pytest.raises(UsageError) as caught:
        load_assignment(changed(old, new))
    sentence = str(caught.value)
    assert words in sentence and "changed.toml" in sentence and "\n" not in sentence


@pytest.mark.parametrize(
    "content",
    [b'[assignment]\nid = "\xb2\xe2"\n', b"opponents = 3\n" + TEXT.replace("[opponents]\nbaseline", "#").encode()],
    ids=["not UTF-8", "opponents are a number"],
)
def test_what_cannot_be_read_as_tables_gives_one_sentence(tmp_path, content):
    path = tmp_path / "odd.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"odd\.toml"):
        load_assignment(path)


@pytest.mark.parametrize("lab", ["", "nogo"])
def test_a_bank_that_is_not_there_gives_one_sentence_except_in_a_kit(lab, tmp_path):
    for home in ("", *(["labs/nogo/"] if lab else [])):
        text = (ROOT / home / "assignment.toml").read_text(encoding="utf-8").replace('\nbank = "', '\nbank = "other.')
        (tmp_path / home).mkdir(parents=True, exist_ok=True)
        (tmp_path / home / "assignment.toml").write_text(text, encoding="utf-8")
    kit = load_named(lab, tmp_path)
    assert kit.bank.startswith("other.")
    (tmp_path / kit.reference).mkdir(parents=True)
    with pytest.raises(UsageError, match=r"assignment\.toml: expected the module .* release\.bank; there is no other/\S+\.py$"):
        load_named(lab, tmp_path)


@pytest.mark.parametrize(
    ("place", "old", "new"),
    [
        ("files.framework", '"train.py",\n    "human_play.py",\n]', '"nowhere/**",\n]'),
        ("files.protected", '"Minimax/mcts_baselines/**"', '"Minimax/mcts_baseline/**"'),
        ("release.answers", '"training/search/*.py"', '"training/nowhere/*.py"'),
    ],
)
def test_a_pattern_that_matches_nothing_gives_one_sentence_except_in_a_kit(place, old, new, tmp_path):
    assert TEXT.count(old) == 1
    for entry in (path for path in ROOT.iterdir() if path.name not in ("assignment.toml", "instructor")):
        (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "assignment.toml").write_text(TEXT.replace(old, new), encoding="utf-8")
    assert load_named("", tmp_path).id == "gomoku"
    (tmp_path / "instructor").symlink_to(ROOT / "instructor")
    with pytest.raises(UsageError) as caught:
        load_named("", tmp_path)
    pattern = new.split('"')[1]
    assert str(caught.value).endswith(
        f"assignment.toml: expected a file for each pattern of {place}; no file matches {pattern}"
    )


def test_a_description_may_begin_with_the_mark_that_windows_editors_write(tmp_path, assignment):
    (tmp_path / "marked.toml").write_text(TEXT, encoding="utf-8-sig")
    assert load_assignment(tmp_path / "marked.toml") == assignment


def test_a_missing_description_gives_one_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"expected the assignment's description at .*: No such file or directory"):
        load_assignment(tmp_path / "none.toml")


# ---------------------------------------------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("a/**/*.py", ["a/x.py", "a/b/x.py", "a/b/c/x.py"], ["x.py", "a/x.txt", "b/a/x.py", "a/x.py/y"]),
        ("a/**", ["a/x", "a/b/x"], ["a", "ab/x", "b/a/x"]),
        ("**/x.py", ["x.py", "a/x.py", "a/b/x.py"], ["ax.py", "x.py/y"]),
        ("a/**/b/**/x", ["a/b/x", "a/1/b/x", "a/b/2/x", "a/b/b/x"], ["a/x", "b/x", "a/b"]),
        ("*.md", ["README.md", ".md"], ["docs/README.md", "README.MD"]),
        ("a/*.py", ["a/x.py"], ["a/b/x.py", "A/x.py"]),
    ],
)
def test_a_pattern_takes_whole_path_parts_and_two_stars_any_number_of_folders(pattern, fitting, other):
    assert [path for path in fitting if not matches(path, [pattern])] == []
    assert [path for path in other if matches(path, [pattern])] == []


def test_of_several_patterns_one_is_enough_and_of_none_nothing_fits():
    assert matches("x.h", ["*.cpp", "*.h"]) and not matches("x.h", [])


# ---------------------------------------------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("wins", "losses", "points"), [(9, 1, 30), (8, 1, 28), (5, 5, 16), (0, 0, 16), (0, 10, 0), (10, 0, 30)]
)
def test_shifted_score_gives_full_marks_from_a_score_of_eight_tenths(assignment, wins, losses, points):
    assert assignment.win_rate_points(wins, losses, 10, 30) == points


@pytest.mark.parametrize(("wins", "losses", "points"), [(0, 8, 0), (0, 0, 0), (6, 2, 22.5), (8, 0, 30)])
def test_straight_gives_the_share_of_wins(assignment, wins, losses, points):
    straight = dataclasses.replace(assignment, win_rate_formula="straight")
    assert straight.win_rate_points(wins, losses, 8, 30) == points


@pytest.mark.parametrize(
    ("losing_lines", "share"), [(0, 1.0), (1, 0.8), (2, 0.8), (3, 0.5), (6, 0.5), (7, 0.25), (12, 0.25), (13, 0), (10**6, 0)]
)
def test_losing_lines_cost_a_step_only_beyond_its_number(assignment, losing_lines, share):
    assert assignment.losing_lines_share(losing_lines) == share


def test_the_file_is_found_from_any_folder(tmp_path, monkeypatch, assignment):
    monkeypatch.chdir(tmp_path)
    assert load_assignment() == assignment and Path(ROOT, assignment.engine_folder).is_dir()
