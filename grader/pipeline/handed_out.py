"""Find handed-out sources that a submission includes or nearly repeats, and those that a student has changed without effect.

A submission's files are compared with two kinds of sources in the same language: the sources of the kit, and those that no
kit may hold because they answer a part (`[release].answers` of assignment.toml; an earlier kit may have held them). Code that
comes with the stubs does not count. The program only reports resemblances; a person decides. The handout tells students to
begin from the given example, and no degree of resemblance proves intent.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from grader.assignment import ROOT, Assignment, matches
from grader.pipeline.includes import included_names, without_comments
from grader.pipeline.likeness import Fingerprints, fingerprints, is_source
from grader.pipeline.submission import Submission

DIGESTS = "grader/handed_out.json"  # in a kit: path -> sha256 of each file of which grading uses its own copy
LEAST = 30  # fingerprints; a shorter source proves nothing
MOST_INCLUDED = 10  # protected sources named for one file
CONTRIBUTES = 0.1  # a file is named if it holds this share of the source or of the submission's part, whichever is smaller


@dataclass(frozen=True)
class Resemblance:
    """A handed-out source that a submission includes or nearly repeats.

    Attributes:
        source: path of the handed-out source.
        files: files of the submission that contain it.
        share: common share in [0, 1] of the source or of the submission's part, whichever is larger; if the source is an
            example, always of the submission's part.
        included: whether a file includes the source instead of repeating it.
        checks: beginnings of the ids of the checks that these files decide.
    """

    source: str
    files: tuple[str, ...]
    share: float
    included: bool
    checks: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """One sentence that describes the resemblance to a person, without the full stop."""
        files, one = ", ".join(self.files), len(self.files) == 1
        if self.included:
            return f"{files} includes {self.source}, which is not the student's own code"
        has = f"{files} has" if one else f"{files} together have"
        return f"{has} {self.share:.0%} in common with {self.source}, which is not the student's own code"


def find_resemblances(submission: Submission, assignment: Assignment) -> list[Resemblance]:
    """Return each source that the submission includes or nearly repeats, the largest share first."""
    found = _included(submission, assignment)
    stubs = _stubs(assignment)
    files = {path: fingerprints(content, path).without(stubs) for path, content in submission.files.items() if is_source(path)}
    for source, given in _given(assignment, stubs).items():
        same_language = {path: f for path, f in files.items() if path.endswith(".py") == source.endswith(".py")}
        part = Fingerprints.union(same_language.values())
        if min(len(part), len(given)) < LEAST:
            continue
        if source in assignment.likeness.examples:
            share, most = part.share_in(given), assignment.likeness.example
        else:
            share, most = max(part.share_in(given), given.share_in(part)), assignment.likeness.submission
        if share >= most:
            least = CONTRIBUTES * min(len(part), len(given))
            holding = tuple(path for path, f in same_language.items() if f.common(given) >= least)
            found.append(Resemblance(source, holding, share, False, checks_decided_by(holding, assignment)))
    return sorted(found, key=lambda one: (-one.share, one.source))


def checks_decided_by(paths: Collection[str], assignment: Assignment) -> tuple[str, ...]:
    """Return the beginnings of the ids of the checks that these files can decide.

    For each file, the first matching entry of `assignment.decides` counts.
    """
    decided: dict[str, None] = {}
    for path in paths:
        fitting = [checks for place, checks in assignment.decides.items() if f"{path}/".startswith(f"{place}/")]
        decided |= dict.fromkeys(fitting[0] if fitting else (check.id.split(".")[0] for check in assignment.checks))
    return tuple(decided)


def _included(submission: Submission, assignment: Assignment) -> list[Resemblance]:
    """Return the protected sources that each file includes by name, at most MOST_INCLUDED of a file.

    A name made by a macro is not found, but then there is nothing to include either: no workspace holds protected sources.
    """
    found = []
    for path, content in submission.files.items():
        names = dict.fromkeys(included_names(without_comments(content))) if not path.endswith(".py") else ()
        places = (place for name in names if (place := _protected_place(name, path, submission, assignment)))
        for place in islice(dict.fromkeys(places), MOST_INCLUDED):
            found.append(Resemblance(place, (path,), 1.0, True, checks_decided_by([path], assignment)))
    return found


def _protected_place(name: str, path: str, submission: Submission, assignment: Assignment) -> str | None:
    """Return the protected source that the file at `path` includes by this name; None if it is not a protected one."""
    for folder in dict.fromkeys((posixpath.dirname(path), assignment.engine_folder, "")):
        place = posixpath.normpath(posixpath.join(folder, name))
        if place in submission.files:
            return None  # the compiler looks beside the file first
        if matches(place, assignment.protected) and posixpath.basename(place) != assignment.engine_header:
            return place
    return None


def _given(assignment: Assignment, stubs: Fingerprints) -> Mapping[str, Fingerprints]:
    """Return path -> fingerprints for every source that no student wrote, without the fingerprints of the stubs."""
    return {
        path: fingerprints((ROOT / assignment.place(path)).read_bytes(), path).without(stubs)
        for path in {*kit_sources(ROOT, assignment), *answers_below(ROOT, assignment)}
        # In a kit, what would be collected is the student's own.
        if not assignment.is_collected(path) and posixpath.basename(path) != assignment.engine_header
    }


def stub_fingerprints(stubs: Mapping[str, bytes]) -> Fingerprints:
    """Return the fingerprints of all stubs, which are given as path -> content."""
    return Fingerprints.union(fingerprints(content, path) for path, content in stubs.items())


def _stubs(assignment: Assignment) -> Fingerprints:
    places = {path: ROOT / assignment.place(path) for path in assignment.stubs}
    return stub_fingerprints({path: place.read_bytes() for path, place in places.items() if place.is_file()})


def kit_sources(root: Path, assignment: Assignment) -> list[str]:
    """Return the sources that every student has, by their places in the kit."""
    stubs = {path for path in assignment.stubs if is_source(path) and (root / assignment.place(path)).is_file()}
    return sorted(stubs | {path for path in sources_below(root, assignment.kit) if assignment.is_in_kit(path)})


def answers_below(root: Path, assignment: Assignment) -> list[str]:
    """Return the sources outside the instructor's folder that no kit may hold."""
    return [path for path in sources_below(root, assignment.answers) if not assignment.is_in_kit(path)]


def sources_below(root: Path, patterns: Collection[str]) -> list[str]:
    """Return the relative paths of the sources that match the patterns."""
    found = {path for pattern in patterns for path in root.glob(pattern)}
    return sorted(path.relative_to(root).as_posix() for path in found if path.is_file() and is_source(path.name))


def digests_of(files: Mapping[str, bytes], assignment: Assignment) -> bytes:
    """Return the content of DIGESTS for a kit with these files."""
    ours = [path for path in sorted(files) if matches(path, (*assignment.protected, *assignment.framework))]
    return (json.dumps({path: hashlib.sha256(files[path]).hexdigest() for path in ours}, indent=1) + "\n").encode()


def changed_in_vain(root: Path) -> list[str]:
    """Return the handed-out files of a kit that a student has changed although grading uses its own copy of them.

    Args:
        root: the student's folder; a tree without DIGESTS is not a kit, and nothing is known about its files.
    """
    try:
        digests = json.loads((root / DIGESTS).read_text(encoding="utf-8"))
        return [
            path
            for path, digest in digests.items()
            if (root / path).is_file() and hashlib.sha256((root / path).read_bytes()).hexdigest() != digest
        ]
    except (OSError, ValueError, AttributeError):
        return []
