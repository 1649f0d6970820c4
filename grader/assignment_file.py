"""Reading assignment.toml, of the main assignment or of a lab, with a sentence for each mistake in it."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from common.errors import UsageError
from grader.assignment import DESCRIPTION, LABS, LONG, ROOT, Assignment
from grader.assignment_mistakes import mistakes_in
from grader.typed_toml import Mistake, converted, read_toml, require_known_keys, value_at

# The place of each field of an Assignment in the file.
PLACES = {
    "id": "assignment.id",
    "title": "assignment.title",
    "handout": "assignment.handout",
    "handout_url": "assignment.handout_url",
    "stubs": "files.stubs",
    "collected": "files.collected",
    "protected": "files.protected",
    "framework": "files.framework",
    "reports": "files.reports",
    "decides": "files.decides",
    "parts": "parts",
    "kit": "release.kit",
    "withheld": "release.withheld",
    "kit_readme": "release.readme",
    "answers": "release.answers",
    "bank": "release.bank",
    "checks_folder": "judge.checks",
    "judging": "judge.files",
    "python": "judge.python",
    "likeness": "likeness",
    "engine_folder": "engine.folder",
    "engine_header": "engine.header",
    "compile_command": "engine.compile",
    "compile_limit_s": "engine.compile_limit_s",
    "opponents": "opponents",
    "limits": "limits",
    "win_rate_formula": "score.win_rate.formula",
    "losing_line_steps": "score.losing_lines.steps",
    "shares": "score.shares",
    "profiles": "profiles",
    "long_checks": "long_checks",
    "checks": "checks",
    "marks": "marks",
}
# An assignment may leave out a table as a whole if its fields have defaults. Opponents are needed where there is an engine.
NEEDED_WITH = {"opponents": "engine"}


def lab_names(root: Path = ROOT) -> list[str]:
    """Return the names of the labs in this tree; a kit has none, because its lab is the main assignment there."""
    return sorted(path.parent.name for path in (root / LABS).glob(f"*/{DESCRIPTION}"))


def load_named(name: str, root: Path = ROOT) -> Assignment:
    """Read and check the file of an assignment.

    Args:
        name: the id of the main assignment or of a lab; empty for the main assignment.

    Raises:
        UsageError: there is no such assignment, or its file is wrong (see `load_assignment`).
    """
    main, labs = load_assignment(root / DESCRIPTION), lab_names(root)
    if name in ("", main.id):
        _require_files(main, root)
        return main
    if name not in labs:
        raise UsageError(f"expected a lab among {', '.join(labs) or 'those of this tree, which has none'}; got {name!r}")
    home = f"{LABS}/{name}"
    lab = load_assignment(root / home / DESCRIPTION)
    if lab.id != name:
        raise UsageError(f"{root / home / DESCRIPTION}: expected the name of its folder as assignment.id; got {lab.id!r}")
    if not lab.checks_folder.startswith(f"{home}/"):
        got = repr(lab.checks_folder)
        raise UsageError(f"{root / home / DESCRIPTION}: expected a folder below {home} as judge.checks; got {got}")
    lab = replace(lab, home=home)
    _require_files(lab, root)
    return lab


def _require_files(assignment: Assignment, root: Path) -> None:
    """Raise a UsageError unless the files that the assignment names are there; a kit, which has no reference, lacks some."""
    if not (root / assignment.reference).is_dir():
        return
    file, module = root / (assignment.home or ".") / DESCRIPTION, f"{assignment.bank.replace('.', '/')}.py"
    if not (root / module).is_file():
        raise UsageError(f"{file}: expected the module that makes the values of a kit as release.bank; there is no {module}")
    lists = {
        "files.framework": assignment.framework,
        "files.protected": assignment.protected,
        "release.answers": assignment.answers,
    }
    for place, patterns in lists.items():
        for pattern in patterns:
            # Path.glob finds only folders for a pattern that ends with **.
            found = root.glob(f"{pattern}/*" if pattern.endswith("**") else pattern)
            if not any(path.is_file() for path in found):
                raise UsageError(f"{file}: expected a file for each pattern of {place}; no file matches {pattern}")


def load_assignment(path: Path = ROOT / DESCRIPTION) -> Assignment:
    """Read and check an assignment file.

    Raises:
        UsageError: the file is missing or not TOML, or its values are incomplete or contradict each other.
    """
    data = read_toml(path, "the assignment's description")
    try:
        assignment = _from_toml(data)
    except Mistake as error:
        raise UsageError(f"{path}: {error}") from error
    for sentence in mistakes_in(assignment):
        raise UsageError(f"{path}: {sentence}")
    return assignment


def _from_toml(data: dict[str, Any]) -> Assignment:
    profiles = data.get("profiles")
    for name, profile in profiles.items() if isinstance(profiles, dict) else ():
        if isinstance(profile, dict):
            profile["name"] = name
    kinds = get_type_hints(Assignment)
    optional = {each.name for each in fields(Assignment) if (each.default, each.default_factory) != (MISSING, MISSING)}
    places = {
        name: place
        for name, place in PLACES.items()
        if name not in optional or NEEDED_WITH.get(place, place.split(".")[0]) in data
    }
    values = {name: value_at(data, place) for name, place in places.items()}
    require_known_keys(data, PLACES.values())
    assignment = Assignment(**{name: converted(value, kinds[name], places[name]) for name, value in values.items()})
    if unknown_kinds := sorted(set(assignment.long_checks) - set(LONG)):
        raise Mistake(f"expected {' or '.join(LONG)} in long_checks; got {', '.join(unknown_kinds)}")
    return assignment
