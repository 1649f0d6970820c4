"""`python -m grader collect` on the downloads of Blackboard, whose names tell the user and the time."""

import io
import zipfile

from class_downloads import packed, tree

DUE = ("--due", "2026-12-01T23:59+08:00")


def blackboard(user, time, file):
    return f"gradebook_CS_1_gomoku_{user}_attempt_{time}{file}"


def test_names_of_blackboard_tell_the_user_and_the_time(collect, download):
    path = download(
        {
            blackboard("2024007", "2026-11-28-17-20-33", "_s1.zip"): packed("z"),
            blackboard("2024007", "2026-11-28-17-20-33", ".txt"): b"Name: Zoe",
            blackboard("s1", "2026-12-02-00-10-00", "_work.zip"): packed("new"),
            blackboard("s1", "2026-11-28-17-20-33", "_work.zip"): packed("old"),
            blackboard("x9", "2026-11-28-17-20-33", "_work.zip"): packed("x"),
        }
    )
    assert collect(path, *DUE) == 1
    rows, kept = collect.rows(), tree(collect.out)
    assert "(Blackboard) with 4 hand-ins" in collect.said and "UTC+08:00" in collect.said and rows["s1"]["late_minutes"] == "11"
    assert rows["s1"]["counted"] == "2-work.zip" and kept["submissions/s1.zip"] == packed("new")
    assert rows["2024007"]["submitted_at"] == "2026-11-28T17:20:33+08:00"
    with zipfile.ZipFile(io.BytesIO(kept["submissions/2024007.zip"])) as archive:
        assert sorted(archive.namelist()) == [blackboard("2024007", "2026-11-28-17-20-33", ".txt"), "s1.zip"]
    assert collect(path, *DUE) == 1 and tree(collect.out) == kept


def test_each_attempt_keeps_its_own_report(collect, download):
    days = ("28", "29", "30")
    members = {blackboard("s1", f"2026-11-{day}-17-20-59", "_work.zip"): packed(day) for day in days[:2]}
    members[blackboard("s1", "2026-11-30-17-20-00", "_work.zip")] = packed("30")
    members |= {name.replace("work.zip", "report.pdf"): name.encode() for name in members}
    assert collect(download(members), *DUE) == 0
    assert collect.rows()["s1"]["counted"].startswith("3-")
    for number, path in enumerate(sorted((collect.out / "attempts" / "s1").iterdir())):
        with zipfile.ZipFile(path) as archive:
            assert archive.read("work.zip") == packed(days[number])
            assert f"2026-11-{days[number]}".encode() in archive.read("report.pdf")


def test_a_user_with_an_underscore_gets_the_work_and_nobody_whose_id_is_its_end(collect, download, tmp_path):
    path = download({blackboard("j_doe", "2026-11-28-17-20-33", "_work.zip"): packed("j")})
    (roster := tmp_path / "users.csv").write_text("id\nj_doe\nbob\n")
    assert collect(path, roster=roster) == 0 and collect.rows()["j_doe"]["outcome"] == "collected"
    collect.out = tmp_path / "both"
    roster.write_text("id\nj_doe\ndoe\n")
    assert collect(path, roster=roster) == 1
    assert [row["outcome"] for row in collect.rows().values()] == ["unknown"] * 3


def test_of_attempts_without_an_archive_the_last_counts(collect, download):
    times = ("2026-11-28-17-20-33", "2026-12-02-00-10-00")
    path = download({blackboard("s1", time, "_gomoku.rar"): b"Rar!" + time.encode() for time in times})
    collect(path, *DUE)
    row = collect.rows()["s1"]
    assert (row["attempts"], row["late_minutes"]) == ("2", "11") and "gomoku.rar was not opened" in row["note"]
