"""Each hyper-parameter of train.py and each command-line option of the student's programs is read somewhere."""

import ast
from dataclasses import fields
from pathlib import Path

import pytest

from train import HyperParameters

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("training/loop/command.py", "human_play.py", "Minimax/evaluate.py", "Minimax/judge.py", "Minimax/python_player.py")


def attributes(tree, context):
    """Return the names of the attributes that a program reads (ast.Load) or sets (ast.Store)."""
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, context)}


def unread_options(tree):
    """Return the options that the program neither reads as an attribute nor names in a string, as it must for getattr."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "add_argument"]
    names = {call.args[0].value.lstrip("-").replace("-", "_") for call in calls if call.args[0].value.startswith("--")}
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return names - attributes(tree, ast.Load) - strings


def unread_settings(tree, settings):
    """Return those of these settings, and of the attributes that the program sets, that it does not read."""
    return (settings | attributes(tree, ast.Store)) - attributes(tree, ast.Load)


def test_every_hyper_parameter_is_read():
    settings = {field.name for field in fields(HyperParameters)}
    assert len(settings) > 20
    assert unread_settings(ast.parse((ROOT / "train.py").read_text(encoding="utf-8")), settings) == set()


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_option_is_read(program):
    assert unread_options(ast.parse((ROOT / program).read_text(encoding="utf-8"))) == set()


def test_what_nothing_reads_is_named():
    tree = ast.parse(
        "parser.add_argument('--games')\nparser.add_argument('--dead-option')\nself.temp = 1.0\nself.c_puct = options.games\n"
        "print(self.c_puct)\n"
    )
    assert unread_options(tree) == {"dead_option"}
    assert unread_settings(tree, {"c_puct", "n_playout"}) == {"temp", "n_playout"}


def test_every_hyper_parameter_is_documented():
    documented = HyperParameters.__doc__.partition("Attributes:")[2]
    heads = [line.partition(":")[0] for line in documented.splitlines() if ":" in line]
    names = [name.strip() for head in heads for name in head.split(",")]
    assert sorted({field.name for field in fields(HyperParameters)} - set(names)) == []
