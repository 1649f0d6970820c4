"""What can change a verdict: the files that judge, and the basis of each check.

The digest of the whole grader tells whether anything changed since a grading. The basis of a check tells whether its own
verdict can have changed, so that after a correction only some checks are graded again. A basis covers

- the module of the check and every module that it imports, directly or indirectly (found in the source, so that imports
  inside functions count as well), with the fixtures that it requests;
- the framework that the student's code runs in or plays under, and the opponents;
- the values of assignment.toml, except those of other checks and those of the kit;
- the submission's files in the part that the check belongs to, and the level of confinement.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

from common.errors import UsageError
from grader.assignment import DESCRIPTION, ROOT, Assignment, Check
from grader.pipeline.handed_out import answers_below, kit_sources, sources_below
from grader.pipeline.machine_speed import BASELINE
from grader.pipeline.opponents import engine_files
from grader.pipeline.workspace import framework_files

CONFTEST = "grader/judge/conftest.py"
ENTRANCES = (CONFTEST, "grader/pipeline/grading.py")
# Programs that are started by their path, not imported.
STARTED = ("grader/confinement/", "arena/engine/")
PARSING = Lock()  # CPython 3.11 counts the depth of a tree for all threads together (gh-106905)


def judging_files(assignment: Assignment, root: Path = ROOT) -> list[str]:
    """Return the relative paths of all files that can change a verdict.

    These are the assignment, its own sources that judge, the packages of the grader that a submission passes through, the
    framework that the submission is laid over, and the sources of the opponents.
    """
    grader = {path.relative_to(root).as_posix() for path in (root / "grader").rglob("*.py")}
    grader = {path for path in grader if not path.startswith(("grader/instructor/", "grader/student/"))}
    own = {assignment.place(DESCRIPTION), *sources_below(root, assignment.judging), *engine_files(assignment, root)}
    return sorted({*own, *grader, *framework_files(assignment, root)})


def grading_files(assignment: Assignment, root: Path = ROOT) -> list[str]:
    """Return the relative paths of all files that another machine needs to run the checks.

    Besides the files that judge, these are the sources that every submission is compared with, and the engine that times the
    machine.
    """
    sources = [assignment.place(path) for path in kit_sources(root, assignment)]
    timed = BASELINE if assignment.engine_folder else ()
    return sorted({DESCRIPTION, *judging_files(assignment, root), *sources, *answers_below(root, assignment), *timed})


def grader_digest(assignment: Assignment, root: Path = ROOT) -> str:
    """Return the sha256 of the names and contents of `judging_files`."""
    return _digest(judging_files(assignment, root), root)


def check_digests(assignment: Assignment, profile: str, root: Path = ROOT) -> dict[str, str]:
    """Return check -> sha256 of everything on the grader's side that can change its verdict under a profile."""
    found, digests = {}, dict[str, str]()
    for check, paths in files_of_checks(assignment, root).items():
        for path in paths:
            if path not in digests:
                digests[path] = hashlib.sha256((root / path).read_bytes()).hexdigest()
        lines = (f"{path}\0{digests[path]}" for path in paths)
        found[check] = _sha256(*lines, _values_for(assignment.check(check), assignment, profile))
    return found


def files_of_checks(assignment: Assignment, root: Path = ROOT) -> dict[str, list[str]]:
    """Return check -> the relative paths of the files that can change its verdict."""
    engine = engine_files(assignment, root)
    framework = set(framework_files(assignment, root)) - engine
    sources, found = _Sources(root, assignment.checks_folder), {}
    for check in assignment.checks:
        surroundings = engine if _is_of_part(check, assignment.engine_folder, assignment) else framework
        found[check.id] = sorted({*surroundings, *sources.reached_from(check)})
    return found


def bases(
    files: Mapping[str, bytes], level: str, assignment: Assignment, profile: str, judges: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return check -> sha256 of everything that its verdict rests on, for a submission's files and a level of confinement.

    Args:
        judges: what `check_digests` returns for this profile, for callers with many submissions.
    """
    judges = judges or check_digests(assignment, profile)
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
    found = {}
    for check in assignment.checks:
        own = (f"{path}\0{digests[path]}" for path in sorted(files) if _is_of_part(check, path.split("/")[0], assignment))
        found[check.id] = _sha256(judges[check.id], level, *own)
    return found


def require_tests(assignment: Assignment, root: Path = ROOT) -> None:
    """Raise a UsageError unless each check has a test below the folder of the checks, and each of these tests a check.

    The shortcomings in `score.shares` must be those for which the tests deduct points.
    """
    sources = _Sources(root, assignment.checks_folder)
    tests = sources.tests()
    description, folder = assignment.place(DESCRIPTION), assignment.checks_folder
    known = [check.id for check in assignment.checks]
    if lacking := [check for check in known if check not in tests]:
        raise UsageError(
            f'expected a test below {folder} marked @pytest.mark.points("{lacking[0]}"), because {description} has this '
            f"check; got none: add the test, or correct the id (without a test: {', '.join(lacking)})"
        )
    if strange := [f"{check} ({path})" for check, path in tests.items() if check not in known]:
        raise UsageError(
            f"expected a table [[checks]] in {description} for each test below {folder}; got none for {', '.join(strange)}: "
            "add the table, correct the id, or remove the test"
        )
    for check in assignment.checks:
        there, given = sources.deducted_by(check), set(assignment.shares.get(check.id, ()))
        if there != given:
            raise UsageError(
                f"expected the shortcomings for which {tests[check.id]} deducts points in score.shares of {description}, "
                f'"{check.id}": {", ".join(sorted(there)) or "none"}; got {", ".join(sorted(given)) or "none"}'
            )


def _is_of_part(check: Check, top: str, assignment: Assignment) -> bool:
    """Return whether a folder or file at the top of a submission decides a check."""
    places = [names for place, names in assignment.decides.items() if place.split("/")[0] == top]
    return any(check.is_of(name) for names in places for name in names)


def _values_for(check: Check, assignment: Assignment, profile: str) -> str:
    """Return the values of assignment.toml that matter to a check, as text."""
    values = asdict(assignment)
    for name in ("title", "handout", "handout_url", "reports", "kit", "withheld", "kit_readme", "checks", "marks", "profiles"):
        del values[name]
    return json.dumps([values, asdict(check), asdict(assignment.profile(profile))], sort_keys=True)


def _digest(paths: Iterable[str], root: Path) -> str:
    return _sha256(*(f"{relative}\0{hashlib.sha256((root / relative).read_bytes()).hexdigest()}" for relative in paths))


def _sha256(*lines: str) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


# ------------------------------------------------------------------------------------------- what a check imports


@dataclass(frozen=True)
class _Module:
    """What a module's source says, as far as it matters here.

    Attributes:
        imports: dotted names that the module imports outside fixtures, in functions as well.
        checks: check -> the names of the fixtures that its test requests.
        deducted: check -> the shortcomings for which its test, or a function of this module that it names, deducts points.
        fixtures: name -> the names of the fixtures that this fixture requests.
        fixture_imports: name -> dotted names that the fixture imports.
        automatic: the fixtures that every test uses.
    """

    imports: frozenset[str]
    checks: dict[str, tuple[str, ...]]
    deducted: dict[str, frozenset[str]]
    fixtures: dict[str, tuple[str, ...]]
    fixture_imports: dict[str, frozenset[str]]
    automatic: tuple[str, ...]


class _Sources:
    """The Python sources of a tree."""

    def __init__(self, root: Path, checks_folder: str) -> None:
        self._root = root
        self._read: dict[str, _Module] = {}
        self._reached: dict[str, set[str]] = {}
        # Pytest's side of the grader, and the fixtures of the checks' own folder.
        conftests = dict.fromkeys((CONFTEST, f"{checks_folder}/conftest.py"))
        self._conftests = {path: self._module(path) for path in conftests if self._is_file(path)}
        tests = [path for path in self._below(checks_folder) if path.rpartition("/")[2].startswith("test_")]
        self._tests = {path: self._module(path) for path in tests}
        self._started = [path for place in STARTED for path in self._below(place)]

    def tests(self) -> dict[str, str]:
        """Return check -> the path of a module with its test."""
        return {check: path for path, module in self._tests.items() for check in module.checks}

    def deducted_by(self, check: Check) -> set[str]:
        """Return the shortcomings for which the test of a check deducts points (`Ruling.deduct`)."""
        return {name for module in self._tests.values() for name in module.deducted.get(check.id, ())}

    def reached_from(self, check: Check) -> set[str]:
        """Return the paths of all modules that can run when a check is graded, except those of the student."""
        tests = {path: module for path, module in self._tests.items() if check.id in module.checks}
        # By their dotted names, so that the packages around them are found as well.
        entrances = {*ENTRANCES, *self._conftests, *tests, *self._started}
        waiting = self._paths(path.removesuffix(".py").replace("/", ".") for path in entrances)
        for module in tests.values():
            requested = _requested(module.checks[check.id], module, *self._conftests.values())
            imports = (each.fixture_imports.get(fixture, ()) for each in self._conftests.values() for fixture in requested)
            waiting |= self._paths(name for names in imports for name in names)
        found = set[str]()
        while waiting:
            path = waiting.pop()
            found.add(path)
            waiting |= self._imported_by(path) - found
        return found

    def _imported_by(self, path: str) -> set[str]:
        if path not in self._reached:
            module = self._module(path)
            # The fixtures of a conftest.py count only for the checks that request them.
            inside = module.fixture_imports.values() if path not in self._conftests else ()
            self._reached[path] = self._paths(module.imports.union(*inside))
        return self._reached[path]

    def _is_file(self, path: str) -> bool:
        return os.path.isfile(f"{self._root}/{path}")

    def _below(self, folder: str) -> list[str]:
        return sorted(path.relative_to(self._root).as_posix() for path in (self._root / folder).rglob("*.py"))

    def _module(self, path: str) -> _Module:
        if path not in self._read:
            try:
                self._read[path] = _read_module((self._root / path).read_bytes())
            except SyntaxError as error:
                raise UsageError(f"expected Python in {path}; line {error.lineno}: {error.msg}") from error
        return self._read[path]

    def _paths(self, names: Iterable[str]) -> set[str]:
        """Return the files of this tree that the dotted names refer to, with the packages around them."""
        found = set()
        for name in names:
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                place = "/".join(parts[:length])
                found |= {path for path in (f"{place}.py", f"{place}/__init__.py") if self._is_file(path)}
        return found


def _requested(names: Iterable[str], *modules: _Module) -> set[str]:
    """Return these fixtures, the automatic ones, and all that they request in turn."""
    waiting = {*names, *(name for module in modules for name in module.automatic)}
    found = set[str]()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= {needed for module in modules for needed in module.fixtures.get(name, ())} - found
    return found


@lru_cache(maxsize=1024)
def _read_module(source: bytes) -> _Module:
    with PARSING:
        tree = ast.parse(source)
    checks, deducted, fixtures, inside, automatic = {}, {}, {}, {}, []
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    outside = []
    for node in tree.body:
        marks = [_call(mark) for mark in node.decorator_list] if isinstance(node, ast.FunctionDef) else []
        parameters = tuple(argument.arg for argument in node.args.args) if isinstance(node, ast.FunctionDef) else ()
        for name, call in marks:
            if name == "pytest.mark.points" and call is not None:
                check = str(ast.literal_eval(call.args[0]))
                checks[check], deducted[check] = parameters, _deducted(node, functions)
            if name == "pytest.fixture" and isinstance(node, ast.FunctionDef):
                fixtures[node.name], inside[node.name] = parameters, frozenset(_imports(node))
                if call is not None and any(keyword.arg == "autouse" for keyword in call.keywords):
                    automatic.append(node.name)
        if not any(name == "pytest.fixture" for name, _ in marks):
            outside.append(node)
    imports = frozenset(name for node in outside for name in _imports(node))
    return _Module(imports, checks, deducted, fixtures, inside, tuple(automatic))


def _deducted(test: ast.AST, functions: Mapping[str, ast.AST]) -> frozenset[str]:
    """Return the shortcomings that `deduct` gets in a test and in the functions that it names, directly or indirectly."""
    waiting, seen, found = [test], {test}, set[str]()
    while waiting:
        for part in ast.walk(waiting.pop()):
            if isinstance(part, ast.Name) and part.id in functions and functions[part.id] not in seen:
                seen.add(functions[part.id])
                waiting.append(functions[part.id])
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "deduct":
                found |= {str(word.value) for word in part.args[:1] if isinstance(word, ast.Constant)}
    return frozenset(found)


def _call(decorator: ast.expr) -> tuple[str, ast.Call | None]:
    call = decorator if isinstance(decorator, ast.Call) else None
    return ast.unparse(call.func if call else decorator), call


def _imports(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a piece of source imports; all imports of this house are absolute."""
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            yield from (alias.name for alias in part.names)
        elif isinstance(part, ast.ImportFrom) and part.module:
            yield from (f"{part.module}.{alias.name}" for alias in part.names)
