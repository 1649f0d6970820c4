"""`python -m grader env`: the machine and the versions that figures in a report depend on."""

from __future__ import annotations

import os
import platform
import shutil

from grader.assignment import Assignment
from grader.errors import CouldNotGrade
from grader.pipeline.grading import environment


def surroundings(assignment: Assignment) -> dict[str, str]:
    """Return what a report says about the machine: name -> value, in the order in which it is shown.

    Raises:
        CouldNotGrade: the assignment has an engine, and its compiler is missing.
    """
    compiler = assignment.compile_command[0] if assignment.compile_command else ""
    if compiler and shutil.which(compiler) is None:
        raise CouldNotGrade(f"expected the compiler {compiler} on the PATH; it is missing (handout, section 2)")
    found = environment(assignment)
    wsl = " (WSL)" if "microsoft" in platform.release().lower() else ""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    compiled = {compiler: found["compiler"], "Compiled by": " ".join(assignment.compile_command)} if compiler else {}
    return {
        "System": found["system"] + wsl,
        "Processor": found["processor"],
        "Cores available": found["cores"],
        "Memory": f"{memory_gib:.1f} GiB",
        "Python": found["python"],
        "PyTorch": found["torch"],
        "NumPy": found["numpy"],
        **compiled,
    }
