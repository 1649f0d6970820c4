"""What the documents refer to exists: links and their anchors, files, and the options of every command in a block."""

import io
import re
import runpy
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix() for pattern in ("*.md", "docs/*.md", "model/*.md") for path in ROOT.glob(pattern)
)
# Those whose commands tests/grader/test_handout.py looks at, and the list of changes, which speaks of former commands.
ELSEWHERE = {"docs/handout.md", "docs/handout.zh.md", "README.md", "CHANGELOG.md"}
FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"--[a-z][a-z-]*")
# Targets of the Makefile that pass ARGS to a program.
BEHIND_MAKE = {
    "trust": "-m grader trust",
    "train": "train.py",
    "play": "human_play.py",
    "fit": "instructor/teacher/fit_patterns.py",
    "selfplay": "-m training.selfplay",
    **{name: f"-m training.{name}" for name in ("supervised", "export", "export_run", "matches", "alphago")},
}
# Programs whose first argument selects a command with options of its own.
WITH_COMMANDS = {"-m arena", "-m grader", "-m training.alphago", "bench/record_run.py", "bench/family.py"}
FOREIGN = {"pip", "venv", "pytest", "nbgrader"}
# What is on a student's or an instructor's machine, or is made by the command in the same sentence.
MADE = re.compile(r"(build|tmp|results|runs|report)/|model/best_policy|grader/bank\.npz")


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


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.startswith("docs/") and "instructor" not in name])
def test_every_file_that_a_guide_names_exists(name):
    paths = re.findall(r"`((?:[\w.-]+/)+[\w.-]+)`", FENCED.sub("", text_of(name)))
    missing = [path for path in paths if not MADE.match(path) and not path_exists(path)]
    assert [path for path in missing if "." not in path.split("/")[0]] == []  # pytorch.org/docs is no file of ours


def path_exists(path):
    """Whether a path lies in this tree; NAME stands for any name, and a path may begin two folders down."""
    return any(any(ROOT.glob(f"{above}{path.replace('NAME', '*')}")) for above in ("", "*/", "*/*/"))


# ------------------------------------------------------------------------------------------------------ commands


def commands():
    """(document, program, options) of each line of a block that starts with python or make."""
    found = {}
    for name in DOCUMENTS:
        for block in FENCED.findall(text_of(name)) if name not in ELSEWHERE else []:
            for line in re.sub(r"\\\n *", "", block).splitlines():
                if re.match(r"(python3?|make) ", line):
                    program, options = taken_apart(line)
                    if program:
                        found[f"{name}: {line}"] = (program, options)
    return found


def taken_apart(line):
    """The program of a command, "" if it is not ours or has no options to look at, and its options."""
    first, *words = shlex.split(line, comments=True)
    if first == "make":
        target, arguments = words[0], [word.removeprefix("ARGS=") for word in words if word.startswith("ARGS=")]
        program = BEHIND_MAKE[target] if arguments else ""
        words = shlex.split(" ".join(arguments))
    elif words[0] == "-m":
        program = "" if words[1] in FOREIGN else f"-m {words[1]}"
        words = words[2:]
    else:
        program, words = words[0], words[1:]
    if program in WITH_COMMANDS and words:
        program, words = f"{program} {words[0]}", words[1:]
    return program, {option for word in words if (option := word.split("=")[0]) and OPTION.fullmatch(option)}


@cache
def help_of(program):
    """What a program prints for --help. It runs in this process, where torch is loaded only once."""
    words = program.removeprefix("-m ").split()
    printed, before, path = io.StringIO(), sys.argv, list(sys.path)
    try:
        sys.argv = [words[0], *words[1:], "--help"]
        if not program.startswith("-m"):
            sys.path.insert(0, str((ROOT / words[0]).parent))
        run = runpy.run_module if program.startswith("-m") else runpy.run_path
        with redirect_stdout(printed), redirect_stderr(printed), pytest.raises(SystemExit) as end:
            run(words[0] if program.startswith("-m") else str(ROOT / words[0]), run_name="__main__")
        assert not end.value.code, f"{program}: {printed.getvalue()}"
    finally:
        sys.argv, sys.path = before, path
    return printed.getvalue()


COMMANDS = commands()


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_a_guide_has_the_options_that_it_names(command):
    program, options = COMMANDS[command]
    unknown = options - set(OPTION.findall(help_of(program)))
    assert not unknown, f"{program} has no {', '.join(sorted(unknown))}"


def test_there_are_commands_in_every_guide():
    guides = {command.split(":")[0] for command in COMMANDS}
    assert len(COMMANDS) > 40 and guides >= {f"docs/{name}.md" for name in ("arena", "engines", "instructor", "training")}
