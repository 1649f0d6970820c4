"""Build autograder.zip: the grader, to be uploaded to Gradescope, whose container then grades each submission.

The archive holds what grading needs and nothing else of the instructor's. It does contain the grader's own correct searches
(grader/judge/trusted), which decide the verdicts: whoever uploads it must not hand it out. In the container, the confinement
keeps it from the programs of a submission.
"""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

from common.errors import UsageError
from common.files import write_whole
from grader.assignment import ROOT, Assignment
from grader.assignment_file import load_named
from grader.confinement.sandbox import LEVELS
from grader.instructor.returning.autograde import CONFIG, Settings
from grader.instructor.returning.folders import FIXED_TIME
from grader.pipeline.judging import grading_files
from grader.pipeline.listeners import Announce
from grader.pipeline.report import report_templates

SCRIPTS = Path(__file__).with_name("autograder")
PROGRAM = Path(__file__).with_name("autograde.py")
GRADING = "grading"
"""The folder in the archive that holds a tree of this repository, without the instructor's rooms."""
SETUP, RUN, REQUIREMENTS = "setup.sh", "run_autograder", "requirements.txt"
WITHHELD = ("instructor/", "grader/instructor/", "tests/", "bench/")


def autograder_files(settings: Settings, assignment: Assignment) -> dict[str, bytes]:
    """Return path in the archive -> content."""
    templates = (path.relative_to(ROOT).as_posix() for path in report_templates())
    names = {*grading_files(assignment), *templates}
    if withheld := sorted(name for name in names if name.startswith(WITHHELD)):
        raise UsageError(
            f"expected no file of the instructor in the autograder; assignment.toml names {', '.join(withheld[:3])}"
        )
    files = {f"{GRADING}/{name}": (ROOT / name).read_bytes() for name in sorted(names)}
    return files | {
        f"{GRADING}/{PROGRAM.name}": PROGRAM.read_bytes(),
        SETUP: (SCRIPTS / SETUP).read_bytes(),
        RUN: (SCRIPTS / RUN).read_bytes(),
        REQUIREMENTS: (ROOT / REQUIREMENTS).read_bytes(),
        CONFIG: _config(settings).encode(),
    }


def _config(settings: Settings) -> str:
    values = {**settings.__dict__, "checks": list(settings.checks)}
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
    return "# How this autograder grades: see python -m grader gradescope --help.\n" + "".join(f"{line}\n" for line in lines)


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the .zip; the same files give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, FIXED_TIME)
            entry.external_attr = (stat.S_IFREG | (0o755 if name in (SETUP, RUN) else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return out.getvalue()


def main(out: Path, settings: Settings, announce: Announce) -> int:
    """Write the archive and say how to set up the assignment on Gradescope; return 0.

    Raises:
        UsageError: a setting cannot be used, or the archive cannot be written.
    """
    assignment = load_named(settings.lab)
    settings.require_usable()
    checks = settings.chosen(assignment)
    if settings.sandbox and settings.sandbox not in LEVELS:
        raise UsageError(f"expected a sandbox level among {', '.join(LEVELS)}; got {settings.sandbox!r}")
    if out.suffix != ".zip":
        raise UsageError(f"expected a name that ends in .zip for the autograder; got {out}")
    content = packed(autograder_files(settings, assignment))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, content)
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error
    announce(
        f"{out}: {len(content) / 2**20:.0f} MiB, profile {settings.profile}, {len(checks)} of {len(assignment.checks)} checks."
    )
    announce(
        f"On Gradescope, set Autograder points to {sum(check.points for check in checks):g}, the timeout to 40 minutes (this "
        f"autograder stops after {settings.minutes:g}) and the container to the largest size."
    )
    announce("Keep the archive to yourself: it contains the grader's correct searches.")
    return 0
