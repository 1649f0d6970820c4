"""The gallery of pitfalls: what typical mistakes look like, made from the mutants and from pitfalls.toml beside this file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path

from common.errors import UsageError
from docs.examples.text import Language, chosen
from grader.assignment import ROOT
from grader.assignment_file import load_assignment
from grader.instructor.trust import load_mutants

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Pitfall:
    """An entry of pitfalls.toml, which explains its keys; texts without `_zh` are English."""

    mutant: str
    cause: str
    cause_zh: str
    symptom: str
    symptom_zh: str
    look: str
    look_zh: str


def load_pitfalls() -> list[Pitfall]:
    """Read the entries.

    Raises:
        UsageError: an entry lacks a key or has one too many, or it occurs twice.
    """
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))["pitfall"]
    keys = {field.name for field in fields(Pitfall)}
    for entry in entries:
        if set(entry) != keys:
            name = entry.get("mutant", "?")
            raise UsageError(
                f"{FILE.name}, {name}: expected the keys {', '.join(sorted(keys))}; got {', '.join(sorted(entry))}"
            )
    found = [Pitfall(**entry) for entry in entries]
    names = [pitfall.mutant for pitfall in found]
    if len(set(names)) < len(names):
        raise UsageError(
            f"{FILE.name}: expected each mutant once; got {', '.join(sorted(n for n in names if names.count(n) > 1))}"
        )
    return found


def gallery(language: Language, pitfalls: list[Pitfall] | None = None) -> str:
    """Return the gallery, grouped by the section of the check that fails first.

    Raises:
        UsageError: an entry names no mutant, or its cause is no longer the misconception of the mutant.
    """
    assignment = load_assignment()
    mutants = {mutant.name: mutant for mutant in load_mutants(ROOT)}
    entries = []
    for pitfall in load_pitfalls() if pitfalls is None else pitfalls:
        mutant = mutants.get(pitfall.mutant)
        if mutant is None or mutant.why != pitfall.cause:
            now = f"it says {mutant.why!r}" if mutant else "there is no such mutant"
            raise UsageError(
                f"pitfalls.toml, {pitfall.mutant}: expected the misconception of the mutant as cause, but {now}; revise it"
            )
        check = assignment.check(next(iter(mutant.expected)))
        entries.append((check.handout, _entry(language, pitfall, check.id, mutant.says)))
    entries.sort(key=lambda entry: entry[0])
    parts = []
    for section, group in groupby(entries, key=lambda entry: entry[0]):
        heading = chosen(language, f"**Section {section} of the handout**", f"**手册第 {section} 节**")
        parts.append(f"{heading}\n\n" + "\n".join(text for _, text in group))
    return "\n\n".join(parts) + "\n"


def _entry(language: Language, pitfall: Pitfall, check: str, says: str) -> str:
    """Return an item of the list."""
    quotation = f"“… {says.strip()} …”"
    if language == "en":
        return f"- {pitfall.symptom} `{check}` says {quotation}.\n  *Cause*: {pitfall.cause}\n  *How to look*: {pitfall.look}"
    return f"- {pitfall.symptom_zh}`{check}` 的信息：{quotation}。\n  *原因*：{pitfall.cause_zh}\n  *怎么查*：{pitfall.look_zh}"
