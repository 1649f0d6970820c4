"""The command that tests the confinement on this machine."""

from __future__ import annotations

import argparse
from typing import Any

from grader.assignment_file import load_named
from grader.confinement import doctor
from grader.confinement.sandbox import LEVELS
from grader.screen import Screen


def doctor_command(options: argparse.Namespace) -> int:
    """Test whether the confinement holds on this machine, and name another Python than students are told."""
    screen = Screen()
    for note in load_named("").python_notes():
        screen(note)
    return doctor.main(options.level, screen)


def add_commands(commands: Any) -> None:
    """Add this command to the subparsers of `python -m grader`."""
    examining = commands.add_parser("doctor", help="test whether the confinement of submissions holds on this machine")
    examining.add_argument("--level", choices=LEVELS, help="(default: the strongest that works)")
    examining.set_defaults(run=doctor_command)
