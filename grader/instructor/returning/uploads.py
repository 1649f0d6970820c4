"""Archives that hand the students' folders to a whole class: one for Moodle, one for Canvas.

Moodle ("Upload multiple feedback files in a zip") takes a folder `First Last_NUMBER_assignsubmission_file_` for each student
and looks only at the number of the participant, which differs from one assignment to the next. Canvas ("Upload Submissions")
takes a file for each student under the same name that its download gave to the student's file. It finds the student and the
file by the two numbers in this name, attaches what was uploaded to a comment, and calls it by the name under which the student
handed the file in. So a student's pages go there as an archive of the same kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.instructor.collecting.attempts import Attempt
from grader.instructor.collecting.canvas import TYPED_FILES
from grader.instructor.collecting.people import CANVAS, MOODLE
from grader.instructor.collecting.record import Record
from grader.instructor.returning.folders import as_zip

MOODLE_NAME = "{name}_{number}_assignsubmission_file_"
NOT_IN_A_NAME = re.compile(r"[^\w .'-]|_")  # an underscore would shift the number, on which Moodle relies
LONGEST_NAME = 60  # characters
Folders = Mapping[str, Mapping[str, bytes]]


@dataclass(frozen=True)
class UploadArchive:
    """An archive for a platform.

    Attributes:
        name: its file name.
        students: how many students it is for.
        left_out: a sentence for each reason why it is not for others.
    """

    platform: str
    name: str
    content: bytes
    students: int
    left_out: tuple[str, ...]


def upload_archives(folders: Folders, record: Record) -> Iterator[UploadArchive]:
    """Yield an archive for each platform from which students of a collection handed in.

    Args:
        folders: student -> file name -> content.
        record: says by which number or name a platform knows a student.
    """
    for platform, name, entries_of in (
        (MOODLE, "moodle_feedback.zip", _for_moodle),
        (CANVAS, "canvas_feedback.zip", _for_canvas),
    ):
        attempts = {student: _attempts(student, platform, record) for student in folders}
        if not any(attempts.values()):
            continue  # nobody handed in there
        entries: dict[str, bytes] = {}
        why: dict[str, list[str]] = {}
        for student, own in attempts.items():
            found = entries_of(own, folders[student])
            if isinstance(found, str):
                why.setdefault(found, []).append(student)
            else:
                entries |= found
        left_out = tuple(f"Not in it, because {reason}: {', '.join(students)}." for reason, students in why.items())
        count = len(folders) - sum(map(len, why.values()))
        yield UploadArchive(platform, name, as_zip(entries), count, left_out)


def _attempts(student: str, platform: str, record: Record) -> list[Attempt]:
    """Return a student's attempts on a platform, the one that counts last."""
    own = [attempt for attempt in record.of(student, known=True) if attempt.person.platform == platform]
    return sorted(own, key=lambda attempt: (attempt.number == record.counted.get(student), attempt.number))


def _for_moodle(attempts: list[Attempt], files: Mapping[str, bytes]) -> dict[str, bytes] | str:
    """Return the entries of a student, or why there are none."""
    numbers = {attempt.person.handle for attempt in attempts}
    if len(numbers) != 1:
        return "nothing says which participant of Moodle this is" if numbers else "nothing was collected from Moodle"
    name = " ".join(NOT_IN_A_NAME.sub(" ", attempts[-1].person.name).split())[:LONGEST_NAME].strip(" .") or "student"
    folder = MOODLE_NAME.format(name=name, number=numbers.pop())
    return {f"{folder}/{file}": content for file, content in files.items()}


def _for_canvas(attempts: list[Attempt], files: Mapping[str, bytes]) -> dict[str, bytes] | str:
    """Return the entry of a student, or why there is none."""
    if not attempts:
        return "nothing was collected from Canvas"
    if len({attempt.person.handle for attempt in attempts}) != 1:
        return "nothing says which user of Canvas this is"
    given = attempts[-1].given
    if not given and attempts[-1].key in TYPED_FILES:
        return "a text or a link was entered in Canvas, and no file was handed in"
    if not given:
        return "an earlier version of collect did not keep the name of the file in the download"
    if not given.lower().endswith(".zip"):
        return "Canvas would name the pages after the file that was handed in, which is not a .zip"
    return {given: as_zip(files)}
