"""The signatures that the handout and the theory name are those of the framework, in Python and in C++."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("handout.md", "handout.zh.md", "theory.md", "theory.zh.md")
SOURCES = (
    "Board/rules.py",
    "AlphaZero/mcts_pure.py",
    "AlphaZero/mcts_alphaZero.py",
    "AlphaZero/policy_value_net_torch.py",
)
CALL = re.compile(r"`(?:\w+\.)?(\w+)\(((?:\w+(?:, \w+)*)?)\)`")  # with the names of the parameters, such as `do_move(move)`
DECLARED = re.compile(r"^\w[\w:<>, ]* \w+\(.*?\);", re.MULTILINE)
ELSEWHERE = {"init", "action", "float", "list", "len"}  # of C++ and of Python itself


def signatures(source):
    """Each function of a file, and each class for its constructor: name -> the names of the parameters, without self."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            found[node.name] = [one.arg for one in (*node.args.args, *node.args.kwonlyargs) if one.arg != "self"]
        elif isinstance(node, ast.ClassDef):
            for method in (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"):
                found[node.name] = [one.arg for one in (*method.args.args, *method.args.kwonlyargs) if one.arg != "self"]
    return found


def wrong_calls(text, known):
    """The calls of a document whose function or parameters do not exist."""
    calls = [(name, [word for word in given.split(", ") if word]) for name, given in CALL.findall(text)]
    return [n for n, given in calls if n not in ELSEWHERE and (n not in known or known[n][: len(given)] != given)]


KNOWN = {name: found for path in SOURCES for name, found in signatures((ROOT / path).read_text(encoding="utf-8")).items()}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_parameters_of_python_are_those_of_the_framework(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert wrong_calls(text, KNOWN) == []
    assert {function for function, _ in CALL.findall(text)} & KNOWN.keys()


def test_a_function_that_is_gone_and_a_parameter_of_another_name_are_seen():
    known = signatures("class Board:\n    def __init__(self, width): ...\n    def do_move(self, move, *, quiet=False): ...\n")
    assert wrong_calls("`Board(width)`, `board.do_move(move)` and `do_move(move, quiet)`", known) == []
    assert wrong_calls("`Board(height)` and `undo()`", known) == ["Board", "undo"]


@pytest.mark.parametrize("name", ["handout.md", "handout.zh.md"])
def test_the_declarations_of_an_engine_are_those_of_the_header(name):
    header = (ROOT / "Minimax" / "AIController.h").read_text(encoding="utf-8").splitlines()
    (block,) = re.findall(r"^```cpp\n(std::string ai_name.*?)^```", (ROOT / "docs" / name).read_text("utf-8"), re.M | re.S)
    declared = DECLARED.findall(block)
    assert len(declared) == 2 and set(declared) <= set(header) and "extern std::string ai_name;" in header
