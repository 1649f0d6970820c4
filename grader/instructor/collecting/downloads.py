"""Recognise what is in an archive or folder of the command line: a class download of some platform, or one submission.

| platform | what a class download holds |
|---|---|
| Canvas | files `lastnamefirstname_[LATE_]USER_FILE_name.zip`, texts and links (see `canvas`) |
| Moodle | folders or files `[GROUP-]First Last_NUMBER_assignsubmission_file_`, with the student's files inside or appended |
| Gradescope | a folder `submission_NUMBER` for each submission, unpacked, and `submission_metadata.yml` |
| Blackboard | files `ASSIGNMENT_USER_attempt_TIME_name.zip`, and a text with a comment (see `blackboard`) |
| Brightspace | files or folders `NUMBER-NUMBER - [USER] First Last - TIME[ - FILE]`, and `index.html` (see `brightspace`) |
| any other | an archive or folder for each student, with the student's id in its name |
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from common.errors import UsageError
from grader.instructor.collecting import gradescope
from grader.instructor.collecting.blackboard import blackboard_name
from grader.instructor.collecting.brightspace import CONTENTS, Name, brightspace_name
from grader.instructor.collecting.canvas import canvas_name
from grader.instructor.collecting.expected import Expected
from grader.instructor.collecting.people import (
    BLACKBOARD,
    BRIGHTSPACE,
    CANVAS,
    FILES,
    GRADESCOPE,
    MOODLE,
    Pattern,
    Person,
    Roster,
)
from grader.pipeline.archive import FILE, Entries, Folder, Limits, Member, open_source, read_member, take_in
from grader.pipeline.archive_names import is_archive, readable, without_suffix

CLASS_LIMITS = Limits(entries=200_000, unpacked_bytes=64 << 30, directory_bytes=128 << 20)
MOODLE_NAME = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<file>.*)")
SUFFIX = re.compile(r"(?<=.)\.\w{1,5}$")
GRADESCOPE_FOLDER = re.compile(r"submission_\d+")
ONLINE_TEXT = "onlinetext"
JUNK = {".ds_store", "thumbs.db", "desktop.ini"}  # what macOS and Windows leave in folders
NAMES_OF_ATTEMPTS: dict[str, Callable[[str], Name | None]] = {BLACKBOARD: blackboard_name, BRIGHTSPACE: brightspace_name}
UNREMARKABLE = ("cache or tool folder", "a resource fork of macOS", "a second member of the same name")
SINGLES = ""  # the batch of what was named one by one on the command line


@dataclass(frozen=True)
class Upload:
    """What one person, or a group, handed in at one time.

    Attributes:
        batch: the class download that it comes from, or SINGLES.
        people: who handed it in.
        name: the name under which it is kept, with a suffix.
        files: relative path -> file.
        given: the whole name of the file in the download, if the platform takes it back by this name; otherwise empty.
        downloaded: when Moodle sent it to whoever downloaded the class; None if that is not known.
        key: what tells attempts of a person apart on platforms that name them; otherwise empty.
        when: the time at which it was handed in, if known; without a time zone if the download has none.
        late: whether the platform marks it as late; None if the platform does not say.
        problem: why nobody can tell what counts in it; empty if all is clear.
        notes: sentences for the instructor.
    """

    batch: str
    people: tuple[Person, ...]
    name: str
    files: Mapping[str, Member]
    key: str = ""
    when: datetime | None = None
    late: bool | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()
    given: str = ""
    downloaded: datetime | None = None

    @property
    def is_packed(self) -> bool:
        """Whether it is one archive, which is kept byte for byte."""
        return len(self.files) == 1 and is_archive(next(iter(self.files)))


@dataclass
class Download:
    """What was recognised.

    Attributes:
        name: the name of the archive or folder.
        kind: what it was taken for.
        uploads: in the order of the archive.
        left_out: (name, reason) for entries that are not read and belong to no upload.
    """

    name: str
    kind: str
    uploads: list[Upload]
    left_out: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Reader:
    """Reads the archives and folders of a command.

    Attributes:
        opened: closes the archives at the end.
        pattern: the user's pattern for names; None for the usual ones.
    """

    roster: Roster
    expected: Expected
    opened: ExitStack
    pattern: Pattern | None = None

    def read(self, path: Path) -> Download:
        """Recognise what is at a path.

        Raises:
            UsageError: nothing is there, or a class download cannot be read.
        """
        name = readable((path if path.name.strip(".") else path.resolve()).name)
        if not path.exists():
            raise UsageError(f"expected a class download or a submission at {path}; nothing is there")
        person = self.person_of_file(name, folder=path.is_dir())
        known = self.roster.students is not None and self.roster.match(person).student is not None
        if not path.is_dir() and (known or _is_of_platform(name)):
            return self.single(path, name)
        if not path.is_dir() and not is_archive(name):
            raise UsageError(f"expected a folder or an archive; got {path}: give the folder or the download that it came from")
        entries = take_in(self.opened.enter_context(closing(open_source(path, CLASS_LIMITS))), str(path))
        if known:
            return self.single_folder(name, entries)
        if not entries.files and not entries.refused:
            raise UsageError(f"expected submissions in {path}; it holds no files: give the class download itself")
        if download := self.class_download(name, entries):
            return download
        if not path.is_dir():
            return self.single(path, name)
        self.require_no_download_in(path, entries)
        return self.single_folder(name, entries)

    def person_of_file(self, name: str, *, folder: bool = False) -> Person:
        """Return the person that the name of a file or folder describes."""
        bare = name if folder else without_suffix(name) if is_archive(name) else SUFFIX.sub("", name)
        if self.pattern and (person := self.pattern.person(bare)):
            return person
        if found := MOODLE_NAME.fullmatch(name):
            return Person(MOODLE, found["number"], found["name"])
        if of_user := blackboard_name(name):
            return Person(BLACKBOARD, of_user.who, student_id=of_user.who.rpartition("_")[2])
        if found := canvas_name(name):
            return Person(CANVAS, found["user"], found["name"])
        if of_user := brightspace_name(name):
            return Person(BRIGHTSPACE, of_user.who, of_user.who, of_user.user)
        return Person(FILES, bare)

    def single(self, path: Path, name: str) -> Download:
        """Take a file for the submission of the student whom its name describes."""
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"expected a folder or an archive at {path}; got something else")
        modified = datetime.fromtimestamp(int(status.st_mtime), UTC)
        place = path.resolve()
        member = Member(name, status.st_size, FILE, place.name, Folder(place.parent), modified)
        upload = self.of_file(SINGLES, name, member)
        return Download(name, f"one submission, known by {upload.people[0].words}", [upload])

    def single_folder(self, name: str, entries: Entries) -> Download:
        """Take a folder, or an archive whose entries are given, for the submission of the student whom its name describes."""
        files = _without_junk(entries.files)
        person = self.person_of_file(name, folder=True)
        upload = _of_folder(SINGLES, (person,), name, files, _refused_below("", entries))
        return Download(name, f"one submission, known by {person.words}", [upload])

    def require_no_download_in(self, folder: Path, entries: Entries) -> None:
        """Raise UsageError if the only archive in a folder that fits nobody's name looks like a class download."""
        archives = [name for name in entries.files if is_archive(name)]
        if len(archives) != 1 or "/" in archives[0]:
            return
        path = folder / archives[0]
        try:
            inside = take_in(self.opened.enter_context(closing(open_source(path, CLASS_LIMITS))), str(path))
        except UsageError:  # a student's archive that cannot be read, which is kept all the same
            return
        if self.class_download(archives[0], inside):
            raise UsageError(
                f"expected a class download or one student's submission; got {folder}, a folder with the class download "
                f"{archives[0]} in it: give {path} itself, or, if all of this is one student's, name the folder after the id"
            )

    def of_file(self, batch: str, name: str, member: Member) -> Upload:
        """Return the upload that consists of this file."""
        person = self.person_of_file(name)
        if person.platform == CANVAS and (found := canvas_name(name)):
            # Canvas writes the time of the download into its archive.
            file, late = found["file"], bool(found["late"])
            upload = Upload(batch, (person,), file, {file: member}, file, late=late, given=name)
            if kind := found.groupdict().get("kind"):
                note = f"{file} is a {kind} that was entered in Canvas, not a file that can be graded; read it there."
                return replace(upload, given="", notes=(note,))
            return upload
        if person.platform == MOODLE and (found := MOODLE_NAME.fullmatch(name)):
            name = found["file"] or name
        if person.platform in NAMES_OF_ATTEMPTS and (named := NAMES_OF_ATTEMPTS[person.platform](name)):
            name = named.file or name
            return Upload(batch, (person,), name, {name: member}, named.submission, named.when)
        return Upload(batch, (person,), name, {name: member}, when=member.modified)

    def class_download(self, name: str, entries: Entries) -> Download | None:
        """Return the uploads of a class download; None if this looks like the submission of one student."""
        files, wrapper = self.unwrapped(_without_junk(entries.files))
        twins = [(entries.files[path], member) for path, member in entries.twins if path in entries.files]
        if self.has_sections(files):
            files, doubled = _without_sections(files)
            twins += doubled
        tops: dict[str, dict[str, Member]] = {}
        for path, member in files.items():
            top, _, below = path.partition("/")
            tops.setdefault(top, {})[below] = member
        loose = {top: inside[""] for top, inside in tops.items() if "" in inside}
        if gradescope.METADATA in loose:
            kind, uploads = GRADESCOPE, _of_gradescope(name, tops, entries, wrapper)
        elif any(MOODLE_NAME.fullmatch(top) for top in tops) and not self.pattern:
            kind, uploads = MOODLE, _of_moodle(name, tops, self)
        elif any(blackboard_name(top) for top in loose) and not self.pattern:
            kind, uploads = BLACKBOARD, _of_attempts(name, tops, entries, wrapper, self)
        elif any(brightspace_name(top) for top in tops) and not self.pattern:
            kind, uploads = BRIGHTSPACE, _of_attempts(name, tops, entries, wrapper, self)
        elif any(canvas_name(top) for top in loose) and not self.pattern:
            kind, uploads = CANVAS, self.of_tops(name, tops, entries, wrapper)
        elif self.is_class(tops, files):
            kind, uploads = "plain", self.of_tops(name, tops, entries, wrapper)
        else:
            return None
        uploads = _with_twins(uploads, twins)
        mine = {member for upload in uploads for member in upload.files.values()}
        left_out = [(path, "nothing says whose it is") for path, m in files.items() if m not in mine and kind == GRADESCOPE]
        left_out = [(path, reason) for path, reason in left_out if path != gradescope.METADATA]
        for path, reason in entries.refused.items():
            top, slash, _ = path.removeprefix(wrapper).partition("/")
            if reason not in UNREMARKABLE and not (slash and top in tops):
                left_out.append((path, reason))
        count = f"{len(uploads)} hand-in{'' if len(uploads) == 1 else 's'}"
        return Download(name, f"a class download ({kind}) with {count}", uploads, left_out)

    def unwrapped(self, files: Mapping[str, Member]) -> tuple[dict[str, Member], str]:
        """Remove the folders around everything, except the folder of a single student; return the removed prefix as well."""
        prefix = ""
        while True:
            tops = {path[len(prefix) :].partition("/")[0] for path in files}
            top = next(iter(tops), "")
            whole = any(path == prefix + top for path in files)
            platform = MOODLE_NAME.fullmatch(top) or GRADESCOPE_FOLDER.fullmatch(top) or brightspace_name(top)
            named = platform or self.of_roster(top)
            if len(tops) != 1 or whole or named:
                return {path[len(prefix) :]: member for path, member in files.items()}, prefix
            prefix += f"{top}/"

    def has_sections(self, files: Mapping[str, Member]) -> bool:
        """Return whether the top folders are sections of the class: names of students occur only in the level below."""
        tops = {path.partition("/")[0] for path in files}
        below = {path.split("/")[1] for path in files if "/" in path}
        if any(name.casefold() in self.expected.folders for name in tops | below) or gradescope.METADATA in tops:
            return False
        if any(_is_of_platform(top) or self.of_roster(top) for top in tops):
            return False
        return len({student for name in below if len(named := self.of_roster(name)) == 1 for student in named}) > 1

    def of_roster(self, name: str) -> set[str]:
        """Return the ids of the students of the roster whom the name of a file or folder may mean."""
        if self.roster.students is None:
            return set()
        people = {self.person_of_file(name), self.person_of_file(name, folder=True)}
        return {student.id for person in people for student in self.roster.match(person).students}

    def is_class(self, tops: Mapping[str, Mapping[str, Member]], files: Mapping[str, Member]) -> bool:
        """Return whether top folders or files are submissions: they name students, or are or hold an archive without a part."""
        parts = self.expected.folders
        if any(top.casefold() in parts for top in tops):
            return False
        if any(self.of_roster(top) for top in tops):
            return True
        inside = {folder.casefold() for path in files for folder in path.split("/")[:-1]}
        archives = {top: sum(is_archive(below or top) for below in paths) for top, paths in tops.items()}
        return sum(count == 1 for count in archives.values()) > 1 and not inside & parts

    def of_tops(self, batch: str, tops: Mapping[str, Mapping[str, Member]], entries: Entries, wrapper: str) -> list[Upload]:
        uploads = []
        for top, inside in tops.items():
            if "" in inside:
                uploads.append(self.of_file(batch, top, inside[""]))
                continue
            refused = _refused_below(f"{wrapper}{top}/", entries)
            uploads.append(_of_folder(batch, (self.person_of_file(top, folder=True),), top, inside, refused))
        return uploads


def _is_of_platform(name: str) -> bool:
    """Return whether a name tells by itself that it comes from a class download."""
    return bool(canvas_name(name) or MOODLE_NAME.fullmatch(name) or blackboard_name(name) or brightspace_name(name))


def _without_junk(files: Mapping[str, Member]) -> dict[str, Member]:
    return {path: member for path, member in files.items() if path.rpartition("/")[2].casefold() not in JUNK}


def _without_sections(files: Mapping[str, Member]) -> tuple[dict[str, Member], list[tuple[Member, Member]]]:
    """Return the files by their paths below the sections, and (first, further file) where two sections share a path."""
    found: dict[str, Member] = {}
    twins = []
    for path, member in files.items():
        below = path.partition("/")[2] or path
        if found.setdefault(below, member) is not member:
            twins.append((found[below], member))
    return found, twins


def _refused_below(prefix: str, entries: Entries) -> tuple[str, ...]:
    """Return a sentence for each entry below a folder that is not read, except caches."""
    return tuple(
        f"{path.removeprefix(prefix)} is left out: {reason}."
        for path, reason in entries.refused.items()
        if path.startswith(prefix) and reason not in UNREMARKABLE
    )


def _of_folder(
    batch: str,
    people: tuple[Person, ...],
    name: str,
    files: Mapping[str, Member],
    notes: Iterable[str] = (),
) -> Upload:
    """Return the upload of a folder; its time is that of the latest file."""
    times = [member.modified for member in files.values() if member.modified]
    alike = len({time.tzinfo is None for time in times}) == 1
    when = max(times) if alike else None
    upload = Upload(batch, people, f"{without_suffix(name)}.zip", dict(files), when=when, notes=tuple(notes))
    if upload.is_packed:
        path, member = next(iter(files.items()))
        file = path.rpartition("/")[2]
        return replace(upload, name=file, files={file: member})
    return upload


def _of_moodle(batch: str, tops: Mapping[str, Mapping[str, Member]], reader: Reader) -> list[Upload]:
    found: dict[tuple[str, str], dict[str, dict[str, Member]]] = {}
    uploads = []
    for top, inside in tops.items():
        named = MOODLE_NAME.fullmatch(top)
        if not named:
            uploads += reader.of_tops(batch, {top: inside}, Entries({}, [], {}), "")
            continue
        kinds = found.setdefault((named["number"], named["name"]), {})
        for below, member in inside.items():
            path = "/".join(part for part in (named["file"], below) if part)
            kinds.setdefault(named["kind"], {})[path or top] = member
    # In a group assignment, Moodle puts the name of the group or `Default group` before each name.
    in_group = len(found) > 1 and all("-" in name for _, name in found)
    for (number, name), kinds in found.items():
        texts = kinds.pop(ONLINE_TEXT, {}) if len(kinds) > 1 else {}
        note = ("An online text was handed in as well and is not collected; read it in Moodle.",) if texts else ()
        files = {path: member for inside in kinds.values() for path, member in inside.items()}
        uploads.append(_of_folder(batch, (Person(MOODLE, number, name, in_group=in_group),), name, files, note))
    return uploads


def _of_attempts(
    batch: str, tops: Mapping[str, Mapping[str, Member]], entries: Entries, wrapper: str, reader: Reader
) -> list[Upload]:
    """Return the uploads of a platform that puts the person and the time before the name of each file."""
    found: dict[str, dict[str, Member]] = {}
    notes: dict[str, tuple[str, ...]] = {}
    uploads = []
    for top, inside in tops.items():
        if named := blackboard_name(top) or brightspace_name(top):
            files = found.setdefault(named.submission, {})
            files |= {"/".join(part for part in (named.file, below) if part) or top: m for below, m in inside.items()}
            notes[named.submission] = notes.get(named.submission, ()) + _refused_below(f"{wrapper}{top}/", entries)
        elif top != CONTENTS:
            uploads += reader.of_tops(batch, {top: inside}, entries, wrapper)
    for submission, files in found.items():
        person = reader.person_of_file(submission, folder=True)
        named = NAMES_OF_ATTEMPTS[person.platform](submission)
        upload = _of_folder(batch, (person,), submission, files, notes[submission])
        if len(files) == 1:  # a file by itself, such as a report, keeps its name
            ((path, member),) = files.items()
            file = path.rpartition("/")[2]
            upload = replace(upload, name=file, files={file: member})
        uploads.append(replace(upload, key=submission, when=named.when if named else None))
    return uploads


def _of_gradescope(batch: str, tops: Mapping[str, Mapping[str, Member]], entries: Entries, wrapper: str) -> list[Upload]:
    metadata = tops[gradescope.METADATA][""]
    where = f"{batch}: {gradescope.METADATA}"
    if metadata.size > gradescope.MAX_BYTES:
        raise UsageError(f"{where} is larger than {gradescope.MAX_BYTES >> 20} MiB: export the submissions again")
    handed_in = gradescope.read_metadata(read_member(metadata, where), where)
    uploads = []
    for folder, entry in handed_in.items():
        inside = tops.get(folder)
        if inside is None and entry.is_history:  # exports usually leave earlier attempts out
            continue
        files = {path or folder: member for path, member in (inside or {}).items()}
        people = entry.people or (Person(GRADESCOPE, folder),)
        notes = list(_refused_below(f"{wrapper}{folder}/", entries))
        if entry.earlier:
            notes.append(f"Gradescope lists {entry.earlier} earlier attempts.")
        upload = _of_folder(batch, people, folder, files, notes)
        uploads.append(replace(upload, key=folder, when=entry.when))
    for top, inside in tops.items():
        if top not in handed_in and "" not in inside:
            uploads.append(replace(_of_folder(batch, (Person(GRADESCOPE, top),), top, inside), key=top, when=None))
    return uploads


def _with_twins(uploads: list[Upload], twins: list[tuple[Member, Member]]) -> list[Upload]:
    """Add an upload for each second archive of the same name; mark other uploads that hold a name twice.

    Args:
        twins: (first, further file of the same name).
    """
    by_member = {member: i for i, upload in enumerate(uploads) for member in upload.files.values()}
    more = []
    for first, member in twins:
        if (i := by_member.get(first)) is None:
            continue
        if uploads[i].is_packed:
            more.append(replace(uploads[i], files={next(iter(uploads[i].files)): member}))
        else:
            uploads[i] = replace(uploads[i], problem="it holds two files of the same name")
    return uploads + more
