"""`python -m grader collect` on the downloads of Brightspace, whose names tell the user and the time."""

import zipfile
from datetime import datetime

import pytest
from class_downloads import packed, tree

from grader.instructor.collecting.brightspace import brightspace_name

DUE = ("--due", "2026-12-01T23:59+01:00")


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("Mar 29, 2026 1205 PM", datetime(2026, 3, 29, 12, 5)),
        ("05 March 2026 612 PM", datetime(2026, 3, 5, 18, 12)),
        ("Mar 29, 2026 12:05\u202fPM", datetime(2026, 3, 29, 12, 5)),
        ("5 March, 2026 12:05 AM", datetime(2026, 3, 5, 0, 5)),
        ("May 1, 2026 2359", datetime(2026, 5, 1, 23, 59)),
        ("5 mars 2026 1812", None),
        ("Mar 29, 2026 2599", None),
    ],
)
def test_the_time_is_read_from_the_name(text, when):
    for name, file in (
        (f"13394-80551 - Zoë Müller-Weiß - {text}", ""),
        (f"1-2 - Zoë Müller-Weiß - {text} - a - b.zip", "a - b.zip"),
    ):
        found = brightspace_name(name)
        assert (found.who, found.when, found.file) == ("Zoë Müller-Weiß", when, file)
        assert name.startswith(found.submission) and found.submission.endswith(text)


@pytest.mark.parametrize("name", ["13394 - Ada - Mar 29, 2026 1205 PM", "1-2 - Ada - gomoku.zip", "1-2 - Mar 29, 2026 1205 PM"])
def test_other_names_are_not_those_of_brightspace(name):
    assert brightspace_name(name) is None


def test_the_last_attempt_counts_and_each_student_is_found(collect, download):
    one, two, late = (packed(text) for text in ("one", "two", "late"))
    path = download(
        {
            "index.html": b"<html></html>",
            "27236-46025 - s1 Ada - 28 November 2026 612 PM/gomoku.zip": one,
            "27236-46025 - s1 Ada - 29 November 2026 905 AM/gomoku final.zip": two,
            "27237-46025 - José Núñez - 02 December 2026 1209 AM/work.zip": late,
            "27238-46025 - ming01 李小明 - 01 December 2026 1159 PM/AlphaZero/mcts_pure.py": b"import numpy",
            "27238-46025 - ming01 李小明 - 01 December 2026 1159 PM/report.pdf": b"%PDF",
            "27239-46025 - 2024007 Somebody Else - 01 December 2026 1159 PM/gomoku.zip": one,
            "27240-46025 - Wei Zhang - 01 December 2026 1159 PM/gomoku.zip": one,
            "27241-46025 - Group 3 - 01 December 2026 1159 PM/gomoku.zip": two,
        }
    )
    assert collect(path, *DUE) == 1
    rows, kept = collect.rows(), tree(collect.out)
    assert "(Brightspace) with 7 hand-ins" in collect.said
    assert rows["s1"]["attempts"] == "2" and kept["submissions/s1.zip"] == two and rows["s1"]["late_minutes"] == "0"
    assert rows["s2"]["late_minutes"] == "10" and rows["s2"]["submitted_at"] == "2026-12-02T00:09:00+01:00"
    assert rows["s3"]["outcome"] == rows["2024007"]["outcome"] == "collected"
    assert rows["s4"]["outcome"] == rows["s5"]["outcome"] == "unknown"  # two students of one name
    assert sum(row["outcome"] == "unknown" for name, row in rows.items() if name.startswith("brightspace-")) == 2


def test_files_without_folders_are_one_attempt_and_a_report_joins_it(collect, download):
    mine = "13394-80551 - Alice Ada, Jr. - Nov 29, 2026 1205 PM - "
    path = download(
        {
            f"{mine}a - final.zip": packed("one"),
            f"{mine}notes.txt": b"see report",
            "13394-80551 - Alice Ada, Jr. - Nov 30, 2026 905 AM - report.pdf": b"%PDF",
            "13394-80551 - Alice Ada, Jr. - Nov 30, 2026 906 AM - report.pdf": b"%PDF 2",
            "13394-80551 - Alice Ada, Jr. - Nov 30, 2026 907 AM - report.pdf": b"%PDF 3",
            "13395-80551 - 李小明 - 30 nov. 2026 906 - gomoku.zip": packed("ming"),
            "index.html": b"",
        }
    )
    assert collect(path, *DUE) == 0
    rows = collect.rows()
    assert rows["s1"]["attempts"] == "1" and "report.pdf were handed in as well" in rows["s1"]["note"]
    assert rows["s1"]["submitted_at"] == "2026-11-29T12:05:00+01:00"
    with zipfile.ZipFile(collect.out / "submissions" / "s1.zip") as archive:
        reports = [archive.read(name) for name in archive.namelist() if name.endswith("report.pdf")]
        assert sorted(reports) == [b"%PDF", b"%PDF 2", b"%PDF 3"]
    assert tree(collect.out)["submissions/s3.zip"] == packed("ming") and rows["s3"]["submitted_at"] == ""


def test_one_submission_and_a_class_without_a_roster(collect, download, tmp_path):
    file = tmp_path / "13394-80551 - Alice Ada, Jr. - Nov 29, 2026 1205 PM - gomoku.zip"
    file.write_bytes(packed("one"))
    assert collect(file, *DUE) == 0 and collect.rows()["s1"]["submitted_at"] == "2026-11-29T12:05:00+01:00"
    collect.out = tmp_path / "without"
    path = download(
        {
            "1-2 - 2024001 Ada Example - Nov 29, 2026 1205 PM/gomoku.zip": packed("ada"),
            "3-2 - Bob Example - Nov 29, 2026 1206 PM/gomoku.zip": packed("bob"),
        },
        name="class",
    )
    assert collect(path, roster=None) == 1
    assert tree(collect.out)["submissions/2024001.zip"] == packed("ada")
    assert [row["outcome"] for name, row in collect.rows().items() if "Bob" in name] == ["unknown"]
