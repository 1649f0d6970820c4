"""Find the student of the roster who handed something in, by what a download says about the person.

Numbers and e-mail addresses come first, names last. Nothing is guessed: if two students fit, both are named.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from common.errors import UsageError
from grader.instructor.gradebook_entries import Student, require_student_id
from grader.pipeline.archive_names import repaired

CANVAS, MOODLE, GRADESCOPE, BLACKBOARD, BRIGHTSPACE = "Canvas", "Moodle", "Gradescope", "Blackboard", "Brightspace"
FILES = "file"
LEAST_ID = 4  # characters of an id that counts wherever it stands in a name; "1" occurs in too many names
LEAST_NUMBER = 5  # characters of one that needs no underscores beside it; a year has four
NAME_ID_FILE = re.compile(r"[^_]*_(?P<id>[^_]*\d[^_]*)_.+")
FIELDS = {"name": r"[^/]*?", "id": r"[^/_]+?", "email": r"[^/_]+@[^/]+?", "file": r"[^/]+"}


@dataclass(frozen=True)
class Person:
    """What a download says about who handed something in.

    Attributes:
        platform: one of those above, or FILES for a plain name of a file or folder.
        handle: what tells people of one platform apart: a number, a text that ends with the user (BLACKBOARD), or the name of
            the file or folder without its suffix.
        name: the full name as the platform writes it.
        student_id: the id that the platform or the pattern names.
        email: the address, if the download has it.
        stem: the whole name of the file or folder without its suffix, if a pattern found the fields above in it.
        in_group: whether the name begins with that of a group, as in `Team 3-Ada Lovelace`.
    """

    platform: str
    handle: str
    name: str = ""
    student_id: str = ""
    email: str = ""
    stem: str = ""
    in_group: bool = False

    @property
    def names(self) -> Iterator[str]:
        """What may be the person's name: the longest text first, because groups and people may have a hyphen in their names."""
        yield self.name
        rest = self.name
        while self.in_group and "-" in rest:
            rest = rest.partition("-")[2]
            yield rest

    @property
    def words(self) -> str:
        """The person in the words of a message."""
        if self.platform == FILES:
            return f"the name {self.handle!r}"
        named = f" ({self.name})" if self.name and self.name != self.handle else ""
        return f"{self.platform} {self.handle}{named}"


@dataclass(frozen=True)
class Match:
    """The students that a person may be.

    Attributes:
        students: one if the person is known; several if nothing tells which one; none for a stranger.
        by_name: whether only a name decided.
        contradiction: how the roster contradicts that it is this student; empty if it does not.
    """

    students: tuple[Student, ...]
    by_name: bool = False
    contradiction: str = ""

    @property
    def student(self) -> Student | None:
        """The student, if it is clear who it is."""
        return self.students[0] if len(self.students) == 1 and not self.contradiction else None


class Pattern:
    """A pattern for names of files, such as `{name}_{id}_{file}`.

    Args:
        ids: the ids of the roster. An id holds no underscore, which may separate fields, unless it is one of these.
    """

    def __init__(self, text: str, ids: Iterable[str] = ()) -> None:
        known = sorted((re.escape(student_id) for student_id in ids if "_" in student_id), key=len, reverse=True)
        expressions = FIELDS | {"id": "|".join([*known, FIELDS["id"]])}
        parts = re.split(r"\{(\w+)\}", text)
        fields = parts[1::2]
        if not {"id", "name", "email"} & set(fields) or set(fields) - set(FIELDS) or len(fields) != len(set(fields)):
            raise UsageError(
                f"expected a pattern with {{id}}, {{name}} or {{email}}, and perhaps {{file}}, each at most once, such as "
                f"'{{name}}_{{id}}_{{file}}'; got {text!r}"
            )
        if "" in parts[2:-1:2]:
            raise UsageError(
                f"expected a pattern with a character between two fields, such as '{{name}}_{{id}}_{{file}}'; got {text!r}, in "
                "which nothing says where one field ends"
            )
        pieces = [f"(?P<{part}>{expressions[part]})" if i % 2 else re.escape(part) for i, part in enumerate(parts)]
        self.regex = re.compile("".join(pieces), re.IGNORECASE)

    def person(self, stem: str) -> Person | None:
        """Return the person that a file's name without its suffix describes; None if it does not fit the pattern."""
        found = self.regex.fullmatch(stem)
        if not found:
            return None
        fields = {key: value.strip() for key, value in found.groupdict().items()}
        handle = fields.get("id") or fields.get("email") or fields["name"]
        return Person(FILES, handle, fields.get("name", ""), fields.get("id", ""), fields.get("email", ""), stem)


def read_again(person: Person, pattern: Pattern | None) -> Person:
    """Return a person as a pattern, or without one the usual rule, describes the name of the file or folder."""
    if person.platform != FILES:
        return person
    stem = person.stem or person.handle
    return (pattern.person(stem) if pattern else None) or Person(FILES, stem)


def letters(name: str, *, plain: bool = False) -> str:
    """Return the letters and digits of a name without regard to case; `plain` removes accents as well."""
    text = unicodedata.normalize("NFKD" if plain else "NFKC", name).casefold()
    return "".join(c for c in unicodedata.normalize("NFKC" if not plain else "NFKD", text) if c.isalnum())


class Roster:
    """The students of the course, or of nobody: then every person with an id is taken as a student.

    Args:
        students: the lines of the roster; None if there is no roster.
    """

    def __init__(self, students: Sequence[Student] | None) -> None:
        self.students = students

    def match(self, person: Person) -> Match:
        """Return the students that a person may be."""
        if self.students is None:
            return _without_roster(person)
        if person.platform == CANVAS:
            return self._by_number(person, "canvas_id")
        if person.platform == MOODLE:
            return self._by_number(person, "moodle_id")
        if person.platform == BLACKBOARD:
            return Match(tuple(s for s in self.students if _same(f"_{person.handle}"[-len(s.id) - 1 :], f"_{s.id}")))
        if person.platform == BRIGHTSPACE:
            return self._by_first_word(person.name, self.students)
        if person.student_id or person.email:
            return self._by_id(person)
        if person.platform == GRADESCOPE or person.name:
            return self._by_name(person.name, self.students)
        return self._by_stem(person.handle)

    def has_id_as_number(self, person: Person) -> bool:
        """Return whether the number that Canvas seems to give a person is the id of a student without a canvas_id."""
        open_students = [student for student in self.students or () if not student.canvas_id]
        return person.platform == CANVAS and any(student.id == person.handle for student in open_students)

    def _by_number(self, person: Person, column: str) -> Match:
        students = self.students or ()
        if found := [student for student in students if getattr(student, column) == person.handle]:
            named = self._by_names(person.names, students).students
            if named and not self._by_names(person.names, found).students:  # as where a column was shifted by a line
                contradiction = (
                    f"has the {column} of {found[0].id}, but the name of {named[0].id}: correct or empty that column of the "
                    "roster"
                )
                return Match((*found, *named), contradiction=contradiction)
            return Match(tuple(found))
        open_students = [student for student in students if not getattr(student, column)]
        if found := [student for name in person.names for student in _with_email(open_students, name)]:
            return Match(tuple(found))
        # A roster may have the platform's own numbers as ids; a name must not contradict them.
        by_id = [student for student in open_students if student.id == person.handle]
        if by_id and (not _full_names(by_id[0]) or self._by_names(person.names, by_id).students):
            return Match((by_id[0],))
        found_by_name = self._by_names(person.names, open_students)
        if by_id and person.platform == CANVAS:  # or the names are not Canvas's, but NAME_ID_...
            others = [student for student in found_by_name.students if student not in by_id]
            return Match((*by_id, *others), contradiction="has the id of a student as its number, but another name")
        if found_by_name.students:
            return found_by_name
        named = self._by_names(person.names, students).students
        contradiction = f"has the name of {named[0].id}, but the roster has a different number there" if named else ""
        return Match(named, by_name=True, contradiction=contradiction)

    def _by_id(self, person: Person) -> Match:
        students = self.students or ()
        by_id = [student for student in students if person.student_id and _same(student.id, person.student_id)]
        by_email = _with_email(students, person.email)
        found = tuple(student for student in students if student in by_id or student in by_email)
        if found or person.platform == FILES:
            return Match(found)
        return self._by_name(person.name, students)

    def _by_first_word(self, name: str, students: Sequence[Student]) -> Match:
        """Return the students with the id or, without such an id, the name in a text such as `2024001 Ada Lovelace`."""
        first, _, rest = name.partition(" ")
        by_id = tuple(student for student in students if _same(student.id, first))
        return Match(by_id) if by_id else self._by_names((name, rest), students)

    def _by_stem(self, stem: str) -> Match:
        students = self.students or ()
        names = {stem, repaired(stem)}
        if found := [s for s in students if any(_same(name, known) for name in names for known in (s.id, s.submission))]:
            return Match(tuple(found))
        for holds in (_holds_id, _holds_number):
            if found := [s for s in students if any(holds(name, s.id) for name in names)]:
                return Match(tuple(found))
        return self._by_name(stem, students)

    def _by_names(self, names: Iterable[str], students: Iterable[Student]) -> Match:
        students = list(students)
        found = (self._by_name(name, students) for name in names)
        return next((match for match in found if match.students), Match(()))

    def _by_name(self, name: str, students: Iterable[Student]) -> Match:
        students = list(students)
        for plain in (False, True):
            wanted = {letters(text, plain=plain) for text in (name, repaired(name))} - {""}
            found = [s for s in students if wanted & {letters(full, plain=plain) for full in _full_names(s)}]
            if found:
                return Match(tuple(found), by_name=True)
        return Match(tuple(s for s in students if _holds_number(name, s.id)), by_name=True)  # some universities add the id


def _without_roster(person: Person) -> Match:
    if person.platform == BRIGHTSPACE and not person.student_id:
        return Match(())
    found = NAME_ID_FILE.fullmatch(person.handle) if person.platform == FILES and not person.student_id else None
    student_id = person.student_id or (found["id"] if found else "") or person.email or person.handle
    try:
        require_student_id(student_id, "")
    except UsageError:
        return Match(())
    return Match((Student(student_id, student_id, {}),))


def _full_names(student: Student) -> set[str]:
    first, last = student.names.get("first_name", ""), student.names.get("last_name", "")
    return {f"{last}{first}", f"{first}{last}"} - {""}


def _with_email(students: Iterable[Student], email: str) -> list[Student]:
    return [student for student in students if email and _same(student.names.get("email", ""), email)]


def _same(first: str, second: str) -> bool:
    return unicodedata.normalize("NFKC", first).casefold() == unicodedata.normalize("NFKC", second).casefold()


def _holds_id(stem: str, student_id: str) -> bool:
    """Return whether an id stands between the underscores or brackets of a name: `Doe, Jane(jdoe)`, `jdoe (1)`."""
    escaped = re.escape(student_id)
    if re.fullmatch(rf"[^_]*_{escaped}_.+", stem, re.IGNORECASE):
        return True
    alone = rf"(?:^|[_(]){escaped}(?: ?[_()]|$)"
    return len(student_id) >= LEAST_ID and bool(re.search(alone, stem, re.IGNORECASE))


def _holds_number(stem: str, student_id: str) -> bool:
    """Return whether an id with a digit stands in a name without another Latin letter or digit beside it: `2024001-张三`."""
    alone = rf"(?<![0-9A-Za-z]){re.escape(student_id)}(?![0-9A-Za-z])"
    is_number = len(student_id) >= LEAST_NUMBER and any(c.isdigit() for c in student_id)
    return is_number and bool(re.search(alone, unicodedata.normalize("NFKC", stem), re.IGNORECASE))
