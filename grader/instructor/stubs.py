"""Student stubs, generated from the reference solution so that the two cannot drift apart.

In the reference of an assignment (`instructor/reference/`, `labs/NAME/reference/`), students have to write the lines between
`### BEGIN SOLUTION <handout section>` and `### END SOLUTION`. A stub is the same file with each such region replaced by a
NotImplementedError that names the file, the method and the section. Everything else (docstrings, attributes, provided methods)
stays. A misspelt marker would give the solution away, so every line that resembles a marker must be one.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from common.errors import UsageError
from grader.assignment import ROOT, Assignment
from grader.assignment_file import load_assignment

TREE = ROOT  # with the solutions; stubs are written below ROOT
REFERENCE = ROOT / "instructor" / "reference"  # of the main assignment
BEGIN = re.compile(r"^(?P<indent>\s*)### BEGIN SOLUTION (?P<section>\d+(\.\d+)*)\s*$")
END = re.compile(r"^(?P<indent>\s*)### END SOLUTION\s*$")
RESEMBLING = re.compile(r"\b(BEGIN|END)[\s_-]*SOLUTION|^\s*###", re.IGNORECASE)


def make_stub(source: str, name: str) -> str:
    """Return the stub of a reference file.

    Args:
        source: the reference file's text.
        name: its path relative to the solution, as the student will read it.

    Raises:
        UsageError: markers are unbalanced, nested, misspelt, unevenly indented, outside a function or across several.
    """
    functions = _functions(source, name)
    stub: list[str] = []
    opened: tuple[int, str] | None = None
    for number, line in enumerate(source.splitlines(), 1):
        begin, end = BEGIN.match(line), END.match(line)
        if RESEMBLING.search(line) and not begin and not end:
            raise UsageError(
                f"{name}, line {number}: expected ### BEGIN SOLUTION <section> or ### END SOLUTION; got {line.strip()!r}"
            )
        if begin:
            if opened:
                raise UsageError(f"{name}, line {number}: a solution region begins inside the one of line {opened[0]}")
            qualified = next((label for first, last, label in functions if first <= number <= last), None)
            if qualified is None:
                raise UsageError(f"{name}, line {number}: expected a solution region inside a function")
            opened = (number, begin["indent"])
            reason = f"{name}: {qualified}: see handout section {begin['section']}"
            stub.append(f'{begin["indent"]}raise NotImplementedError("{reason}")')
        elif end:
            if not opened:
                raise UsageError(f"{name}, line {number}: this line ends a solution region that never began")
            if end["indent"] != opened[1]:
                raise UsageError(
                    f"{name}, line {number}: expected the indentation of line {opened[0]}, where the region begins"
                )
            opened = None
        elif not opened:
            stub.append(line)
        elif line.strip() and not line.startswith(opened[1]):
            raise UsageError(f"{name}, line {number}: the solution region of line {opened[0]} continues outside its block")
    if opened:
        raise UsageError(f"{name}, line {opened[0]}: the solution region that begins here never ends")
    return "\n".join(stub) + "\n"


def _functions(source: str, name: str) -> list[tuple[int, int, str]]:
    """Return (first line, last line, Class.method) for every function, innermost first."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise UsageError(f"{name}, line {error.lineno}: {error.msg}") from error
    found: list[tuple[int, int, str]] = []

    def visit(node: ast.AST, names: list[str]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = [*names, child.name]
                visit(child, inner)
                if not isinstance(child, ast.ClassDef):
                    found.append((child.lineno, child.end_lineno or child.lineno, ".".join(inner)))
            else:
                visit(child, names)

    visit(tree, [])
    return found


def generate(reference: Path | None = None, assignment: Assignment | None = None) -> dict[str, str]:
    """Return relative path -> text for every stub that the assignment, by default the main one, hands out.

    Args:
        reference: the folder of the solution; None for that of the assignment.
    """
    stubs = {}
    assignment = assignment or load_assignment()
    reference = reference or TREE / assignment.reference
    for name in assignment.stubs:
        path = reference / name
        if not path.is_file():
            raise UsageError(f"expected the reference of {name} at {path}; nothing is there")
        stubs[name] = make_stub(path.read_text(encoding="utf-8"), name)
    return stubs


def main(*, check: bool, assignment: Assignment | None = None) -> int:
    """Write the stubs of an assignment, by default the main one, or with `check` only say which differ (exit code 1)."""
    assignment = assignment or load_assignment()
    stubs = generate(assignment=assignment)
    places = {name: ROOT / assignment.place(name) for name in stubs}
    stale = [name for name, place in places.items() if not place.is_file() or place.read_text("utf-8") != stubs[name]]
    if check:
        if stale:
            command = f"python -m grader stubs{assignment.lab_option}"
            print(f"not generated from the reference: {', '.join(stale)}; run {command}", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        places[name].parent.mkdir(parents=True, exist_ok=True)
        places[name].write_text(stubs[name], encoding="utf-8")
    print(f"{len(stale)} of {len(stubs)} stubs have been updated")
    return 0
