"""The archives that give the students' folders back to a class are read as Moodle and Canvas read them."""

import csv
import io
import re
import shutil
import zipfile
from dataclasses import replace

import pytest
from course_tools import COURSE
from returned_class import write_marks, write_result

from grader.__main__ import main
from grader.instructor.collecting.record import read_record
from grader.instructor.rehearsal.rehearse import DOWNLOAD, DUE, ROSTER
from grader.instructor.returning.uploads import upload_archives


@pytest.fixture(scope="module")
def collections(tmp_path_factory):
    """platform -> the folder of a rehearsal with a collection in `collected`."""
    found = {}
    for platform in ("moodle", "canvas"):
        folder = found[platform] = tmp_path_factory.mktemp(platform) / "class"
        assert main(["rehearse", "16", "--out", str(folder), "--as", platform]) == 0
        call = ["collect", folder / DOWNLOAD, "--roster", folder / ROSTER, "--due", DUE, "--out", folder / "collected"]
        assert main(list(map(str, call))) == 1
    return found


def roster(folder):
    text = (folder / ROSTER).read_text(encoding="utf-8-sig")
    return {row["id"]: row for row in csv.DictReader(io.StringIO(text))}


def entries(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def made(folder):
    """The only archive for a class in which each student gets a page with the own id."""
    record = read_record(folder / "collected")
    pages = {student: {"marks.html": student.encode(), "report.html": b"r"} for student in roster(folder)}
    (archive,) = upload_archives(pages, record)
    return archive, record


def test_moodle_finds_each_participant_by_the_number_in_the_folder(collections):
    folder = collections["moodle"]
    archive, record = made(folder)
    number_of = {row["moodle_id"]: student for student, row in roster(folder).items()}
    seen = set()
    for path, content in entries(archive.content).items():
        _, number, kind, plugin, rest = path.split("_", 4)
        assert (kind, plugin) == ("assignsubmission", "file") and rest.startswith("/") and rest.count("/") == 1
        seen.add(number_of[number])
        assert rest != "/marks.html" or content == number_of[number].encode()
    handed_in = {attempt.owner for attempt in record.attempts if attempt.known}
    assert seen == handed_in and len(seen) == archive.students == 15
    assert archive.left_out == (
        f"Not in it, because nothing was collected from Moodle: {(set(number_of.values()) - seen).pop()}.",
    )


def test_canvas_gets_each_file_back_under_the_name_of_its_download(collections):
    folder = collections["canvas"]
    archive, record = made(folder)
    with zipfile.ZipFile(folder / DOWNLOAD) as download:
        given = set(download.namelist())
    files = entries(archive.content)
    assert set(files) < given
    by_number = {row["canvas_id"]: student for student, row in roster(folder).items()}
    for name, content in files.items():
        user, file = re.findall(r"(?<=_)\d+(?=_)", name)[:2]
        student = by_number[user]
        assert entries(content)["marks.html"] == student.encode()
        counted = record.counted.get(student)
        assert counted is None or file in next(a.given for a in record.of(student, True) if a.number == counted)
    others = {a.owner for a in record.attempts if a.known and a.number == record.counted.get(a.owner) and "tar" in a.given}
    (why,) = [sentence for sentence in archive.left_out if "which is not a .zip" in sentence]
    assert others and others == set(re.findall(r"2026\d+", why))


def test_a_text_that_was_entered_in_canvas_gets_no_file_back(tmp_path):
    with zipfile.ZipFile(tmp_path / "canvas.zip", "w") as download:
        download.writestr("adaalice_101_5001_work.zip", b"PK")
        download.writestr("boolebob_102_text.html", b"<p>My link")
    main(["collect", str(tmp_path / "canvas.zip"), "--out", str(tmp_path / "collected")])
    (archive,) = upload_archives({"101": {}, "102": {}}, read_record(tmp_path / "collected"))
    assert archive.left_out == ("Not in it, because a text or a link was entered in Canvas, and no file was handed in: 102.",)


def test_give_back_writes_the_archive_and_a_second_run_changes_nothing(collections, tmp_path, assignment, capsys):
    folder, course = collections["moodle"], tmp_path / "course"
    shutil.copytree(COURSE / "schemes", course / "schemes")
    shutil.copy(COURSE / "rubric.toml", course)
    students = list(roster(folder))
    write_result(tmp_path / "results", assignment, students[0])
    marks = write_marks(tmp_path / "marks.csv", assignment, [(student, "A", "B", {"report": 9}) for student in students])
    call = ["give-back", tmp_path / "results", "--marks", marks, "--out", tmp_path / "back", "--course", course]
    call = [*map(str, (*call, "--collection", folder / "collected"))]
    assert main(call) == 0
    place = tmp_path / "back/upload/moodle_feedback.zip"
    names = {name.rpartition("/")[2] for name in entries(place.read_bytes())}
    assert names == {"marks.html", "report.html"}
    assert f"To upload to Moodle, for 15 of 16 students: {place}" in capsys.readouterr().out
    assert main(call) == 0 and "0 of them new or changed" in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / f"{students[0]}.zip", "w") as archive:
        archive.writestr("Minimax/engine.cpp", "int engine;")
    main(["collect", str(tmp_path / f"{students[0]}.zip"), "--out", str(tmp_path / "by_mail")])
    assert main([*call[:-1], str(tmp_path / "by_mail")]) == 0
    assert "no archive to upload, because nobody handed in on Moodle or Canvas" in capsys.readouterr().out
    assert main([*call[:-1], str(tmp_path / "nowhere")]) == 2
    assert "expected the folder that python -m grader collect wrote after --collection" in capsys.readouterr().err


def test_a_name_never_shifts_the_number_of_a_participant(collections):
    record = read_record(collections["moodle"] / "collected")
    attempt = next(attempt for attempt in record.attempts if attempt.known)
    for name in ("A_7_B", "../up", "...", 'x"<>|:*?\\y'):
        record.attempts = [replace(attempt, person=replace(attempt.person, name=name))]
        (archive,) = upload_archives({attempt.owner: {"marks.html": b"m"}}, record)
        (path,) = entries(archive.content)
        assert re.fullmatch(rf"[^_/]+_{attempt.person.handle}_assignsubmission_file_/marks\.html", path)
        assert not path.startswith(".") and not set(path) & set('"<>|:*?\\')
