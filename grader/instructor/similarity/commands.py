"""The command `python -m grader similarity`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.files import require_outside
from grader.arguments import add_lab, at_least_one
from grader.assignment_file import load_named
from grader.instructor.similarity.comparison import library
from grader.instructor.similarity.pages import INDEX, TABLE, require_place, write_jplag, write_pages
from grader.instructor.similarity.study import compare_all
from grader.instructor.similarity.works import parts_of, read_handed_out, read_works
from grader.screen import Screen

MOST_PAGES = 100


def share(text: str) -> float:
    """Read a share above 0 and at most 1, such as 0.4."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"expected a share above 0 and at most 1, such as 0.4; got {text!r}")
    return value


def similarity_command(options: argparse.Namespace) -> int:
    """Compare the submissions; return 1 if a person has to look at a pair or at what cannot be compared, else 0."""
    library()
    require_outside(options.out, (*options.submissions, *options.earlier, *options.handed_out))
    assignment, screen = load_named(options.lab), Screen()
    least = assignment.likeness.pair if options.least is None else options.least
    handed_out = read_handed_out(options.handed_out, assignment)
    reading = read_works(options.submissions, options.earlier, assignment, screen)
    for one in reading.left_out:
        screen(f"Not compared: {one.reason}")
    works, recent = reading.works, [work for work in reading.works if not work.earlier]
    if not recent or len(works) < 2:
        raise UsageError(
            f"expected at least two submissions that can be read, or one and some of --earlier; got {len(recent)} and "
            f"{len(works) - len(recent)}"
        )
    require_place(options.out)
    study = compare_all(works, handed_out, screen, parts_of(assignment))
    for one in study.left_out:
        screen(f"Not compared: {one.reason}")
    study.left_out[:0] = reading.left_out
    shown = write_pages(study, works, options.out, least, options.pages)
    write_jplag(works, handed_out, options.out)
    for labels in study.same:
        screen(f"{', '.join(labels)} hold the same files: a group, or a copy.")
    found = study.above(least)
    if shown:
        screen("share of the first and of the second submission that the other one also has:")
    for pair in found[:shown]:
        first, second = pair.common.shares
        screen(f"{first:4.0%} {second:4.0%}  {pair.part:6}  {pair.first}  {pair.second}")
    if len(found) > shown:
        screen(f"{len(found) - shown} more pairs have no page (--pages {len(found)} makes them all).")
    pairs = "1 pair" if len(found) == 1 else f"{len(found)} pairs"
    screen(
        f"{len(works)} submissions, {pairs} with at least {least:.0%} in common apart from handed-out code. A share is not "
        f"proof and changes no mark: read both sides. See {options.out / INDEX} and {options.out / TABLE}."
    )
    return 1 if found or study.same or any(one.by_hand for one in study.left_out) else 0


def add_commands(commands: Any) -> None:
    """Add this command to the subparsers of `python -m grader`."""
    similarity = commands.add_parser("similarity", help="compare the submissions of a class with each other")
    similarity.add_argument("submissions", nargs="+", type=Path, metavar="SUBMISSION", help="folder or archive")
    add_lab(similarity)
    similarity.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder for the pages and tables")
    similarity.add_argument(
        "--earlier",
        nargs="+",
        type=Path,
        default=[],
        metavar="FOLDER",
        help="folders of earlier years' submissions, which are not compared with each other",
    )
    similarity.add_argument(
        "--handed-out",
        nargs="+",
        type=Path,
        default=[],
        metavar="FOLDER",
        help="earlier years' kits or stubs; their code does not count, nor does that of this year's kit",
    )
    similarity.add_argument(
        "--least", type=share, metavar="SHARE", help="smallest share to report (default: likeness.pair of assignment.toml)"
    )
    similarity.add_argument(
        "--pages", type=at_least_one, default=MOST_PAGES, metavar="N", help=f"most pages to write (default: {MOST_PAGES})"
    )
    similarity.set_defaults(run=similarity_command)
