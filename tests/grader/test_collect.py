"""`python -m grader collect` on plain names, single archives, hostile downloads, and a second time."""

import csv
import os
import tarfile
import zipfile
from datetime import datetime

import pytest
from class_downloads import at, packed, tree
from hypothesis import given
from hypothesis import strategies as st
from packing import WORK, tar_entry, write_packed

from common.errors import UsageError
from grader.__main__ import main
from grader.instructor.collecting import keeping
from grader.instructor.collecting.people import FILES, Pattern, Person, Roster
from grader.instructor.gradebook_entries import read_roster

# ------------------------------------------------------------------------------------------------------- plain names


def test_plain_names_match_by_id_and_the_last_in_time_counts(collect, download):
    path = download(
        [
            (at("wrap/zoe_2024007_gomoku.zip", (2026, 11, 1, 8, 0, 0)), packed("old")),
            (at("wrap/zoe_2024007_better.zip", (2026, 11, 9, 8, 0, 0)), packed("new")),
            (at("wrap/s1.tar.gz", (2026, 11, 2, 8, 0, 0)), packed("alice", ".tar.gz")),
            (at("wrap/josé núñez.zip", (2026, 11, 2, 8, 0, 0)), packed("jose")),
            (at("wrap/gomoku_3.zip", (2026, 11, 2, 8, 0, 0)), packed("who")),
            (at("wrap/desktop.ini", (2026, 11, 2, 8, 0, 0)), b"x"),
        ]
    )
    assert collect(path) == 1
    rows, kept = collect.rows(), tree(collect.out)
    assert rows["2024007"]["counted"] == "2-zoe_2024007_better.zip" and kept["submissions/2024007.zip"] == packed("new")
    assert rows["s1"]["outcome"] == rows["s2"]["outcome"] == "collected"
    assert rows["file-gomoku_3"]["outcome"] == "unknown"


def test_different_attempts_of_one_time_are_unclear_and_equal_ones_are_one(collect, download):
    path = download([(at("a_2024007_x.zip"), packed("x")), (at("a_2024007_y.zip"), packed("y")), (at("s1.zip"), b"1")])
    path2 = download([(at("b_s1_x.zip"), b"1"), (at("a_2024007_z.zip"), packed("x"))], name="again")
    # Three files of one moment say when the download was packed.
    assert collect(path, path2) == 1
    rows = collect.rows()
    assert (rows["2024007"]["outcome"], rows["2024007"]["attempts"], rows["2024007"]["counted"]) == ("unknown", "2", "")
    assert rows["s1"]["attempts"] == "1" and "unclear: " in rows["2024007"]["note"]
    assert "2024007" not in str(sorted((collect.out / "submissions").iterdir()))


def test_same_time_is_said(collect, download):
    path = download([(at("a_2024007_x.zip"), packed("x")), (at("a_2024007_y.zip"), packed("y"))])
    assert collect(path) == 1
    assert "attempts 1 and 2 differ and were handed in at the same time" in collect.rows()["2024007"]["note"]


@pytest.mark.parametrize("encoding", ["gbk", "cp437"])
def test_wrongly_encoded_names_find_their_student(collect, tmp_path, encoding):
    """GBK as Chinese Windows packs it, or the same bytes taken for code page 437 by an unpacker."""
    right = "李小明.zip".encode("gbk")
    if encoding == "gbk":
        path = tmp_path / "windows.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(at("X" * len(right)), packed("m"))
            archive.writestr(at("s1.zip"), packed("a"))
        path.write_bytes(path.read_bytes().replace(b"X" * len(right), right))
    else:
        path = tmp_path / "unpacked"
        path.mkdir()
        (path / right.decode("cp437")).write_bytes(packed("m"))
        (path / "s1.zip").write_bytes(packed("a"))
    assert collect(path) == 0
    assert tree(collect.out)["submissions/s3.zip"] == packed("m")


def test_a_pattern_says_where_the_id_is(collect, download):
    path = download({"hw1-2024007-zoe.zip": packed("z"), "hw1-s1-alice.zip": packed("a"), "hw1-s9-x.zip": packed("x")})
    assert collect(path, "--pattern", "{file}-{id}-{name}") == 1
    rows = collect.rows()
    assert rows["2024007"]["outcome"] == rows["s1"]["outcome"] == "collected" and rows["file-s9"]["outcome"] == "unknown"
    for wrong in ("{file}", "{id}_{id}", "{id}_{email}_{word}", "plain"):
        with pytest.raises(UsageError, match="expected a pattern"):
            Pattern(wrong)
    with pytest.raises(UsageError, match=r"between two fields, .*; got '\{file\}_\{id\}\{name\}', in which nothing says where"):
        Pattern("{file}_{id}{name}")


def test_a_pattern_finds_the_ids_of_the_roster_that_hold_an_underscore(collect, download, tmp_path):
    (roster := tmp_path / "roster.csv").write_text("id\nzhang_san\nzhang_san_2\nli\n", encoding="utf-8")
    path = download(
        {"San_zhang_san_hw1.zip": packed("z"), "San_ZHANG_SAN_2_hw1.zip": packed("y"), "Si_li_hw_1.zip": packed("l")}
    )
    assert collect(path, "--pattern", "{name}_{id}_{file}", roster=roster) == 0
    kept = tree(collect.out)
    assert [kept[f"submissions/{name}.zip"] for name in ("zhang_san", "zhang_san_2", "li")] == [packed(c) for c in "zyl"]


def test_a_number_is_found_beside_anything_but_latin_letters_and_digits(tmp_path):
    (path := tmp_path / "roster.csv").write_text("id\n2024001\n2024002\n2026\nsmith\nsmith-jones\n", encoding="utf-8")
    roster = Roster(read_roster(path))

    def owners(stem):
        return [student.id for student in roster.match(Person(FILES, stem)).students]

    assert all(owners(stem) == ["2024001"] for stem in ("2024001-张三", "张三2024001", "HW (2024001) v2", "２０２４００１张三"))
    assert not any(owners(stem) for stem in ("12024001", "2024001a-x", "work-smith-2", "class 2026-12-01"))
    assert owners("2024001+2024002") == ["2024001", "2024002"] and owners("smith-jones_gomoku") == ["smith-jones"]


def test_an_id_is_found_in_brackets_and_before_the_number_of_a_copy(tmp_path):
    (path := tmp_path / "roster.csv").write_text("id,first_name,last_name\njdoe,Jane,Doe\ndoej,Jim,Doe\njim,Jim,Doe\n1,,\n")
    roster = Roster(read_roster(path))

    def owners(stem):
        return [student.id for student in roster.match(Person(FILES, stem)).students]

    assert all(owners(stem) == ["jdoe"] for stem in ("Doe, Jane(jdoe)", "jdoe (1)", "jdoe(1)", "Jane Doe (JDOE)_gomoku"))
    assert not any(owners(stem) for stem in ("J. (doe)", "(jdoe-2)", "work (1)", "my jdoe", "Jim (jim)"))
    assert owners("jdoe (doej)") == ["jdoe", "doej"]


def test_a_pattern_finds_the_owner_of_what_was_kept_for_a_stranger(collect, download):
    path = download({"hw1-s1-alice.zip": packed("a"), "hw1-s2-bob.zip": packed("b")})
    assert collect(path) == 1
    assert "--pattern" in collect.rows()["file-hw1-s1-alice"]["note"]
    assert collect(path, "--pattern", "{file}-{name}-{id}") == 1
    assert collect(path, "--pattern", "{file}-{id}-{name}") == 0
    assert "hw1-s1-alice.zip: belongs to s1 according to the names of files" in collect.said
    assert collect.rows()["s1"]["attempts"] == "1" and not list((collect.out / "unknown").iterdir())


def test_a_folder_for_each_student_is_a_class_though_the_roster_names_nobody(collect, download):
    path = download({"Ann/work.zip": packed("a"), "Ann/report.pdf": b"%PDF", "Bea/work.zip": packed("b")})
    assert collect(path) == 1
    assert collect.rows()["file-Ann"]["outcome"] == collect.rows()["file-Bea"]["outcome"] == "unknown"


@pytest.mark.parametrize("kind", [".zip", "folder"])
def test_the_folders_of_sections_are_no_students(collect, download, kind):
    members = {"A/s1.zip": packed("a"), "A/list.txt": b"x", "A/2024007.zip": packed("z"), "B/2024007.zip": packed("y")}
    members |= {f"B/José Núñez/{path}": content for path, content in WORK.items()}
    assert collect(download(members, kind)) == 1
    rows = collect.rows()
    assert rows["s1"]["outcome"] == rows["s2"]["outcome"] == "collected" and rows["file-list"]["outcome"] == "unknown"
    assert rows["2024007"]["attempts"] == "2" and "unclear: " in rows["2024007"]["note"]
    assert tree(collect.out)["submissions/s1.zip"] == packed("a")


def test_a_collection_remembers_its_pattern(collect, download):
    path = download({"hw1-s1-alice.zip": packed("a"), "hw1-s2-bob.zip": packed("b")})
    assert collect(path, "--pattern", "{file}-{id}-{name}") == collect(path) == 0
    assert "Names of files as in the earlier collection: {file}-{id}-{name} (--pattern '' reads" in collect.said
    assert collect(path, "--pattern", "") == 1
    assert [row["outcome"] for row in collect.rows().values()].count("unknown") == 2


def test_without_a_roster_every_id_is_a_student(collect, download):
    path = download({"bob_2024001_gomoku.zip": packed("b"), "carol.zip": packed("c")})
    assert collect(path, roster=None) == 0
    assert sorted(os.listdir(collect.out / "submissions")) == ["2024001.zip", "carol.zip"]
    assert "No roster: every id that is found is taken to be a student." in collect.said
    assert collect(path) == 2 and "begun without one" in collect.complaint


# --------------------------------------------------------------------------------------- one student's, and hostile


def test_single_archives_are_said_to_be_such_and_cannot_pose_as_a_class(collect, tmp_path):
    fake = tmp_path / "mallory_2024007_gomoku.zip"
    with zipfile.ZipFile(fake, "w") as archive:
        archive.writestr("submission_metadata.yml", "submission_11:\n  :submitters:\n  - :sid: s1\n")
        archive.writestr("submission_11/Minimax/engine.cpp", "int worse;")
    folder = tmp_path / "s1"
    write_packed(folder, "folder", WORK)
    other = write_packed(tmp_path / "gomoku.zip", ".zip", WORK)
    assert collect(fake, folder, other) == 1
    rows = collect.rows()
    assert rows["2024007"]["outcome"] == "collected" and rows["s1"]["counted"] == "1-s1.zip"
    assert rows["file-gomoku"]["outcome"] == "unknown"
    assert "mallory_2024007_gomoku.zip: read as one submission, known by the name 'mallory_2024007_gomoku'." in collect.said


def test_a_folder_around_a_class_download_is_refused_unless_its_name_fits_a_student(collect, tmp_path):
    for folder in ("downloads", "s2"):
        (tmp_path / folder).mkdir()
        write_packed(tmp_path / folder / "class.zip", ".zip", {"s1_gomoku.zip": packed("a"), "s4_gomoku.zip": packed("b")})
    assert collect(tmp_path / "downloads") == 2 and "downloads/class.zip itself" in collect.complaint
    assert not collect.out.exists()
    collect(tmp_path / "s2")
    assert collect.rows()["s2"]["attempts"] == "1" and collect.rows()["s1"]["outcome"] == "missing"


def test_links_and_names_that_lead_out_are_reported_and_touch_nothing(collect, download, tmp_path):
    path = download(
        [
            (tar_entry("../../s1.zip"), packed("out")),
            (tar_entry("/etc/s2.zip"), packed("out")),
            (tar_entry("s3.zip", tarfile.SYMTYPE, "/etc/passwd"), b""),
            (tar_entry("a\x1b[2J_2024007_\x07x.zip"), packed("z")),
            (tar_entry("2024007.zip"), packed("z")),
            (tar_entry("s6.zip"), packed("s")),
        ],
        ".tar",
    )
    before = sorted(tmp_path.rglob("*"))
    assert collect(path) == 1
    assert "s3.zip is not collected: a link or special file." in collect.said
    assert collect.said.count("leads out of the archive's folder") == 3 and "\x1b" not in collect.said
    assert collect.rows()["s3"]["outcome"] == "missing" and collect.rows()["2024007"]["outcome"] == "collected"
    assert [p for p in sorted(tmp_path.rglob("*")) if p not in before and collect.out not in (p, *p.parents)] == []


def test_formulas_commas_and_commands_in_names_stay_text(collect, download):
    path = download({"=cmd|' _C calc'!A0.zip": packed("f"), '@SUM(1),"x".zip': packed("g"), "-rf ~; $(id).zip": packed("h")})
    assert collect(path) == 1
    with open(collect.out / "collected.csv", encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file, strict=True) for cell in row]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    assert len([name for name in tree(collect.out) if name.startswith("unknown/")]) == 3


def test_an_archive_that_cannot_be_read_leaves_its_student_unclear_until_it_comes_whole(collect, download):
    content = [(at("s1.zip"), packed("alice" * 50)), (at("s6.zip"), packed("fine"))]
    good = download(content, name="good")
    bad = good.with_name("bad.zip")
    data = bytearray(good.read_bytes())
    data[data.index(b"alice")] ^= 1
    bad.write_bytes(data)
    assert collect(bad) == 1
    assert "could not be read out of bad.zip" in collect.rows()["s1"]["note"] and collect.rows()["s6"]["outcome"] == "collected"
    before = tree(collect.out)
    assert collect(bad) == 1 and tree(collect.out) == before
    assert collect(good) == 0 and collect.rows()["s1"]["outcome"] == "collected"
    cut = good.with_name("cut.zip")
    cut.write_bytes(good.read_bytes()[:300])
    assert collect(cut) == 2 and "the end of the zip is missing" in collect.complaint


def test_a_class_download_cut_off_after_a_submission_is_refused_and_nobody_is_missing(collect, download):
    cut = download({"s1.zip": packed("s1")}, name="cut")
    with zipfile.ZipFile(cut, "w") as archive:  # without compression, as platforms pack archives
        for student in ("s1", "s2", "s3"):
            archive.writestr(f"{student}.zip", packed(student))
    cut.write_bytes(cut.read_bytes()[: len(packed("s1")) * 2 + 100])
    assert collect(cut) == 2 and "the end of the zip is missing" in collect.complaint
    assert not collect.out.exists()


def test_a_folder_without_files_is_no_download(collect, tmp_path):
    (tmp_path / "downloads" / "deeper").mkdir(parents=True)
    assert collect(tmp_path / "downloads") == 2
    assert "expected submissions in" in collect.complaint and "it holds no files" in collect.complaint
    assert not collect.out.exists()


def test_empty_and_too_large_attempts_are_named(collect, download, monkeypatch):
    monkeypatch.setattr(keeping, "MAX_ATTEMPT_BYTES", 5000)
    path = download({"s1.zip": b"", "s6.zip": bytes(5001), "2024007/": b"", "s2/Minimax/engine.cpp": b"x"})
    assert collect(path) == 1
    rows = collect.rows()
    assert rows["s1"]["outcome"] == "collected" and (collect.out / "submissions" / "s1.zip").read_bytes() == b""
    assert rows["s6"]["outcome"] == "unknown" and "larger than" in rows["s6"]["note"]


def test_two_entries_of_one_name_with_different_bytes_are_unclear(collect, download):
    path = download([(at("s1.zip"), packed("a")), (at("s1.zip"), packed("b")), (at("s6.zip"), b"x"), (at("s6.zip"), b"x")])
    assert collect(path) == 1
    rows = collect.rows()
    assert (rows["s1"]["outcome"], rows["s1"]["attempts"], rows["s6"]["outcome"]) == ("unknown", "2", "collected")


# -------------------------------------------------------------------------------------------------- a second command


def test_a_second_run_changes_nothing_and_a_later_attempt_is_said(collect, download):
    first = download([(at("a_2024007_x.zip", (2026, 11, 1, 8, 0, 0)), packed("1")), (at("s1.zip"), packed("a"))])
    later = download([(at("a_2024007_x.zip", (2026, 11, 3, 8, 0, 0)), packed("2", ".tar.gz"))], name="later")
    earlier = download([(at("a_2024007_w.zip", (2026, 10, 1, 8, 0, 0)), packed("0"))], name="earlier")
    assert collect(first) == 0
    before = tree(collect.out)
    assert collect(first) == 0 and tree(collect.out) == before
    assert collect(earlier) == 0
    assert "counts now" not in collect.said and collect.rows()["2024007"]["counted"] == "1-a_2024007_x.zip"
    assert collect(later) == 0
    assert "2024007: attempt 3 counts now; earlier, attempt 1 counted." in collect.said
    after = tree(collect.out)
    assert {name: after[name] for name in before if name.startswith("attempts/")} == {
        name: content for name, content in before.items() if name.startswith("attempts/")
    }
    assert collect(first, earlier, later) == 0 and tree(collect.out) == after
    assert collect() == 0 and tree(collect.out) == after


@pytest.mark.parametrize("step", ["_copy", "_add", "put_submissions", "remove_obsolete"])
def test_an_interrupted_call_is_completed_by_the_same_call(collect, download, monkeypatch, step):
    path = download([(at(f"a_2024007_{i}.zip", (2026, 11, i, 8, 0, 0)), packed(str(i))) for i in (1, 2, 3)])
    assert collect(path) == 0
    whole, collect.out = tree(collect.out), collect.out.with_name("interrupted")
    calls, real = [], getattr(keeping.Keeper, step)

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 2 or not step.startswith("_"):
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(keeping.Keeper, step, interrupted)
    assert collect(path) == 130 and "the same command collects again" in collect.complaint
    monkeypatch.undo()
    assert collect(path) == 0 and tree(collect.out) == whole


@pytest.mark.parametrize("name", [".zip", "..tar.gz"])
def test_an_archive_whose_name_is_only_its_suffix_is_kept(collect, download, name):
    assert collect(download({f"s1/{name}": packed("a"), "s2/a.zip": packed("b")})) in (0, 1)
    suffix = name.removeprefix("..").removeprefix(".")
    assert tree(collect.out)[f"submissions/s1.{suffix}"] == packed("a")


def test_a_file_that_is_no_archive_is_kept_in_a_zip_and_said(collect, download):
    path = download({"s1.rar": b"Rar!\x1a\x07\x01\x00", "s6.zip": packed("s")})
    assert collect(path) == 1
    note = collect.rows()["s1"]["note"]
    assert "A single file, s1.rar, was handed in" in note and "No required file was found in Minimax/" in note
    with zipfile.ZipFile(collect.out / "submissions" / "s1.zip") as archive:
        assert archive.read("s1.rar").startswith(b"Rar!")


def test_what_cannot_be_graded_is_said_at_once(collect, download):
    empty = b"PK\x05\x06" + bytes(18)
    path = download({"s1.zip": b"Rar!\x1a\x07\x01\x00", "s2.zip": empty, "s6.zip": packed("s"), "2024007.zip": b"PK?"})
    assert collect(path) == 1
    rows = collect.rows()
    assert "cannot be graded: " in rows["s1"]["note"] and "is a RAR archive, despite its name" in rows["s1"]["note"]
    assert "No required file was found in AlphaZero/" in rows["s2"]["note"] and "the submission is empty" in rows["s2"]["note"]
    assert "cannot be graded: " in rows["2024007"]["note"] and rows["2024007"]["outcome"] == "collected"
    assert "cannot be graded" not in rows["s6"]["note"]


def test_a_lab_is_collected_and_remembered(collect, download):
    path = download({"s1.zip": packed(work={"NoGo/board.py": b"x", "AlphaZero/mcts_alphaZero.py": b"y"}), "s2.zip": packed()})
    for lab in (["--lab", "nogo"], []):
        assert collect(path, *lab) == 1 and "python -m grader grade --lab nogo" in collect.said
        rows = collect.rows()
        assert rows["s1"]["note"] == "" and "No required file was found in NoGo/" in rows["s2"]["note"]
    assert collect(path, "--lab", "go") == 2 and "holds submissions of the lab nogo" in collect.complaint
    collect.out = collect.out.with_name("new")
    assert collect(path, "--lab", "chess") == 2 and "chess" in collect.complaint and not collect.out.exists()


def test_wrong_calls_are_one_sentence_and_exit_code_2(collect, download, tmp_path, capsys):
    path = download({"s1.zip": packed("a"), "s2.zip": packed("b")})
    (tmp_path / "notes.txt").write_text("x")
    for arguments, words in (
        ((tmp_path / "nothing.zip",), "nothing is there"),
        ((tmp_path / "notes.txt",), "expected a folder or an archive"),
        ((), "got neither"),
        ((path, "--grace", "5"), "expected --due with --grace"),
        ((path, "--in-time-first"), "expected --due with --in-time-first"),
        ((path, "--counts", "s1=4"), "expected --counts for a student of whom earlier calls collected attempts; got s1"),
    ):
        assert collect(*arguments) == 2, words
        assert words in collect.complaint and collect.complaint.count("\n") == 1
    for wrong in (("--due", "tomorrow"), ("--grace", "-1"), ("--counts", "s1")):
        with pytest.raises(SystemExit) as ended:
            collect(path, *wrong)
        assert ended.value.code == 2
    with pytest.raises(SystemExit):
        collect(path, "--due", "2026-12-01")
    assert "expected a date with a time, such as 2026-12-01T23:59+01:00; got '2026-12-01'" in capsys.readouterr().err
    collect.out = tmp_path / "mine"
    collect.out.mkdir()
    (collect.out / "thesis.tex").write_text("x")
    assert collect(path) == 2 and "it holds other files" in collect.complaint
    collect.out = tmp_path / "class"
    assert collect(path) == 0
    (collect.out / "attempts" / "s1" / "1-s1.zip").unlink()
    assert collect(path) == 2 and "it is missing" in collect.complaint
    (collect.out / "collection.json").write_text("{}")
    assert collect(path) == 2 and "damaged" in collect.complaint
    assert collect(path, roster=None) == 2


@pytest.mark.parametrize("place", [".", "class"])
def test_a_collection_inside_the_folder_that_is_read_is_refused(collect, download, place):
    path = download({"s1.zip": packed("1"), "s2.zip": packed("2")}, "folder")
    collect.out = path / place
    assert collect(path) == 2 and f"expected a folder outside {path} after --out" in collect.complaint
    assert sorted(os.listdir(path)) == ["s1.zip", "s2.zip"]


def test_a_call_that_is_refused_leaves_no_empty_folder(collect, download, tmp_path):
    path, collect.out = download({"s1.zip": packed("1")}), tmp_path / "autumn" / "class"
    assert collect(path, "--grace", "5") == 2 and "expected --due with --grace" in collect.complaint
    assert not (tmp_path / "autumn").exists()
    collect.out.mkdir(parents=True)
    assert collect(path, "--grace", "5") == 2 and collect.out.exists()


def test_a_due_date_without_a_zone_is_taken_for_this_machine_and_said(collect, download):
    assert collect(download({"s1.zip": packed("1"), "s2.zip": packed("2")}), "--due", "2026-12-01 23:59") == 0
    assert f"assumed: {datetime(2026, 12, 1, 23, 59).astimezone().isoformat()}" in collect.said


def test_the_last_attempt_in_time_counts_where_that_is_the_rule(collect, download):
    def handed_in(student, day, text):
        return at(f"a_{student}_{text}.zip", (2026, 12, day, 8, 0, 0)), packed(text)

    days = {"2024007": (1, 2, 5), "s1": (4, 6), "s2": (1,)}
    path = download([handed_in(student, day, f"{student}-{day}") for student, own in days.items() for day in own])
    rule = ("--due", "2026-12-03T00:00+00:00")

    def counted():
        return [collect.rows()[student]["counted"].split("-")[0] for student in days]

    assert collect(path, *rule) == 0 and counted() == ["3", "2", "1"]
    assert collect(path, "--in-time-first") == 0 and counted() == ["2", "2", "1"]
    assert "late and not counted: attempt 3" in collect.rows()["2024007"]["note"]
    assert collect() == 0 and counted() == ["2", "2", "1"] and "; the last attempt in time counts." in collect.said
    assert collect(path, "--counts", "2024007=3") == 0 and counted() == ["3", "2", "1"]
    assert collect(path, "--no-in-time-first") == 0 and counted() == ["3", "2", "1"]


def test_where_a_time_is_not_known_nobody_says_which_attempt_was_in_time(collect, download):
    path = download(
        [(at("a_s1_x.zip", (1980, 1, 1, 0, 0, 0)), packed("x")), (at("a_s1_y.zip", (2026, 12, 1, 8, 0, 0)), packed("y"))]
    )
    assert collect(path, "--due", "2026-12-03T00:00+00:00", "--in-time-first") == 1
    assert "unclear: it is not known whether attempt 1 was in time" in collect.rows()["s1"]["note"]


def test_the_roster_has_numbers_of_the_platforms_that_differ(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("id,canvas_id,moodle_id\na,1,\nb,,1\n")
    assert [(s.canvas_id, s.moodle_id) for s in read_roster(path)] == [("1", ""), ("", "1")]
    path.write_text("id,canvas_id\na,1\nb,1\n")
    with pytest.raises(UsageError, match="line 3: the canvas_id 1 is listed twice"):
        read_roster(path)


@given(st.dictionaries(st.text("ab/.é李", min_size=1, max_size=6), st.binary(max_size=20), max_size=4), st.randoms())
def test_loose_files_make_the_same_zip_in_any_order(tmp_path_factory, contents, rng):
    folder = tmp_path_factory.mktemp("loose")
    keeping.write_loose(contents, folder / "one")
    items = list(contents.items())
    rng.shuffle(items)
    keeping.write_loose(dict(items), folder / "two")
    assert (folder / "one").read_bytes() == (folder / "two").read_bytes()
    with zipfile.ZipFile(folder / "one") as archive:
        assert {info.filename: archive.read(info) for info in archive.infolist()} == contents


def test_an_unreadable_last_attempt_is_not_forgotten_when_an_older_download_comes_again(tmp_path):
    entry = "submission_{0}:\n  :submitters:\n  - :name: Ann\n    :sid: a1\n  :created_at: 2026-11-0{0} 10:00:00 Z\n"
    for download, attempts in (("new", (1, 2)), ("old", (1,))):
        with zipfile.ZipFile(tmp_path / f"{download}.zip", "w") as archive:
            archive.writestr("submission_metadata.yml", "".join(map(entry.format, attempts)))
            for number in attempts:
                archive.writestr(f"submission_{number}/Minimax/engine.cpp", f"int attempt_{number};")
    new = tmp_path / "new.zip"
    new.write_bytes(new.read_bytes().replace(b"int attempt_2", b"int damaged_2"))
    (tmp_path / "roster.csv").write_text("id\na1\n")
    for download in ("new", "old"):
        call = ["collect", tmp_path / f"{download}.zip", "--roster", tmp_path / "roster.csv", "--out", tmp_path / "class"]
        assert main(list(map(str, call))) == 1
    assert not list((tmp_path / "class/submissions").iterdir())
