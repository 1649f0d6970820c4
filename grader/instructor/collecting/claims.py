"""Who each upload belongs to, and which uploads are one attempt: a report beside an archive belongs to that archive."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, count, pairwise
from pathlib import PurePosixPath

from common.harmless_text import file_name
from grader.instructor.collecting.attempts import Due
from grader.instructor.collecting.canvas import canvas_order
from grader.instructor.collecting.downloads import SINGLES, Upload
from grader.instructor.collecting.expected import Expected
from grader.instructor.collecting.people import BLACKBOARD, BRIGHTSPACE, CANVAS, FILES, MOODLE, Match, Person, Roster
from grader.pipeline.archive import Zip
from grader.pipeline.archive_names import is_archive, without_suffix

FEW_S = 60  # files are packed, sent or copied one after the other with at most this between two of them
FEWEST, FEWEST_SINGLES = 3, 2  # times of a download, or of files named one by one, of which this says something
OWNER_CHARACTERS = 60


@dataclass(frozen=True)
class Claim:
    """An upload with one of the people who handed it in.

    Attributes:
        owner: the student's id, or the name of a folder for a stranger.
        match: the students that the person may be.
    """

    upload: Upload
    person: Person
    owner: str
    match: Match

    @property
    def known(self) -> bool:
        return self.match.student is not None

    @property
    def is_extra(self) -> bool:
        """Whether it is a single file that is not an archive, such as a report."""
        return not self.upload.is_packed and list(self.upload.files) == [self.upload.name]


def claims_of(uploads: Sequence[Upload], roster: Roster) -> list[Claim]:
    """Return a claim for each person of each upload."""
    found = []
    for upload in uploads:
        for person in upload.people:
            match = roster.match(person)
            owner = match.student.id if match.student else stranger(person)
            found.append(Claim(upload, person, owner, match))
    return found


def stranger(person: Person) -> str:
    """Return the name of the folder for a person whom the roster does not name."""
    clean = file_name(person.handle, OWNER_CHARACTERS)
    if clean != person.handle:
        clean = f"{clean}-{hashlib.sha256(person.handle.encode(errors='replace')).hexdigest()[:8]}"
    return f"{person.platform.lower()}-{clean}"


def with_true_times(uploads: Sequence[Upload], due: Due) -> tuple[list[Upload], list[str]]:
    """Drop the times of a download if they only say when it was packed; also return a sentence for each such download."""
    by_batch: dict[str, list[Upload]] = {}
    for upload in uploads:
        if upload.when is not None:
            by_batch.setdefault(upload.batch, []).append(upload)
    useless: dict[str, str] = {}
    zones: dict[str, str] = {}
    for batch, several in by_batch.items():
        name = batch or "The files of the command line"
        if naive := [upload.when for upload in several if upload.when and upload.when.tzinfo is None]:
            zone = due.local(naive[0]).strftime("%z")
            whose = "the due date" if due.zone else "this machine"
            zones[batch] = f"{name}: the times have no time zone; that of {whose} is assumed, UTC{zone[:3]}:{zone[3:5]}."
        several = [upload for upload in several if not upload.key]  # the others have the time that the platform wrote
        times = [due.local(upload.when) for upload in several if upload.when]
        is_moodle = any(person.platform == MOODLE for upload in several for person in upload.people)
        at_once = all(after - before <= timedelta(seconds=FEW_S) for before, after in pairwise(sorted(times)))
        if at_once and len(times) >= (FEWEST_SINGLES if batch == SINGLES else FEWEST):
            useless[batch] = (
                f"{name}: each of the {len(times)} times lies within a minute of the next, so they say when the files were "
                "packed or copied, and not when they were handed in; they are not used."
            )
        elif is_moodle and (at_once or times == sorted(times)):  # since version 3.11, it gives each file the time of sending
            useless[batch] = f"{name}: the times of files from Moodle may be those of the download; they are not used."
    kept = [_without_time(upload) if upload.batch in useless and not upload.key else upload for upload in uploads]
    return kept, [*useless.values(), *(line for batch, line in zones.items() if batch not in useless)]


def _without_time(upload: Upload) -> Upload:
    of_moodle = upload.people[0].platform == MOODLE and all(isinstance(m.source, Zip) for m in upload.files.values())
    return replace(upload, when=None, downloaded=upload.when if of_moodle else None)


def joined(claims: Sequence[Claim], expected: Expected, due: Due) -> list[Claim]:
    """Put the single files of an owner into the attempt that they belong to, and report where it is unclear what counts."""
    groups: dict[tuple[str, bool, str, str], list[Claim]] = {}
    for claim in claims:
        person = claim.person
        groups.setdefault((claim.upload.batch, claim.known, claim.owner, person.platform), []).append(claim)
    found: list[Claim] = []
    for (_, _, _, platform), several in groups.items():
        extras = [claim for claim in several if claim.is_extra]
        mains = [claim for claim in several if not claim.is_extra]
        if platform not in (BLACKBOARD, BRIGHTSPACE, CANVAS, FILES) or not extras or (len(several) == 1 and not expected.loose):
            found += several
        elif mains:
            last = mains.pop(_last(mains, due))
            found += [*mains, _with_extras(last, extras)]
        elif expected.loose:
            found += _attempts_of_loose_files(extras, due)
        elif platform in (BLACKBOARD, BRIGHTSPACE):  # each is an attempt of its own, with a time
            found += extras
        else:
            found += _attempts_of_files(extras, due)
    return [replace(claim, upload=_examined(claim.upload, expected)) for claim in found]


def _last(claims: Sequence[Claim], due: Due) -> int:
    numbers = resubmissions([claim.upload for claim in claims])
    times = [due.local(c.upload.when).timestamp() if c.upload.when else 0.0 for c in claims]
    return max(range(len(claims)), key=lambda i: (numbers[i], times[i]))


def resubmissions(uploads: Sequence[Upload]) -> list[int]:
    """Return the number of the resubmission that each upload is on Canvas; 0 for all others."""
    keys = [upload.key if upload.people[0].platform == CANVAS else "" for upload in uploads]
    order = canvas_order(keys)
    return [order[key][1] for key in keys]


def _with_extras(main: Claim, extras: Sequence[Claim]) -> Claim:
    files = dict(main.upload.files)
    for extra in extras:
        name = extra.upload.name
        places = chain((name, f"beside/{name}"), (f"beside-{number}/{name}" for number in count(2)))
        files[next(place for place in places if place not in files)] = extra.upload.files[name]
    names = ", ".join(extra.upload.name for extra in extras)
    were, are = ("was", "is") if len(extras) == 1 else ("were", "are")
    note = f"{names} {were} handed in as well and {are} kept in the same .zip."
    name = f"{without_suffix(main.upload.name)}.zip"
    return replace(main, upload=replace(main.upload, name=name, files=files, notes=(*main.upload.notes, note)))


def _attempts_of_files(extras: Sequence[Claim], due: Due) -> list[Claim]:
    """Return an attempt for the files of each number of resubmission."""
    order = canvas_order([extra.upload.key for extra in extras])
    numbers = sorted({number for _, number in order.values()})
    found = []
    for number in numbers:
        first, *rest = [extra for extra in extras if order[extra.upload.key][1] == number]
        if rest:
            first = _with_extras(first, rest)
            first = replace(first, upload=replace(first.upload, when=_latest([first, *rest], due)))
        found.append(first)
    return found


def _latest(claims: Sequence[Claim], due: Due) -> datetime | None:
    """Return the time of the last of these files; None if that of one is not known."""
    times = [claim.upload.when for claim in claims if claim.upload.when]
    return max(times, key=due.local) if len(times) == len(claims) else None


def _attempts_of_loose_files(extras: Sequence[Claim], due: Due) -> list[Claim]:
    """Return an attempt for all files of a student, or one for each number of resubmission if a file is there twice.

    Canvas numbers each file by itself: `boards-1.ipynb` and `network.ipynb` are one attempt if the first one lacked the latter.
    """
    order = canvas_order([extra.upload.key or extra.upload.name for extra in extras])
    placed = [(order[extra.upload.key or extra.upload.name], extra) for extra in extras]
    if len({base for (base, _), _ in placed}) == len(placed) or extras[0].person.platform != CANVAS:
        groups = {max(number for (_, number), _ in placed): list(extras)}
    else:
        numbers = sorted({number for (_, number), _ in placed})
        groups = {number: [extra for (_, own), extra in placed if own == number] for number in numbers}
    found = []
    for number, (first, *rest) in groups.items():
        uploads = [claim.upload for claim in (first, *rest)]
        joint = _with_extras(first, rest) if rest else first
        upload = replace(
            joint.upload,
            key=f"loose-{number}" if first.upload.key else "",
            when=_latest((first, *rest), due),
            late=any(upload.late for upload in uploads) if first.upload.late is not None else None,
            notes=first.upload.notes,
        )
        found.append(replace(joint, upload=upload))
    return found


def _examined(upload: Upload, expected: Expected) -> Upload:
    """Return the upload, with a problem if it holds several things that could be the submission."""
    if upload.is_packed or upload.problem:
        return upload
    if not upload.files:
        return replace(upload, notes=(*upload.notes, "It holds no file."))
    if list(upload.files) == [upload.name]:
        if expected.loose:
            return upload
        return replace(upload, notes=(*upload.notes, f"A single file, {upload.name}, was handed in; it is kept in a .zip."))
    if any(folder.casefold() in expected.folders for path in upload.files for folder in path.split("/")[:-1]):
        return upload
    archives = [path for path in upload.files if is_archive(path)]
    sources = [path for path in upload.files if PurePosixPath(path).suffix in expected.suffixes]
    if len(archives) > 1:
        advice = "collect the right one as ID.zip, then choose it with --counts"
        return replace(upload, problem=f"it holds {len(archives)} archives, such as {archives[0]} and {archives[1]}: {advice}")
    if archives and sources:
        return replace(upload, problem=f"it holds an archive, {archives[0]}, and sources beside it, such as {sources[0]}")
    return upload
