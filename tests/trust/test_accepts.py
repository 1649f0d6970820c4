"""Each check names the right readings of the handout that it accepts, and a variant that has each."""

import importlib
import inspect
import re
from functools import cache

import pytest

from grader.assignment import ROOT
from grader.assignment_file import load_assignment
from grader.instructor import trust

READING = re.compile(r"(?P<reading>.+) \((?P<variants>[a-z0-9, -]+)\)\.?")


@cache
def load_variants():
    return {sample.name: sample for sample in trust.load_samples(("variants",))}


def checks():
    """(check id, docstring) of every test below grader/judge but the one that stands in for another in a student's kit."""
    for path in sorted({*(ROOT / "grader/judge").rglob("test_*.py")} - {ROOT / "grader/judge/checks/test_own_training.py"}):
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for test in vars(module).values():
            marks = {mark.name: mark.args for mark in getattr(test, "pytestmark", ())}
            if inspect.isfunction(test) and "points" in marks:
                yield pytest.param(marks["points"][0], inspect.getdoc(test) or "", id=marks["points"][0])


def readings(text):
    """The entries of the section `Accepts:`; an indented line continues the one before."""
    _, found, section = text.partition("Accepts:\n")
    lines = section.split("\n\n")[0].splitlines() if found else []
    entries: list[str] = []
    for line in lines:
        if line.startswith("        ") and entries:
            entries[-1] += f" {line.strip()}"
        else:
            entries.append(line.strip())
    return entries


@pytest.mark.parametrize(("check_id", "text"), list(checks()))
def test_a_check_names_the_readings_that_it_accepts_and_variants_that_have_them(check_id, text):
    variants = load_variants()
    entries = readings(text)
    assert entries, f"{check_id} has no section Accepts"
    for entry in entries:
        match = READING.fullmatch(entry)
        assert match, f"expected 'reading (variant, variant)'; got {entry!r}"
        for name in match["variants"].split(", "):
            assert name in variants, f"{name} is no variant"
            ran, left_out = trust.checks_for(variants[name], load_assignment())
            assert check_id in {check.id for check in ran} | set(left_out), f"{name} cannot show what {check_id} accepts"


def test_every_variant_stands_for_a_reading():
    named = {name for param in checks() for entry in readings(param.values[1]) for name in re.findall(r"[a-z0-9-]+", entry)}
    unnamed = load_variants().keys() - named
    assert not unnamed, f"no check says why these are right: {', '.join(sorted(unnamed))}"
