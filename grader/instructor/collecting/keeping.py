"""Keep attempts in the folder of a collection: read them out of the downloads, number them, and put forward what counts."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from common.errors import UsageError
from common.files import remove, replacing
from common.harmless_text import file_name
from grader.instructor.collecting.attempts import Attempt, Due, is_known_already
from grader.instructor.collecting.claims import Claim, resubmissions
from grader.instructor.collecting.downloads import Upload
from grader.instructor.collecting.people import Pattern, Roster, read_again
from grader.instructor.collecting.record import Record
from grader.pipeline.archive import read_blocks, read_member
from grader.pipeline.archive_names import archive_suffix, is_archive, without_suffix
from grader.pipeline.listeners import Announce

SUBMISSIONS = "submissions"
INCOMING = ".incoming"
MAX_ATTEMPT_BYTES = 256 << 20
NAME_CHARACTERS = 50  # up to 200 bytes, which leaves room for a number and a suffix
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
REGULAR_FILE = 0o100644 << 16
BLOCK_BYTES = 1 << 20


class Keeper:
    """Changes a collection and its record; a context manager that removes unfinished files at the end.

    Args:
        folder: of the collection; the caller holds it.
        record: is changed in place.
    """

    def __init__(self, folder: Path, record: Record, due: Due, announce: Announce) -> None:
        self.folder = folder
        self.record = record
        self.due = due
        self.announce = announce
        self.incoming = folder / INCOMING
        self.obsolete: list[Path] = []
        for attempt in record.attempts:
            if attempt.file and not (folder / attempt.path).is_file():
                raise UsageError(
                    f"expected the attempt {attempt.path} of the earlier collection in {folder}; it is missing: put it back, "
                    "or collect into a new folder"
                )

    def __enter__(self) -> Keeper:
        remove(self.incoming)
        self.incoming.mkdir()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        remove(self.incoming)

    def find_owners(self, roster: Roster, pattern: Pattern | None) -> None:
        """Give to students what was kept for strangers or under an id that the roster no longer has.

        Args:
            roster: may name them now.
            pattern: for the names of files; may find them now.
        """
        ids = {attempt.owner for attempt in self.record.attempts if attempt.known and roster.students is None}
        ids |= {student.id for student in roster.students or ()}
        for attempt in [attempt for attempt in self.record.attempts if not attempt.known or attempt.owner not in ids]:
            person = attempt.person
            if (match := roster.match(person)).student is None:
                person = read_again(person, pattern)
                match = roster.match(person)
            if match.student is None:
                continue
            owner = match.student.id
            self.record.attempts.remove(attempt)
            if attempt.known:
                self._forget(attempt)
            mine = replace(attempt, owner=owner, known=True, person=person, by_name=match.by_name)
            self._add(mine, self.folder / attempt.path, attempt.file.partition("-")[2])
            if attempt.file:
                self.obsolete.append(self.folder / attempt.path)
            how = "the roster" if person == attempt.person else "the names of files"
            self.announce(f"{attempt.path}: belongs to {owner} according to {how}, and is now kept there.")

    def _forget(self, attempt: Attempt) -> None:
        """Drop what the record says about the owner of an attempt, whose id has changed."""
        owner = attempt.owner
        if self.record.counted.get(owner) == attempt.number:
            del self.record.counted[owner]
            self.obsolete.append(self.folder / SUBMISSIONS / submission_file(attempt))
        for kept, option in ((self.record.chosen, "--counts"), (self.record.times, "--times")):
            if kept.pop(owner, None):
                self.announce(f"{owner}: the roster has another id for this student now, so give {option} again for that id.")

    def take(self, claims: Sequence[Claim]) -> None:
        """Read the uploads and add those that are new, the first ones of each student first."""
        # What could not be read is replaced by the same attempt of a new download, not by another one of that person.
        arrived = {(claim.person.platform, claim.person.handle, claim.upload.key) for claim in claims}
        self.record.attempts = [
            a for a in self.record.attempts if a.file or (a.person.platform, a.person.handle, a.key) not in arrived
        ]
        copies: dict[int, tuple[Path, str, str]] = {}
        read = []
        for claim in claims:  # in the order of the archives: any other order would unpack a compressed tar again and again
            upload = claim.upload
            if id(upload) not in copies:
                copies[id(upload)] = self._copy(upload, self.incoming / str(len(copies)))
            waiting, digest, problem = copies[id(upload)]
            others = [person.words for person in upload.people if person != claim.person]
            notes = (*upload.notes, f"Handed in together with {', '.join(others)}.") if others else upload.notes
            attempt = Attempt(
                owner=claim.owner,
                known=claim.known,
                number=0,
                file="",
                digest=digest,
                person=claim.person,
                by_name=claim.match.by_name,
                key=upload.key,
                when=upload.when,
                late=upload.late,
                problem=problem or upload.problem,
                notes=notes,
                source=upload.batch or upload.name,
                given=upload.given,
                downloaded=upload.downloaded,
            )
            read.append((attempt, waiting, upload))
        numbers = resubmissions([upload for _, _, upload in read])
        waits = Counter(waiting for _, waiting, _ in read)
        order = sorted(range(len(read)), key=lambda i: (numbers[i], self._seconds(read[i][0]), read[i][2].name))
        for attempt, waiting, upload in (read[i] for i in order):
            self._add(attempt, waiting, upload.name if upload.is_packed or is_archive(upload.name) else f"{upload.name}.zip")
            waits.subtract([waiting])
            if not waits[waiting]:
                waiting.unlink(missing_ok=True)  # a class may be as large as the room on the disk

    def _seconds(self, attempt: Attempt) -> float:
        return self.due.local(attempt.placed).timestamp() if attempt.placed else 0.0

    def _add(self, attempt: Attempt, waiting: Path, name: str) -> None:
        """Number an attempt and put its file in place, unless its owner has it already."""
        own = self.record.of(attempt.owner, attempt.known)
        if attempt.digest and is_known_already(attempt, own, self.due):
            return
        number = self.record.next_number(attempt.owner, attempt.known)
        if not attempt.digest:
            self.record.attempts.append(replace(attempt, number=number))
            return
        suffix = archive_suffix(name) or ".zip"
        file = f"{number}-{file_name(without_suffix(name), NAME_CHARACTERS) or 'submission'}{suffix}"
        attempt = replace(attempt, number=number, file=file)
        place = self.folder / attempt.path
        place.parent.mkdir(parents=True, exist_ok=True)
        _copy_file(waiting, place)
        self.record.attempts.append(attempt)

    def _copy(self, upload: Upload, place: Path) -> tuple[Path, str, str]:
        """Write an upload's content to a file; return its path, its sha256, and why it could not be read, if so."""
        try:
            if sum(member.size for member in upload.files.values()) > MAX_ATTEMPT_BYTES:
                raise UsageError(f"it is larger than {MAX_ATTEMPT_BYTES >> 20} MiB unpacked")
            if upload.is_packed:
                (member,) = upload.files.values()
                with open(place, "wb") as file:
                    for block in read_blocks(member, upload.name):
                        file.write(block)
            else:
                contents = {path: read_member(member, path) for path, member in upload.files.items()}
                write_loose(contents, place)
        except UsageError as error:
            return place, "", f"it could not be read out of {upload.batch or 'the file'}: {error}"
        return place, _digest(place), ""

    def remove_obsolete(self) -> None:
        """Remove what was given to other owners from its old places; call it when the record is on disk."""
        for path in self.obsolete:
            path.unlink(missing_ok=True)
            if path.parent.name != SUBMISSIONS and not any(path.parent.iterdir()):
                path.parent.rmdir()

    def choose(self, counts: Mapping[str, int]) -> None:
        """Keep which of the attempts so far a person chose.

        Raises:
            UsageError: there is no such attempt.
        """
        for student, number in counts.items():
            own = self.record.of(student, True)
            if number not in [attempt.number for attempt in own if attempt.file]:
                if not own:
                    raise UsageError(f"expected --counts for a student of whom earlier calls collected attempts; got {student}")
                there = ", ".join(str(attempt.number) for attempt in own)
                raise UsageError(
                    f"expected the number of an attempt of {student} that earlier calls collected ({there}) in --counts; "
                    f"got {number}"
                )
            self.record.chosen[student] = (number, len(own))

    def drop_old_choices(self) -> None:
        """Drop the choices of students with new attempts."""
        for student, (number, of) in list(self.record.chosen.items()):
            if len(self.record.of(student, True)) != of:
                del self.record.chosen[student]
                self.announce(f"{student}: there is a new attempt, so --counts for attempt {number} no longer holds.")

    def put_submissions(self, counted: Mapping[str, Attempt]) -> None:
        """Make `submissions/` hold exactly the attempts that count, and say which of them have changed."""
        folder = self.folder / SUBMISSIONS
        folder.mkdir(exist_ok=True)
        for student, number in self.record.counted.items():
            old = next((a for a in self.record.of(student, True) if a.number == number), None)
            new = counted.get(student)
            if old is None or (new and new.number == number):
                continue
            words = f"attempt {new.number} counts" if new else "none counts"
            self.announce(f"{student}: {words} now; earlier, attempt {number} counted.")
            if new is None or submission_file(new) != submission_file(old):
                remove(folder / submission_file(old))
        for attempt in counted.values():
            place = folder / submission_file(attempt)
            if not place.is_file() or _digest(place) != attempt.digest:
                _copy_file(self.folder / attempt.path, place)
        self.record.counted = {student: attempt.number for student, attempt in counted.items()}


def submission_file(attempt: Attempt) -> str:
    """Return the name under which an attempt lies in `submissions/`: the student's id with the archive's suffix."""
    return f"{attempt.owner}{archive_suffix(attempt.file)}"


def write_loose(contents: Mapping[str, bytes], place: Path) -> None:
    """Write a .zip that has the same bytes whenever and wherever it is made: sorted, with a fixed time, not compressed."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_STORED) as target:
        for path in sorted(contents):
            info = zipfile.ZipInfo(path, FIXED_TIME)
            info.create_system, info.external_attr = 3, REGULAR_FILE
            target.writestr(info, contents[path])


def _copy_file(source: Path, place: Path) -> None:
    with replacing(place) as unfinished:
        shutil.copyfile(source, unfinished)


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
