"""Files are replaced whole, whoever else writes them, and nothing unfinished stays behind."""

import contextlib
import os
import subprocess
import sys

import pytest

from common.files import ABANDONED_S, remove, replacing, write_whole


def test_of_two_that_write_at_the_same_time_the_last_one_counts_whole(tmp_path):
    path = tmp_path / "marks.csv"
    with replacing(path) as first, replacing(path) as second:
        first.write_bytes(b"first " * 1000)
        second.write_bytes(b"second")
    assert path.read_bytes() == b"first " * 1000
    assert os.listdir(tmp_path) == ["marks.csv"]


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "marks.csv"
    write_whole(path, "before")
    with contextlib.suppress(InterruptedError), replacing(path) as unfinished:
        unfinished.write_text("half")
        raise InterruptedError
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["marks.csv"]


@pytest.mark.parametrize("name", ["marks.csv", f"{'王' * 80}.txt"])
def test_what_a_killed_process_left_is_removed_once_it_is_old(tmp_path, name):
    path = tmp_path / name
    with replacing(path) as left:
        left.write_text("whole")
    others = [tmp_path / "notes.part", tmp_path / f".{name[:20]}.part", tmp_path / ".another.csv.01234567.part"]
    for other in (left, *others):
        other.write_text("half")
    write_whole(path, "whole")
    assert left.exists(), "another process may still write to it"
    for other in (left, *others):
        os.utime(other, (0, os.stat(other).st_mtime - ABANDONED_S - 60))
    write_whole(path, "whole")
    assert not left.exists() and all(other.exists() for other in others)


def test_folders_deeper_than_the_recursion_of_python_are_removed(tmp_path):
    make = "for _ in range(1500): os.mkdir('d', 0o700); os.chdir('d')"
    (tmp_path / "scratch").mkdir()
    subprocess.run([sys.executable, "-c", f"import os; {chr(10)}{make}"], cwd=tmp_path / "scratch", check=True)
    remove(tmp_path / "scratch")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_nobody_may_list_is_removed(tmp_path):
    unreadable = tmp_path / "scratch" / "unreadable"
    (unreadable / "below").mkdir(parents=True)
    (unreadable / "below" / "file").write_text("z")
    (unreadable / "below").chmod(0)
    unreadable.chmod(0o300)
    remove(tmp_path / "scratch")
    assert os.listdir(tmp_path) == []


def test_the_target_of_a_link_stays(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove(tmp_path / "scratch")
    remove(tmp_path / "link")
    assert os.listdir(tmp_path) == ["kept"]
