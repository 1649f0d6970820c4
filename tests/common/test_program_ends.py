"""How programs end: wrong calls, Ctrl-C, and readers that go away."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from common.near_names import near_name
from common.program_ends import Parser

ROOT = Path(__file__).resolve().parents[2]
KIT_PROGRAMS = [
    ["Minimax/evaluate.py"],
    ["Minimax/judge.py"],
    ["-m", "arena"],
    ["-m", "grader"],
    ["-m", "training.losing_lines"],
    ["train.py"],
]


@pytest.mark.parametrize("program", KIT_PROGRAMS, ids=" ".join)
def test_a_wrong_call_gets_one_line_that_names_the_program_and_the_help(program):
    done = subprocess.run([sys.executable, *program, "--no-such-option"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert program[-1].split("/")[-1] in done.stderr.split(":")[0] and done.stderr.endswith("(see --help)\n")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["--ot", "x"], "unrecognized arguments: --ot (did you mean --out?); the following arguments are required: --out"),
        (["--out", "x", "--ot", "y"], "unrecognized arguments: --ot"),
        (["--ot=x y"], "the following arguments are required: --out"),  # with a space it is no option
        (["--", "--ot"], "the following arguments are required: --out"),
        (["--verb"], "the following arguments are required: --out"),
    ],
)
def test_a_misspelt_option_is_named_before_the_one_that_is_missing_without_it(typed, words, capsys):
    parser = Parser(prog="p")
    parser.add_argument("--out", required=True)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("files", nargs="*")
    with pytest.raises(SystemExit):
        parser.parse_args(typed)
    assert capsys.readouterr().err == f"p: {words} (see --help)\n"


def test_a_mistyped_program_of_the_training_gets_the_name_that_was_meant():
    done = subprocess.run([sys.executable, "-m", "training.selfply"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.endswith("got training.selfply (did you mean selfplay?).\n")


@pytest.mark.parametrize(
    "program", [*KIT_PROGRAMS, ["human_play.py"], ["Minimax/ladder.py"], ["-m", "training.look"]], ids=" ".join
)
def test_on_windows_itself_a_program_says_where_it_runs(program):
    start = f"run_module({program[1]!r}" if program[0] == "-m" else f"run_path({program[0]!r}"
    windows = "import runpy, sys; sys.platform = 'win32'; sys.modules.update(fcntl=None, resource=None)"
    windows += f"; runpy.{start}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", windows], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert "this is Windows itself: work inside WSL" in done.stderr


@pytest.mark.parametrize(
    "program", [["Minimax/judge.py", "human", "human"], ["human_play.py", "--terminal", "--black", "human"]]
)
def test_a_typed_byte_that_is_no_text_is_answered_like_any_other_mistake(program, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")  # as in a usual locale
    done = subprocess.run([sys.executable, *program], cwd=ROOT, input=b"\xff\n", capture_output=True, timeout=120)
    assert b"; got '\xef\xbf\xbd'" in done.stdout and done.stderr == b""


def programs_of_users():
    """Name the files of this tree that a user starts in a terminal and that import slowly."""
    folders = ("Minimax", "arena", "grader", "training")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    by_programs = ("arena/engine/", "grader/confinement/", "grader/pipeline/", "grader/judge/", "grader/instructor/")
    names = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in [*files, *ROOT.glob("*.py")]}
    return [name for name, text in names.items() if "\nif __name__ ==" in text and not name.startswith(by_programs)]


def test_ctrl_c_ends_every_program_while_it_still_imports():
    programs = programs_of_users()
    assert {"train.py", "grader/__main__.py", "training/selfplay/__main__.py", "Minimax/judge.py"} < set(programs)
    assert [name for name in programs if "leave_on_ctrl_c(" not in (ROOT / name).read_text(encoding="utf-8")] == []


ENDLESS = """
from common.program_ends import run_program
from common.program_starts import leave_on_ctrl_c
leave_on_ctrl_c("Left.")
def main():
    print("begun", flush=True)
    {body}
    return 0
raise SystemExit(run_program("endless", main, starts_slowly={slow}))
"""


def endless(body, slow=False):
    """Start a program and return it when it has begun."""
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS.format(body=body, slow=slow)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "begun\n"
    return process


def test_a_reader_that_goes_away_ends_the_program_quietly():
    process = endless("while True: print('more')")
    process.stdout.close()
    assert (process.stderr.read(), process.wait(30)) == ("", 128 + signal.SIGPIPE)


@pytest.mark.parametrize(("slow", "sentence"), [(False, "\nInterrupted.\n"), (True, "\nLeft.\n")])
def test_ctrl_c_gets_one_sentence(slow, sentence):
    process = endless("import time; time.sleep(60)", slow)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, sentence)


@pytest.mark.parametrize(
    ("present", "near"),
    [
        (["AlphaZero/mcts_alphazero.py", "AlphaZero/other.py"], "AlphaZero/mcts_alphazero.py"),
        (["AlphaZero/mcts_alphaZero2.py"], "AlphaZero/mcts_alphaZero2.py"),
        (["mcts_alphazero.py", "AlphaZero/mcts_pure.py", "AlphaZero/old/mcts_alphazero.py"], ""),
        ([], ""),
    ],
)
def test_a_file_in_the_same_folder_with_nearly_the_name_is_found(present, near):
    assert near_name("AlphaZero/mcts_alphaZero.py", present) == near
