"""`python -m grader collect` where the times of files say when a download was made, and not when students handed in."""

import os

import pytest
from class_downloads import at, packed


def test_times_that_only_say_when_a_download_was_packed_are_not_used(collect, download):
    path = download({f"x_{student}_a.zip": packed(student) for student in ("s1", "s2", "s3")})
    assert collect(path, "--due", "2020-01-01T00:00Z") == 0
    assert {row["late_minutes"] for row in collect.rows().values()} == {""} and "within a minute of the next" in collect.said


@pytest.mark.parametrize(("count", "seconds"), [(1, 0), (4, 40), (4, 400)])
def test_the_times_at_which_moodle_sent_the_files_are_not_those_of_the_submissions(collect, download, count, seconds):
    """Since version 3.11, Moodle streams its archives and gives each entry the time at which it was sent."""
    folders = ("José Núñez_7002", "Alice Ada Jr_1", "zoe@example.org_2", "李小明_3")[:count]
    names = (f"{folder}_assignsubmission_file/a.zip" for folder in folders)
    times = [(2026, 12, 2, 9, *divmod(i * seconds, 60)) for i in range(count)]
    path = download([(at(name, time), packed(name)) for name, time in zip(names, times, strict=True)])
    assert collect(path, "--due", "2026-12-01T23:59+01:00") == 0 and "used" in collect.said
    assert [row["late_minutes"] for row in collect.rows().values() if row["outcome"] == "collected"] == [""] * count


@pytest.mark.parametrize("count", [2, 3])
def test_files_that_were_saved_together_and_named_one_by_one_have_no_times(collect, tmp_path, count):
    paths = [tmp_path / f"{student}.zip" for student in ("s1", "s2", "s3")[:count]]
    for seconds, path in enumerate(paths):
        path.write_bytes(packed(path.stem))
        os.utime(path, (1_800_000_000 + seconds, 1_800_000_000 + seconds))
    assert collect(*paths, "--due", "2026-12-01T23:59+01:00") == 0
    assert [collect.rows()[path.stem]["late_minutes"] for path in paths] == [""] * count
    assert f"The files of the command line: each of the {count} times lies within a minute" in collect.said


def test_the_time_of_loose_files_is_that_of_the_last(collect, download):
    day = (2026, 12, 1)
    path = download([(at("x_s1_mcts.py", (*day, 12, 0, 0)), b"pass"), (at("x_s1_mcts_2.py", (*day, 12, 30, 0)), b"pass")])
    collect(path, "--due", "2026-12-01T12:10+01:00")
    assert collect.rows()["s1"]["late_minutes"] == "20"


def test_of_two_downloads_of_moodle_the_later_one_has_what_counts(collect, download):
    def of_class(day, *texts):
        name = "Alice Ada Jr_7{}_assignsubmission_file/a.zip"
        others = [(at(name.format(i).replace("Alice", "Someone"), (2026, 12, day, 9, i, 0)), packed("x")) for i in (1, 2)]
        mine = [(at(name.format(0), (2026, 12, day, 9, 0, 30)), packed(text)) for text in texts]
        return download([*mine, *others], name=f"of day {day}")

    late, early = of_class(9, "second"), of_class(2, "first")
    for paths in ([late], [early], [late, early]):
        collect(*paths)
    row = collect.rows()["s1"]
    assert (row["outcome"], row["attempts"], row["submitted_at"]) == ("collected", "2", "")
    assert (collect.out / "submissions" / "s1.zip").read_bytes() == packed("second")
    collect(of_class(10, "first"))
    assert (collect.out / "submissions" / "s1.zip").read_bytes() == packed("first")


WORKSHEET = "Identifier,Full name,Status,Grade,Last modified (submission),Feedback comments\n"


def test_the_worksheet_of_moodle_tells_the_times(collect, download, tmp_path):
    path = download({f"{who}_assignsubmission_file/a.zip": packed(who) for who in ("Alice Ada Jr_71", "José Núñez_7002")})
    lines = (
        'Participant 71,Alice,Submitted,,"Wednesday, 2 December 2026, 12:29 AM",',
        'Participant 7002,José,Submitted,,"Tuesday, 1 December 2026, 9:05 PM",',
        "Participant 73,Zoe,No submission,,-,",
        'Participant 74,Nobody,Submitted,,"Tuesday, 1 December 2026, 9:05 PM",',
    )
    (sheet := tmp_path / "worksheet.csv").write_text(WORKSHEET + "\n".join(lines), encoding="utf-8-sig")
    assert collect(path, "--due", "2026-12-01T23:59+01:00", "--times", sheet) == 0
    rows = collect.rows()
    assert (rows["s1"]["late_minutes"], rows["s2"]["late_minutes"]) == ("30", "0")
    assert rows["s1"]["submitted_at"] == "2026-12-02T00:29:00+01:00" and rows["2024007"]["outcome"] == "missing"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            'Teilnehmer/in 71,Alice,,,"Dienstag, 1. März 2026, 21:05",',
            "line 2: expected a time as Moodle writes it in English",
        ),
        ('Participant 9,Alice,,,"Tuesday, 1 December 2026, 9:05 PM",', "has none of its participants"),
    ],
)
def test_a_worksheet_of_another_language_or_assignment_is_refused(collect, download, tmp_path, line, words):
    path = download({"Alice Ada Jr_71_assignsubmission_file/a.zip": packed("a")})
    (sheet := tmp_path / "worksheet.csv").write_text(WORKSHEET + line, encoding="utf-8")
    assert collect(path, "--times", sheet) == 2
    assert words in collect.complaint and collect.complaint.count("\n") == 1 and not list(collect.out.glob("attempts"))
