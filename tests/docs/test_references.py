"""What the documents refer to exists: links and their anchors, files, and commands, which the real parsers accept."""

import argparse
import io
import re
import runpy
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from grader.assignment_file import load_assignment, load_named

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = ("*.md", "docs/*.md", "model/*.md", "labs/*/*.md")
DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for pattern in PATTERNS for path in ROOT.glob(pattern))
HISTORY = "CHANGELOG.md"  # speaks of former commands and files
FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"--[a-z][a-z-]*")
# Targets of the Makefile that pass ARGS to a program.
BEHIND_MAKE = {
    "trust": "-m grader trust",
    "train": "train.py",
    "play": "human_play.py",
    "fit": "instructor/teacher/fit_patterns.py build/teacher/counts",
    "selfplay": "-m training.selfplay",
    **{name: f"-m training.{name}" for name in ("supervised", "export", "export_run", "matches", "alphago", "quantise")},
}
# Programs whose first argument selects a command with options of its own.
WITH_COMMANDS = {"-m arena", "-m grader", "-m training.alphago", "bench/record_run.py", "bench/family.py"}
PYTHON = {"python", "python3", ".venv/bin/python"}
FOREIGN = {"venv", "pip", "pytest"}
# A file that a document names: with a folder, or with a suffix of ours.
NAMED = re.compile(
    r"`((?:[\w.-]+/)+[\w.-]*|[\w.-]+\.(?:py|cpp|h|toml|md|json|jsonl|ipynb|txt|csv|svg|html|pt|model|j2|db|zip|npz))`"
)
PLACEHOLDER = re.compile(r"[A-Z][A-Z-]*|\d+|N-NAME|(ID|NAME)\.\w+")
STRING = re.compile(r"""["']([^"'\n]{1,200})["']""")
# Files of students and platforms, which no program of ours writes, names that a program makes of a number, and files that one
# writes into a folder of this tree.
EXAMPLES = {
    "2024001.zip",
    "alice_2024001_gomoku.zip",
    "autograder.zip",
    "boards-2.ipynb",
    "grader/judge/bank.npz",
    "model/best_policy.1.model",
    "model/best_policy.model",
    "tmp/earlier_1",
    "my_engine.cpp",
    "name-1.zip",
    "name-2.zip",
    "name_id_gomoku.zip",
    "part1/Minimax",
    "part2/AlphaZero",
    "pytorch.org/docs",
    "pytorch.org/tutorials",
    "trial.toml",
}


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(text):
    """The anchors that GitHub makes of the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(name, text):
    """The relative links of a document that lead nowhere."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", text)):
        target, _, anchor = link.partition("#")
        path = (ROOT / name).parent / target if target else ROOT / name
        inside = target == "" or path.suffix == ".md"
        if "://" not in link and (
            not path.exists() or (anchor and inside and anchor not in anchors(path.read_text(encoding="utf-8")))
        ):
            found.append(link)
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_leads_somewhere(name):
    assert broken_links(name, text_of(name)) == []


def test_a_broken_link_and_a_lost_anchor_are_seen():
    text = "[a](gone.md) [b](handout.md#54-alphazero-mcts) [c](handout.md#54-gone) [d](https://example.org/x)"
    assert broken_links("docs/index.md", text) == ["gone.md", "handout.md#54-gone"]


# ------------------------------------------------------------------------------------------------------------ files


@cache
def tree():
    """The paths of the files of this repository, tracked or new, and of their folders."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return {"/".join(parts[:n]) for path in files for parts in [path.split("/")] for n in range(1, len(parts) + 1)}


@cache
def written_names():
    """The parts of paths in the strings of our programs: the name of each file that one of them writes is among them."""
    ours = (ROOT / path for path in tree() if path.endswith((".py", ".toml", ".j2")) and not path.startswith("tests/"))
    strings = (string for path in ours for string in STRING.findall(path.read_text(encoding="utf-8")))
    return {part for string in strings for part in string.split("/")}


def is_known(path):
    """Whether a path lies in this tree, or is written by one of our programs; NAME is any name.

    A path that begins with a folder of this tree is complete; any other may lie below one.
    """
    path = path.rstrip("/")
    if path in EXAMPLES or path in tree():
        return True
    complete = path.partition("/")[0] in tree()
    if "NAME" in path:
        depths = ("",) if complete else ("", "*/", "*/*/")
        if any(any(ROOT.glob(f"{above}{path.replace('NAME', '*')}")) for above in depths):
            return True
    if complete:
        return False
    names = [part for part in path.split("/") if not PLACEHOLDER.fullmatch(part)]
    # The last is for a copy of one of our files, in a folder that a command makes.
    return not names or names[-1] in written_names() or any(known.endswith(f"/{names[-1]}") for known in tree())


def unknown_files(text):
    """The files that a document names in its running text and that are neither in this tree nor written by a program."""
    return sorted({path for path in NAMED.findall(FENCED.sub("", text)) if not is_known(path)})


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != HISTORY])
def test_every_file_that_a_document_names_exists_or_is_written_by_a_program(name):
    assert unknown_files(text_of(name)) == []


def test_a_file_that_is_gone_is_seen():
    text = "`grader/gone.py` `gone.csv` `results.json` `baseline.cpp` `results/NAME/report.html` `back/ID/` `grader/pipeline/`"
    assert unknown_files(text) == ["gone.csv", "grader/gone.py"]


def test_a_file_that_moved_to_another_folder_of_this_tree_is_seen():
    moved = ["Board/mcts_alphaZero.py", "arena/assignment.toml", "labs/go/game_board.py", "training/train.py"]
    assert unknown_files(" ".join(f"`{path}`" for path in [*moved, "AlphaZero/mcts_alphaZero.py", "Board/NAME.py"])) == moved


@pytest.mark.parametrize("name", ["docs/handout.md", "docs/handout.zh.md", "docs/theory.md", "docs/theory.zh.md"])
def test_a_students_guide_names_files_of_the_kit(name):
    assignment = load_assignment()
    paths = {path for path in NAMED.findall(FENCED.sub("", text_of(name))) if path in tree() and "." in path}
    assert sorted(path for path in paths if not assignment.is_in_kit(path)) == []


# --------------------------------------------------------------------------------------------------------- commands


def commands_of(name):
    """The commands of the blocks of a document, each as its words, without variables, redirections and what precedes `&&`."""
    found = {}
    for block in FENCED.findall(text_of(name)):
        for line in re.sub(r"\\\n *", "", block).splitlines():
            if re.match(r"(\w+=\S+ )*(python3?|make|g\+\+|nbgrader|mkdir|cd) ", line):
                words = shlex.split(re.sub(r"^(\w+=\S+ )+", "", line.split(" && ")[-1]), comments=True)
                found[f"{name}: {line}"] = words[1:] if words[0] == "exec" else words
    return found


COMMANDS = {line: words for name in DOCUMENTS if name != HISTORY for line, words in commands_of(name).items()}


def commands_that(begin):
    return {line: words for line, words in COMMANDS.items() if words[0] in begin}


def program_of(words):
    """The program of a command in Python or behind make, "" if it is not ours, and its arguments."""
    if words[0] == "make":
        given = [word.removeprefix("ARGS=") for word in words if word.startswith("ARGS=")]
        return (BEHIND_MAKE[words[1]], shlex.split(given[0])) if given else ("", [])
    if words[1] == "-m":
        return ("" if words[2] in FOREIGN else f"-m {words[2]}"), words[3:]
    return ("" if words[1].startswith("tests/") else words[1]), words[2:]  # one of the tests has no parser


@contextmanager
def as_program(program, arguments):
    """Run a program in this process, where torch is loaded only once; yield what it prints and how to start it."""
    words = program.removeprefix("-m ").split()
    printed, before = io.StringIO(), (sys.argv, list(sys.path), signal.getsignal(signal.SIGINT))
    run = runpy.run_module if program.startswith("-m") else runpy.run_path
    try:
        sys.argv = [words[0], *words[1:], *arguments]
        if not program.startswith("-m"):
            sys.path.insert(0, str((ROOT / words[0]).parent))
        with redirect_stdout(printed), redirect_stderr(printed):
            yield printed, lambda: run(words[0] if program.startswith("-m") else str(ROOT / words[0]), run_name="__main__")
    finally:
        sys.argv, sys.path = before[:2]
        signal.signal(signal.SIGINT, before[2])


class Accepted(BaseException):
    """The program's parser has accepted the command; nothing of it shall run."""


def complaint(program, arguments):
    """What the program's own parser says against these arguments; empty if it accepts them."""

    def parse_args(self, args=None, namespace=None):
        real(self, args, namespace)
        raise Accepted

    real, argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_args, parse_args
    try:
        with as_program(program, arguments) as (printed, start):
            try:
                start()
            except Accepted:
                return ""
            except SystemExit:
                return printed.getvalue().strip() or "it ended before it had read its arguments"
            return "it has no parser"
    finally:
        argparse.ArgumentParser.parse_args = real


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("line", commands_that({*PYTHON, "make"}))
def test_every_command_is_accepted_by_the_parser_of_its_program(line):
    words = COMMANDS[line]
    program, arguments = program_of(words)
    if program:
        assert complaint(program, arguments) == ""
        expect_names(arguments)
    else:
        assert all((ROOT / name).is_file() for option, name in pairwise(words) if option == "-r")
        assert all((ROOT / word.split("::")[0]).exists() for word in words if word.startswith("tests/"))


def expect_names(arguments):
    """Expect that the profiles, checks and labs of a command exist."""
    given = list(pairwise(arguments))
    lab = next((name for option, name in given if option == "--lab" and name != "NAME"), "")
    assignment = load_named(lab)
    for option, name in given:
        if option == "--profile":
            assignment.profile(name)
        if option == "--only" and re.fullmatch(r"[a-z_.]+", name):
            assert assignment.named(name)


@pytest.mark.parametrize(
    ("program", "arguments", "words"),
    [
        ("-m grader", ["grade", "x", "--profil", "full", "--gone"], "unrecognized arguments"),
        ("-m grader", ["gone"], "invalid choice"),
        ("-m grader", ["collect", "x.zip", "--out", "o", "--due", "tomorrow"], "expected a date"),
        ("train.py", ["--seed", "x"], "--seed"),
        ("Minimax/evaluate.py", ["--agents-path"], "expected"),
    ],
)
def test_a_command_that_a_program_would_refuse_is_seen(program, arguments, words):
    assert words in complaint(program, arguments)


def test_every_target_of_make_exists():
    targets = sorted({words[1] for words in commands_that({"make"}).values()})
    done = subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and len(targets) > 10, done.stderr


def test_make_neither_removes_the_results_of_a_class_nor_adds_to_them():
    done = subprocess.run(["make", "-n", "grade", "clean"], cwd=ROOT, capture_output=True, text=True)
    words = done.stdout.split()
    assert done.returncode == 0 and {"--out", "rm"} < set(words) and "results" not in words


@pytest.mark.parametrize("line", commands_that({"g++"}))
def test_every_engine_is_compiled_as_the_grader_compiles_it(line):
    words = COMMANDS[line]
    sources = [word for word in words if word.endswith(".cpp")]
    flags = words[: words.index(sources[0])]
    written = " ".join(flag for flag in flags if not flag.startswith("-D"))
    # The handout says in which way the grader's command differs.
    assert written.replace("-I Minimax", "-iquote Minimax -idirafter Minimax") == " ".join(load_assignment().compile_command)
    assert words[-2] == "-o" and words[-1].startswith("build/")
    for pattern in sources:
        assert any(ROOT.glob(pattern)) or Path(pattern).name in EXAMPLES


@pytest.mark.parametrize("line", commands_that({"nbgrader"}))
def test_every_command_of_nbgrader_exists(line):
    nbgraderapp = pytest.importorskip("nbgrader.apps.nbgraderapp")
    command, *arguments = COMMANDS[line][1:]
    app = nbgraderapp.NbGraderApp.subcommands[command][0]()
    known = {name for names in (*app.flags, *app.aliases) for name in ([names] if isinstance(names, str) else names)}
    assert {word.lstrip("-").split("=")[0] for word in arguments if word.startswith("-")} <= known
    for name in (word for word in arguments if not word.startswith("-")):
        assert (ROOT / "instructor" / "course" / "source" / name).is_dir()


@cache
def help_of(program):
    """What a program prints for --help."""
    with as_program(program, ["--help"]) as (printed, start):
        with pytest.raises(SystemExit) as end:
            start()
        assert not end.value.code, f"{program}: {printed.getvalue()}"
    return printed.getvalue()


def inline_commands():
    """(document, program, options) of each command in Python in running text, which may leave arguments out."""
    found = {}
    for name in DOCUMENTS:
        for command in re.findall(r"`((?:python3?) [^`]*)`", FENCED.sub("", text_of(name))) if name != HISTORY else []:
            program, arguments = program_of(shlex.split(command.replace("...", "")))
            if program in WITH_COMMANDS and arguments:
                program, arguments = f"{program} {arguments[0]}", arguments[1:]
            if program:
                found[f"{name}: {' '.join(command.split())}"] = program, {word for word in arguments if OPTION.fullmatch(word)}
    return found


INLINE = inline_commands()


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("command", INLINE)
def test_every_command_in_a_sentence_has_the_options_that_it_names(command):
    program, options = INLINE[command]
    unknown = options - set(OPTION.findall(help_of(program)))
    assert not unknown, f"{program} has no {', '.join(sorted(unknown))}"


def test_there_are_commands_in_every_guide():
    guides = {command.split(":")[0] for command in COMMANDS}
    named = ("arena", "engines", "handout", "handout.zh", "instructor", "training")
    assert guides >= {"README.md", "CONTRIBUTING.md", *(f"docs/{name}.md" for name in named)}
    assert len(COMMANDS) > 150 and len(INLINE) > 60
